"""One worker as the driver sees it: an actor that is placed, told, listened to, and lost."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from grounding.executors.link import Needs
from grounding.executors.ray import frames
from grounding.executors.ray.actor import POLL_S, Arrival, News, RayWorker, Variables, this_process
from grounding.executors.ray.cluster import cluster, missing_package, no_place, short_reason, wanted
from grounding.executors.ray.sequence import Inbox, Outbox

AGAIN_AFTER_S = 0.5
"""Between two tries of a call whose actor is out of reach."""
SILENT_S = POLL_S + 15.0
"""A call without an answer for so long is made again beside the first: its connection may be dead without a word."""
PATIENCE_S = 10.0
"""A worker without a place for so long is spoken of."""
NEVER_S = 60.0
"""A worker that no machine of the cluster could hold, for so long, is given up: machines may just be joining."""


class Hired:
    """An actor and the tasks around it. Everything happens in one event loop."""

    def __init__(self, hire: frames.Hire, worker_class: str, told: Callable[[frames.FromBridge], None]) -> None:
        self.name = hire.worker
        self._told = told
        self._outbox = Outbox()
        self._inbox = Inbox()
        self._for_worker = asyncio.Event()
        self._actor: Any = None
        self._task = asyncio.create_task(self._live(hire, worker_class))

    def tell(self, content: bytes) -> None:
        """A batch for the worker."""
        self._outbox.add(content)
        self._for_worker.set()

    def end(self) -> None:
        """End the actor's process, now."""
        self._task.cancel()
        self._kill()

    def _kill(self) -> None:
        if self._actor is None:
            return
        import ray

        with contextlib.suppress(Exception):  # It may be dead already, or the cluster.
            ray.kill(self._actor)
        self._actor = None

    async def _live(self, hire: frames.Hire, worker_class: str) -> None:
        """From placement to loss."""
        import ray

        try:
            reason = await self._work(hire, worker_class)
        except ray.exceptions.ActorDiedError as error:
            if (text := missing_package(str(error))) is not None:
                self._told(frames.Useless(worker=self.name, message=text))
            reason = short_reason(str(error))
        except ray.exceptions.RayError as error:
            reason = short_reason(str(error))
        self._kill()
        self._told(frames.Gone(worker=self.name, reason=reason))

    async def _work(self, hire: frames.Hire, worker_class: str) -> str:
        import ray

        self._actor = (
            ray.remote(RayWorker)
            .options(
                num_cpus=hire.cpus,
                num_gpus=hire.gpus,
                max_restarts=0,
                max_task_retries=0,
                scheduling_strategy="SPREAD",
            )
            .remote()
        )
        placing = asyncio.create_task(self._speak_of_waiting(Needs(cpus=hire.cpus, gpus=hire.gpus), _look))
        variables = Variables({variable.name: variable.value for variable in hire.variables})
        beginning = asyncio.create_task(self._call("begin", hire.recipe, variables, worker_class, patient=True))
        try:
            await asyncio.wait((placing, beginning), return_when=asyncio.FIRST_COMPLETED)
            if not beginning.done():
                return placing.result()
        finally:
            placing.cancel()
            beginning.cancel()
        arrival: Arrival = beginning.result()
        if (text := different(arrival, this_process())) is not None:
            self._told(frames.Useless(worker=self.name, message=text))
            return text
        self._told(frames.Came(worker=self.name, node=arrival.node, pid=arrival.pid))
        telling = asyncio.create_task(self._tell())
        hearing = asyncio.create_task(self._hear())
        try:
            await asyncio.wait((telling, hearing), return_when=asyncio.FIRST_COMPLETED)
            if telling.done():
                telling.result()
            return await hearing
        finally:
            telling.cancel()
            hearing.cancel()

    async def _tell(self) -> None:
        while True:
            await self._for_worker.wait()
            self._for_worker.clear()
            while self._outbox:
                batch = self._outbox.batch()
                self._outbox.acknowledged(await self._call("tell", batch.first, batch.contents))

    async def _hear(self) -> str:
        while True:
            news: News = await self._call("hear", self._inbox.taken)
            if contents := self._inbox.take(news.first, news.contents):
                self._told(frames.Said(worker=self.name, contents=tuple(contents)))
            elif news.ended is not None:
                return news.ended

    async def _call(self, method: str, *arguments: object, patient: bool = False) -> Any:
        """Call the actor until an answer comes.

        Raises:
            RayError: the actor is dead, or failed.
        """
        import ray

        while True:
            call = asyncio.ensure_future(getattr(self._actor, method).remote(*arguments))
            try:
                return await asyncio.wait_for(call, None if patient else SILENT_S)
            except TimeoutError:
                continue
            except ray.exceptions.ActorUnavailableError:
                await asyncio.sleep(AGAIN_AFTER_S)

    async def _speak_of_waiting(self, needs: Needs, look: Callable[[], tuple[str, Any]]) -> str:
        """Tell the user of a worker that gets no place; ends, with the reason, where it never can."""
        waited_s = PATIENCE_S
        await asyncio.sleep(PATIENCE_S)
        told = ""
        while True:
            known = cluster(*await asyncio.to_thread(look))
            never = no_place(needs, known)
            if never is not None and waited_s >= NEVER_S:
                self._told(frames.Useless(worker=self.name, message=never))
                return never
            text = never or f"{self.name} waits for {wanted(needs)} to be free on the cluster at {known.address}"
            if text != told:
                self._told(frames.Waits(worker=self.name, text=text))
                told = text
            await asyncio.sleep(PATIENCE_S)
            waited_s += PATIENCE_S


def _look() -> tuple[str, Any]:
    import ray

    return ray.get_runtime_context().gcs_address, ray.nodes()  # type: ignore[no-untyped-call]


def different(there: Arrival, here: Arrival) -> str | None:
    """Why a worker's machine can't do this machine's work; None where nothing speaks against it."""
    if there.grounding_version != here.grounding_version:
        return (
            f"machine {there.node} has grounding {there.grounding_version}, this one {here.grounding_version}: install "
            f"the same version there (pip install grounding=={here.grounding_version})"
        )
    if there.python_version.split(".")[:2] != here.python_version.split(".")[:2]:
        return (
            f"machine {there.node} has Python {there.python_version}, this one {here.python_version}: use the same "
            "version on all machines of the cluster"
        )
    return None
