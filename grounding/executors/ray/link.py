"""The writer's end of a Ray cluster: starts the bridge, speaks with it, and starts another when it is lost."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import re
import shutil
import signal
import sys
import tempfile
from collections import deque
from collections.abc import Callable
from pathlib import Path

from grounding.card_schema import GrounderCard
from grounding.errors import UserError
from grounding.executors import recipe as recipes
from grounding.executors.link import Arrived, Cluster, Cut, Event, Heard, Joined, Lost, Needs
from grounding.executors.messages import NotOpened, Warned, packed
from grounding.executors.ray import frames
from grounding.executors.ray.actor import WORKER
from grounding.executors.ray.bridge import BEAT_S
from grounding.executors.ray.cluster import LOCAL, environment, unreachable
from grounding.planner_card import PlannerCard

START_S = 180.0
"""The longest that a bridge may take to start a cluster."""
CONNECT_S = 60.0
"""The longest that it may take to connect to one: a head that is just starting can leave a driver waiting for ever."""
SILENT_S = 12 * BEAT_S
"""A bridge that was silent for so long hangs, and is ended."""
AGAIN_AFTER_S = 1.5
"""Between two tries to reach a lost cluster."""
ENDING_S = 15.0
TERMINATE_S = 10.0
# Ray's words as it ends a driver (gcs_rpc_client.h).
_HEAD_LOST = re.compile(r"Failed to connect to GCS within (\d+) seconds")
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_TAIL_LINES = 20
_MOST_WORDS_CHARS = 400
_MOST_FOLDER_CHARS = 40
"""Ray puts Unix sockets some 60 characters below its folder; their paths have at most 107."""


def chosen_address(address: str | None) -> str:
    """Where to connect to: what the user said, else RAY_ADDRESS (set inside a Ray job), else a cluster of our own.

    Raises:
        UserError: it is an address that nobody can work with.
    """
    chosen = address or os.environ.get("RAY_ADDRESS") or LOCAL
    if "://" in chosen:
        raise UserError(
            f"expected host:port of a Ray head, auto or local as --ray-address, got {chosen}: Ray's client and job "
            "addresses can't carry a run; send the whole command to the cluster with `ray job submit --address "
            f"{chosen} -- grounding eval ...` instead"
        )
    return chosen


def keys_of(recipe: recipes.Recipe) -> tuple[frames.Variable, ...]:
    """The environment variables that a recipe's cards name, with this process's values; a worker gets no others."""
    cards: list[GrounderCard | PlannerCard] = [card for card in (recipe.card,) if card is not None]
    if recipe.beside is not None:
        cards.append(recipe.beside.card)
    named = {card.endpoint.key_variable for card in cards if card.endpoint.key_variable}
    names = sorted(named.union(() if recipe.stage is None else recipe.stage.key_variables))
    return tuple(frames.Variable(name=name, value=os.environ[name]) for name in names if name in os.environ)


class _Bridge:
    """One bridge process under its warden."""

    def __init__(self, process: asyncio.subprocess.Process, lifeline: int, folder: str) -> None:
        assert process.stdin is not None
        self.process = process
        self.out = frames.FrameWriter(process.stdin)
        self._lifeline = lifeline
        self._folder = folder
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._reading = asyncio.create_task(self._read_errors())

    @staticmethod
    async def start(address: str, worker: str, *, with_token: bool) -> _Bridge:
        folder = ""
        if address == LOCAL:
            within = tempfile.gettempdir()
            folder = tempfile.mkdtemp(
                prefix="grounding-ray-", dir=within if len(within) < _MOST_FOLDER_CHARS else "/tmp"
            )
        theirs, ours = os.pipe()
        command = [sys.executable, "-m", "grounding.executors.ray.bridge", address, folder, worker]
        keeping = [str(theirs), folder, str(ENDING_S), str(TERMINATE_S)]
        try:
            process = await asyncio.create_subprocess_exec(
                *[sys.executable, "-m", "grounding.executors.ray.warden", *keeping, *command],
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=environment(address, os.environ, with_token=with_token),
                pass_fds=(theirs,),
                start_new_session=True,  # Ctrl-C is for the writer; it ends the rest in order.
                limit=1 << 20,
            )
        except BaseException:
            os.close(ours)
            if folder:
                shutil.rmtree(folder, ignore_errors=True)
            raise
        finally:
            os.close(theirs)
        return _Bridge(process, ours, folder)

    async def _read_errors(self) -> None:
        assert self.process.stderr is not None
        while True:
            try:
                line = await self.process.stderr.readline()
            except ValueError:  # Longer than the limit; the reader has dropped it.
                continue
            if not line:
                return
            self._tail.append(_COLOURS.sub("", line.decode("utf-8", "replace")).rstrip()[:500])

    def last_words(self) -> str:
        """The end of what it wrote to standard error."""
        return " ".join(line.strip() for line in list(self._tail)[-3:] if line.strip())[-_MOST_WORDS_CHARS:]

    def why_it_ended(self) -> str:
        """What there is to say of a bridge that ended without a word through its pipe."""
        found = _HEAD_LOST.search(" ".join(self._tail))
        if found is None:
            return "the Ray driver was lost"
        self._tail.clear()  # It says the same at length.
        return f"the head of the Ray cluster was out of reach for {found[1]} s"

    async def next(self, within_s: float) -> frames.FromBridge | None:
        """What it says next; None once it says nothing more.

        Raises:
            TimeoutError: it was silent for so long.
        """
        assert self.process.stdout is not None
        body = await asyncio.wait_for(frames.read_body(self.process.stdout), within_s)
        return None if body is None else frames.from_bridge(body)

    async def aclose(self) -> None:
        """End it and all that it started."""
        with contextlib.suppress(OSError):
            os.close(self._lifeline)
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            await asyncio.wait_for(self.process.wait(), ENDING_S + TERMINATE_S + 5.0)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(signal.SIGKILL)
            await self.process.wait()
        self._reading.cancel()
        if self._folder and Path(self._folder).is_dir():  # The warden was killed.
            await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)


class RayLink:
    """A :class:`grounding.executors.link.Link` to a Ray cluster."""

    def __init__(self, address: str | None = None, *, worker: str = WORKER) -> None:
        """Nothing is started yet.

        Args:
            address: ``host:port`` of a head, ``auto`` for the one on this machine, ``local`` for a new cluster; None
                for RAY_ADDRESS, or a new one.
            worker: The class that works, as ``module:name``.
        """
        self._address = chosen_address(address)
        self._worker = worker
        self._bridge: _Bridge | None = None
        self._with_token = False
        self._workers: set[str] = set()
        self._on_event: Callable[[Event], None] = lambda _: None
        self._listening: asyncio.Task[None] | None = None

    async def open(self, on_event: Callable[[Event], None]) -> Cluster:
        """See :meth:`grounding.executors.link.Link.open`."""
        if importlib.util.find_spec("ray") is None:
            raise UserError("--executor ray needs Ray, which is not installed: pip install 'grounding[ray]'")
        self._on_event = on_event
        bridge, found = await self._connected()
        if isinstance(found, str):
            raise UserError(found)
        self._bridge = bridge
        self._listening = asyncio.create_task(self._listen(bridge))
        return found

    async def hire(self, worker: str, recipe: bytes, needs: Needs) -> None:
        """See :meth:`grounding.executors.link.Link.hire`."""
        if self._bridge is None:
            reason = "the cluster is out of reach"
            asyncio.get_running_loop().call_soon(lambda: self._on_event(Lost(worker=worker, reason=reason)))
            return
        self._workers.add(worker)
        variables = keys_of(recipes.unpack(recipe))
        await self._send(
            frames.Hire(worker=worker, recipe=recipe, cpus=needs.cpus, gpus=needs.gpus, variables=variables)
        )

    async def tell(self, worker: str, content: bytes) -> None:
        """See :meth:`grounding.executors.link.Link.tell`."""
        if worker in self._workers:
            await self._send(frames.Tell(worker=worker, content=content))

    async def dismiss(self, worker: str) -> None:
        """See :meth:`grounding.executors.link.Link.dismiss`."""
        if worker in self._workers:
            await self._send(frames.Dismiss(worker=worker))

    async def aclose(self) -> None:
        """See :meth:`grounding.executors.link.Link.aclose`."""
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
            self._listening = None
        bridge, self._bridge = self._bridge, None
        self._workers.clear()
        if bridge is not None:
            await bridge.aclose()

    async def _send(self, message: frames.ToBridge) -> None:
        if self._bridge is None:
            return
        self._bridge.out.send(message)
        with contextlib.suppress(ConnectionError):  # The listener hears of it, too, and says Cut.
            await self._bridge.out.drain()

    async def _connected(self) -> tuple[_Bridge, Cluster | str]:
        """A new bridge and what it reached, or why it did not (it is ended then)."""
        bridge = await _Bridge.start(self._address, self._worker, with_token=self._with_token)
        patience_s = START_S if self._address == LOCAL else CONNECT_S
        try:
            found = await bridge.next(patience_s)
        except TimeoutError:
            found = frames.Unreachable(message=f"Ray did not answer at {self._address} within {patience_s:.0f} s")
        except BaseException:
            await asyncio.shield(bridge.aclose())
            raise
        if isinstance(found, frames.Reached):
            return bridge, found.cluster
        await bridge.aclose()
        if isinstance(found, frames.Unreachable):
            if found.asks_token and not self._with_token:
                self._with_token = True
                return await self._connected()
            return bridge, found.message
        # Ray ends a process that finds no head, instead of telling it.
        return bridge, unreachable(
            self._address, bridge.why_it_ended() + (bridge.last_words() and f": {bridge.last_words()}")
        )

    async def _listen(self, bridge: _Bridge) -> None:
        """Pass events on; when the bridge is lost, say so and get another, for ever."""
        while True:
            reason = await self._until_lost(bridge)
            self._bridge = None
            self._workers.clear()
            self._on_event(Cut(reason=reason))
            await bridge.aclose()
            while True:
                await asyncio.sleep(AGAIN_AFTER_S)
                bridge, found = await self._connected()
                if isinstance(found, Cluster):
                    break
            self._bridge = bridge
            self._on_event(Joined(cluster=found))

    async def _until_lost(self, bridge: _Bridge) -> str:
        while True:
            try:
                message = await bridge.next(SILENT_S)
            except TimeoutError:
                return f"the Ray driver was silent for {SILENT_S:.0f} s"
            except ValueError as error:
                return f"the Ray driver spoke nonsense ({error})"
            if message is None:
                return bridge.why_it_ended()
            if isinstance(message, frames.Unreachable):
                return message.message
            self._pass_on(message)

    def _pass_on(self, message: frames.FromBridge) -> None:
        match message:
            case frames.Came():
                self._on_event(Arrived(worker=message.worker, node=message.node, pid=message.pid))
            case frames.Said():
                for content in message.contents:
                    self._on_event(Heard(worker=message.worker, content=content))
            case frames.Waits():
                self._on_event(Heard(worker=message.worker, content=packed([Warned(text=message.text)])))
            case frames.Useless():
                self._on_event(Heard(worker=message.worker, content=packed([NotOpened(message=message.message)])))
            case frames.Gone():
                self._workers.discard(message.worker)
                self._on_event(Lost(worker=message.worker, reason=message.reason))
