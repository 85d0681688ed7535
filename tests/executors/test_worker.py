"""A worker: opens, answers as each answer comes, asks for pictures and money, and never takes a dead server's word."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fakes.askers import IDENTITY, Gate, answer, expected, opener, queries, recipe, screenshot
from fakes.chat_server import ChatServer, raw

from grounding.budget import Budget, BudgetReached
from grounding.errors import UserError
from grounding.executors import beside as beside_module
from grounding.executors.messages import (
    Answered,
    Ask,
    Down,
    Granted,
    Leave,
    Leaving,
    Limited,
    NotOpened,
    Opened,
    PictureBytes,
    Refused,
    Reserve,
    Settled,
    Up,
    WantPicture,
    packed,
    unpacked_up,
)
from grounding.executors.opening import Asker
from grounding.executors.recipe import Beside, Recipe
from grounding.executors.remotebudget import RemoteBudget
from grounding.executors.worker import Worker
from grounding.records import Failure, Prediction, Query, Screenshot, Size
from grounding.serving.command import ServerOptions


class Bench:
    """A worker and all that it says."""

    def __init__(self, opens: Callable[..., Asker], asked: Recipe | None = None) -> None:
        self.batches: list[list[Up]] = []
        self.worker = Worker(asked or recipe(), self._take, opener=opens)
        self.running = asyncio.create_task(self.worker.run())

    def _take(self, content: bytes) -> None:
        self.batches.append(unpacked_up(content))

    @property
    def said(self) -> list[Up]:
        return [message for batch in self.batches for message in batch]

    def of(self, kind: type) -> list[Any]:
        return [message for message in self.said if isinstance(message, kind)]

    async def tell(self, *messages: Down) -> None:
        await self.worker.hear(packed(messages))

    async def until(self, kind: type, count: int = 1) -> list[Any]:
        async with asyncio.timeout(60):
            while len(self.of(kind)) < count:
                await asyncio.sleep(0.002)
        return self.of(kind)

    async def leave(self) -> None:
        await self.tell(Leave())
        await self.running


def asks(asked: list[Query]) -> list[Ask]:
    return [Ask(number=number, query=query) for number, query in enumerate(asked, 1)]


def test_answers_leave_as_they_come_and_those_that_are_there_at_once_together(tmp_path: Path) -> None:
    async def main() -> None:
        gate = Gate()
        bench = Bench(opener(gate, at_once=9))
        (opened,) = await bench.until(Opened)
        assert opened == Opened(name="asker", identity=IDENTITY, max_concurrency=9)
        asked = queries(5, screenshot(tmp_path))
        await bench.tell(*asks(asked))
        async with asyncio.timeout(60):
            while len(gate.open) < 5:
                await asyncio.sleep(0.002)
        gate.let("s/3")
        await bench.until(Answered)
        gate.let_all()
        await bench.until(Answered, 5)
        assert [[each.number for each in batch] for batch in bench.batches[1:]] == [[4], [1, 2, 3, 5]]
        for message in bench.of(Answered):
            decoded = msgspec.msgpack.decode(message.answer, type=Prediction)
            assert decoded == expected(asked[message.number - 1])
        await bench.leave()

    asyncio.run(main())


def test_it_leaves_only_when_everything_is_answered(tmp_path: Path) -> None:
    async def main() -> None:
        gate, closed = Gate(), asyncio.Event()

        async def close() -> None:
            closed.set()

        def opens(*_given: object, **_named: str) -> Asker:
            return msgspec.structs.replace(opener(gate)(*_given, **_named), aclose=close)

        bench = Bench(opens)
        await bench.until(Opened)
        await bench.tell(*asks(queries(1, screenshot(tmp_path))), Leave())
        await asyncio.sleep(0.02)
        assert not bench.running.done()
        gate.let_all()
        await bench.running
        assert len(bench.of(Answered)) == 1
        assert closed.is_set()

    asyncio.run(main())


def test_an_endpoint_that_refuses_everything_is_told_and_ends_it(tmp_path: Path) -> None:
    async def main() -> None:
        async def refuse(_query: Query) -> Prediction:
            raise UserError("the endpoint refuses every request")

        bench = Bench(opener(refuse))
        await bench.until(Opened)
        await bench.tell(*asks(queries(2, screenshot(tmp_path))))
        await bench.running
        assert bench.of(NotOpened)[0] == NotOpened(message="the endpoint refuses every request")
        assert not bench.of(Answered)

    asyncio.run(main())


def test_what_fails_its_check_is_not_opened() -> None:
    async def main() -> None:
        async def check() -> None:
            raise UserError("nothing answers at http://127.0.0.1:1/v1")

        bench = Bench(lambda *given, **named: msgspec.structs.replace(opener()(*given, **named), check=check))
        await bench.running
        assert bench.said == [NotOpened(message="nothing answers at http://127.0.0.1:1/v1")]

    asyncio.run(main())


def test_a_fault_while_answering_fails_that_question_alone(tmp_path: Path) -> None:
    async def main() -> None:
        async def faulty(query: Query) -> Prediction:
            if query.step_id == "s/0":
                raise ZeroDivisionError("division by zero")
            return await answer(query)

        bench = Bench(opener(faulty))
        await bench.until(Opened)
        asked = queries(2, screenshot(tmp_path))
        await bench.tell(*asks(asked))
        found = {
            message.number: msgspec.msgpack.decode(message.answer, type=Prediction)
            for message in await bench.until(Answered, 2)
        }
        assert found[1].failure == Failure(kind="error", message="ZeroDivisionError: division by zero")
        assert found[2] == expected(asked[1])
        await bench.leave()

    asyncio.run(main())


def test_a_picture_that_is_not_here_comes_from_the_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    from grounding.sources import pictures

    pictures._store.cache_clear()
    content = os.urandom(64)
    there = Screenshot(
        path="/no/such/folder/a.png", size=Size(width=1, height=1), sha256=hashlib.sha256(content).hexdigest()
    )
    shown: list[bytes] = []

    async def look(query: Query) -> Prediction:
        shown.append(Path(query.screenshot.path).read_bytes())
        return expected(query)

    async def main() -> None:
        bench = Bench(opener(look))
        await bench.until(Opened)
        await bench.tell(*asks(queries(3, there)))
        await bench.until(WantPicture)
        await asyncio.sleep(0.01)
        assert bench.of(WantPicture) == [WantPicture(sha256=there.sha256, path=there.path)]
        await bench.tell(PictureBytes(sha256=there.sha256, content=content))
        await bench.until(Answered, 3)
        assert shown == [content] * 3
        # One that nobody has: said in the answer, and no other question hears of it.
        missing = msgspec.structs.replace(there, path="/no/b.png", sha256="0" * 64)
        await bench.tell(Ask(number=9, query=queries(1, missing)[0]))
        await bench.until(WantPicture, 2)
        await bench.tell(PictureBytes(sha256="0" * 64, content=None))
        last = (await bench.until(Answered, 4))[-1]
        failure = msgspec.msgpack.decode(last.answer, type=Prediction).failure
        assert failure is not None
        assert failure.kind == "error"
        assert "/no/b.png can't be read on this machine" in failure.message
        await bench.leave()

    try:
        asyncio.run(main())
    finally:
        pictures._store.cache_clear()


@asynccontextmanager
async def pretended(base_url: str, lost: list[Callable[[str], None]]) -> AsyncIterator[str]:
    yield base_url
    lost.clear()


@pytest.mark.parametrize("dies", [True, False])
def test_an_error_is_held_back_until_the_server_beside_is_known_to_be_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dies: bool
) -> None:
    """An error that is the end of the server is no answer: the question goes to another worker."""

    async def fails(query: Query) -> Prediction:
        failure = Failure(kind="error", message="connection failed")
        return Prediction(step_id=query.step_id, key=query.key, point=None, failure=failure)

    async def main(server: ChatServer) -> None:
        lost: list[Callable[[str], None]] = []

        def beside(_wanted: Beside, _folder: Path, on_lost: Callable[[str], None]) -> Any:
            lost.append(on_lost)
            return pretended(server.base_url, lost)

        monkeypatch.setattr(beside_module, "server_beside", beside)
        card = make_card()
        asked = msgspec.structs.replace(recipe(), beside=Beside(card=card, options=ServerOptions()))
        bench = Bench(opener(fails), asked)
        (opened,) = await bench.until(Opened)
        assert opened.base_url == server.base_url
        await bench.tell(*asks(queries(2, screenshot(tmp_path))))
        async with asyncio.timeout(60):
            while not any(received.path == "/health" for received in server.requests):
                await asyncio.sleep(0.005)
        if dies:
            await asyncio.sleep(0.05)
            assert not bench.of(Answered)
            lost[0]("the server ended by itself (signal 9)")
            await bench.running
            assert bench.of(Leaving) == [Leaving(reason="the server ended by itself (signal 9)")]
            assert not bench.of(Answered)
        else:
            await bench.until(Answered, 2)
            await bench.leave()
            assert not bench.of(Leaving)

    with ChatServer() as server:
        if not dies:
            well = raw(b"{}")
            monkeypatch.setattr(server, "_behaviour", lambda _request: well)
        asyncio.run(main(server))


def make_card() -> Any:
    from fakes.make import grounder_card

    return grounder_card()


# --- money --------------------------------------------------------------------------------------------------------


def test_money_is_asked_for_before_and_told_after() -> None:
    async def main() -> None:
        said: list[Up] = []
        budget = RemoteBudget(1.0, said.append)
        first = asyncio.create_task(budget.reserve(0.2))
        second = asyncio.create_task(budget.reserve(None))
        await asyncio.sleep(0)
        assert said == [Reserve(token=1, most_usd=0.2), Reserve(token=2, most_usd=None)]
        budget.granted(Granted(token=2, reserved_usd=0.5))
        budget.granted(Granted(token=1, reserved_usd=0.2))
        assert (await first, await second) == (0.2, 0.5)
        budget.settle(await second, 0.1)
        budget.settle(await first, None, 0.2)
        assert said[2:] == [
            Settled(token=2, cost_usd=0.1),
            Settled(token=1, cost_usd=None, unreported_usd=0.2),
        ]
        assert (budget.spent_usd, budget.unreported_usd) == (0.1, 0.2)

    asyncio.run(main())


def test_no_room_is_the_limit_reached(tmp_path: Path) -> None:
    async def main() -> None:
        held: list[Budget] = []

        async def pay(query: Query) -> Prediction:
            await held[0].reserve(5.0)
            return expected(query)

        def opens(asked: Recipe, budget: Budget, on_retry: Callable[[], None], **named: str) -> Asker:
            held.append(budget)
            return opener(pay)(asked, budget, on_retry, **named)

        bench = Bench(opens, recipe(cost_limit=1.0))
        await bench.until(Opened)
        await bench.tell(*asks(queries(1, screenshot(tmp_path))))
        (asked,) = await bench.until(Reserve)
        await bench.tell(Refused(token=asked.token, message="the cost limit of $1 is reached"))
        (limited,) = await bench.until(Limited)
        assert limited == Limited(number=1, message="the cost limit of $1 is reached")
        await bench.leave()

    asyncio.run(main())


@pytest.mark.parametrize("granted_first", [True, False])
def test_money_that_nobody_waits_for_any_more_goes_back(granted_first: bool) -> None:
    async def main() -> None:
        said: list[Up] = []
        budget = RemoteBudget(1.0, said.append)
        task = asyncio.create_task(budget.reserve(0.2))
        await asyncio.sleep(0)
        if granted_first:
            budget.granted(Granted(token=1, reserved_usd=0.2))
            task.cancel()
        else:
            task.cancel()
            await asyncio.sleep(0)
            budget.granted(Granted(token=1, reserved_usd=0.2))
        with pytest.raises(asyncio.CancelledError):
            await task
        assert said == [Reserve(token=1, most_usd=0.2), Settled(token=1, cost_usd=None)]

    asyncio.run(main())


def test_a_refusal_is_raised_and_without_a_limit_nothing_is_said() -> None:
    async def main() -> None:
        said: list[Up] = []
        budget = RemoteBudget(None, said.append)
        assert await budget.reserve(3.0) == 0.0
        budget.settle(0.0, 1.0)
        assert said == []
        assert budget.spent_usd == 1.0
        limited = RemoteBudget(1.0, said.append)
        waiting = asyncio.create_task(limited.reserve(0.2))
        await asyncio.sleep(0)
        limited.refused(Refused(token=1, message="full"))
        with pytest.raises(BudgetReached, match="full"):
            await waiting

    asyncio.run(main())
