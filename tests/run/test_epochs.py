"""``--epochs``: runs of their own, other seeds and keys, and one table."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
import shell
from conftest import TinyDataset
from scoring.builders import step

from grounding.planners.base import planner_reads
from grounding.planners.store import PlanStore, StoredPlanner
from grounding.records import Plan, Query
from grounding.run.steps import StepItem, plan_query


class Counting:
    """A planner that counts how often it is asked."""

    name, identity, max_concurrency = "p", "identity", 1

    def __init__(self) -> None:
        self.asked = 0

    async def plan(self, query: Query) -> Plan:
        self.asked += 1
        return Plan(step_id=query.step_id, key=query.key, text="go")

    async def check(self) -> None: ...

    async def aclose(self) -> None: ...


def test_no_plan_of_another_epoch_is_taken(tmp_path: Path) -> None:
    planner = Counting()
    store = PlanStore(tmp_path, "p", "")
    first, again, second = (StoredPlanner(planner, store, epoch=epoch) for epoch in (1, 1, 2))
    assert first.identity == again.identity == planner.identity
    assert second.identity != first.identity
    assert planner_reads(second) == planner_reads(first)
    item = StepItem(step=step())
    plans = [asyncio.run(one.plan(plan_query(item, one))) for one in (first, again, second)]
    assert [plan.reused for plan in plans] == [False, True, False]
    assert planner.asked == 2


def test_the_command_makes_a_folder_for_each_epoch(tmp_path: Path, tiny_dataset: TinyDataset) -> None:
    place = ["--dataset", "realwebassist", "--data-dir", tiny_dataset(), "--log-dir", tmp_path / "runs"]
    done = shell.call(*place, "--grounder", "random", "--epochs", "3", "--json")
    (found,) = json.loads(done.stdout)
    assert found["spread"]["step accuracy"]["sd"] is not None
    folders = [Path(folder) for folder in found["folders"]]
    assert len(set(folders)) == 3
    signatures = [json.loads((folder / "run.json").read_text())["signature"] for folder in folders]
    assert [signature.rpartition("|")[2] for signature in signatures] == ["version:0.1.0", "epoch:2", "epoch:3"]
    answers = {(folder / "predictions.jsonl").read_bytes() for folder in folders}
    assert len(answers) == 3
    shown = shell.call(*place, "--grounder", "random", "--epochs", "3")
    assert "3 epochs" in shown.stdout
    assert "right in all epochs" in shown.stdout


@pytest.mark.parametrize(
    ("more", "says"), [(["--epochs", "2", "--baseline", "x"], "--baseline"), (["--epochs", "0"], "1 or more")]
)
def test_what_does_not_go_with_epochs(tmp_path: Path, tiny_dataset: TinyDataset, more: list[str], says: str) -> None:
    place = ["--dataset", "realwebassist", "--data-dir", tiny_dataset(), "--log-dir", tmp_path / "runs"]
    done = shell.call(*place, "--grounder", "random", *more)
    assert done.returncode == 2
    assert says in done.stderr
