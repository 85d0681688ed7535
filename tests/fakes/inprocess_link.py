"""A cluster in this process: workers are tasks of the test's own event loop, lost whenever a test says so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from grounding.executors.link import Arrived, Cluster, Cut, Event, Heard, Joined, Lost, Needs, Node
from grounding.executors.messages import Ask, Down, Up, packed, unpacked_down, unpacked_up
from grounding.executors.opening import Asker, open_asker
from grounding.executors.recipe import Recipe, unpack
from grounding.executors.worker import Worker

NODE = Node(name="here", address="127.0.0.1", cpus=4.0, gpus=0.0)
CLUSTER = Cluster(address="inprocess", nodes=(NODE,))


class InProcessLink:
    """A ``Link``. ``opener`` makes each worker's planner or grounder, in place of the recipe's.

    ``said`` is all that workers have said, ``told`` all that they were told.

    ``slow`` workers don't arrive by themselves: a test calls ``arrive``. ``hired`` keeps every name there ever was,
    ``needs`` what each took up.
    """

    def __init__(self, opener: Callable[..., Asker] = open_asker, *, slow: bool = False) -> None:
        self._opener = opener
        self._slow = slow
        self._on_event: Callable[[Event], None] | None = None
        self._workers: dict[str, Worker] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._waiting: dict[str, Recipe] = {}
        self._cut = False
        self._last: dict[str, bytes] = {}
        self._asked: dict[str, set[str]] = {}
        self.hired: list[str] = []
        self.needs: list[Needs] = []
        self.dismissed: list[str] = []
        self.said: list[Up] = []
        self.told: list[Down] = []
        self.opened = 0
        self.closed = False

    @property
    def alive(self) -> list[str]:
        """The workers that there are now."""
        return list(self._running)

    async def open(self, on_event: Callable[[Event], None]) -> Cluster:
        self.opened += 1
        self._on_event = on_event
        return CLUSTER

    async def hire(self, worker: str, recipe: bytes, needs: Needs) -> None:
        assert worker not in self.hired, "a name is used once"
        self.hired.append(worker)
        self.needs.append(needs)
        self._waiting[worker] = unpack(recipe)
        if not self._slow and not self._cut:
            self.arrive(worker)

    def arrive(self, worker: str) -> None:
        """Start a worker that was hired."""
        recipe = self._waiting.pop(worker)

        def send(content: bytes) -> None:
            if worker in self._running:
                self.said += unpacked_up(content)
                self._last[worker] = content
                self._tell(worker, Heard(worker=worker, content=content))

        self._workers[worker] = Worker(recipe, send, opener=self._opener)
        self._running[worker] = asyncio.get_running_loop().create_task(self._run(worker))

    async def _run(self, worker: str) -> None:
        self._tell(worker, Arrived(worker=worker, node=NODE.name, pid=1))
        try:
            await self._workers[worker].run()
            reason = "it ended"
        except Exception as error:  # noqa: BLE001 - as a process of its own would end
            reason = f"{type(error).__name__}: {error}"
        self._tell(worker, Lost(worker=worker, reason=reason))
        self._forget(worker)

    async def tell(self, worker: str, content: bytes) -> None:
        if worker in self._workers:
            told = unpacked_down(content)
            self.told += told
            self._asked.setdefault(worker, set()).update(one.query.step_id for one in told if isinstance(one, Ask))
            await self._workers[worker].hear(content)

    def has(self, worker: str, step_id: str) -> bool:
        """Whether a worker was ever asked about a step."""
        return step_id in self._asked.get(worker, ())

    def say(self, worker: str, messages: list[Up]) -> None:
        """Have a worker say this."""
        self.event(Heard(worker=worker, content=packed(messages)))

    def replay(self, worker: str) -> None:
        """Have a worker's last batch arrive once more."""
        self.event(Heard(worker=worker, content=self._last[worker]))

    @staticmethod
    def raw(answer: object) -> msgspec.Raw:
        """An answer as it is inside a message."""
        return msgspec.Raw(msgspec.msgpack.encode(answer))

    async def dismiss(self, worker: str) -> None:
        self.dismissed.append(worker)
        self.kill(worker, "dismissed")

    def kill(self, worker: str, reason: str = "killed") -> None:
        """End a worker as kill -9 would: nothing more is heard of it."""
        if worker in self._running or worker in self._waiting:
            self._forget(worker)
            self.event(Lost(worker=worker, reason=reason))

    def cut(self, reason: str = "the head is gone") -> None:
        """Lose the whole cluster."""
        for worker in [*self._running, *self._waiting]:
            self._forget(worker)
        self._cut = True
        self.event(Cut(reason=reason))

    def join(self) -> None:
        """Reach it again."""
        self._cut = False
        self.event(Joined(cluster=CLUSTER))

    async def aclose(self) -> None:
        self.closed = True
        for worker in [*self._running, *self._waiting]:
            self._forget(worker)
        self._on_event = None

    def _tell(self, worker: str, event: Event) -> None:
        if worker in self._running or isinstance(event, Arrived):
            self.event(event)

    def event(self, event: Event) -> None:
        """Tell the pool."""
        if self._on_event is not None:
            self._on_event(event)

    def _forget(self, worker: str) -> None:
        self._waiting.pop(worker, None)
        self._workers.pop(worker, None)
        running = self._running.pop(worker, None)
        if running is not None and running is not asyncio.current_task():
            running.cancel()
