from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import shell
from conftest import TinyDataset
from hypothesis import given, settings
from report.comparison.runs import run_folder

from grounding.benchmarks.clicks.benchmark import BENCHMARK
from grounding.records import Call, Plan, Prediction, Usage
from grounding.run.folder import RunFolder
from grounding.run.session import rescore
from grounding.scoring.summary import CallTotals, CostTotals, Summary, TimeTotals
from scoring.builders import sums_of

from .builders import Played
from .test_paper import played

COUNTS = ["tasks", "instructions", "steps", "skipped", "hit", "miss", "unparsed", "error", "missing"]


def test_an_unfinished_run_is_scored_over_what_it_has_come_to():
    result = Played({"1": {"a": "+ -", "b": "+ + ?"}, "2": {"a": "??"}}).summary()
    counts, paper = result.counts, result.scores.paper
    assert (counts.steps, counts.missing, counts.unasked, counts.answered) == (7, 3, 3, 4)
    assert (paper.step_accuracy.k, paper.step_accuracy.n) == (3, 4)
    assert (paper.instruction_accuracy.k, paper.instruction_accuracy.n) == (1, 2)
    assert (paper.average_progress.value, paper.average_progress.n) == (50, 1)
    assert (paper.task_success.k, paper.task_success.n) == (0, 1)
    later = result.groups["participant"]["2"].scores.paper
    assert [(score.value, score.n) for score in (later.step_accuracy, later.task_success)] == [(None, 0)] * 2


@settings(deadline=None, max_examples=60)
@given(played)
def test_what_holds_for_every_summary(data):
    result = data.summary(resamples=30)
    for counts in [result.counts, *(group.counts for group in result.groups["participant"].values())]:
        assert counts.hit + counts.miss + counts.unparsed + counts.error + counts.missing == counts.steps
        assert counts.tasks <= counts.instructions <= counts.steps
    assert result.counts.steps + result.counts.skipped == sum(len(session.steps) for session in data.sessions)
    assert result.scores.paper.step_accuracy.k == result.counts.hit
    whole = [task for session in data.joined() for task in session.tasks if task.asked() == task.steps]
    assert result.scores.paper.task_success.n == len(whole)
    for name in COUNTS:
        parts = [getattr(group.counts, name) for group in result.groups["participant"].values()]
        assert sum(parts) == getattr(result.counts, name)
    assert msgspec.json.decode(msgspec.json.encode(result), type=Summary) == result


def plan(call):
    return Plan(step_id="1/1", key="k", text="click Send", call=call)


def prediction(call):
    return Prediction(step_id="1/1", key="k", point=None, call=call)


def test_time_and_money_are_added_up_by_stage_and_what_others_paid_is_apart():
    planned = Call(
        seconds=2,
        attempts=3,
        usage=Usage(input_tokens=100, output_tokens=50, reasoning_tokens=40),
        failed_usage=Usage(input_tokens=100, output_tokens=20, reasoning_tokens=20),
        cost_usd=0.25,
        unreported_usd=0.125,
    )
    failed = Call(seconds=2, failed_usage=Usage(input_tokens=7, output_tokens=0), cost_usd=0.25)
    grounded = Call(seconds=0.5, usage=Usage(input_tokens=10, output_tokens=2, cached_input_tokens=5), cost_usd=0.5)
    reused = msgspec.structs.replace(plan(planned), reused=True)
    sums = sums_of([plan(planned), plan(failed), plan(None), reused], [prediction(grounded), prediction(None)])
    assert sums.time(3) == TimeTotals(wall_s=3, planner_s=4, grounder_s=0.5, retries=2)
    of_plan = {"output_tokens": 70, "reasoning_tokens": 60, "unreported_usd": 0.125}
    assert sums.cost() == CostTotals(
        usd=1,
        planner_usd=0.5,
        grounder_usd=0.5,
        input_tokens=217,
        output_tokens=72,
        planner=CallTotals(calls=2, usd=0.5, input_tokens=207, failed_tokens=127, **of_plan),
        grounder=CallTotals(calls=1, usd=0.5, input_tokens=10, cached_input_tokens=5, output_tokens=2),
        reused=CallTotals(calls=1, usd=0.25, input_tokens=200, failed_tokens=120, **of_plan),
    )
    assert sums_of([reused], []).cost().usd is None


LINES = {"1": {"a": "++++", "b": "++"}, "2": {"a": "--", "b": "----"}, "3": {"a": "+-", "b": "-+"}}


def test_scoring_again_over_participants_changes_intervals_and_signature_and_no_score(tmp_path: Path) -> None:
    run = run_folder(tmp_path / "run", LINES)
    by_task = RunFolder(run).read_summary()
    found = rescore(BENCHMARK, run, clusters="participant").summary
    assert (by_task.clusters, found.clusters) == ("task", "participant")
    assert "|clusters:participant|" in found.signature
    assert found.signature == by_task.signature.replace("clusters:task", "clusters:participant")
    before, after = by_task.scores.paper.step_accuracy, found.scores.paper.step_accuracy
    assert (before.value, before.k, before.n) == (after.value, after.k, after.n)
    assert (before.low, before.high) != (after.low, after.high)
    assert found.scores.paper.task_success.method == "bootstrap"
    assert by_task.scores.paper.task_success.method == "wilson"
    # what was chosen holds until something else is
    assert rescore(BENCHMARK, run).summary == found
    assert rescore(BENCHMARK, run, clusters="task").summary == by_task


@pytest.mark.parametrize("command", ["eval", "score"])
def test_the_choice_is_printed(tmp_path: Path, tiny_dataset: TinyDataset, command: str) -> None:
    place = ["--dataset", "realwebassist", "--data-dir", tiny_dataset(), "--log-dir", tmp_path / "runs"]
    more = ["--clusters", "participant"]
    done = shell.call(*place, "--grounder", "center", *(more if command == "eval" else []))
    if command == "score":
        assert "bootstrap over tasks" in done.stdout
        (run,) = (tmp_path / "runs").iterdir()
        done = shell.call("score", run, *more, module="grounding")
    assert "bootstrap over participants" in done.stdout
    assert "|clusters:participant|" in done.stdout
    assert len(list((tmp_path / "runs").iterdir())) == 1
