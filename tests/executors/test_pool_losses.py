"""A pool loses workers: what they had not answered is asked again, and only that."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.askers import Gate, expected, opener, queries, screenshot
from fakes.inprocess_link import InProcessLink

from executors.pools import Told, asking, made, settle, until
from grounding.errors import UserError
from grounding.executors.errors import PoolClosed, WorkerGone
from grounding.executors.messages import Leaving
from grounding.executors.pool import Patience
from grounding.records import Prediction, Query


def test_only_what_a_lost_worker_had_not_answered_is_asked_again(tmp_path: Path) -> None:
    async def main() -> None:
        told = Told()
        gate = Gate()
        link = InProcessLink(opener(gate, at_once=4))
        pool = made(link, workers=1, told=told.append)
        asked = queries(6, screenshot(tmp_path))
        await pool.start()
        tasks = asking(pool, asked)
        await until(lambda: len(gate.asked) == 4)
        gate.let("s/1")
        await until(lambda: len(gate.asked) == 5)
        link.kill(link.alive[0], "its node is gone")
        await until(lambda: len(gate.asked) == 9)
        # First what was in flight, in the order of asking; then what never was.
        assert [query.step_id for query in gate.asked[5:]] == ["s/0", "s/2", "s/3", "s/4"]
        while not all(task.done() for task in tasks):
            gate.let_all()
            await asyncio.sleep(0.001)
        assert [task.result() for task in tasks] == [expected(query) for query in asked]
        assert [query.step_id for query in gate.asked].count("s/1") == 1
        assert "its node is gone; 4 queries have to be asked again" in told.text
        assert len(link.hired) == 2
        await pool.aclose()

    asyncio.run(main())


def test_a_step_that_ends_its_workers_fails_and_its_neighbours_do_not(tmp_path: Path) -> None:
    async def main() -> None:
        poison = "s/7"
        at: dict[str, int] = {}

        async def deadly(query: Query) -> Prediction:
            at[query.step_id] = at.get(query.step_id, 0) + 1
            await asyncio.sleep(0)
            if query.step_id == poison:
                # Whoever has it in flight is gone, as by a segmentation fault.
                (victim,) = [name for name in link.alive if link.has(name, poison)]
                asyncio.get_running_loop().call_soon(link.kill, victim, "a segmentation fault")
                await asyncio.sleep(3600)
            await asyncio.sleep(0.001)
            return expected(query)

        link = InProcessLink(opener(deadly, at_once=16))
        pool = made(link, workers=2)
        asked = queries(60, screenshot(tmp_path))
        answers = await asyncio.gather(*asking(pool, asked))
        for query, found in zip(asked, answers, strict=True):
            if query.step_id == poison:
                assert found.failure is not None
                assert found.failure.kind == "error"
                assert "3 workers were lost" in found.failure.message
                assert "a segmentation fault" in found.failure.message
                assert (found.step_id, found.key) == (query.step_id, query.key)
            else:
                assert found == expected(query)
        assert at[poison] == 3
        assert max(count for step, count in at.items() if step != poison) <= 3
        await pool.aclose()

    asyncio.run(main())


def test_workers_that_only_die_end_the_run_with_the_last_reason(tmp_path: Path) -> None:
    async def main() -> None:
        told = Told()
        link = InProcessLink(slow=True)
        pool = made(link, workers=1, told=told.append, patience=Patience(backoff_s=0.0, fruitless=4, tell_s=0.01))
        start = asyncio.create_task(pool.start())
        for number in range(4):
            await until(lambda wanted=number + 1: len(link.hired) == wanted)  # type: ignore[misc]
            link.kill(link.hired[-1], f"out of memory, {number}")
        with pytest.raises(UserError, match=r"4 grounder workers in a row were lost .* out of memory, 3"):
            await start
        with pytest.raises(UserError, match="4 grounder workers in a row"):
            await pool.ask(queries(1, screenshot(tmp_path))[0])
        await settle()
        assert len(link.hired) == 4
        await pool.aclose()

    asyncio.run(main())


def test_replacements_come_ever_more_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        link = InProcessLink(slow=True)
        pool = made(link, workers=1, patience=Patience(backoff_s=2.0, longest_backoff_s=5.0, fruitless=10))
        start = asyncio.create_task(pool.start())
        waits = []
        loop = asyncio.get_running_loop()
        real = loop.call_later

        def noting(delay: float, callback: Callable[..., object], *args: object) -> asyncio.TimerHandle:
            if getattr(callback, "__name__", "") == "_hire":
                waits.append(delay)
                delay = 0.0
            return real(delay, callback, *args)

        monkeypatch.setattr(loop, "call_later", noting)
        for number in range(5):
            await until(lambda wanted=number + 1: len(link.hired) == wanted)  # type: ignore[misc]
            link.kill(link.hired[-1])
        assert waits == [2.0, 4.0, 5.0, 5.0, 5.0]
        await pool.aclose()
        with pytest.raises(PoolClosed):
            await start

    asyncio.run(main())


def test_one_bad_node_late_in_a_run_ends_nothing(tmp_path: Path) -> None:
    """A replacement that can't be made ready is one more lost worker, once others have given answers."""

    async def main() -> None:
        told = Told()
        tries = iter(["well", "well", "disk full", "well"])

        def now_and_then(*given: object, **named: object) -> object:
            if next(tries) == "disk full":
                raise UserError("the disk is full")
            return opener()(*given, **named)  # type: ignore[arg-type]

        link = InProcessLink(now_and_then)  # type: ignore[arg-type]
        pool = made(link, told=told.append)
        asked = queries(5, screenshot(tmp_path))
        await pool.ask(asked[0])
        await until(lambda: len([worker for worker in pool.workers if worker.state == "ready"]) == 2)
        link.kill(link.alive[0])
        await until(lambda: len(link.hired) == 4)
        await until(lambda: len([worker for worker in pool.workers if worker.state == "ready"]) == 2)
        assert "the disk is full" in told.text
        assert await pool.ask(asked[1]) == expected(asked[1])
        await pool.aclose()

    asyncio.run(main())


def test_a_fault_in_opening_is_a_loss_with_its_reason() -> None:
    async def main() -> None:
        told = Told()

        def broken(*_given: object, **_named: object) -> None:
            raise KeyError("no such thing")

        pool = made(InProcessLink(broken), workers=1, told=told.append)  # type: ignore[arg-type]
        with pytest.raises(UserError, match=r"5 grounder workers in a row .*KeyError: 'no such thing'"):
            await pool.start()
        assert "KeyError" in told.text
        await pool.aclose()

    asyncio.run(main())


def test_a_worker_that_leaves_is_taken_as_lost_at_once(tmp_path: Path) -> None:
    async def main() -> None:
        told = Told()
        gate = Gate()
        link = InProcessLink(opener(gate, at_once=2))
        pool = made(link, workers=1, told=told.append)
        asked = queries(2, screenshot(tmp_path))
        await pool.start()
        tasks = asking(pool, asked)
        await until(lambda: len(gate.asked) == 2)
        first = link.alive[0]
        gate.let("s/0")
        link.say(first, [Leaving(reason="its server ended")])
        await until(lambda: len(gate.asked) == 4)
        assert link.dismissed == [first]
        gate.let_all()
        assert await asyncio.gather(*tasks) == [expected(query) for query in asked]
        assert "its server ended" in told.text
        await pool.aclose()

    asyncio.run(main())


def test_a_drained_worker_answers_what_it_has_and_is_replaced(tmp_path: Path) -> None:
    async def main() -> None:
        gate = Gate()
        told = Told()
        link = InProcessLink(opener(gate, at_once=2))
        pool = made(link, workers=1, told=told.append)
        asked = queries(4, screenshot(tmp_path))
        await pool.start()
        tasks = asking(pool, asked)
        await until(lambda: len(gate.asked) == 2)
        (first,) = link.alive
        own = asyncio.create_task(pool.ask_worker(first, queries(9, screenshot(tmp_path))[8]))
        await asyncio.sleep(0)
        drain = asyncio.create_task(pool.drain(first, "it answers otherwise"))
        await until(lambda: len(gate.asked) == 4)
        states = {worker.name: (worker.state, worker.in_flight) for worker in pool.workers}
        assert states == {first: ("draining", 2), link.hired[1]: ("ready", 2)}
        with pytest.raises(WorkerGone, match="it answers otherwise"):
            await own
        with pytest.raises(WorkerGone, match="there is no worker"):
            await pool.ask_worker(first, asked[0])
        gate.let_all()
        await drain
        assert await asyncio.gather(*tasks) == [expected(query) for query in asked]
        assert link.alive == [link.hired[1]]
        assert not link.dismissed
        assert "is lost" not in told.text
        await pool.aclose()

    asyncio.run(main())


def test_a_drained_worker_need_not_be_replaced(tmp_path: Path) -> None:
    async def main() -> None:
        link = InProcessLink(opener())
        pool = made(link, workers=2)
        (query,) = queries(1, screenshot(tmp_path))
        await pool.start()
        await until(lambda: pool.max_concurrency == 8)
        await pool.drain(link.alive[0], "one is enough", replace=False)
        link.cut()
        link.join()
        assert await pool.ask(query) == expected(query)
        assert len(link.hired) == 3, "two at first, one after the cut"
        await pool.aclose()

    asyncio.run(main())
