"""A pool answers every question once, whatever becomes of its workers."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from fakes.askers import IDENTITY, Gate, answer, expected, opener, queries, recipe, screenshot
from fakes.inprocess_link import InProcessLink

from grounding.budget import Budget, BudgetReached
from grounding.errors import UserError
from grounding.executors.errors import ClusterLost, PoolClosed, WorkerGone
from grounding.executors.link import Heard, Link, Needs
from grounding.executors.messages import Answered, Leaving, PictureBytes, WantPicture, Warned, packed
from grounding.executors.pool import Patience, Pool
from grounding.executors.recipe import Recipe
from grounding.executors.sharing import SharedLink
from grounding.records import Plan, Prediction, Query

QUICK = Patience(cluster_s=60.0, leave_s=5.0, backoff_s=0.0)
Answer = Plan | Prediction


class Told(list[str]):
    """What the user was told."""

    @property
    def text(self) -> str:
        return "\n".join(self)


def made(
    link: Link,
    *,
    workers: int = 2,
    budget: Budget | None = None,
    told: Callable[[str], None] = lambda _line: None,
    patience: Patience = QUICK,
    asked: Recipe | None = None,
) -> Pool:
    return Pool(
        link,
        asked or recipe(),
        workers=workers,
        needs=Needs(cpus=1.0),
        budget=budget or Budget(None),
        on_retry=lambda: None,
        told=told,
        patience=patience,
    )


async def settle() -> None:
    """Let everything happen that can happen by now."""
    for _ in range(30):
        await asyncio.sleep(0)
    await asyncio.sleep(0.01)
    for _ in range(30):
        await asyncio.sleep(0)


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.002)


def asking(pool: Pool, asked: list[Query]) -> list[asyncio.Task[Answer]]:
    return [asyncio.create_task(pool.ask(query)) for query in asked]


def test_every_question_is_answered_as_the_asker_would(tmp_path: Path) -> None:
    async def main() -> None:
        link = InProcessLink(opener())
        pool = made(link, workers=3)
        asked = queries(200, screenshot(tmp_path))
        await pool.start()
        assert await asyncio.gather(*asking(pool, asked)) == [expected(query) for query in asked]
        await until(lambda: all(worker.state == "ready" for worker in pool.workers))
        assert len(pool.workers) == 3
        assert sum(worker.answered for worker in pool.workers) == 200
        assert pool.max_concurrency == 12
        assert {worker.node for worker in pool.workers} == {"here"}
        await pool.aclose()
        assert link.closed
        assert not link.dismissed, "idle workers leave by themselves"

    asyncio.run(main())


def test_a_worker_gets_no_more_than_its_bound_and_the_rest_in_order(tmp_path: Path) -> None:
    async def main() -> None:
        gate = Gate()
        pool = made(InProcessLink(opener(gate, at_once=3)), workers=2)
        asked = queries(20, screenshot(tmp_path))
        await pool.start()
        await until(lambda: pool.max_concurrency == 6)
        tasks = asking(pool, asked)
        await until(lambda: len(gate.asked) == 6)
        await settle()
        assert len(gate.asked) == 6
        assert sorted(worker.in_flight for worker in pool.workers) == [3, 3]
        while not all(task.done() for task in tasks):
            gate.let_all()
            await asyncio.sleep(0.001)
        assert gate.most == 6
        # In order, but for what the two are sent at the same time.
        assert all(abs(asked.index(query) - place) < 6 for place, query in enumerate(gate.asked))
        assert len(gate.asked) == 20
        await pool.aclose()

    asyncio.run(main())


def test_the_least_busy_worker_is_asked(tmp_path: Path) -> None:
    async def main() -> None:
        gate = Gate()
        pool = made(InProcessLink(opener(gate, at_once=10)), workers=4)
        await pool.start()
        await until(lambda: pool.max_concurrency == 40)
        tasks = asking(pool, queries(9, screenshot(tmp_path)))
        await until(lambda: len(gate.asked) == 9)
        assert sorted(worker.in_flight for worker in pool.workers) == [2, 2, 2, 3]
        gate.let_all()
        await asyncio.gather(*tasks)
        await pool.aclose()

    asyncio.run(main())


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


def test_a_cut_cluster_is_waited_for_and_nothing_counts_against_the_questions(tmp_path: Path) -> None:
    async def main() -> None:
        told = Told()
        gate = Gate()
        link = InProcessLink(opener(gate, at_once=4))
        pool = made(link, workers=2, told=told.append)
        asked = queries(6, screenshot(tmp_path))
        await pool.start()
        tasks = asking(pool, asked)
        await until(lambda: len(gate.asked) == 6)
        for number in range(5):  # More often than a question may lose a worker.
            link.cut("no route to the head")
            await settle()
            assert not pool.workers
            late = asyncio.create_task(pool.ask(queries(10 + number, screenshot(tmp_path))[-1]))
            tasks.append(late)
            await settle()
            assert not late.done()
            link.join()
            await until(lambda wanted=7 + number: len(gate.open) == min(8, wanted))  # type: ignore[misc]
        while not all(task.done() for task in tasks):
            gate.let_all()
            await asyncio.sleep(0.001)
        assert all(task.result().failure is None for task in tasks)
        assert "the cluster is out of reach (no route to the head); waiting up to 60 s for it; 6 queries" in told.text
        assert "is there again" in told.text
        await pool.aclose()

    asyncio.run(main())


def test_a_cluster_that_stays_away_ends_every_wait(tmp_path: Path) -> None:
    async def main() -> None:
        gate = Gate()
        link = InProcessLink(opener(gate))
        pool = made(link, patience=Patience(cluster_s=0.05, backoff_s=0.0))
        tasks = asking(pool, queries(30, screenshot(tmp_path)))
        await until(lambda: len(gate.asked) == 8)
        link.cut("the head is gone")
        done = await asyncio.gather(*tasks, return_exceptions=True)
        assert {type(each) for each in done} == {ClusterLost}
        assert "out of reach for 0.05 s (the head is gone)" in str(done[0])
        assert len({id(each) for each in done}) == len(done)
        with pytest.raises(ClusterLost):
            await pool.ask(queries(1, screenshot(tmp_path))[0])
        link.join()
        await settle()
        assert len(link.hired) == 2, "too late: nobody is hired any more"
        await pool.aclose()

    asyncio.run(main())


def test_a_cluster_that_came_back_in_time_is_not_given_up_later(tmp_path: Path) -> None:
    async def main() -> None:
        link = InProcessLink(opener())
        pool = made(link, patience=Patience(cluster_s=0.1, backoff_s=0.0))
        asked = queries(2, screenshot(tmp_path))
        await pool.ask(asked[0])
        link.cut()
        link.join()
        await asyncio.sleep(0.2)
        assert await pool.ask(asked[1]) == expected(asked[1])
        await pool.aclose()

    asyncio.run(main())


def test_a_cluster_lost_before_anybody_was_ready() -> None:
    async def main() -> None:
        link = InProcessLink(slow=True)
        pool = made(link, patience=Patience(cluster_s=0.05))
        start = asyncio.create_task(pool.start())
        await until(lambda: len(link.hired) == 2)
        link.cut()
        with pytest.raises(ClusterLost):
            await start
        await pool.aclose()

    asyncio.run(main())


def test_what_is_waited_for_at_the_start_is_said() -> None:
    async def main() -> None:
        told = Told()
        link = InProcessLink(opener(), slow=True)
        pool = made(link, told=told.append, patience=Patience(tell_s=0.01))
        start = asyncio.create_task(pool.start())
        await until(lambda: bool(told))
        assert "room for the first grounder worker (1 CPUs, 0 GPUs)" in told.text
        link.arrive(link.hired[0])
        await start
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


def test_a_worker_can_be_asked_by_its_name(tmp_path: Path) -> None:
    async def main() -> None:
        gate = Gate()
        link = InProcessLink(opener(gate, at_once=2))
        pool = made(link, workers=2)
        await pool.start()
        await until(lambda: pool.max_concurrency == 4)
        asked = queries(8, screenshot(tmp_path))
        mine, other = link.alive
        tasks = [asyncio.create_task(pool.ask_worker(mine, query)) for query in asked[:4]]
        await until(lambda: len(gate.asked) == 2)
        await settle()
        assert {worker.name: worker.in_flight for worker in pool.workers} == {mine: 2, other: 0}
        gate.let_all()
        await until(lambda: len(gate.asked) == 4)
        link.kill(mine, "killed")
        done = await asyncio.gather(*tasks, return_exceptions=True)
        assert done[:2] == [expected(query) for query in asked[:2]]
        assert [type(each) for each in done[2:]] == [WorkerGone, WorkerGone]
        await pool.aclose()

    asyncio.run(main())


def test_a_question_that_nobody_waits_for_any_more_is_not_asked(tmp_path: Path) -> None:
    async def main() -> None:
        gate = Gate()
        link = InProcessLink(opener(gate, at_once=1))
        pool = made(link, workers=1)
        asked = queries(3, screenshot(tmp_path))
        await pool.start()
        tasks = asking(pool, asked)
        await until(lambda: len(gate.asked) == 1)
        tasks[0].cancel()
        tasks[1].cancel()
        await settle()
        link.kill(link.alive[0])
        await until(lambda: len(gate.asked) == 2)
        gate.let_all()
        assert await tasks[2] == expected(asked[2])
        assert [query.step_id for query in gate.asked] == ["s/0", "s/2"]
        await pool.aclose()

    asyncio.run(main())


def test_closing_ends_every_wait(tmp_path: Path) -> None:
    async def main() -> None:
        gate = Gate()
        link = InProcessLink(opener(gate, at_once=2))
        pool = made(link, workers=1)
        tasks = asking(pool, queries(3, screenshot(tmp_path)))
        await until(lambda: len(gate.asked) == 2)
        await pool.aclose()
        await pool.aclose()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(each) for each in done] == [PoolClosed] * 3
        assert len(link.dismissed) == 1

    asyncio.run(main())


def test_several_pools_share_a_link(tmp_path: Path) -> None:
    async def main() -> None:
        link = InProcessLink(opener())
        shared = SharedLink(link)
        pools = [made(shared.share()) for _ in range(3)]
        asked = queries(40, screenshot(tmp_path))
        answers = await asyncio.gather(*(pool.ask(query) for query in asked for pool in pools))
        assert answers == [expected(query) for query in asked for _ in pools]
        assert link.opened == 1
        mine = [worker.name for worker in pools[0].workers]
        link.kill(mine[0])
        await until(lambda: len(link.hired) == 7)
        assert [len(pool.workers) for pool in pools] == [2, 2, 2]
        await pools[0].aclose()
        assert not link.closed
        assert await pools[1].ask(asked[0]) == expected(asked[0])
        link.cut()
        later = made(shared.share())
        waiting = [asyncio.create_task(pool.ask(asked[1])) for pool in (*pools[1:], later)]
        await settle()
        assert not any(task.done() for task in waiting)
        link.join()
        assert await asyncio.gather(*waiting) == [expected(asked[1])] * 3
        for pool in (*pools[1:], later):
            await pool.aclose()
        assert not link.alive
        await shared.aclose()
        assert link.closed

    asyncio.run(main())


def test_a_picture_is_sent_only_if_it_was_asked_about(tmp_path: Path) -> None:
    """A worker names a hash; which file that is, the question says."""

    async def main() -> None:
        gate = Gate()
        link = InProcessLink(opener(gate))
        pool = made(link, workers=1)
        picture = screenshot(tmp_path, b"this one")
        changed = screenshot(tmp_path, b"another")
        secret = tmp_path / "secret"
        secret.write_bytes(b"secret")
        tasks = asking(pool, [*queries(1, picture), *queries(2, changed)[1:]])
        await until(lambda: len(gate.asked) == 2)
        Path(changed.path).write_bytes(b"no longer what it was")
        hidden = hashlib.sha256(b"secret").hexdigest()
        wanted = [picture.sha256, changed.sha256, hidden]
        link.say(link.alive[0], [WantPicture(sha256=sha256, path=str(secret)) for sha256 in wanted])
        await until(lambda: len([one for one in link.told if isinstance(one, PictureBytes)]) == 3)
        sent = {one.sha256: one.content for one in link.told if isinstance(one, PictureBytes)}
        assert sent == {picture.sha256: b"this one", changed.sha256: None, hidden: None}
        gate.let_all()
        await asyncio.gather(*tasks)
        await pool.aclose()

    asyncio.run(main())


def test_the_cost_limit_reaches_whoever_asks(tmp_path: Path) -> None:
    async def main() -> None:
        budget = Budget(1.0)
        link = InProcessLink(paying(0.25))
        pool = made(link, budget=budget, asked=recipe(cost_limit=1.0))
        done = await asyncio.gather(*asking(pool, queries(10, screenshot(tmp_path))), return_exceptions=True)
        assert sum(isinstance(each, Prediction) for each in done) == 4
        assert sum(isinstance(each, BudgetReached) for each in done) == 6
        assert "the cost limit of $1 is reached ($1.0000 spent" in str(
            next(e for e in done if isinstance(e, Exception))
        )
        assert budget.spent_usd == pytest.approx(1.0)
        assert budget._reserved_usd == 0.0
        await pool.aclose()

    asyncio.run(main())


def test_what_a_lost_worker_may_have_spent_is_counted(tmp_path: Path) -> None:
    async def main() -> None:
        budget = Budget(1.0)
        gate = Gate()
        link = InProcessLink(paying(0.25, gate))
        pool = made(link, workers=1, budget=budget, asked=recipe(cost_limit=1.0))
        asked = queries(2, screenshot(tmp_path))
        tasks = asking(pool, asked)
        await until(lambda: len(gate.asked) == 2)
        assert budget._reserved_usd == pytest.approx(0.5)
        link.kill(link.alive[0])
        assert budget.unreported_usd == pytest.approx(0.5)
        assert budget._reserved_usd == 0.0
        await until(lambda: len(gate.asked) == 4)
        gate.let_all()
        assert await asyncio.gather(*tasks) == [expected(query) for query in asked]
        assert budget.spent_usd == pytest.approx(0.5)
        assert budget._reserved_usd == 0.0
        await pool.aclose()

    asyncio.run(main())


def test_without_a_limit_nobody_asks_for_money(tmp_path: Path) -> None:
    async def main() -> None:
        link = InProcessLink(paying(0.25))
        pool = made(link)
        await pool.ask(queries(1, screenshot(tmp_path))[0])
        assert {type(message).__name__ for message in link.said} == {"Opened", "Answered"}
        await pool.aclose()

    asyncio.run(main())


def paying(each_usd: float, ask: Callable[[Query], Awaitable[Prediction]] = answer) -> Callable[..., object]:
    """An asker whose every question costs so much, under the worker's budget."""

    def open_it(asked: Recipe, budget: Budget, on_retry: Callable[[], None], **named: str) -> object:
        async def pay(query: Query) -> Prediction:
            reserved = await budget.reserve(each_usd)
            cost = None
            try:
                found = await ask(query)
                cost = each_usd
            finally:
                budget.settle(reserved, cost, 0.0 if cost else each_usd)
            return found

        return opener(pay)(asked, budget, on_retry, **named)

    return open_it
