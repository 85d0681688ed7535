"""A model in this process: loaded once, single questions in, batches out, answers read as over a chat endpoint.

One worker thread runs the model while the event loop stays free.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

from grounding.cards import ChatCard, Json
from grounding.data.images import picture_sizes
from grounding.grounders.hf.generation import Generator, LocalReply, Prompt, generation_for, prepare_prompt
from grounding.grounders.hf.loading import HfOptions, ModelFailed, checkpoint_identity, fetch, hf_identity, load
from grounding.llm.chat import Exchange, too_long
from grounding.records import Failure, ImageSizes, Query

PREPARE_THREADS = 2
_STOPPED = "the run was stopped before the model answered"

QuestionT = TypeVar("QuestionT")
AnswerT = TypeVar("AnswerT")
T = TypeVar("T")


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
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def submit(self, question: QuestionT) -> AnswerT:
        """Ask one question; waits for its batch. Raises ModelFailed: the model could not answer it, or the batcher is
        closed.
        """
        if self._closed:
            raise ModelFailed(_STOPPED)
        future: asyncio.Future[AnswerT] = asyncio.get_running_loop().create_future()
        self._waiting.put_nowait((question, future))
        if self._collector is None or self._collector.done():
            self._collector = asyncio.create_task(self._collect())
        return await future

    async def aclose(self) -> None:
        self._closed = True
        if self._collector is not None:
            self._collector.cancel()
            await asyncio.wait([self._collector])
        while not self._waiting.empty():
            _fail(self._waiting.get_nowait()[1])
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _collect(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            batch = [await self._waiting.get()]
            try:
                until = loop.time() + self._wait_s
                while len(batch) < self._size:
                    if self._waiting.empty():
                        try:
                            batch.append(await asyncio.wait_for(self._waiting.get(), until - loop.time()))
                        except TimeoutError:
                            break
                    else:
                        batch.append(self._waiting.get_nowait())
                await self._answer([pair for pair in batch if not pair[1].done()])
            finally:
                for _, future in batch:
                    _fail(future)

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


ReplyT = TypeVar("ReplyT")

Engine = Callable[[Sequence[Prompt]], Sequence[ReplyT]]


class LocalModel(Generic[ReplyT]):
    """A model that is loaded when it is first needed and asked in batches, off the event loop. ``load`` runs once, in
    the worker thread, and gives the function that answers a batch.
    """

    def __init__(self, card: ChatCard, load: Callable[[], Engine[ReplyT]], *, batch_size: int, wait_s: float) -> None:
        self._card = card
        self._load = load
        self._engine: Engine[ReplyT] | None = None
        self._loading = asyncio.Lock()
        self._batcher: Batcher[Prompt, ReplyT] = Batcher(self._answer, size=batch_size, wait_s=wait_s, name="hf-model")
        self._threads = ThreadPoolExecutor(PREPARE_THREADS, thread_name_prefix="hf-pictures")
        self.max_concurrency = 2 * batch_size
        """One batch with the model and one being made ready."""

    async def check(self) -> None:
        async with self._loading:
            if self._engine is None:
                self._engine = await self._batcher.run(self._load)

    async def ask(self, query: Query) -> tuple[ReplyT, ImageSizes] | Exchange:
        """The answer to a question with the picture's sizes; or what failed: the picture can't be read, or the model.
        Raises UserError: the model can't be loaded.
        """
        long = too_long(self._card, query.instruction)
        if long is not None:
            return Exchange(failure=long)
        await self.check()
        try:
            sizes = picture_sizes(query.screenshot.size, self._card.image)
            prompt = await asyncio.get_running_loop().run_in_executor(self._threads, prepare_prompt, self._card, query)
        except (OSError, ValueError, MemoryError) as error:
            said = "out of memory for this picture" if isinstance(error, MemoryError) else error
            return Exchange(failure=Failure(kind="error", message=f"{query.screenshot.path}: {said}"))
        try:
            return await self._batcher.submit(prompt), sizes
        except ModelFailed as error:
            return Exchange(failure=Failure(kind="error", message=str(error)), sizes=sizes)

    async def aclose(self) -> None:
        await self._batcher.aclose()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._engine = None

    def _answer(self, prompts: Sequence[Prompt]) -> Sequence[ReplyT]:
        if self._engine is None:
            raise ModelFailed("the model was let go")
        return self._engine(prompts)


class HfChat:
    """A card's model that answers as a ``ChatModel`` does, without a server. Raises UserError: on making it, where a
    parameter of the card can't be honoured, a package or the folder is missing.
    """

    def __init__(self, card: ChatCard, options: HfOptions, parameters: dict[str, Json]) -> None:
        self.card = card
        generation = generation_for(parameters, card=card.name)
        self.identity = hf_identity(card, options, parameters, checkpoint_identity(card, options))
        self._model: LocalModel[LocalReply] = LocalModel(
            card,
            lambda: Generator(load(fetch(card, options), card, options), card, generation),
            batch_size=1 if generation.alone else options.batch_size,
            wait_s=options.wait_ms / 1000,
        )
        self.max_concurrency = self._model.max_concurrency
        self.check, self.aclose = self._model.check, self._model.aclose

    async def ask(self, query: Query) -> Exchange:
        answer = await self._model.ask(query)
        if isinstance(answer, Exchange):
            return answer
        reply, sizes = answer
        return Exchange(completion=reply.completion, call=reply.call, sizes=sizes)
