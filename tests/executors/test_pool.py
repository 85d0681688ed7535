"""A pool answers every question once, whatever becomes of its workers."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

from fakes.askers import Gate, expected, opener, queries, screenshot
from fakes.inprocess_link import InProcessLink

from executors.pools import asking, made, settle, until
from grounding.executors.errors import PoolClosed, WorkerGone
from grounding.executors.messages import PictureBytes, WantPicture


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
