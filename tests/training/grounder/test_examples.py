"""Steps to examples: the evaluation's own questions, and a count of what is none."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from grounding.cards import CardPart
from grounding.errors import UserError
from grounding.records import Failure, Region, Size
from grounding.steps import GroundStage, step_items
from grounding.training.grounder.examples import (
    HISTORY_PART,
    NO_HISTORY,
    prepare,
    read_examples,
    trained_card,
    write_examples,
)
from grounding.training.grounder.records import SftRule
from training.grounder.steps import box, drawn, recipe, session, small_card, step

INSIDE = (box(10, 10, 60, 60),)


def test_without_history_the_card_is_the_asked_one() -> None:
    card = small_card()
    assert trained_card(card, history=0) is card
    assert trained_card(card, history=10, form="card") is card


def test_a_card_with_a_place_for_the_history_keeps_its_own() -> None:
    card = small_card(user=[{"text": "{history}"}, {"image": "screenshot"}, {"text": "{instruction}"}])
    assert trained_card(card, history=10) is card


def test_the_history_comes_first_and_the_cards_own_parts_stay() -> None:
    card = small_card()
    derived = trained_card(card, history=10)
    assert derived.user == (CardPart(text=HISTORY_PART), *card.user)
    assert derived.no_history == NO_HISTORY
    assert derived.uses_history
    assert trained_card(derived, history=10) is derived
    assert msgspec.structs.replace(derived, user=card.user, no_history=card.no_history) == card


@pytest.mark.parametrize("history", [0, 1, 3])
def test_examples_ask_what_the_evaluation_asks(history: int) -> None:
    steps = tuple(step(number, boxes=INSIDE) for number in range(5))
    card = trained_card(small_card(), history=history)
    found = prepare(session(steps), [each.id for each in steps], card, recipe(history=history))

    class Named:
        name, identity, max_concurrency = "g", "g", 1

    stage = GroundStage(Named(), None, reads=card.reads)  # type: ignore[arg-type]
    items = step_items(session(steps), frozenset(each.id for each in steps), history)
    asked = [stage.query(item, item.step.instruction, key="") for item in items]
    assert [each.query for each in found.examples] == asked
    assert [len(each.query.history) for each in found.examples] == [min(number, history) for number in range(5)]
    assert found.counted.with_history == (4 if history else 0)


def test_the_history_may_lie_outside_the_selection() -> None:
    steps = tuple(step(number, boxes=INSIDE) for number in range(4))
    (last,) = prepare(session(steps), ["1/3"], trained_card(small_card(), history=2), recipe(history=2)).examples
    assert [entry.instruction for entry in last.query.history] == ["press button 1", "press button 2"]


def test_every_step_is_an_example_or_counted() -> None:
    steps = (
        step(0, boxes=INSIDE),
        step(1, region=None),
        step(2, boxes=INSIDE, unheard=Failure(kind="missing", message="no words")),
        step(3, boxes=INSIDE, instruction="x" * 20_000),
        step(4, region=Region(), target_absent=True),
        step(5, boxes=INSIDE, size=Size(width=4000, height=8)),
        step(6, boxes=(box(10.2, 10.2, 10.4, 10.4),)),
        step(7, boxes=INSIDE),
    )
    chosen = [each.id for each in steps if each.id != "1/7"]
    counted = prepare(session(steps), chosen, small_card(), recipe()).counted
    assert counted.examples == 2
    assert (counted.no_click, counted.unheard, counted.too_long) == (1, 1, 1)
    assert (counted.absent, counted.unreadable, counted.unreachable) == (1, 1, 1)


def test_a_card_that_can_decline_is_asked_about_what_is_absent() -> None:
    steps = (step(0, region=Region(), target_absent=True),)
    answer = {"form": "point", "space": "resized_px", "refusal": "none"}
    counted = prepare(session(steps), ["1/0"], small_card(answer=answer), recipe()).counted
    assert (counted.examples, counted.absent, counted.unreachable) == (1, 0, 1)


def test_a_card_of_unknown_form_is_refused_for_supervision_only() -> None:
    answer = {"form": "point", "space": "resized_px", "pattern": r"(\d+)/(\d+)"}
    steps = (step(0, boxes=INSIDE),)
    assert prepare(session(steps), ["1/0"], small_card(answer=answer), recipe()).counted.unreachable == 0
    with pytest.raises(UserError, match="writes"):
        prepare(session(steps), ["1/0"], small_card(answer=answer), recipe(sft=SftRule()))


def test_examples_come_back_from_their_file(tmp_path: Path) -> None:
    steps = drawn(tmp_path, 3)
    card = trained_card(small_card(), history=2)
    found = prepare(session(steps), [each.id for each in steps], card, recipe(history=2)).examples
    path = tmp_path / "examples.jsonl"
    write_examples(path, found)
    assert read_examples(path) == found
    assert len(path.read_text().splitlines()) == 3
    path.write_text("{")
    with pytest.raises(UserError, match="examples"):
        read_examples(path)
    with pytest.raises(UserError, match="examples"):
        read_examples(tmp_path / "none.jsonl")
