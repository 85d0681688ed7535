"""Batches: their size and order, the free event loop, failures, and stopping."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence

import pytest

from grounding.grounders.hf.loading import ModelFailed
from grounding.grounders.hf.local import Batcher


class Doubler:
    """Doubles numbers, notes the batches that it was asked, and fails for the numbers that it is told."""

    def __init__(self, *, seconds: float = 0.0, bad: Sequence[int] = (), most: int = 100) -> None:
        self.batches: list[list[int]] = []
        self.threads: set[int] = set()
        self._seconds, self._bad, self._most = seconds, bad, most

    def __call__(self, numbers: Sequence[int]) -> list[int]:
        self.batches.append(list(numbers))
        self.threads.add(threading.get_ident())
        time.sleep(self._seconds)
        if len(numbers) > self._most or any(number in self._bad for number in numbers):
            raise ModelFailed(f"can't double {list(numbers)}")
        return [2 * number for number in numbers]


def test_questions_of_one_moment_share_full_batches_in_order() -> None:
    async def scenario() -> tuple[list[int], Doubler]:
        ask = Doubler()
        batcher = Batcher(ask, size=4, wait_s=0.05)
        answers = await asyncio.gather(*(batcher.submit(number) for number in range(10)))
        await batcher.aclose()
        return answers, ask

    answers, ask = asyncio.run(scenario())
    assert answers == [2 * number for number in range(10)]
    assert ask.batches == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert len(ask.threads) == 1
    assert threading.get_ident() not in ask.threads


def test_a_lone_question_waits_no_longer_than_it_was_told() -> None:
    async def scenario() -> float:
        batcher = Batcher(Doubler(), size=100, wait_s=0.05)
        await batcher.submit(0)
        started = time.monotonic()
        assert await batcher.submit(1) == 2
        took = time.monotonic() - started
        await batcher.aclose()
        return took

    assert 0.04 < asyncio.run(scenario()) < 2


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
