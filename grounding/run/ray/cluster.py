"""The Ray cluster of a run and the workers on it: each item goes to whoever has room, and again where one is lost."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import importlib.util
import itertools
import logging
import os
import secrets
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from grounding import console
from grounding.errors import Halted, UserError, install
from grounding.llm.budget import Budget
from grounding.options import RunOptions
from grounding.records import Failure
from grounding.run.display import Progress
from grounding.run.ray.worker import Lost, StageWork, StageWorker, packed, unpacked
from grounding.serving.command import DEFAULT_COMMAND, LOOPBACK
from grounding.serving.worker_server import gpus_per_replica

LOCAL = "local"  # The address that stands for a cluster of our own, whatever else runs on the machine.
LOST_AFTER_S = 20.0
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    # Ray ends a driver that has lost its head for 60 s; this process has answers to score, and sees the loss itself.
    "RAY_gcs_rpc_server_reconnect_timeout_s": "3600",
}
CLOSED = {
    # Only where Ray believes that there are no clusters do all its processes listen on the loopback interface alone.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    # These two listen on a fixed port each, even without a dashboard; there is no port -1.
    "AUTOSCALER_METRIC_PORT": "-1",
    "DASHBOARD_METRIC_PORT": "-1",
    "RAY_enable_metrics_collection": "0",
    "RAY_prestart_worker_first_driver": "0",
}


class Cluster:
    """Raises UserError: there is nothing to connect to; says what to do."""

    def __init__(self, address: str | None) -> None:
        self.address = address or os.environ.get("RAY_ADDRESS") or LOCAL
        self.lost = self._folder = ""
        # In threads of its own that nobody waits for: with a lost head a call may never come back.
        self._threads = ThreadPoolExecutor(8)
        if importlib.util.find_spec("ray") is None:
            raise UserError(f"--executor ray needs Ray, which is not installed: {install('ray')}")
        handler = signal.getsignal(signal.SIGTERM)
        try:
            self._connect()
        except Exception as error:  # Ray raises whatever it likes here.
            self.leave()
            text = " ".join(f"{error} {error.__cause__ or error.__context__ or ''}".split())[:600]
            raise UserError(
                f"no Ray cluster can be reached at {self.address} ({text}): expected host:port of a head with the same "
                "Python and ray, this machine in its cluster, and its RAY_AUTH_TOKEN with RAY_AUTH_MODE=token"
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
            head = urlsplit(f"//{self.address}")
            socket.create_connection((head.hostname or "", head.port or 0), 10.0).close()
        import ray

        ray.init(address=self.address, log_to_driver=False, logging_level=logging.ERROR, **own)
        self._node = ray.get_runtime_context().get_node_id()

    async def nodes(self) -> list[tuple[float, float]]:
        """The processors and GPUs of each living one. Raises Halted: the head doesn't say, or this one is lost."""
        import ray

        try:
            asked = asyncio.get_running_loop().run_in_executor(self._threads, ray.nodes)
            table: list[dict[str, Any]] = await asyncio.wait_for(asked, LOST_AFTER_S)
        except TimeoutError:
            self.lost = f"the head of the Ray cluster at {self.address} was out of reach for {LOST_AFTER_S:.0f} s"
        else:
            if any(row["NodeID"] == self._node and not row["Alive"] for row in table):
                self.lost = "the Ray node on this machine is lost"
        if self.lost:
            raise Halted(f"{self.lost}; what was answered is kept, and the same command goes on")
        alive = [row["Resources"] for row in table if row["Alive"]]
        return [(each.get("CPU", 0.0), each.get("GPU", 0.0)) for each in alive]

    async def hire(self, gpus: int) -> Any:
        """A new actor, which Ray starts when the cluster has room for it."""
        import ray

        actor = ray.remote(StageWorker).options(num_cpus=0, num_gpus=gpus, scheduling_strategy="SPREAD")
        return await asyncio.get_running_loop().run_in_executor(self._threads, actor.remote)

    def end(self, actor: Any) -> None:
        import ray

        self._threads.submit(ray.kill, actor)

    def leave(self) -> None:
        import ray

        if self.lost:
            atexit.unregister(ray.shutdown)  # It would wait for ever.
            console.stuck.append("ray")
        else:
            self._threads.shutdown()  # Ray would connect anew for a call that comes after the end.
            ray.shutdown()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)


class Staff(NamedTuple):
    """So many workers, the GPUs that each takes up, and its connections, None for as many as the card says."""

    workers: int
    gpus: int = 0
    connections: int | None = None


def staff(nodes: Sequence[tuple[float, float]], work: StageWork, options: Any) -> Staff:
    """The workers of a stage: one for each GPU or server, for each node that asks one, else for each processor. Only
    GPUs are taken up, so that each stage finds a place. Raises UserError.
    """
    workers, worker_server, models = options.workers, work.worker_server, work.models
    most = max(gpus for _, gpus in nodes)
    gpus = int(work.in_process and most > 0)
    if worker_server is not None:
        workers = workers or (worker_server.options.replicas if worker_server.options.replicas > 1 else None)
        if most or worker_server.options.command == DEFAULT_COMMAND:  # The user's own may need none.
            gpus = gpus_per_replica(worker_server.card, worker_server.options)
    if gpus:
        if not (room := sum(int(there // gpus) for _, there in nodes)):
            raise UserError(
                f"a worker needs {gpus} GPUs on one node, of which none has more than {most:g}; see --base-url"
            )
        return Staff(workers or room, gpus)
    if work.in_process or worker_server is not None:
        return Staff(workers or len(nodes))
    if not models:
        return Staff(workers or max(1, int(sum(cpus for cpus, _ in nodes))))
    for model in models:
        hosts = {urlsplit(address).hostname or "" for address in model.base_url.split()}
        if len(nodes) > 1 and any(host in ("localhost", "::1") or host.startswith("127.") for host in hosts):
            raise UserError(f"{model.flag} {model.base_url}: is another machine on each node; give an address for all")
    # A provider's limits are counted where its requests are sent, so one worker sends them all.
    if any(one.card.requests_per_minute or one.card.tokens_per_minute or not one.base_url for one in models):
        return Staff(1)
    connections = options.max_connections or min(model.card.max_connections for model in models)
    count = min(workers or len(nodes), connections)
    return Staff(count, connections=connections // count)


def check_executor(executor: str, workers: int | None, ray_address: str | None) -> None:
    if workers is not None and workers < 1:
        raise UserError(f"--workers {workers}: expected 1 or more")
    if executor == "local" and (workers or ray_address):
        given = f"--workers {workers}" if workers else f"--ray-address {ray_address}"
        raise UserError(f"{given}: is for --executor ray, which this run does without; add it or leave this out")


AHEAD = 2  # Times what a worker does at once is with it, where items are short: it need not wait for the next.
LOSSES_OF_AN_ITEM, LOSSES_IN_A_ROW = 3, 5
LEAVE_S, LOOK_EVERY_S = 15.0, 2.0
WITH_ROOM_S, FULL_S = 0.1, 5.0
"""How long a call that brings items to a worker waits for its answers, where it could have more items and where not."""


@dataclass(eq=False)
class _Worker:
    """An actor, what it has been asked, and how many items it may have: 0 until it is ready."""

    name: str = "a worker"
    actor: Any = None
    bound: int = 0
    alone: bool = False
    asked: dict[int, asyncio.Future[Any]] = field(default_factory=dict)
    outbox: list[tuple[int, str, Any]] = field(default_factory=list)

    def fail(self, error: Exception) -> None:
        for answer in self.asked.values():
            if not answer.done():
                answer.set_exception(error)
        self.asked.clear()


class Workers:
    def __init__(self, options: RunOptions, folder: Path, budget: Budget, progress: Progress) -> None:
        self.options, self.folder, self.budget, self.progress = options, folder, budget, progress
        self.cluster: Any = None
        self.halted = ""
        self.pools: list[Pool] = []

    async def stage(self, own: Any, work: StageWork, ahead: int = 1) -> RemoteStage:
        made = Pool(self, work, ahead)
        await made.start()
        return RemoteStage(own, made)

    async def send_away(self) -> None:
        while self.pools:
            await self.pools.pop().aclose()

    async def aclose(self) -> None:
        await self.send_away()
        if self.cluster is not None:
            self.cluster.leave()


class Pool:
    """Workers of a run that all opened the same work, each handed ``ahead`` times as much as it does at once. Raises
    UserError: there is no cluster.
    """

    def __init__(self, run: Workers, work: StageWork, ahead: int = 1) -> None:
        if run.cluster is None:
            with run.progress.phase("connecting to Ray"):
                run.cluster = Cluster(run.options.ray_address)
        run.pools.append(self)
        self._run, self._cluster, self._ahead = run, run.cluster, ahead
        self._work = msgspec.structs.replace(work, folder=str(run.folder.absolute()), here=str(Path.cwd()))
        self._staff = Staff(workers=1)
        self._numbers = itertools.count(1)
        self._workers: list[_Worker] = []
        self._losses = 0  # In a row, without an answer in between.
        self._tasks: list[asyncio.Task[None]] = []
        self._moved = asyncio.Event()
        self._ended: Exception | None = None

    def room(self, own: int) -> int:
        fixed = self._staff.connections is not None or self._staff.workers == 1  # Else more may come with nodes.
        return own * self._ahead * (1 if fixed else 2 * max(self._staff.workers, 4))

    async def start(self) -> None:
        if not self._tasks:
            self._staff = staff(await self._cluster.nodes(), self._work, self._run.options)
            self._tasks.append(asyncio.create_task(self._watch()))
        with self._run.progress.phase(f"waiting for a worker ({self._staff.gpus} GPUs)"):
            await self._free()

    async def do(self, key: str, item: Any) -> Any:
        """The record of an item from whichever worker has room. Raises Lost: it ended in an error, or with three
        workers; Halted: cost limit, servers or cluster; UserError.
        """
        # An item is taken to cost as much as the dearest call so far; what it came to is told call by call.
        granted_usd = await self._run.budget.reserve()
        try:
            for lost in range(LOSSES_OF_AN_ITEM):
                # What two workers were lost with has the third for itself, so that it takes no other item with it.
                worker = await self._free(alone=lost == LOSSES_OF_AN_ITEM - 1)
                number = next(self._numbers)
                answer = worker.asked[number] = asyncio.get_running_loop().create_future()
                worker.outbox.append((number, key, packed(item)))
                try:
                    found = await answer
                    break
                except Lost as error:
                    problem = str(error)
                    self._run.budget.unreported_usd += granted_usd
            else:
                raise Lost(f"{LOSSES_OF_AN_ITEM} workers were lost while they worked on this: {problem}")
        finally:
            self._run.budget.settle(granted_usd, 0.0)
        self._losses = 0
        if isinstance(found, Exception):
            raise found
        return found

    async def _free(self, *, alone: bool = False) -> _Worker:
        while self._ended is None:
            ready = (each for each in self._workers if each.bound)
            if free := [each for each in ready if len(each.asked) < (1 if alone or each.alone else each.bound)]:
                worker = min(free, key=lambda worker: len(worker.asked) / worker.bound)
                worker.alone = alone
                return worker
            self._moved.clear()
            await self._moved.wait()
        raise self._ended

    async def aclose(self) -> None:
        self._end(Lost("the run ends"))
        await asyncio.gather(*map(self._see_off, self._workers))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _watch(self) -> None:
        while self._ended is None:
            while len(self._workers) < self._staff.workers and self._losses < LOSSES_IN_A_ROW:
                self._workers.append(worker := _Worker())
                self._tasks.append(asyncio.create_task(self._employ(worker)))
            await asyncio.sleep(LOOK_EVERY_S)
            try:
                nodes = await self._cluster.nodes()
            except Halted as lost:
                self._end(lost)
                return
            if self._staff.connections is None:
                with contextlib.suppress(UserError):  # Nodes went: no more are hired until others come.
                    self._staff = staff(nodes, self._work, self._run.options)

    async def _employ(self, worker: _Worker) -> None:
        try:
            actor = worker.actor = await self._cluster.hire(self._staff.gpus)
            names = {model.card.endpoint.key_variable for model in self._work.models}
            keys = {name: value for name, value in os.environ.items() if name in names}
            work = msgspec.structs.replace(self._work, connections=self._staff.connections)
            place, at_once = await actor.open.remote(work, keys)
            worker.name += f" on {place}"
            worker.bound = at_once * self._ahead
            self._moved.set()
            while True:
                items, worker.outbox = worker.outbox, []
                wait_s = WITH_ROOM_S if len(worker.asked) < worker.bound else FULL_S
                self._hear(worker, await actor.exchange.remote(items, wait_s, self._run.halted))
        except Exception as error:  # noqa: BLE001 - whatever Ray raises of a worker, or a worker's own
            if self._ended is not None:
                return
            cause = getattr(error, "cause", None) or error  # What the actor itself raised.
            why = " ".join(str(cause).split())[:600] or type(cause).__name__
            self._workers.remove(worker)
            lost = f"grounding: {worker.name} is lost: {why}; {len(worker.asked)} items are asked again"
            print(lost, file=sys.stderr, flush=True)
            if worker.actor is not None:
                self._cluster.end(worker.actor)
            worker.fail(Lost(why))
            # One that can't open its stage has no better successor.
            self._losses = LOSSES_IN_A_ROW if isinstance(error, UserError) else self._losses + 1
            if self._losses >= LOSSES_IN_A_ROW and not any(other.bound for other in self._workers):
                self._end(UserError(f"{worker.name}: {why}"))

    def _hear(self, worker: _Worker, said: list[tuple[Any, ...]]) -> None:
        run, budget = self._run, self._run.budget
        for kind, *words in said:
            what = [unpacked(word) for word in words]
            if kind == "done":
                answer = worker.asked.pop(what[0], None)
                if answer is not None and not answer.done():
                    answer.set_result(what[1])
                self._moved.set()
            elif kind == "paid":
                budget.take_up(what[1:])
                budget.paid(*what)
                if budget.limit_usd is not None and budget.spent_usd + budget.unreported_usd >= budget.limit_usd:
                    run.halted = f"the cost limit of ${budget.limit_usd:g} is reached (${budget.spent_usd:.4f} spent)"
            elif kind == "retried":
                run.progress.retried()
            elif kind == "lost":
                raise Lost(*what)

    async def _see_off(self, worker: _Worker) -> None:
        if worker.actor is None or self._cluster.lost:
            return
        with contextlib.suppress(Exception):  # It may be dead already.
            if worker.bound:
                self._hear(worker, await asyncio.wait_for(worker.actor.close.remote(), LEAVE_S))
        self._cluster.end(worker.actor)

    def _end(self, error: Exception) -> None:
        self._ended = self._ended or error
        self._moved.set()
        for worker in self._workers:
            worker.fail(self._ended)


class RemoteStage:
    """Keys, ids and the journal are the writer's own."""

    def __init__(self, own: Any, pool: Pool) -> None:
        self._own, self._pool = own, pool
        self.name, self.journal, self.item_id, self.key = own.name, own.journal, own.item_id, own.key
        self.max_concurrency = pool.room(own.max_concurrency)

    async def run(self, item: Any, earlier: Any, key: str) -> Any:  # noqa: ARG002
        try:
            return await self._pool.do(key, item)
        except Lost as error:
            return self._own.failed(item, key, Failure(kind="error", message=str(error)))
