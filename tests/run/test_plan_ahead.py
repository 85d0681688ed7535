"""Runs with ``--plan-ahead``: one request an instruction, whatever happens to the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import shell
from conftest import Item, TinyDataset
from fakes.slow_server import SlowServer, any_point, slow_server

PRICE = "price: {input_usd: 10, output_usd: 100, date: '2026-01-01'}\n"
COST_USD = (100 * 10 + 10 * 100) / 1e6

# Steps 0-2 are one instruction, 3 has no click, 3-5 are the next, and so on: three scored steps, then two.
STEPS, UNSCORED = 12, (3, 9)


def reply(model: str, question: str) -> str:
    return "1. Click the first\n2. Click the second" if model == "thinker" else any_point(model, question)


class Ahead:
    """A data set of two participants with four instructions each, and a command line for runs over it."""

    def __init__(self, folder: Path, data_dir: Path) -> None:
        self.folder, self.data_dir = folder, data_dir
        self.planner = shell.planner_card(folder)
        self.planner.write_text(self.planner.read_text() + PRICE)
        self.grounder = shell.grounder_card(folder)

    def args(self, server: SlowServer, *more: str | Path, log_dir: str = "results") -> list[str]:
        return [
            *("--dataset", "realwebassist", "--data-dir", str(self.data_dir), "--log-dir", str(self.folder / log_dir)),
            *("--planner", str(self.planner), "--planner-base-url", server.url, "--plan-ahead"),
            *("--grounder", str(self.grounder), "--base-url", server.url, "--max-retries", "0"),
            *map(str, more),
        ]

    def plans(self, log_dir: str = "results") -> dict[str, dict[str, Any]]:
        folder = shell.run_folder(self.folder / log_dir)
        return {each["step_id"]: each for each in shell.records(folder / "plans.jsonl")}

    def replies(self, log_dir: str = "results") -> list[str]:
        folder = shell.run_folder(self.folder / log_dir)
        return [each["step_id"] for each in shell.records(folder / "ahead.jsonl")]


@pytest.fixture
def ahead(tmp_path: Path, tiny_dataset: TinyDataset) -> Ahead:
    def in_steps_of_three(participant: str, items: list[Item]) -> None:
        for number, item in enumerate(items):
            item["instruction"] = f"{participant} says {number // 3}"

    return Ahead(tmp_path, tiny_dataset(steps=STEPS, unscored=UNSCORED, steps_per_task=6, edit=in_steps_of_three))


@pytest.fixture
def server() -> Iterator[SlowServer]:
    with slow_server(reply) as running:
        yield running


def planned(server: SlowServer) -> Counter[str]:
    return Counter({text: count for text, count in server.texts.items() if text.startswith("thinker: ")})


def test_one_request_an_instruction_and_its_actions_one_by_one(ahead: Ahead, server: SlowServer) -> None:
    done = shell.call(*ahead.args(server))
    assert done.returncode == 0, done.stderr
    assert planned(server).total() == 8
    plans = ahead.plans()
    assert len(plans) == 20
    assert [plans[f"1/{number}"].get("text") for number in (1, 2, 3)] == ["Click the first", "Click the second", None]
    assert plans["1/3"]["failure"] == {
        "kind": "unparsed",
        "message": "the plan for the whole instruction has 2 actions; this is its step 3",
    }
    # 1/4 has no click: the instruction begins for the planner at 1/5.
    assert [plans[f"1/{number}"]["text"] for number in (5, 6)] == ["Click the first", "Click the second"]
    assert sorted(ahead.replies()) == sorted(f"{p}/{n}" for p in (1, 2) for n in (1, 5, 7, 11))
    assert [step for step, plan in plans.items() if "call" in plan] == [
        step for step in plans if step in ahead.replies()
    ]
    summary = shell.summary(shell.run_folder(ahead.folder / "results"))
    assert summary["counts"]["unparsed"] >= 4
    assert summary["cost"]["planner"]["calls"] == 8
    assert summary["cost"]["planner_usd"] == pytest.approx(8 * COST_USD)
    assert "/ahead" in summary["signature"]

    before = server.requests
    assert shell.call(*ahead.args(server)).returncode == 0
    assert server.requests == before


def test_a_later_step_alone_is_planned_from_where_its_instruction_began(ahead: Ahead, server: SlowServer) -> None:
    assert shell.call(*ahead.args(server)).returncode == 0
    asked = set(server.asked)
    done = shell.call(*ahead.args(server, "--sample-id", "1/2", log_dir="alone"))
    assert done.returncode == 0
    (plan,) = ahead.plans("alone").values()
    assert (plan["step_id"], plan["text"]) == ("1/2", "Click the second")
    assert plan["call"]["cost_usd"] == pytest.approx(COST_USD)
    assert ahead.replies("alone") == ["1/1"]
    assert set(server.asked) == asked  # The same two questions, byte for byte.


def test_an_error_is_told_at_every_step_and_asked_again_once(ahead: Ahead, server: SlowServer) -> None:
    server.status = 500
    failed = shell.call(*ahead.args(server, "--participant", "1"))
    assert failed.returncode == 1
    assert planned(server).total() == 4
    assert {plan["failure"]["kind"] for plan in ahead.plans().values()} == {"error"}
    server.status = None
    assert shell.call(*ahead.args(server, "--participant", "1")).returncode == 0
    assert planned(server).total() == 8
    assert sum("text" in plan and plan["text"] is not None for plan in ahead.plans().values()) == 8


def test_with_a_plan_store_the_second_run_asks_no_planner(
    ahead: Ahead, server: SlowServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GROUNDING_EVAL_NO_PLAN_STORE")
    store = ("--plan-store", ahead.folder / "store")
    assert shell.call(*ahead.args(server, *store)).returncode == 0
    assert planned(server).total() == 8
    assert shell.call(*ahead.args(server, *store, log_dir="again")).returncode == 0
    assert planned(server).total() == 8
    assert {step: plan.get("text") for step, plan in ahead.plans("again").items()} == {
        step: plan.get("text") for step, plan in ahead.plans().items()
    }
    assert all(plan["reused"] for plan in ahead.plans("again").values())


@pytest.mark.parametrize("moment", [1, 3, 6])
@pytest.mark.slow
def test_killed_in_the_middle_no_instruction_is_asked_about_twice(
    ahead: Ahead, server: SlowServer, moment: int
) -> None:
    server.let_go(moment)
    process = shell.start(*ahead.args(server), cwd=ahead.folder)
    shell.wait_until(lambda: any(shell.lines(path) for path in ahead.folder.glob("results/*/ahead.jsonl")), process)
    shell.wait_until(lambda: server.answered >= moment, process)
    process.kill()
    process.communicate()
    kept = ahead.replies()
    server.stop()
    server.start()
    server.let_go(None)
    before = server.texts.copy()
    done = shell.run(*ahead.args(server), cwd=ahead.folder)
    assert done.returncode == 0, done.stderr
    again = Counter(server.texts)
    again.subtract(before)
    asked_now = sum(count for text, count in again.items() if text.startswith("thinker: "))
    assert asked_now == 8 - len(kept)
    assert len(ahead.replies()) == 8
    assert len(ahead.plans()) == 20


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--planner", "none", "--plan-ahead"], "--plan-ahead: the planner none asks no model by a card"),
        (
            ["--planner", "o3", "--plan-ahead", "--planner-prompt", "official"],
            "--planner-prompt official asks for the next action only",
        ),
        (["--planner", "o3", "--planner-prompt", "ahead"], "at once: add --plan-ahead"),
    ],
)
def test_what_does_not_go_together_is_said(arguments: list[str], words: str) -> None:
    done = shell.call(*arguments, "--planner-base-url", "http://127.0.0.1:1/v1")
    assert done.returncode == 2
    assert words in done.stderr
