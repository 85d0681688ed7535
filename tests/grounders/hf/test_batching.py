"""Batches: whose failure it is, and stopping."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import pytest

from grounding.grounders.hf.loading import ModelFailed
from grounding.grounders.hf.local import Batcher


class Doubler:
    """Doubles numbers, and fails for the numbers that it is told."""

    def __init__(self, *, seconds: float = 0.0, bad: Sequence[int] = ()) -> None:
        self._seconds, self._bad = seconds, bad

    def __call__(self, numbers: Sequence[int]) -> list[int]:
        time.sleep(self._seconds)
        if any(number in self._bad for number in numbers):
            raise ModelFailed(f"can't double {list(numbers)}")
        return [2 * number for number in numbers]


def test_a_failure_is_only_that_of_its_own_question() -> None:
    async def scenario() -> list[int | BaseException]:
        batcher = Batcher(Doubler(bad=[2]), size=4, wait_s=0.05)
        answers = await asyncio.gather(*(batcher.submit(number) for number in range(4)), return_exceptions=True)
        await batcher.aclose()
        return answers

    answers = asyncio.run(scenario())
    assert [answers[0], answers[1], answers[3]] == [0, 2, 6]
    assert isinstance(answers[2], ModelFailed)
    assert str(answers[2]) == "can't double [2]"


def test_closing_fails_what_waits_and_what_comes_after() -> None:
    async def scenario() -> list[int | BaseException]:
        batcher = Batcher(Doubler(seconds=0.3), size=1, wait_s=0)
        waiting = [asyncio.create_task(batcher.submit(number)) for number in range(3)]
        await asyncio.sleep(0.05)
        await batcher.aclose()
        with pytest.raises(ModelFailed, match="stopped"):
            await batcher.submit(9)
        return await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 5)

    assert all(isinstance(answer, ModelFailed) for answer in asyncio.run(scenario()))
