"""A pool takes nothing from a worker that is not what it asked for."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from fakes.askers import IDENTITY, Gate, expected, opener, queries, screenshot
from fakes.inprocess_link import InProcessLink

from executors.pools import Told, asking, made, until
from grounding.errors import UserError
from grounding.executors.link import Heard
from grounding.executors.messages import Answered, Warned, packed
from grounding.records import Prediction, Query


def test_another_identity_is_refused_and_named(tmp_path: Path) -> None:
    async def main() -> None:
        pool = made(InProcessLink(opener(identity="version 2")))
        with pytest.raises(UserError, match=f"on here would answer otherwise .*Here: {IDENTITY}. There: version 2"):
            await pool.ask(queries(1, screenshot(tmp_path))[0])
        await pool.aclose()

    asyncio.run(main())


def test_what_a_user_can_mend_on_a_node_is_said(tmp_path: Path) -> None:
    async def main() -> None:
        def refuse(*_given: object, **_named: object) -> None:
            raise UserError("needs a key: set OPENAI_API_KEY")

        pool = made(InProcessLink(refuse))  # type: ignore[arg-type]
        with pytest.raises(UserError, match=r"needs a key: set OPENAI_API_KEY .worker grounder-.* on here"):
            await pool.ask(queries(1, screenshot(tmp_path))[0])
        await pool.aclose()

    asyncio.run(main())


def test_answers_to_nothing_and_answers_twice_are_ignored(tmp_path: Path) -> None:
    async def main() -> None:
        link = InProcessLink(opener())
        pool = made(link, workers=1)
        asked = queries(3, screenshot(tmp_path))
        found = await pool.ask(asked[0])
        name = link.alive[0]
        link.replay(name)
        link.say(name, [Answered(number=999, answer=link.raw(expected(asked[1])))])
        assert found == expected(asked[0])
        assert await asyncio.gather(*asking(pool, asked[1:])) == [expected(query) for query in asked[1:]]
        assert [worker.answered for worker in pool.workers] == [3]
        await pool.aclose()

    asyncio.run(main())


@pytest.mark.parametrize(
    "nonsense",
    [b"nonsense", packed([Answered(number=1, answer=InProcessLink.raw(7))]), packed([Warned(text="x")])[:-1]],
)
def test_a_worker_that_talks_nonsense_is_replaced(tmp_path: Path, nonsense: bytes) -> None:
    async def main() -> None:
        gate = Gate()
        told = Told()
        link = InProcessLink(opener(gate))
        pool = made(link, workers=1, told=told.append)
        (query,) = queries(1, screenshot(tmp_path))
        task = asyncio.create_task(pool.ask(query))
        await until(lambda: len(gate.asked) == 1)
        link.event(Heard(worker=link.alive[0], content=nonsense))
        await until(lambda: len(gate.asked) == 2)
        gate.let_all()
        assert await task == expected(query)
        assert "is lost" in told.text
        await pool.aclose()

    asyncio.run(main())


def test_the_answer_to_another_question_is_never_taken(tmp_path: Path) -> None:
    async def main() -> None:
        mixed = True

        async def mixes(query: Query) -> Prediction:
            other = queries(9, query.screenshot)[8]
            return expected(other if mixed else query)

        link = InProcessLink(opener(mixes))
        told = Told()

        def tell(line: str) -> None:
            nonlocal mixed
            told.append(line)
            mixed = False

        pool = made(link, workers=1, told=tell)
        (query,) = queries(1, screenshot(tmp_path))
        assert await pool.ask(query) == expected(query)
        assert "it answered for s/8 when it was asked about s/0" in told.text
        await pool.aclose()

    asyncio.run(main())
