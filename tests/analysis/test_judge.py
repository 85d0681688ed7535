"""The judge: what it is shown, what it answers, and that nothing is asked or paid for twice."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import shell
from fakes.chat_server import ChatServer, after, answering, dropped, error, reply

from analysis.conftest import MISSES, PLANS, Setup, said
from analysis.looking import looking_judge

JUDGE = """\
name: seer
title: a judge of the tests
model: seer
user: [{text: "a planner's prompt"}, {image: screenshot}, {text: "{history} {instruction}"}]
prefill: "I think"
price: {input_usd: 10, output_usd: 100, date: "2026-01-01"}
max_connections: 2
"""
COST_USD = 1000 * 10e-6 + 10 * 100e-6  # Of one answer of the fake server: 1000 tokens in, 10 out.


@pytest.fixture
def judge() -> Iterator[ChatServer]:
    with ChatServer(answering(looking_judge), models=["seer"]) as running:
        yield running


class Judged:
    """A run, and the command line that has it judged."""

    def __init__(self, setup: Setup, judge: ChatServer) -> None:
        self.run = setup.eval(PLANS)
        self.setup, self.server = setup, judge
        self.card = setup.folder / "seer.yaml"
        self.card.write_text(JUDGE)

    def __call__(self, *more: str | Path, code: int = 0) -> dict[str, Any]:
        return self.setup.split(self.run, *self.words, *more, code=code)

    @property
    def words(self) -> tuple[str | Path, ...]:
        return "--judge", self.card, "--judge-base-url", self.server.base_url, "--max-retries", "0"

    @property
    def said(self) -> dict[str, str]:
        return said(self.run, "judge:seer")

    @property
    def lines(self) -> list[dict[str, Any]]:
        (journal,) = (self.run / "error_split").glob("judge_*.jsonl")
        return shell.records(journal)


@pytest.fixture
def judged(setup: Setup, judge: ChatServer) -> Judged:
    return Judged(setup, judge)


def test_the_judge_sees_the_frame_reads_the_plan_and_agrees_with_the_reference(
    judged: Judged, judge: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEER_KEY", "sk-very-secret")
    judged.card.write_text(JUDGE + "endpoint: {key_variable: SEER_KEY}\n")
    found = judged()
    assert judged.said == MISSES
    assert (found["splits"][0]["reasoning"]["k"], found["splits"][0]["grounding"]["k"]) == (4, 2)
    assert found["judge"]["cost_usd"] == pytest.approx(6 * COST_USD)
    assert found["judge"]["prompt"].startswith("error-split.1@")
    assert found["status"] == "complete"
    assert judge.asked[0].headers["Authorization"] == "Bearer sk-very-secret"
    for path in judged.run.rglob("*"):
        assert not path.is_file() or b"very-secret" not in path.read_bytes()
    (agreement,) = judged("--reference", judged.setup.reference)["agreement"]
    assert (agreement["first"], agreement["second"]) == ("reference", "judge:seer")
    assert (agreement["n"], agreement["reasoning_reasoning"], agreement["grounding_grounding"]) == (6, 4, 2)
    assert agreement["kappa"] == 1.0
    again = judged()
    assert judge.count == 6, "nothing is asked twice"
    assert (found["judge"].pop("asked_now"), again["judge"].pop("asked_now")) == (6, 0)
    assert again == found


@pytest.mark.parametrize(
    ("behaviour", "because"),
    [
        (reply("Perhaps. Perhaps not."), "does not end with Answer"),
        (reply(""), "does not end with Answer"),
        (reply("It is.\nAnswer: yes", finish_reason="length"), "finish reason: length"),
        (reply(None, refusal="I can't help with that."), "refused"),
        (reply("x" * 30_000 + "\nAnswer: yes"), "does not end with Answer"),
    ],
)
def test_what_is_no_answer_is_unparsed_and_kept(
    judged: Judged, judge: ChatServer, behaviour: Any, because: str
) -> None:
    judge.script(behaviour)
    found = judged("--max-connections", "1")
    assert found["splits"][0]["unparsed"] == 1
    assert sorted(judged.said.values()).count("unparsed") == 1
    (line,) = [line for line in judged.lines if line.get("failure")]
    assert because in line["failure"]["message"]
    assert len(line.get("raw", "")) <= 20_000
    assert found["status"] == "complete"
    judged()
    assert judge.count == 6


@pytest.mark.parametrize("behaviour", [error(400, "no such thing"), error(503), dropped()])
def test_errors_are_left_open_and_only_they_are_asked_again(judged: Judged, judge: ChatServer, behaviour: Any) -> None:
    judge.script(behaviour)
    found = judged(code=1)
    assert (found["status"], found["splits"][0]["error"]) == ("partial", 1)
    count = judge.count
    found = judged()
    assert judge.count == count + 1
    assert judged.said == MISSES
    assert found["status"] == "complete"


def test_the_cost_limit_stops_before_and_goes_on_with_a_higher_one(judged: Judged, judge: ChatServer) -> None:
    # With these the most that a request can cost is known before it is sent.
    judged.card.write_text(JUDGE + "image_tokens: {rule: fixed, tokens: 700}\nparameters: {max_tokens: 10}\n")
    limit = ("--cost-limit", str(3.5 * COST_USD))
    found = judged(*limit, code=1)
    count = judge.count
    assert 1 <= count <= 3
    assert "cost limit" in found["judge"]["stopped"]
    assert found["splits"][0]["error"] == 6 - count
    done = judged.setup.blame(judged.run, *judged.words, *limit)
    assert done.returncode == 1
    assert "the judge stopped before the end" in done.stdout
    assert judge.count == count
    judged("--cost-limit", str(20 * COST_USD))
    assert judge.count == 6
    assert judged.said == MISSES


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_what_was_answered_before_a_kill_is_not_asked_again(
    judged: Judged, judge: ChatServer, how: signal.Signals
) -> None:
    judge.default = after(0.5, answering(looking_judge))
    words = ("blame", judged.run, "--display", "none", *judged.words)
    process = shell.start(*words, cwd=judged.setup.folder, module="grounding")
    journals = judged.run / "error_split"
    shell.wait_until(lambda: any(shell.lines(path) for path in journals.glob("judge_*.jsonl")), process)
    process.send_signal(how)
    done = shell.finish(process)
    assert done.returncode == (-how if how == signal.SIGKILL else 130)
    answered, before = len(judged.lines), judge.count
    assert answered < 6
    judge.default = answering(looking_judge)
    judged()
    assert judge.count == before + 6 - answered
    assert judged.said == MISSES
