"""Single questions in, batches out: one worker thread runs the model while the event loop stays free."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

from grounding.grounders.hf.options import ModelFailed

QuestionT = TypeVar("QuestionT")
AnswerT = TypeVar("AnswerT")
T = TypeVar("T")

_STOPPED = "the run was stopped before the model answered"


class Batcher(Generic[QuestionT, AnswerT]):
    """Collects questions until a batch is full or the first of them has waited long enough, then asks them together.

    ``ask`` runs in the one worker thread and gives one answer per question, in order. Where it raises, the batch's
    questions are asked one by one: a question fails only by its own fault, and what fits alone is answered.
    """

    def __init__(
        self, ask: Callable[[Sequence[QuestionT]], Sequence[AnswerT]], *, size: int, wait_s: float, name: str = "model"
    ) -> None:
        self._ask = ask
        self._size = size
        self._wait_s = wait_s
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._waiting: asyncio.Queue[tuple[QuestionT, asyncio.Future[AnswerT]]] = asyncio.Queue()
        self._collector: asyncio.Task[None] | None = None
        self._closed = False

    async def run(self, work: Callable[[], T]) -> T:
        """Do something else in the worker thread, such as loading the model."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def submit(self, question: QuestionT) -> AnswerT:
        """Ask one question; waits for its batch.

        Raises:
            ModelFailed: the model could not answer it, or the batcher is closed.
        """
        if self._closed:
            raise ModelFailed(_STOPPED)
        future: asyncio.Future[AnswerT] = asyncio.get_running_loop().create_future()
        self._waiting.put_nowait((question, future))
        if self._collector is None or self._collector.done():
            self._collector = asyncio.create_task(self._collect())
        return await future

    async def aclose(self) -> None:
        """Stop; a batch that the model is working on can't be interrupted and is let run out."""
        self._closed = True
        if self._collector is not None:
            self._collector.cancel()
            await asyncio.wait([self._collector])
        while not self._waiting.empty():
            _fail(self._waiting.get_nowait()[1])
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _collect(self) -> None:
        while True:
            batch = await self._next_batch()
            try:
                await self._answer(batch)
            finally:
                for _, future in batch:
                    _fail(future)

    async def _next_batch(self) -> list[tuple[QuestionT, asyncio.Future[AnswerT]]]:
        batch = [await self._waiting.get()]
        loop = asyncio.get_running_loop()
        until = loop.time() + self._wait_s
        try:
            while len(batch) < self._size:
                if not self._waiting.empty():
                    batch.append(self._waiting.get_nowait())
                    continue
                try:
                    batch.append(await asyncio.wait_for(self._waiting.get(), until - loop.time()))
                except TimeoutError:
                    break
        except asyncio.CancelledError:
            for _, future in batch:
                _fail(future)
            raise
        return [(question, future) for question, future in batch if not future.done()]

    async def _answer(self, batch: list[tuple[QuestionT, asyncio.Future[AnswerT]]]) -> None:
        if not batch:
            return
        asked = self.run(lambda: self._ask([question for question, _ in batch]))
        # Gathered, so that what the model raises comes back as a value, of whatever type it is.
        (answers,) = await asyncio.gather(asked, return_exceptions=True)
        if not isinstance(answers, BaseException):
            for (_, future), answer in zip(batch, answers, strict=True):
                if not future.done():
                    future.set_result(answer)
        elif isinstance(answers, ModelFailed) and len(batch) > 1:
            for pair in batch:
                await self._answer([pair])
        elif isinstance(answers, Exception):
            for _, future in batch:
                if not future.done():
                    future.set_exception(answers)
        else:
            raise answers


def _fail(future: asyncio.Future[AnswerT]) -> None:
    if not future.done():
        future.set_exception(ModelFailed(_STOPPED))
