"""Differences of two runs over the same steps: what is paired, what is drawn, what must come out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding.scoring.intervals import bootstrap
from grounding.scoring.metrics import registered, task_sums
from grounding.scoring.paired import compare
from grounding.scoring.scored import ScoredTask
from scoring.builders import Played

PAPER = registered()


def tasks(lines: list[str]) -> list[ScoredTask]:
    """One task per line of marks, over two participants in turn."""
    played = Played(
        {str(who): {number: line for number, line in enumerate(lines) if number % 2 == who} for who in (0, 1)}
    )
    return [task for session in played.joined() for task in session.tasks]


SHAPES = st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=4), min_size=1, max_size=8)


@st.composite
def two_runs(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    """Two runs over tasks of the same instructions and steps."""
    shapes = draw(SHAPES)

    def run() -> list[str]:
        return [" ".join("".join(draw(st.sampled_from("+-u")) for _ in range(n)) for n in shape) for shape in shapes]

    return run(), run()


@settings(max_examples=40)
@given(two_runs(), st.integers(0, 1000))
def test_it_is_the_ordinary_bootstrap_of_the_difference(runs: tuple[list[str], list[str]], seed: int) -> None:
    mine, theirs = map(tasks, runs)
    found = compare(PAPER, mine, theirs, seed=seed, resamples=300)
    above, below = task_sums(PAPER, mine)
    their_above, their_below = task_sums(PAPER, theirs)
    assert np.array_equal(below, their_below)
    wanted = bootstrap(above - their_above, below, seed=seed, resamples=300)
    for number, (metric, interval) in enumerate(zip(PAPER, wanted, strict=True)):
        difference = found.metrics[metric.name]
        plain = (above[:, number].sum() - their_above[:, number].sum()) / below[:, number].sum()
        assert difference.value == pytest.approx(plain, abs=1e-8)
        if interval is None:
            assert (difference.low, difference.high, difference.standard_error) == (None, None, None)
            assert difference.p is not None
        else:
            assert (difference.low, difference.high) == pytest.approx((interval.low, interval.high), abs=1e-8)


@settings(max_examples=40)
@given(two_runs())
def test_a_run_beside_itself_is_exactly_nothing(runs: tuple[list[str], list[str]]) -> None:
    mine = tasks(runs[0])
    found = compare(PAPER, mine, list(reversed(mine)), resamples=300)
    for difference in found.metrics.values():
        assert (difference.value, difference.low, difference.high, difference.p) == (0, None, None, 1.0)
    assert (found.won, found.lost) == (0, 0)
    assert found.tasks == len(mine)
    assert found.steps == sum(len(task.steps) for task in mine)


def test_pairing_takes_out_what_tasks_have_in_common() -> None:
    """Tasks of very different difficulty, one step of each better by one run: sure, though both runs vary a lot."""
    hard, easy = "---------+", "++++++++++"
    baseline = [hard if number % 2 else easy for number in range(40)]
    better = [("+" + line[1:]) if number % 2 else line for number, line in enumerate(baseline)]
    difference = compare(PAPER, tasks(better), tasks(baseline)).metrics["step_accuracy"]
    alone = Played({"1": dict(enumerate(better))}).summary().scores.paper.step_accuracy
    assert difference.value == pytest.approx(5.0)
    assert difference.low is not None
    assert difference.low > 0
    assert difference.high is not None
    assert alone.low is not None
    assert alone.high is not None
    assert difference.high - difference.low < (alone.high - alone.low) / 5


def test_of_unfinished_runs_only_what_both_have_answered_is_compared() -> None:
    found = compare(PAPER, tasks(["++ +", "+ ?", "+"]), tasks(["+- +", "- -", "?"]), resamples=50)
    assert (found.steps, found.tasks, found.unasked, found.won, found.lost) == (4, 2, 2, 2, 0)
    assert found.metrics["step_accuracy"].value == pytest.approx(50)  # 4/4 and 2/4
    assert found.metrics["task_success"].value == pytest.approx(100)  # of the first task alone
    assert found.metrics["task_success"].low is None
