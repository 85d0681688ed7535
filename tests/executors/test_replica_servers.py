"""Workers with servers beside them that die, hang or answer otherwise in mid-run: nothing is lost, nobody stays."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import os
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from fakes.inprocess_link import InProcessLink
from fakes.make import grounder_card, picture_file, query
from serving.helpers import FAKE, asked, is_alive, pids, started

from grounding.budget import Budget
from grounding.building import grounder_of
from grounding.chat import ChatOptions
from grounding.display import Progress
from grounding.executors import beside as module
from grounding.executors.health import HealthRule
from grounding.executors.link import Needs
from grounding.executors.pool import Patience, Pool
from grounding.executors.probing import probed
from grounding.executors.recipe import Beside, Recipe
from grounding.executors.remote import RemoteGrounder
from grounding.options import EvalOptions
from grounding.probe.gate import EvalProbe, eval_probe
from grounding.probe.kept import read_probe
from grounding.probe.replicas import read_replicas
from grounding.records import Prediction
from grounding.serving.command import ServerOptions

pytestmark = pytest.mark.slow

CARD = grounder_card(answer={"form": "point", "space": "original_px"}, max_connections=4)
REPLICAS, STEPS = 3, 80


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers that are watched closely and end fast."""
    rule = HealthRule(every_s=0.1, reply_s=1.0, failures=4)
    quick = functools.partial(module.server_beside, rule=rule, interrupt_s=0.3, terminate_s=0.2)
    monkeypatch.setattr(module, "server_beside", quick)


class Run:
    """A run of some steps over replicas, and what its servers wrote down."""

    def __init__(self, folder: Path, *flags: str) -> None:
        self.folder, self.record = folder, folder / "started.jsonl"
        flags = ("--fake-record", str(self.record), "--fake-takes", "0.1", *flags)
        named = folder / "card.yaml"
        named.write_bytes(msgspec.yaml.encode(CARD))
        options = EvalOptions(grounder=str(named), max_retries=1)
        self.own = grounder_of(
            options, card=CARD, base_url="http://127.0.0.1:0/v1", sessions=(), budget=Budget(None), on_retry=print
        )
        self.recipe = Recipe(
            room="grounder",
            options=options,
            identity=self.own.grounder.identity,
            card=CARD,
            beside=Beside(card=CARD, options=ServerOptions(command=FAKE, flags=flags)),
            keep_in=str(folder),
        )
        picture = picture_file(folder / "1.png")
        digest = hashlib.sha256((folder / "1.png").read_bytes()).hexdigest()
        self.picture = msgspec.structs.replace(picture, sha256=digest)
        self.told: list[str] = []

    def probe(self) -> EvalProbe:
        """The run's own, which could ask nobody."""
        found = eval_probe(self.own, ChatOptions(), wanted=True, budget=Budget(None), on_retry=lambda: None)
        assert found is not None
        return found

    def pool(self) -> Pool:
        return Pool(
            InProcessLink(),
            self.recipe,
            workers=REPLICAS,
            needs=Needs(),
            budget=Budget(None),
            on_retry=lambda: None,
            told=self.told.append,
            patience=Patience(leave_s=20.0, backoff_s=0.05),
        )

    async def through(self, pool: Pool, harm: Callable[[], None]) -> list[Prediction]:
        """All steps, with that done after a quarter of them."""
        done = Counter[str]()

        async def one(number: int) -> Prediction:
            answer = await pool.ask(query(self.picture, step=f"1/{number}"))
            done["answers"] += 1
            if done["answers"] == STEPS // 4:
                harm()
            assert isinstance(answer, Prediction)
            return answer

        return await asyncio.gather(*(one(number) for number in range(STEPS)))

    def nothing_left(self) -> bool:
        return not [pid for pid in pids(self.record) if is_alive(pid)]


async def until_ready(pool: Pool) -> None:
    async with asyncio.timeout(60):
        while sum(worker.state == "ready" for worker in pool.workers) < REPLICAS:
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_server_that_dies_or_hangs_costs_no_answer_and_gets_a_successor(
    tmp_path: Path, number: signal.Signals
) -> None:
    run = Run(tmp_path)

    async def scenario() -> list[Prediction]:
        pool = run.pool()
        try:
            await pool.start()
            await until_ready(pool)
            answers = await run.through(pool, lambda: os.kill(started(run.record)[0]["pid"], number))
            await until_ready(pool)
            assert len({worker.base_url for worker in pool.workers}) == REPLICAS
            return answers
        finally:
            await pool.aclose()

    answers = asyncio.run(scenario())
    assert [answer.failure for answer in answers] == [None] * STEPS
    assert {(answer.point.x_px, answer.point.y_px) for answer in answers if answer.point} == {(10, 20)}
    assert len(started(run.record)) == REPLICAS + 1
    # Asked twice was no more than what that server was at.
    assert STEPS <= len(asked(run.record)) <= STEPS + 2 * 8
    (lost,) = [line for line in run.told if " is lost: " in line]
    assert ("signal 9" if number == signal.SIGKILL else "no answer to /health") in lost
    assert run.nothing_left()
    assert len(list(tmp_path.glob("server-*.log"))) == REPLICAS + 1


def test_a_server_that_answers_otherwise_takes_no_part_in_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    run = Run(tmp_path, "--fake-odd", str(tmp_path / "odd"))

    async def scenario() -> list[Prediction]:
        pool = run.pool()
        try:
            await pool.start()
            await until_ready(pool)
            remote = RemoteGrounder(run.own.grounder, pool, owns_pool=False)
            async with probed(run.probe(), remote, tmp_path, Progress("none"), own_models=True):
                return await run.through(pool, lambda: None)
        finally:
            await pool.aclose()

    answers = asyncio.run(scenario())
    assert {(answer.point.x_px, answer.point.y_px) for answer in answers if answer.point} == {(10, 20)}
    found = read_probe(tmp_path)
    assert found is not None
    assert (found.asked, found.parsed) == (12, 12)
    report, *_ = read_replicas(tmp_path)
    (odd,) = report.left_out
    assert f"on here ({odd.replica.base_url}, GPU 3) is left out" in report.warnings[0]
    assert "12 of 12 answers differ from those of the other 2, on average by 230.2 px" in report.warnings[0]
    assert run.nothing_left()
