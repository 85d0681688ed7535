"""Workers whose asker writes down each query that it is asked, in a file of its own process, and answers after a while.

Recipe: ``keep_in`` is the folder of the files, ``options.timeout`` the seconds that an answer takes,
``max_connections`` how many it takes at a time.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

from grounding.executors.opening import Asker
from grounding.executors.recipe import Recipe
from grounding.executors.worker import Worker
from grounding.options import EvalOptions
from grounding.records import Plan, Point, Prediction, Query

CLASS = "executors.ray.noting:NotingWorker"
FAILING = "executors.ray.noting:FailingWorker"
IDENTITY = "noting"


def recipe(folder: Path | str = "", *, delay_s: float = 0.0, at_once: int = 4, **fields: object) -> Recipe:
    options = EvalOptions(timeout=delay_s)
    return Recipe(
        room="grounder",
        options=options,
        identity=IDENTITY,
        keep_in=str(folder),
        max_connections=at_once,
        **fields,  # type: ignore[arg-type]
    )


class NotingWorker(Worker):
    """A real worker around the asker that writes down."""

    def __init__(self, recipe: Recipe, send: Callable[[bytes], Awaitable[object] | None]) -> None:
        super().__init__(recipe, send, opener=_open)


class FailingWorker:
    """It breaks as soon as it runs."""

    def __init__(self, recipe: Recipe, send: Callable[[bytes], Awaitable[object] | None]) -> None:
        pass

    async def hear(self, content: bytes) -> None:
        pass

    async def run(self) -> None:
        raise RuntimeError("the disk is gone")


def _open(recipe: Recipe, *_: object, **__: object) -> Asker:
    asked = (Path(recipe.keep_in) / f"{os.getpid()}.asked").open("a") if recipe.keep_in else None

    async def ask(query: Query) -> Plan | Prediction:
        if asked is not None:
            asked.write(f"{query.step_id}\n")
            asked.flush()
        if recipe.options.timeout:
            await asyncio.sleep(recipe.options.timeout)
        shown = os.environ.get(query.instruction)  # The value of a variable, for those who ask for one.
        return Prediction(step_id=query.step_id, key=query.key, point=Point(x_px=1.0, y_px=2.0), raw=shown)

    async def nothing() -> None:
        pass

    return Asker(
        name="noting",
        identity=IDENTITY,
        max_concurrency=recipe.max_connections or 1,
        ask=ask,
        check=nothing,
        aclose=nothing,
    )
