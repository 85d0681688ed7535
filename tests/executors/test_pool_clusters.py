"""A pool whose cluster is out of reach, for a while or for good, and several pools on one."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from fakes.askers import Gate, expected, opener, queries, screenshot
from fakes.inprocess_link import InProcessLink

from executors.pools import Told, asking, made, settle, until
from grounding.executors.errors import ClusterLost
from grounding.executors.pool import Patience
from grounding.executors.sharing import SharedLink


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
