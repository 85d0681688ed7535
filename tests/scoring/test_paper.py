import random
from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding.records import Session

from .builders import Played, step, summary, verdict

# one task: instructions of one to four steps, "." without a region
lines = st.lists(st.text("+-uem.?", min_size=1, max_size=4), min_size=1, max_size=6).map(" ".join)
played = st.dictionaries(
    st.sampled_from(["1", "2", "10"]), st.dictionaries(st.sampled_from(["a", "b", "c", 1]), lines, max_size=4)
).map(Played)


def paper(data):
    return data.summary(resamples=50).scores.paper


def test_by_hand():
    scores = paper(
        Played(
            {
                "1": {
                    "book": "+ ++ +- +",  # 5 of 6 steps, 3 of 4 instructions, 2 lead
                    "mail": ". +. -",  # 1 of 2 steps, 1 of 2 instructions, 1 leads
                    "read": "..",  # not scored
                },
                "2": {"book": "+ .. +", "find": "u +"},  # all right; nothing leads
            }
        )
    )
    assert (scores.step_accuracy.k, scores.step_accuracy.n) == (9, 12)
    assert scores.step_accuracy.value == 75
    assert (scores.instruction_accuracy.k, scores.instruction_accuracy.n) == (7, 10)
    assert scores.instruction_accuracy.value == 70
    assert scores.average_progress.value == pytest.approx((50 + 50 + 100 + 0) / 4)
    assert (scores.average_progress.k, scores.average_progress.n) == (None, 4)
    assert (scores.task_success.k, scores.task_success.n, scores.task_success.value) == (1, 4, 25)


@pytest.mark.parametrize("mark", list("-uem?"))
def test_everything_but_a_hit_is_wrong(mark):
    scores = paper(Played({"1": {"t": f"+ {mark} +"}}))
    assert scores.step_accuracy.value == pytest.approx(200 / 3)
    assert scores.average_progress.value == pytest.approx(100 / 3)
    assert scores.task_success.value == 0


def test_progress_counts_instructions_not_steps():
    scores = paper(Played({"1": {"t": "+++- +"}}))
    assert scores.average_progress.value == 0  # by steps it would be 60
    assert scores.step_accuracy.value == 80


def test_a_label_that_comes_back_continues_its_task():
    steps = (step("1/1", task="a"), step("1/2", task="b"), step("1/3", task="a", instruction=1))
    scores = summary([Session(participant="1", steps=steps)], [verdict("1/1", "hit")]).scores.paper
    assert (scores.task_success.k, scores.task_success.n) == (0, 2)
    assert scores.average_progress.value == (50 + 0) / 2


@pytest.mark.parametrize(
    ("k", "printed"),
    [(3, 2.8), (4, 3.7), (7, 6.5), (8, 7.5), (9, 8.4), (10, 9.3), (11, 10.3), (12, 11.2), (13, 12.1), (15, 14.0)],
)
def test_the_papers_task_success_is_k_of_107(k, printed):
    """Tables 2 to 4 of RealWebAssist print task success over 107 tasks, to one decimal."""
    tasks = {f"task {i}": "+ +" if i < k else "+ -" for i in range(107)}
    success = paper(Played({"1": tasks})).task_success
    assert (success.k, success.n, round(success.value, 1)) == (k, 107, printed)


def in_other_words(data):
    """Section 3.2 once more, from flat rows: (participant, label) -> [(instruction, is a hit)]."""
    hits = {v.step_id for v in data.verdicts if v.outcome == "hit"}
    rows = [
        ((step.participant, step.task), step.instruction_index, step.id in hits)
        for session in data.sessions
        for step in session.steps
        if step.region is not None
    ]
    steps = [hit for *_, hit in rows]
    by_task = {}
    for task, instruction, hit in rows:
        by_task.setdefault(task, []).append((instruction, hit))
    instructions = {
        task: [all(hit for _, hit in run) for _, run in groupby(pairs, lambda pair: pair[0])]
        for task, pairs in by_task.items()
    }
    flat = [right for run in instructions.values() for right in run]
    progress = [[*run, False].index(False) / len(run) for run in instructions.values()]
    success = [False not in run for run in instructions.values()]
    return [100 * sum(x) / len(x) if x else None for x in (steps, flat, progress, success)]


@settings(deadline=None, max_examples=150)
@given(played)
def test_against_a_second_writing_of_the_definitions(data):
    scores = paper(data)
    values = [
        scores.step_accuracy.value,
        scores.instruction_accuracy.value,
        scores.average_progress.value,
        scores.task_success.value,
    ]
    assert values == [pytest.approx(value) for value in in_other_words(data)]


@settings(deadline=None, max_examples=100)
@given(played)
def test_bounds(data):
    scores = paper(data)
    for score in (scores.step_accuracy, scores.instruction_accuracy, scores.average_progress, scores.task_success):
        if score.n == 0:
            assert (score.value, score.low, score.high) == (None, None, None)
        else:
            assert 0 <= score.low <= score.high <= 100
            assert 0 <= score.value <= 100
    if scores.task_success.n:
        assert scores.average_progress.value >= scores.task_success.value - 1e-9
        assert (scores.task_success.value == 100) == (scores.step_accuracy.value == 100)


@settings(deadline=None, max_examples=60)
@given(st.lists(lines, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_tasks_does_not_matter(tasks, shuffler: random.Random):
    named = list(enumerate(tasks))
    one = paper(Played({"1": dict(named)}))
    shuffler.shuffle(named)
    other = paper(Played({"1": dict(named)}))
    for field in one.__struct_fields__:
        before, after = getattr(one, field), getattr(other, field)
        assert (before.k, before.n) == (after.k, after.n)
        assert before.value == pytest.approx(after.value)
