"""Counts and shares of the split, in the paper's figures and at the edges."""

from __future__ import annotations

from analysis.looking import answer, plan, step
from grounding.analysis.labels import Opinion, Said, WrongStep, kind_counts, split_of, splits_by_participant, wrong_step
from grounding.analysis.showing import split_words
from grounding.scoring.intervals import wilson


def opinions(*said: tuple[Said, int]) -> tuple[Opinion, ...]:
    every = [each for each, count in said for _ in range(count)]
    return tuple(Opinion(source="judge:o3", step_id=f"1/{i}", said=each) for i, each in enumerate(every))


def test_shares_are_of_what_is_decided() -> None:
    found = split_of("judge:o3", opinions(("reasoning", 34), ("grounding", 26), ("unclear", 3), ("error", 1)))
    assert (found.reasoning.k, found.reasoning.n, found.grounding.k, found.grounding.n) == (34, 60, 26, 60)
    assert found.reasoning.interval == wilson(34, 60)
    assert split_words(found) == (
        "reasoning 56.7 % (34/60) [44.1, 68.4] · grounding 43.3 % (26/60) [31.6, 55.9] · "
        "not counted: unclear 3, error 1"
    )


def wrong(step_id: str) -> WrongStep:
    found = wrong_step(step(step_id), plan(), answer())
    assert found is not None
    return found


def test_participants_add_up() -> None:
    wrongs = [wrong("1/1"), wrong("2/1"), wrong("2/2")]
    said: list[Said] = ["reasoning", "grounding", "unclear"]
    given = [Opinion(source="a", step_id=each.step.id, said=what) for each, what in zip(wrongs, said, strict=True)]
    one, two = splits_by_participant(wrongs, {"a": given})
    assert (one.participant, one.reasoning.k, one.reasoning.n) == ("1", 1, 1)
    assert (two.participant, two.grounding.k, two.grounding.n, two.unclear) == ("2", 1, 1, 1)
    assert kind_counts(wrongs)["wrong_place"] == 3
