"""The far end of a pool: opens its recipe, and hands over every answer as soon as it is there.

Nothing here knows what carries the messages: whoever runs a worker feeds it batches and is given batches to send.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec

from grounding.budget import BudgetReached
from grounding.errors import UserError
from grounding.executors.errors import ItemBroke
from grounding.executors.failing import failed
from grounding.executors.messages import (
    Answered,
    Ask,
    Broke,
    Do,
    Granted,
    Kept,
    Leave,
    Leaving,
    Limited,
    NotOpened,
    Opened,
    PictureBytes,
    Refused,
    Retried,
    Up,
    Warned,
    packed,
    unpacked_down,
)
from grounding.executors.opening import Asker, open_asker
from grounding.executors.recipe import Recipe
from grounding.executors.remotebudget import RemoteBudget
from grounding.executors.seeing import PictureRequests
from grounding.executors.stageopening import OpenedStage, Surroundings, open_stage
from grounding.records import Plan, Prediction, Query, Screenshot
from grounding.serving.machine import VISIBLE
from grounding.sources.pictures import located

HEALTH_REPLY_S = 30.0
HEALTH_EVERY_S = 1.0


class Worker:
    """One worker. All of it belongs to one event loop."""

    def __init__(
        self,
        recipe: Recipe,
        send: Callable[[bytes], Awaitable[object] | None],
        *,
        opener: Callable[..., Asker] = open_asker,
    ) -> None:
        """Nothing is opened yet.

        Args:
            recipe: What it opens.
            send: Takes a batch for the pool; awaited where it gives something to wait for.
            opener: Opens the recipe.
        """
        self._recipe = recipe
        self._send = send
        self._opener = opener
        self._budget = RemoteBudget(recipe.options.cost_limit, self._say)
        self._pictures = PictureRequests(self._say)
        self._encode = msgspec.msgpack.Encoder().encode
        self._out: list[Up] = []
        self._wake = asyncio.Event()
        self._end = asyncio.Event()
        self._asker: Asker | OpenedStage | None = None
        self._answering: set[asyncio.Task[None]] = set()
        self._leaving = False
        self._closed = False
        self._fault: BaseException | None = None
        self._unusable = ""
        self._base_url = ""

    async def hear(self, content: bytes) -> None:
        """Take a batch from the pool.

        Raises:
            msgspec.DecodeError: it is none.
        """
        for message in unpacked_down(content):
            if isinstance(message, Ask | Do):
                task = asyncio.get_running_loop().create_task(self._answer(message))
                self._answering.add(task)
                task.add_done_callback(self._answered)
            elif isinstance(message, Granted):
                self._budget.granted(message)
            elif isinstance(message, Refused):
                self._budget.refused(message)
            elif isinstance(message, PictureBytes):
                self._pictures.came(message)
            elif isinstance(message, Leave):
                self._leaving = True
                if message.at_once or not self._answering:
                    self._end.set()

    async def run(self) -> None:
        """Open, answer, and come back once the pool has no more use for it, or it for the pool.

        What can't be opened for a reason that a user can mend is told to the pool; anything else is raised.
        """
        speaking = asyncio.create_task(self._speak())
        try:
            async with AsyncExitStack() as stack:
                try:
                    self._asker = await self._open(stack)
                except UserError as error:
                    self._say(NotOpened(message=str(error)))
                    return
                except Exception as error:
                    self._say(Leaving(reason=f"{type(error).__name__}: {error}"))
                    raise
                self._say(
                    Opened(
                        name=self._asker.name,
                        identity=self._asker.identity,
                        max_concurrency=self._asker.max_concurrency,
                        base_url=self._base_url,
                        gpus=os.environ.get(VISIBLE, ""),
                    )
                )
                await self._end.wait()
                for task in self._answering:
                    task.cancel()
                await asyncio.gather(*self._answering, return_exceptions=True)
                if self._unusable:
                    # It holds for every question: the pool decides what becomes of the run.
                    self._say(NotOpened(message=self._unusable))
                if self._fault is not None:
                    raise self._fault
        finally:
            self._closed = True
            self._wake.set()
            await speaking

    async def _open(self, stack: AsyncExitStack) -> Asker | OpenedStage:
        recipe = self._recipe
        kept = Path(recipe.keep_in) if recipe.keep_in else None
        if kept is not None and not kept.is_dir():
            kept = None
        if recipe.beside is not None:
            from grounding.executors.beside import server_beside

            log_dir = kept or Path(tempfile.mkdtemp(prefix="grounding-worker-"))
            self._base_url = await stack.enter_async_context(server_beside(recipe.beside, log_dir, self._give_up))
        if recipe.stage is not None:
            opened = open_stage(
                recipe.stage,
                Surroundings(
                    budget=self._budget,
                    on_retry=lambda: self._say(Retried()),
                    keep=lambda record: self._say(Kept(record=msgspec.Raw(self._encode(record)))),
                    locate=self._located,
                    base_url=self._base_url or recipe.base_url,
                    max_connections=recipe.max_connections,
                ),
            )
            stack.push_async_callback(opened.aclose)
            await opened.check()
            return opened
        asker = self._opener(recipe, self._budget, lambda: self._say(Retried()), base_url=self._base_url)
        stack.push_async_callback(asker.aclose)
        if asker.keep_in is not None and recipe.keep_in:
            if kept is not None:
                asker.keep_in(kept)
            else:
                self._say(Warned(text=f"{recipe.keep_in} is not on this machine: the pictures made here are not kept"))
        await asker.check()
        return asker

    async def _answer(self, asked: Ask | Do) -> None:
        try:
            answer = await (self._ask(asked.query) if isinstance(asked, Ask) else self._do(asked))
        except BudgetReached as reached:
            self._say(Limited(number=asked.number, message=str(reached)))
            return
        except UserError as error:
            # Said once everything else is broken off, as nothing that comes after it is heard.
            self._unusable = self._unusable or str(error)
            self._end.set()
            return
        except ItemBroke as broke:
            self._say(Broke(number=asked.number, message=str(broke)))
            return
        if self._base_url and answer.failure is not None and answer.failure.kind == "error":
            await self._server_is_well()
        self._say(Answered(number=asked.number, answer=msgspec.Raw(self._encode(answer))))

    async def _ask(self, query: Query) -> Plan | Prediction:
        assert isinstance(self._asker, Asker), "a pool asks nobody who is not ready"
        try:
            screenshot = await self._located(query.screenshot)
            if screenshot.path != query.screenshot.path:
                query = msgspec.structs.replace(query, screenshot=screenshot)
            return await self._asker.ask(query)
        except (BudgetReached, UserError):
            raise
        except OSError as error:
            return failed(self._recipe.room, query, str(error))
        except Exception as error:  # noqa: BLE001 - one question must not take the others of this worker with it
            return failed(self._recipe.room, query, f"{type(error).__name__}: {error}")

    async def _do(self, asked: Do) -> Any:
        assert isinstance(self._asker, OpenedStage), "a pool asks nobody who is not ready"
        try:
            return await self._asker.do(asked)
        except (BudgetReached, UserError):
            raise
        except Exception as error:
            raise ItemBroke(f"{type(error).__name__}: {error}") from error

    async def _located(self, screenshot: Screenshot) -> Screenshot:
        return await located(screenshot, self._recipe.data, self._pictures.want)

    async def _server_is_well(self) -> None:
        """Hold an error back until the server beside is known to be well.

        If it is not, the error was the server's end and no answer: the worker gives up meanwhile, and the question is
        asked elsewhere.
        """
        from grounding.executors.health import ask_health

        while await asyncio.to_thread(ask_health, self._base_url, HEALTH_REPLY_S):
            await asyncio.sleep(HEALTH_EVERY_S)

    def _answered(self, task: asyncio.Task[None]) -> None:
        self._answering.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:  # A fault of this file: the pool must not wait for an answer that never comes.
            self._fault = error
            self._give_up(f"{type(error).__name__}: {error}")
        elif self._leaving and not self._answering:
            self._end.set()

    def _give_up(self, reason: str) -> None:
        """No answer will be right any more, as where the server beside has ended: it all has to be asked elsewhere."""
        self._say(Leaving(reason=reason))
        for task in self._answering:
            task.cancel()
        self._end.set()

    def _say(self, message: Up) -> None:
        self._out.append(message)
        self._wake.set()

    async def _speak(self) -> None:
        """Hand over all that there is to say, in one batch, whenever there is something."""
        while self._out or not self._closed:
            await self._wake.wait()
            self._wake.clear()
            if self._out:
                batch, self._out = self._out, []
                sent = self._send(packed(batch))
                if sent is not None:
                    await sent
