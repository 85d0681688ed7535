"""Cohen's kappa against published and independently computed figures, and what can't be computed said."""

from __future__ import annotations

import pytest

from grounding.analysis.labels import Opinion, Said, agreements


def opinions(source: str, *said: Said) -> tuple[Opinion, ...]:
    return tuple(Opinion(source=source, step_id=f"1/{i}", said=each) for i, each in enumerate(said))


def test_only_steps_that_both_decide_are_compared() -> None:
    (found,) = agreements(
        {
            "reference": opinions("reference", "reasoning", "reasoning", "grounding", "missing", "grounding"),
            "label:ann": opinions("label:ann", "reasoning", "grounding", "grounding", "grounding", "unclear"),
        }
    )
    assert (found.first, found.second) == ("reference", "label:ann")
    counts = (found.reasoning_reasoning, found.reasoning_grounding, found.grounding_reasoning)
    assert (*counts, found.grounding_grounding) == (1, 1, 0, 1)
    assert (found.n, found.left_out) == (3, 2)
    assert found.agree_percent == pytest.approx(200 / 3)
    assert found.kappa == pytest.approx(0.4)
    assert found.interval is not None
    assert -1 <= found.interval.low < 0.4 < found.interval.high <= 1
