"""The Ray cluster of this process, started or reached, and how many workers a stage gets on it."""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import contextlib
import importlib.util
import logging
import os
import secrets
import shutil
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from grounding import console
from grounding.cards.schema import ChatCard
from grounding.errors import Halted, UserError, install
from grounding.records import Record
from grounding.run.ray.worker import StageWorker
from grounding.serving.beside import Beside, gpus_per_replica
from grounding.serving.command import DEFAULT_COMMAND, LOOPBACK

LOCAL = "local"  # The address that stands for a cluster of our own, whatever else runs on the machine.
LOST_AFTER_S = 20.0
"""A head that has not said for so long which nodes it has is lost."""
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS": "0",
    "RAY_DISABLE_IMPORT_WARNING": "1",
    # Ray ends a driver that has lost its head for 60 s; this process has answers to score, and sees the loss itself.
    "RAY_gcs_rpc_server_reconnect_timeout_s": "3600",
}
CLOSED = {
    # Ray turns the address 127.0.0.1 into the machine's own, except where it believes that there are no clusters: only
    # then do all its processes listen on the loopback interface alone (services.py, ``get_node_ip_address``).
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    # These two listen on a fixed port each, even without a dashboard; there is no port -1.
    "AUTOSCALER_METRIC_PORT": "-1",
    "DASHBOARD_METRIC_PORT": "-1",
    "RAY_enable_metrics_collection": "0",
    # Workers are asked for one by one: none is started on suspicion.
    "RAY_prestart_worker_first_driver": "0",
}
"""What keeps a cluster of our own to this machine."""


class ClusterLost(Halted):
    """The cluster is out of reach: the run ends, and the same command goes on."""


class Node(Record, frozen=True, kw_only=True):
    """A living machine of a cluster."""

    cpus: float
    gpus: float = 0.0


class Cluster:
    """A connection. ``idle`` are workers that the next run of the same command may need, each with what it opened.

    Raises UserError: there is nothing to connect to; says what to do.
    """

    def __init__(self, address: str | None) -> None:
        self.address = address or os.environ.get("RAY_ADDRESS") or LOCAL
        self.idle: list[tuple[Any, Any]] = []
        self.lost = self._folder = ""
        self._calls: list[threading.Thread] = []
        if importlib.util.find_spec("ray") is None:
            raise UserError(f"--executor ray needs Ray, which is not installed: {install('ray')}")
        handler = signal.getsignal(signal.SIGTERM)
        try:
            self._connect()
        except Exception as error:  # Ray raises whatever it likes here.
            text = " ".join(f"{error} {error.__cause__ or error.__context__ or ''}".split())[:600]
            self.leave()
            if self.address == LOCAL:
                raise UserError(f"Ray can't start a cluster on this machine: {text}") from error
            raise UserError(
                f"no Ray cluster can be reached at {self.address} ({text}): expected host:port of a head (`ray start "
                "--head` says it), the same Python and ray there as here, this machine in the cluster and, where the "
                "head asks for a token, RAY_AUTH_MODE=token and RAY_AUTH_TOKEN as `ray get-auth-token` prints it "
                "there. From elsewhere send the whole command: `ray job submit -- grounding eval ...`"
            ) from error
        finally:
            with contextlib.suppress(ValueError):  # Not in the main thread, where Ray sets none either.
                signal.signal(signal.SIGTERM, handler)  # Ray has put its own there.

    def _connect(self) -> None:
        own: dict[str, Any] = {}
        os.environ.update(_QUIET | os.environ)
        if self.address == LOCAL:
            os.environ.update(CLOSED)
            if "RAY_AUTH_MODE" not in os.environ:  # Ray would write a token into the user's home.
                os.environ.update({"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)})
            # Ray puts Unix sockets some 60 characters below its folder; their paths have at most 107.
            self._folder = tempfile.mkdtemp(prefix="gr-ray-", dir="/tmp")
            own = {"_temp_dir": self._folder, "_node_ip_address": LOOPBACK, "include_dashboard": False}
            own["object_store_memory"] = 100 << 20
        elif self.address != "auto":  # Ray ends a process that finds no head, instead of telling it.
            host, _, port = self.address.rpartition(":")
            socket.create_connection((host.strip("[]"), int(port)), 10.0).close()
        import ray

        ray.init(address=self.address, log_to_driver=False, logging_level=logging.ERROR, **own)
        self.node = ray.get_runtime_context().get_node_id()

    async def nodes(self) -> list[Node]:
        """The nodes that there are now.

        Raises ClusterLost: the head doesn't say, or this machine is no longer among them.
        """
        import ray

        try:
            asked = asyncio.wrap_future(self._aside(ray.nodes))
            table: list[dict[str, Any]] = await asyncio.wait_for(asked, LOST_AFTER_S)
        except TimeoutError:
            self.lost = f"the head of the Ray cluster at {self.address} was out of reach for {LOST_AFTER_S:.0f} s"
        else:
            if any(row["NodeID"] == self.node and not row["Alive"] for row in table):
                self.lost = "the Ray node on this machine is lost"
        if self.lost:
            raise ClusterLost(f"{self.lost}; what was answered is kept, and the same command goes on")
        alive = [row["Resources"] for row in table if row["Alive"]]
        return [Node(cpus=each.get("CPU", 0.0), gpus=each.get("GPU", 0.0)) for each in alive]

    async def hire(self, cpus: float, gpus: float) -> Any:
        """A new actor, when the cluster has room for it."""
        import ray

        actor = ray.remote(StageWorker).options(num_cpus=cpus, num_gpus=gpus, scheduling_strategy="SPREAD")
        return await asyncio.wrap_future(self._aside(actor.remote))

    def end(self, actor: Any) -> None:
        """End an actor's process, without waiting."""
        import ray

        self._aside(partial(ray.kill, actor))

    def _aside(self, call: Callable[[], Any]) -> concurrent.futures.Future[Any]:
        """Call it in a thread that nobody has to wait for: with a lost head it may never come back."""
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        future.set_running_or_notify_cancel()

        def work() -> None:
            try:
                future.set_result(call())
            except Exception as error:  # noqa: BLE001 - whoever waits gets it
                future.set_exception(error)

        thread = threading.Thread(target=work, daemon=True)
        self._calls = [*(each for each in self._calls if each.is_alive()), thread]
        thread.start()
        return future

    def leave(self) -> None:
        """Disconnect; a cluster of our own ends."""
        import ray

        if self.lost:
            atexit.unregister(ray.shutdown)  # It would wait for ever.
            console.stuck.append("ray")
        else:
            for thread in self._calls:  # Ray would connect anew for a call that comes after the end.
                thread.join(LOST_AFTER_S)
            ray.shutdown()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)


_here: list[Cluster] = []
_keeping = False


def connected(address: str | None) -> Cluster:
    """The cluster that this process is connected to, connected now where it was not; raises as :class:`Cluster`."""
    if not _here or _here[0].lost:
        _here[:] = [Cluster(address)]
    return _here[0]


def left() -> None:
    """Disconnect, unless several runs share the connection."""
    while _here and not _keeping:
        _here.pop().leave()


def is_kept() -> bool:
    """Whether workers stay for the next run."""
    return _keeping


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """For several runs: inside the block connection and workers stay from one to the next."""
    global _keeping
    _keeping = True
    try:
        yield
    finally:
        _keeping = False
        left()


class Staff(Record, frozen=True, kw_only=True):
    """So many workers, and what each takes up; ``connections`` is what each may have open, None as the card says."""

    workers: int
    cpus: float = 0.0
    gpus: float = 0.0
    connections: int | None = None


class ModelAddress(Record, frozen=True, kw_only=True):
    """A model that a stage asks over the network: its card, the user's own address ("" for the card's) and its flag."""

    card: ChatCard
    base_url: str
    flag: str


def staff(
    nodes: Sequence[Node],
    *,
    workers: int | None,
    models: Sequence[ModelAddress] = (),
    max_connections: int | None = None,
    beside: Beside | None = None,
    in_process: bool = False,
    computes: bool = True,
) -> Staff:
    """The workers of a stage.

    What waits for an endpoint takes up no processor, so that it always finds a place; what computes gets whole nodes or
    GPUs. A provider's limits are counted where its requests are sent, so one worker sends them all; the connections
    that a user or a card allows to a server are shared out.

    ``beside`` is the server that each worker starts for itself; ``in_process``: it has a model in its process, which
    takes a GPU where there are any; ``computes``: it has things of its own to reckon, such as a browser's pages. Raises
    UserError: the cluster has no room for a single one, or an address means another machine on each node.
    """
    most_gpus = max(node.gpus for node in nodes)
    if beside is not None and most_gpus < 1:
        if beside.options.command == DEFAULT_COMMAND:
            raise UserError(
                f"{beside.card.name} ({beside.card.title}) needs a server, and no node of the cluster has a GPU to "
                "start one on: give its address with --base-url http://HOST:PORT/v1, or what starts a server without a "
                "GPU with --server-command"
            )
        return Staff(workers=workers or len(nodes))
    if beside is not None or (in_process and most_gpus >= 1):
        gpus = 1 if beside is None else gpus_per_replica(beside.card, beside.options)
        room = sum(int(node.gpus // gpus) for node in nodes)
        if not room:
            raise UserError(
                f"each worker needs {gpus} GPUs on one node, and no node of the cluster has more than {most_gpus:g}: "
                "take a card with fewer, or add such a node"
            )
        return Staff(workers=workers or room, gpus=float(gpus))
    if not models:
        count = workers or len(nodes)
        cpus = min(*(node.cpus for node in nodes), sum(node.cpus for node in nodes) / count)
        return Staff(workers=count, cpus=float(max(1, cpus // 1)) if computes else 0.0)
    for model in models:
        hosts = {urlsplit(address).hostname or "" for address in model.base_url.split()}
        if len(nodes) > 1 and any(host in ("localhost", "::1") or host.startswith("127.") for host in hosts):
            raise UserError(
                f"{model.flag} {model.base_url}: on each of the {len(nodes)} nodes of the cluster that is another "
                "machine; give a name or an address under which all of them find the server"
            )
    cpus = 1.0 if computes else 0.0
    if any(one.card.requests_per_minute or one.card.tokens_per_minute or not one.base_url for one in models):
        return Staff(workers=1, cpus=cpus)
    connections = max_connections or min(model.card.max_connections for model in models)
    count = min(workers or len(nodes), connections)
    return Staff(workers=count, cpus=cpus, connections=connections // count)


def check_executor(executor: str, workers: int | None, ray_address: str | None) -> None:
    """Refuse what can't be meant of a cluster; raises a UserError that says which option."""
    if workers is not None and workers < 1:
        raise UserError(f"--workers {workers}: expected 1 or more")
    for flag, value in (("--workers", workers), ("--ray-address", ray_address)):
        if value is not None and executor == "local":
            raise UserError(
                f"{flag} {value}: is for --executor ray, which this run does without; add it or leave this out"
            )
