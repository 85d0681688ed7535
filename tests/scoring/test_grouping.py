from __future__ import annotations

import msgspec
import pytest

from grounding.records import GroupLabel, Outcome, Session, Step, Verdict
from grounding.scoring.grouping import Averages
from scoring.builders import step, summarise


def labelled(name: str, task: int, *names: str, kind: str = "type") -> Step:
    labels = tuple(GroupLabel(kind=kind, name=each) for each in names)
    return msgspec.structs.replace(step(name, task=task), groups=labels, independent=True)


def scored(*cells: tuple[str, int, int]) -> tuple[list[Session], list[Verdict]]:
    """Sessions and verdicts with k hits of n in each group, every step a task of its own."""
    steps, verdicts = [], []
    for name, hits, count in cells:
        for number in range(count):
            one = labelled(f"1/{name}{number}", len(steps), name)
            outcome: Outcome = "hit" if number < hits else "miss"
            steps.append(one)
            verdicts.append(Verdict(step_id=one.id, outcome=outcome))
    return [Session(participant="1", steps=tuple(steps))], verdicts


def averages(sessions: list[Session], verdicts: list[Verdict], resamples: int) -> Averages | None:
    summary = summarise(sessions, verdicts, status="complete", signature="s", resamples=resamples)
    return summary.averages.get("type")


def test_micro_counts_steps_and_macro_groups() -> None:
    """The case on which a common harness prints 59.6.

    VLMEvalKit collects a group's results with ``[v for k, v in stats.items() for x in v]``, which repeats each list as
    many times as it is long: every subgroup weighs n squared, (100 * 60 + 10 * 2) / (100^2 + 10^2) = 59.6 %.
    """
    sessions, verdicts = scored(("text", 60, 100), ("icon", 2, 10))
    both = averages(sessions, verdicts, 200)
    assert both is not None
    assert both.micro.value == pytest.approx(100 * 62 / 110)  # 56.4
    assert (both.micro.k, both.micro.n) == (62, 110)
    assert both.macro.value == pytest.approx((60 + 20) / 2)
    assert (both.macro.k, both.macro.n) == (None, 2)
    wrong = 100 * (100 * 60 + 10 * 2) / (100**2 + 10**2)
    assert wrong == pytest.approx(59.6, abs=0.05)
    assert abs((both.micro.value or 0) - wrong) > 3
    for estimate in (both.micro, both.macro):
        assert None not in (estimate.low, estimate.high, estimate.value)
        assert (estimate.low or 0) < (estimate.value or 0) < (estimate.high or 0)


def test_a_summary_has_every_kind_with_counts_and_averages() -> None:
    sessions, verdicts = scored(("text", 3, 4), ("icon", 0, 2))
    summary = summarise(sessions, verdicts, status="complete", signature="s", resamples=50)
    assert set(summary.groups) == {"participant", "type"}
    assert summary.groups["type"]["text"].scores.paper.step_accuracy.k == 3
    assert summary.groups["type"]["icon"].counts.steps == 2
    assert summary.averages["type"].micro == summary.scores.paper.step_accuracy
    assert summary.independent


def test_steps_over_one_screenshot_are_drawn_together() -> None:
    """Ten equal answers over one picture are one observation: the interval must not be that of ten."""
    apart = [labelled(f"1/{number}", number, "g") for number in range(20)]
    together = [labelled(f"1/{number}", number // 10, "g") for number in range(20)]
    verdicts = [Verdict(step_id=f"1/{number}", outcome="hit" if number < 10 else "miss") for number in range(20)]

    def width(steps: list[Step]) -> float:
        both = averages([Session(participant="1", steps=tuple(steps))], verdicts, 2000)
        assert both is not None
        micro = both.micro
        assert micro.value == 50
        assert micro.low is not None
        assert micro.high is not None
        return micro.high - micro.low

    assert width(together) == 100
    assert width(apart) < 50
