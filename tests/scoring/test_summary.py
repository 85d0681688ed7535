import time

import msgspec
import pytest
from hypothesis import given, settings

from grounding.records import Session
from grounding.scoring import CostTotals, Summary, judge_all, summarise, wilson

from .builders import Played, answer, step, summary
from .test_paper import played

LATER = ["averages", "independent", "clusters"]
COUNTS = ["tasks", "instructions", "steps", "skipped", "hit", "miss", "unparsed", "error", "missing"]
SHARE, MEAN = ["value", "k", "n", "low", "high"], ["value", "n", "low", "high"]
SCORES = {
    "paper": {
        "step_accuracy": SHARE,
        "instruction_accuracy": SHARE,
        "average_progress": MEAN,
        "task_success": SHARE,
    },
    "official": {
        "step_accuracy": ["value", "k", "n"],
        "average_progress": ["value", "n"],
        "task_success": ["value", "k", "n"],
        "average_distance": ["value", "n"],
    },
}


def keys(scores):
    return {
        kind: {name: [key for key in score if key != "method"] for name, score in of_kind.items()}
        for kind, of_kind in scores.items()
    }


def written(result):
    return msgspec.json.decode(msgspec.json.encode(result))


@pytest.mark.parametrize("data", [Played({"1": {"a": "+ -"}, "2": {"a": "u"}}), Played({"1": {"a": "."}})])
def test_the_shape_of_the_file(data):
    result = written(data.summary())
    assert list(result) == ["schema", "status", "signature", "counts", "scores", "groups", "cost", *LATER]
    assert (result["schema"], result["status"], result["signature"]) == (1, "complete", "test")
    assert list(result["counts"]) == COUNTS
    assert keys(result["scores"]) == SCORES
    assert list(result["groups"]) == ["participant"]
    assert list(result["groups"]["participant"]) == [session.participant for session in data.sessions]
    for group in result["groups"]["participant"].values():
        assert list(group) == ["counts", "scores"]
        assert list(group["counts"]) == COUNTS
        assert keys(group["scores"]) == SCORES
    sums = ["usd", "planner_usd", "grounder_usd", "input_tokens", "output_tokens"]
    assert list(result["cost"]) == [*sums, "planner", "grounder", "reused"]


def test_counts():
    result = Played({"1": {"a": "+. -u .", "b": "e"}, "2": {"a": "m ? ++"}}).summary()
    assert written(result.counts) == dict(zip(COUNTS, [3, 6, 8, 2, 3, 1, 1, 1, 2], strict=True))
    assert written(result.groups["participant"]["2"].counts) == dict(
        zip(COUNTS, [1, 3, 4, 0, 2, 0, 0, 0, 2], strict=True)
    )


def test_no_data_at_all():
    result = written(summary([], []))
    assert set(result["counts"].values()) == {0}
    assert result["groups"] == {"participant": {}}
    assert [score["value"] for score in result["scores"]["paper"].values()] == [None] * 4
    assert [score["low"] for score in result["scores"]["paper"].values()] == [None] * 4
    assert [score["value"] for score in result["scores"]["official"].values()] == [0] * 4


def test_all_missing():
    result = Played({"1": {"a": "? ??"}, "2": {"b": "m"}}).summary()
    assert (result.counts.steps, result.counts.missing) == (4, 4)
    for name in SCORES["paper"]:
        score = getattr(result.scores.paper, name)
        assert (score.value, score.low) == (0, 0)
        if name == "task_success":
            assert (score.method, score.high) == ("wilson", wilson(0, 2).high)
        else:
            assert (score.method, score.high) == ("bootstrap", 0)
        assert score.n > 0
    assert result.scores.official.average_distance.n == 0


def test_one_task_has_no_width():
    paper = Played({"1": {"a": "++ + -"}}).summary().scores.paper
    for name in SCORES["paper"]:
        score = getattr(paper, name)
        if name != "task_success":
            assert score.low == score.value == score.high


def test_a_cluster_of_one_trial_has_wilsons_interval():
    tasks = {str(p): {"a": "+" if p % 3 else "-", "b": "+"} for p in range(9)}
    paper = Played(tasks).summary().scores.paper
    wanted = wilson(15, 18)
    for name in ("step_accuracy", "instruction_accuracy", "task_success"):
        score = getattr(paper, name)
        assert (score.method, score.low, score.high) == ("wilson", wanted.low, wanted.high)
    assert paper.average_progress.method == "bootstrap"


def test_participants_as_clusters_draw_all_that_one_did():
    data = Played({"1": {"a": "++++", "b": "++"}, "2": {"a": "--", "b": "----"}})
    paper = summarise(data.sessions, data.verdicts, status="complete", signature="s", clusters="participant").scores
    for score in (paper.paper.step_accuracy, paper.paper.task_success):
        assert (score.value, score.low, score.high, score.method) == (50, 0, 100, "bootstrap")


def test_equal_seeds_give_equal_summaries():
    tasks = {str(p): {f"t{i}": "+ " * (i % 4) + "-" for i in range(9)} for p in range(1, 4)}
    assert Played(tasks).summary(seed=4) == Played(tasks).summary(seed=4)
    one, other = (Played(tasks).summary(seed=seed, resamples=99).scores.paper.step_accuracy for seed in (4, 5))
    assert one.value == other.value
    assert (one.low, one.high) != (other.low, other.high)


def test_status_signature_and_cost_are_passed_on():
    cost = CostTotals(usd=0.5)
    result = summarise([], [], status="partial", signature="a:b", cost=cost)
    assert (result.status, result.signature, result.cost) == ("partial", "a:b", cost)


@settings(deadline=None, max_examples=60)
@given(played)
def test_what_holds_for_every_summary(data):
    result = data.summary(resamples=30)
    for counts in [result.counts, *(group.counts for group in result.groups["participant"].values())]:
        assert counts.hit + counts.miss + counts.unparsed + counts.error + counts.missing == counts.steps
        assert counts.tasks <= counts.instructions <= counts.steps
    assert result.counts.steps + result.counts.skipped == sum(len(session.steps) for session in data.sessions)
    assert result.scores.paper.step_accuracy.k == result.counts.hit
    assert result.scores.paper.task_success.n == result.counts.tasks
    for name in COUNTS:
        parts = [getattr(group.counts, name) for group in result.groups["participant"].values()]
        assert sum(parts) == getattr(result.counts, name)
    assert msgspec.json.decode(msgspec.json.encode(result), type=Summary) == result


def test_ten_thousand_steps_are_quick():
    """Measured at 0.2 s; the bar here only catches a change of order."""
    sessions = [
        Session(
            participant=str(p),
            steps=tuple(step(f"{p}/{i}", task=f"{p} {i // 16}", instruction=i % 16) for i in range(1000)),
        )
        for p in range(10)
    ]
    predictions = [answer(s.id, 15 + i % 9, 15) for session in sessions for i, s in enumerate(session.steps)]
    start = time.process_time()
    result = summary(sessions, judge_all(sessions, [], predictions), resamples=10_000)
    assert time.process_time() - start < 3
    assert result.counts.steps == 10_000
