"""Folds to figures: pooled over steps, averaged over folds, and Student's t against scipy's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.records import Verdict
from grounding.scoring.metrics import estimate, registered
from grounding.scoring.paired import compare
from grounding.scoring.scored import ScoredStep, ScoredTask
from grounding.training.grounder.pooled import FoldScores, changes, fold_means, mean_over, pooled_changes
from grounding.training.grounder.student import student_quantile

from .sessions import step


def task(participant: str, name: str, hits: str) -> ScoredTask:
    """``hits`` has a 1 for each step that was hit and a 0 for each miss."""
    steps = []
    for number, hit in enumerate(hits):
        each = step(f"{participant}/{name}/{number}", participant, name, f"{participant}{name}{number}", index=number)
        verdict = Verdict(step_id=each.id, outcome="hit" if hit == "1" else "miss")
        steps.append(ScoredStep(step=each, verdict=verdict))
    return ScoredTask(participant=participant, label=name, steps=tuple(steps))


def fold(participant: str, **hits: str) -> FoldScores:
    """A fold: for each task the hits before and after, ``before>after``."""
    pairs = {name: both.split(">") for name, both in hits.items()}
    return FoldScores(
        name=participant,
        base=tuple(task(participant, name, before) for name, (before, _) in pairs.items()),
        tuned=tuple(task(participant, name, after) for name, (_, after) in pairs.items()),
    )


FOLDS = [fold("1", gift="0000>1100", film="10>10"), fold("2", hotel="11>10"), fold("3", song="00000000>11111111")]


def named(found: tuple, metric: str = "step_accuracy"):  # type: ignore[no-untyped-def,type-arg]
    return next(each for each in found if each.metric == metric)


def test_pooled_a_fold_counts_by_its_steps_and_in_the_mean_alike() -> None:
    pooled = named(pooled_changes(FOLDS, resamples=200))
    assert (pooled.base.k, pooled.base.n, pooled.tuned.k, pooled.tuned.n) == (3, 16, 12, 16)
    assert pooled.difference.value == pytest.approx(100 * 9 / 16)
    means = fold_means([changes(each.base, each.tuned, resamples=200) for each in FOLDS])
    mean = named(means)
    assert mean.base.values == pytest.approx((100 / 6, 100.0, 0.0))
    assert mean.base.mean == pytest.approx((100 / 6 + 100) / 3)
    assert mean.tuned.mean == pytest.approx((50 + 50 + 100) / 3)
    assert mean.difference.mean == pytest.approx(mean.tuned.mean - mean.base.mean)
    assert named(means, "task_success").tuned.mean == pytest.approx(100 / 3)


def test_pooled_figures_are_those_of_one_evaluation_over_all_the_steps() -> None:
    base = [task for each in FOLDS for task in each.base]
    tuned = [task for each in FOLDS for task in each.tuned]
    alone = estimate(registered(), tuned, seed=3, resamples=500)
    differences = compare(registered(), tuned, base, seed=3, resamples=500)
    for each in pooled_changes(FOLDS, seed=3, resamples=500):
        assert each.tuned == alone[each.metric]
        assert each.difference == differences.metrics[each.metric]


def test_a_single_fold_has_no_mean_over_folds() -> None:
    assert fold_means([changes(FOLDS[0].base, FOLDS[0].tuned, resamples=200)]) == ()
    assert fold_means([]) == ()


def test_a_step_that_is_held_out_twice_is_not_counted_twice() -> None:
    with pytest.raises(ValueError, match="more than one fold"):
        pooled_changes([FOLDS[0], FOLDS[0]], resamples=200)


def test_where_no_step_follows_another_only_their_accuracy_is_given() -> None:
    import msgspec

    def alone(tasks: tuple[ScoredTask, ...]) -> tuple[ScoredTask, ...]:
        replace = msgspec.structs.replace
        return tuple(
            replace(each, steps=tuple(replace(one, step=replace(one.step, independent=True)) for one in each.steps))
            for each in tasks
        )

    found = changes(alone(FOLDS[0].base), alone(FOLDS[0].tuned), resamples=200)
    assert [each.metric for each in found] == ["step_accuracy"]


def test_one_value_has_a_mean_and_no_interval() -> None:
    found = mean_over([4.0])
    assert (found.mean, found.low, found.high) == (4.0, None, None)
    with pytest.raises(ValueError, match="at least one"):
        mean_over([])


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=10))
def test_the_mean_over_folds_is_students_interval(values: list[float]) -> None:
    stats = pytest.importorskip("scipy.stats")
    found = mean_over(values)
    assert found.low is not None
    assert found.high is not None
    spread = stats.sem(values)
    if spread > 1e-6:
        low, high = stats.t.interval(0.95, len(values) - 1, loc=sum(values) / len(values), scale=spread)
        assert (found.low, found.high) == pytest.approx((low, high), rel=1e-6, abs=1e-6)


@given(st.floats(0.001, 0.999), st.integers(1, 200))
def test_the_quantile_is_scipys(share: float, degrees: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    assert student_quantile(share, degrees) == pytest.approx(stats.t.ppf(share, degrees), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(("share", "degrees"), [(0.0, 3), (1.0, 3), (0.5, 0)])
def test_a_quantile_of_nothing_is_refused(share: float, degrees: int) -> None:
    with pytest.raises(ValueError, match="expected 0 < share < 1"):
        student_quantile(share, degrees)
