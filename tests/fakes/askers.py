"""What the workers of the tests open in place of a planner or grounder, and the questions for it."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from pathlib import Path

from grounding.budget import Budget
from grounding.executors.opening import Asker
from grounding.executors.recipe import DataPlace, Recipe
from grounding.options import EvalOptions
from grounding.records import Plan, Point, Prediction, Query, Screenshot, Size

IDENTITY = "an asker of the tests"
Ask = Callable[[Query], Awaitable[Prediction]]


async def nothing() -> None:
    """Nothing to check, and nothing to close."""


def expected(query: Query) -> Prediction:
    """What an asker of the tests answers: a point that is another for each step."""
    x_px = int(hashlib.sha256(query.step_id.encode()).hexdigest()[:6], 16) / 7
    return Prediction(step_id=query.step_id, key=query.key, point=Point(x_px=x_px, y_px=0.1))


async def answer(query: Query) -> Prediction:
    return expected(query)


class Gate:
    """An asker that answers only what it is let: ``asked`` are the open questions, in order."""

    def __init__(self) -> None:
        self.asked: list[Query] = []
        self.most = 0
        self._open: dict[str, asyncio.Future[None]] = {}

    async def __call__(self, query: Query) -> Prediction:
        self.asked.append(query)
        future = self._open[query.step_id] = asyncio.get_running_loop().create_future()
        self.most = max(self.most, len(self._open))
        try:
            await future
        finally:
            if self._open.get(query.step_id) is future:
                del self._open[query.step_id]
        return expected(query)

    @property
    def open(self) -> list[str]:
        return list(self._open)

    def let(self, step_id: str) -> None:
        self._open[step_id].set_result(None)

    def let_all(self) -> None:
        for future in list(self._open.values()):
            if not future.done():
                future.set_result(None)


def opener(ask: Ask = answer, *, at_once: int = 4, identity: str = IDENTITY) -> Callable[..., Asker]:
    """Opens every recipe as this asker."""

    def open_it(_recipe: Recipe, _budget: Budget, _on_retry: Callable[[], None], *, base_url: str = "") -> Asker:  # noqa: ARG001
        return Asker(name="asker", identity=identity, max_concurrency=at_once, ask=ask, check=nothing, aclose=nothing)

    return open_it


def recipe(*, room: str = "grounder", data: DataPlace | None = None, **options: object) -> Recipe:
    made = EvalOptions(**options)  # type: ignore[arg-type]
    return Recipe(room=room, options=made, identity=IDENTITY, data=data)  # type: ignore[arg-type]


def screenshot(folder: Path, content: bytes = b"a picture") -> Screenshot:
    """A file that stands for one: its hash is right, and nobody looks inside."""
    path = folder / f"{hashlib.sha256(content).hexdigest()[:8]}.png"
    path.write_bytes(content)
    return Screenshot(path=str(path), size=Size(width=4, height=3), sha256=hashlib.sha256(content).hexdigest())


def queries(count: int, picture: Screenshot) -> list[Query]:
    return [
        Query(step_id=f"s/{number}", key=f"key {number}", screenshot=picture, instruction=f"click {number}")
        for number in range(count)
    ]


def plan(query: Query) -> Plan:
    return Plan(step_id=query.step_id, key=query.key, text=query.instruction)
