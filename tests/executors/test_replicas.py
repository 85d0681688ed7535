"""Replicas behind a pool: asked one by one before the run, sent away where they differ, replaced where they die."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fakes.inprocess_link import InProcessLink
from fakes.make import grounder_card, picture_file, query

from grounding.budget import Budget, BudgetReached
from grounding.cards import GrounderCard
from grounding.executors.link import Needs
from grounding.executors.opening import Asker
from grounding.executors.pool import Patience, Pool
from grounding.executors.recipe import Recipe
from grounding.executors.replicas import ReplicaCheck, compared_replicas
from grounding.options import EvalOptions
from grounding.probe.kept import probe_predictions, probe_warnings
from grounding.probe.replicas import read_replicas
from grounding.probe.targets import draw_targets
from grounding.records import Call, Failure, Point, Prediction, Query, Screenshot

CARD = grounder_card(answer={"form": "point", "space": "rel_1000"})
HASTY = Patience(leave_s=1.0, backoff_s=0.01, tell_s=60.0)

Ground = Callable[[Query], Awaitable[Prediction]]


@pytest.fixture(scope="module")
def buttons(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Point]:
    """Where the probe's buttons are, by the picture."""
    return {each.id: each.button.center for each in draw_targets(tmp_path_factory.mktemp("targets"))}


class Models:
    """What the workers of a pool open: each the next of these, the last one for all that come after."""

    def __init__(self, buttons: dict[str, Point], *scales: float) -> None:
        self.buttons, self.scales = buttons, list(scales)
        self.opened = 0
        self.asked: list[list[str]] = []
        self.gate: Callable[[int, Query], Awaitable[None]] | None = None
        self.cost_usd: float | None = None

    def open(self, *_: Any, **__: Any) -> Asker:
        number = self.opened
        self.opened += 1
        scale = self.scales[min(number, len(self.scales) - 1)]
        self.asked.append([])

        async def ask(asked: Query) -> Prediction:
            if self.gate is not None:
                await self.gate(number, asked)
            self.asked[number].append(asked.step_id)
            right = self.buttons.get(asked.step_id, Point(x_px=1, y_px=1))
            point = Point(x_px=right.x_px * scale, y_px=right.y_px * scale)
            failure = Failure(kind="error", message="no more memory") if scale < 0 else None
            call = None if self.cost_usd is None else Call(seconds=1, cost_usd=self.cost_usd)
            shown = None if failure else point
            return Prediction(step_id=asked.step_id, key=asked.key, point=shown, failure=failure, call=call)

        async def nothing() -> None:
            return None

        return Asker(name="g", identity="i", max_concurrency=4, ask=ask, check=nothing, aclose=nothing)


class Bench:
    def __init__(self, link: InProcessLink, pool: Pool, told: list[str], picture: Screenshot) -> None:
        self.link, self.pool, self.told, self.picture = link, pool, told, picture

    async def ask(self, number: int) -> Prediction:
        """Ask anybody about a step of the run."""
        answer = await self.pool.ask(query(self.picture, step=f"1/{number}"))
        assert isinstance(answer, Prediction)
        assert answer.failure is None
        return answer

    def ready(self) -> list[str]:
        return sorted(worker.name for worker in self.pool.workers if worker.state == "ready")

    async def until_ready(self, count: int) -> None:
        async with asyncio.timeout(60):
            while len(self.ready()) != count:
                await asyncio.sleep(0.01)


@asynccontextmanager
async def bench(models: Models, workers: int, folder: Path, *, slow: bool = False) -> AsyncIterator[Bench]:
    link, told = InProcessLink(models.open, slow=slow), []
    recipe = Recipe(room="grounder", options=EvalOptions(), identity="i", card=CARD)
    pool = Pool(
        link,
        recipe,
        workers=workers,
        needs=Needs(),
        budget=Budget(None),
        on_retry=lambda: None,
        told=told.append,
        patience=HASTY,
    )
    try:
        picture = picture_file(folder / "1.png")
        digest = hashlib.sha256((folder / "1.png").read_bytes()).hexdigest()
        yield Bench(link, pool, told, msgspec.structs.replace(picture, sha256=digest))
    finally:
        await pool.aclose()


def test_the_one_that_differs_is_named_sent_away_and_replaced(
    buttons: dict[str, Point], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    models = Models(buttons, 1.0, 0.7, 1.0)

    async def scenario() -> None:
        async with bench(models, 3, tmp_path) as made:
            await made.pool.start()
            await made.until_ready(3)
            odd = made.pool.workers[1].name
            async with compared_replicas(made.pool, CARD, tmp_path) as report:
                assert [each.replica.name for each in report.left_out] == [odd]
                await made.until_ready(3)
                assert odd not in made.ready()
                for number in range(30):
                    await made.ask(number)
                # The one in its place was compared, too.
                async with asyncio.timeout(60):
                    while len(read_replicas(tmp_path)) < 2:
                        await asyncio.sleep(0.05)
            assert any(
                line == f"worker {odd} on here is drained: it answers otherwise than the other replicas"
                for line in made.told
            )

    asyncio.run(scenario())
    assert len(models.asked[1]) == 12, "it was asked nothing of the run"
    assert [len(set(asked) & set(buttons)) for asked in models.asked] == [12, 12, 12, 12]
    start, later = read_replicas(tmp_path)
    assert [len(each.replies) for each in start.replicas] == [12, 12, 12]
    assert [len(each.replies) for each in later.replicas] == [0, 0, 12]
    (warning,) = start.warnings
    assert "on here is left out: " in warning
    assert "answers differ from those of the other 2, on average by " in warning
    assert f"grounding: replicas: {warning}" in capsys.readouterr().err
    assert probe_warnings(tmp_path) == [f"replicas: {warning}"]


def test_nothing_is_asked_of_one_alone_nor_of_those_that_see_only_the_data_sets_files(
    buttons: dict[str, Point], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    models = Models(buttons, 1.0)

    async def scenario(workers: int, card: GrounderCard) -> None:
        async with bench(models, workers, tmp_path) as made:
            await made.pool.start()
            async with compared_replicas(made.pool, card, tmp_path) as report:
                assert report is None

    asyncio.run(scenario(1, CARD))
    image = msgspec.structs.replace(CARD.image, send="file")
    asyncio.run(scenario(2, msgspec.structs.replace(CARD, image=image)))
    assert not any(models.asked)
    assert read_replicas(tmp_path) == ()
    assert "they are not compared: with --send file" in capsys.readouterr().err


def test_those_that_load_are_waited_for_and_those_without_a_place_are_not(
    buttons: dict[str, Point], tmp_path: Path
) -> None:
    models = Models(buttons, 1.0, 1.0, 0.7)

    async def scenario() -> None:
        async with bench(models, 3, tmp_path, slow=True) as made:
            starting = asyncio.create_task(made.pool.start())
            while len(made.link.hired) < 3:
                await asyncio.sleep(0.01)
            one, other, late = made.link.hired
            made.link.arrive(one)
            made.link.arrive(other)
            await starting
            async with compared_replicas(made.pool, CARD, tmp_path) as report:
                assert [each.replica.name for each in report.replicas] == [one, other]
                for number in range(5):
                    await made.ask(number)
                made.link.arrive(late)
                async with asyncio.timeout(60):
                    while late in [worker.name for worker in made.pool.workers]:
                        await asyncio.sleep(0.05)

    asyncio.run(scenario())
    assert [len(check.left_out) for check in read_replicas(tmp_path)][:2] == [0, 1]


def test_a_machine_that_spoils_a_second_one_gets_no_third(buttons: dict[str, Point], tmp_path: Path) -> None:
    models = Models(buttons, 1.0, 1.0, 0.7, 0.7, 1.0)

    async def scenario() -> None:
        async with bench(models, 3, tmp_path) as made:
            await made.pool.start()
            await made.until_ready(3)
            async with compared_replicas(made.pool, CARD, tmp_path):
                async with asyncio.timeout(60):
                    while len(read_replicas(tmp_path)) < 2 or len(made.pool.workers) > 2:
                        await asyncio.sleep(0.05)
                await asyncio.sleep(1.0)
                assert len(made.ready()) == 2

    asyncio.run(scenario())
    assert models.opened == 4


def test_one_that_is_lost_while_it_is_asked_is_left_to_the_pool(buttons: dict[str, Point], tmp_path: Path) -> None:
    models = Models(buttons, 1.0)

    async def scenario() -> None:
        async with bench(models, 3, tmp_path) as made:
            await made.pool.start()
            await made.until_ready(3)
            victim = made.ready()[0]

            async def die(number: int, asked: Query) -> None:
                if number == 0 and asked.step_id in buttons:
                    made.link.kill(victim)
                    await asyncio.sleep(60)

            models.gate = die
            report = await ReplicaCheck(made.pool, CARD, tmp_path).start()
            assert report is not None
            assert victim not in [each.replica.name for each in report.replicas]
            assert report.left_out == ()

    asyncio.run(scenario())


def test_what_is_paid_for_counts_and_no_money_is_no_answer(buttons: dict[str, Point], tmp_path: Path) -> None:
    models = Models(buttons, 1.0)
    models.cost_usd = 0.25

    async def scenario() -> None:
        async with bench(models, 2, tmp_path) as made:
            await made.pool.start()
            await made.until_ready(2)

            async def broke(number: int, asked: Query) -> None:
                if number == 1 and "2560" in asked.step_id:
                    raise BudgetReached("the limit is reached")

            models.gate = broke
            report = await ReplicaCheck(made.pool, CARD, tmp_path).start()
            assert report is not None
            assert [len(each.replies) for each in report.replicas] == [12, 9]

    asyncio.run(scenario())
    assert sum(reply.call.cost_usd or 0 for reply in probe_predictions(tmp_path) if reply.call) == 21 * 0.25


def test_the_slow_replica_is_asked_less(buttons: dict[str, Point], tmp_path: Path) -> None:
    models = Models(buttons, 1.0)

    async def scenario() -> None:
        rest = asyncio.Event()
        steps = 60

        async def gate(number: int, _asked: Query) -> None:
            if number == 0:
                await rest.wait()

        models.gate = gate
        async with bench(models, 2, tmp_path) as made:
            await made.pool.start()
            await made.until_ready(2)
            asking = [asyncio.create_task(made.ask(n)) for n in range(steps)]
            async with asyncio.timeout(60):
                while sum(task.done() for task in asking) < steps - 4:
                    await asyncio.sleep(0.01)
            in_flight = {worker.in_flight for worker in made.pool.workers}
            assert in_flight == {0, 4}, "it has as many as its bound allows, and the other has done the rest"
            rest.set()
            await asyncio.gather(*asking)

    asyncio.run(scenario())
    assert [len(asked) for asked in models.asked] == [4, 56]


def test_a_third_one_settles_what_two_could_not_and_the_answers_until_then_are_counted(
    buttons: dict[str, Point], tmp_path: Path
) -> None:
    models = Models(buttons, 0.3, 3.0, 0.3)

    async def scenario() -> None:
        async with bench(models, 3, tmp_path, slow=True) as made:
            starting = asyncio.create_task(made.pool.start())
            while len(made.link.hired) < 3:
                await asyncio.sleep(0.01)
            for name in made.link.hired[:2]:
                made.link.arrive(name)
            await starting
            await made.until_ready(2)
            async with compared_replicas(made.pool, CARD, tmp_path) as report:
                assert report is not None
                assert report.decided_by == "nobody"
                await asyncio.gather(*(made.ask(number) for number in range(8)))
                made.link.arrive(made.link.hired[2])
                async with asyncio.timeout(60):
                    while len(read_replicas(tmp_path)) < 2:
                        await asyncio.sleep(0.05)

    asyncio.run(scenario())
    (odd,) = read_replicas(tmp_path)[1].left_out
    assert odd.steps_before == len(models.asked[1]) - 12 == 4
    assert "4 questions of the run were its before it was found out" in read_replicas(tmp_path)[1].warnings[0]
