"""A worker that writes down each query it is asked, in a file of its own, and answers it after a while.

Recipe: ``keep_in`` is the folder of the files, ``options.timeout`` the seconds that an answer takes,
``max_connections`` how many it works on at a time.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from grounding.executors.messages import Answered, Ask, Leave, Opened, packed, unpacked_down
from grounding.executors.recipe import Recipe
from grounding.records import Point, Prediction

_encoder = msgspec.msgpack.Encoder()


class Noting:
    """Answers every query with the same point."""

    def __init__(self, recipe: Recipe, send: Callable[[bytes], Awaitable[None]]) -> None:
        self._send = send
        self._delay_s = recipe.options.timeout or 0.0
        self._places = asyncio.Semaphore(recipe.max_connections or 8)
        self._asked = (Path(recipe.keep_in) / f"{os.getpid()}.asked").open("a") if recipe.keep_in else None
        self._left = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._identity = recipe.identity

    async def hear(self, content: bytes) -> None:
        answers = []
        for message in unpacked_down(content):
            if isinstance(message, Leave):
                self._left.set()
            elif isinstance(message, Ask):
                if self._delay_s:
                    task = asyncio.create_task(self._answer_later(message))
                    self._tasks.add(task)
                    task.add_done_callback(self._tasks.discard)
                else:
                    answers.append(self._answer(message))
        if answers:
            await self._send(packed(answers))

    async def run(self) -> None:
        await self._send(packed([Opened(name="noting", identity=self._identity, max_concurrency=8)]))
        await self._left.wait()
        await asyncio.gather(*self._tasks)

    def _answer(self, ask: Ask) -> Answered:
        if self._asked is not None:
            self._asked.write(f"{ask.query.step_id}\n")
            self._asked.flush()
        answer = Prediction(step_id=ask.query.step_id, key=ask.query.key, point=Point(x_px=1.0, y_px=2.0))
        return Answered(number=ask.number, answer=msgspec.Raw(_encoder.encode(answer)))

    async def _answer_later(self, ask: Ask) -> None:
        async with self._places:
            answered = self._answer(ask)
            await asyncio.sleep(self._delay_s)
        await self._send(packed([answered]))
