"""Folds to figures: pooled over steps, averaged over folds."""

from __future__ import annotations

import pytest

from grounding.records import Verdict
from grounding.scoring.scored import ScoredStep, ScoredTask
from grounding.training.grounder import ScoredPair
from grounding.training.results import changes, fold_means

from .sessions import step


def task(participant: str, name: str, hits: str) -> ScoredTask:
    """``hits`` has a 1 for each step that was hit and a 0 for each miss."""
    steps = []
    for number, hit in enumerate(hits):
        each = step(f"{participant}/{name}/{number}", participant, name, f"{participant}{name}{number}", index=number)
        verdict = Verdict(step_id=each.id, outcome="hit" if hit == "1" else "miss")
        steps.append(ScoredStep(step=each, verdict=verdict))
    return ScoredTask(participant=participant, label=name, steps=tuple(steps))


def fold(**hits: str) -> ScoredPair:
    """A fold: for each task the hits before and after, ``before>after``."""
    pairs = {name: both.split(">") for name, both in hits.items()}
    before, after = (tuple(task("1", name, both[side]) for name, both in pairs.items()) for side in (0, 1))
    return before, after


FOLDS = [fold(gift="0000>1100", film="10>10"), fold(hotel="11>10"), fold(song="00000000>11111111")]


def named(found: tuple, metric: str = "step_accuracy"):  # type: ignore[no-untyped-def,type-arg]
    return next(each for each in found if each.metric == metric)


def test_pooled_a_fold_counts_by_its_steps_and_in_the_mean_alike() -> None:
    pooled = named(changes(*([task for pair in FOLDS for task in pair[side]] for side in (0, 1))))
    assert (pooled.base.k, pooled.base.n, pooled.tuned.k, pooled.tuned.n) == (3, 16, 12, 16)
    assert pooled.difference.value == pytest.approx(100 * 9 / 16)
    means = fold_means([changes(*each) for each in FOLDS])
    mean = named(means)
    assert mean.base == pytest.approx((100 / 6 + 100) / 3)
    assert mean.tuned == pytest.approx((50 + 50 + 100) / 3)
    assert mean.difference == pytest.approx(mean.tuned - mean.base)
    assert mean.low is not None
    assert mean.low < mean.difference
    assert named(means, "task_success").tuned == pytest.approx(100 / 3)
