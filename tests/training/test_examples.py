"""Steps to examples: the evaluation's own questions, and nothing else."""

from __future__ import annotations

import pytest

from grounding.run.steps import GroundStage, step_items
from grounding.training.examples import prepare, trained_card
from training.steps import box, recipe, session, small_card, step

INSIDE = (box(10, 10, 60, 60),)


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
    assert [each.query for each in found] == asked
    assert [len(each.query.history) for each in found] == [min(number, history) for number in range(5)]
