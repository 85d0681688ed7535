"""Steps to examples: what is asked, the gold answer in the card's own form, and what a reply is worth."""

from __future__ import annotations

import math
from typing import Any

import pytest
from fakes.make import bundled_grounders
from hypothesis import assume, given
from hypothesis import strategies as st

from grounding.cards import GrounderCard
from grounding.data.images import picture_sizes
from grounding.geometry import ModelPoint, is_hit, point_to_original
from grounding.grounders.base import read_reply
from grounding.records import Box, Region, Size
from grounding.run.steps import GroundStage, step_items
from grounding.training.examples import gold_answer, judged, prepare, reward, trained_card
from training.steps import box, example, recipe, session, small_card, step

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


CARDS = [card for card in bundled_grounders() if card.writes is not None]
FULL_HD = Size(width=1920, height=1080)
TINY = {"resize": "client", "factor": 28, "min_pixels": 3136, "max_pixels": 1_000_000}

sizes = st.builds(Size, width=st.integers(56, 4000), height=st.integers(56, 2200))
spaces = st.sampled_from(["original_px", "sent_px", "resized_px", "rel_1", "rel_999", "rel_1000"])


@st.composite
def cases(draw: st.DrawFn) -> tuple[GrounderCard, Size, Box]:
    size = draw(sizes)
    space = draw(spaces)
    writes = draw(st.sampled_from(["({x},{y})", "go to ({x:.2f}, {y:.2f})", "([{x1},{y1},{x2},{y2}])", None]))
    form = "box" if writes and "x1" in writes else draw(st.sampled_from(["point", "point_or_box"]))
    rule: dict[str, Any] = {"form": form, "space": space}
    image = draw(st.sampled_from([TINY, {"resize": "none"}, {**TINY, "resize": "server"}]))
    left = draw(st.floats(0, size.width - 1, allow_nan=False))
    top = draw(st.floats(0, size.height - 1, allow_nan=False))
    # Small ones above all: there the numbers' grid decides.
    sides = st.one_of(st.floats(0, 6), st.floats(0, 400))
    right = min(left + draw(sides), size.width)
    bottom = min(top + draw(sides), size.height)
    return small_card(answer=rule, image=image, writes=writes), size, box(left, top, right, bottom)


@given(cases())
def test_a_gold_answer_is_read_back_as_a_hit_or_none_would_be(case: tuple[GrounderCard, Size, Box]) -> None:
    card, size, gold = case
    asked = example(step(size=size, boxes=(gold,)))
    text = gold_answer(card, asked)
    shown = picture_sizes(size, card.image)
    if text is not None:
        assert judged(asked, card, text, shown).outcome == "hit"
        return
    # No number next to the centre in these units lies in the box: then no other does.
    decimals = 2 if card.writes and ".2f" in card.writes else 3 if card.answer.space == "rel_1" else 0
    assume(card.answer.form != "box")
    unit = 10.0**-decimals
    one = point_to_original(ModelPoint(space=card.answer.space, x=unit, y=unit), shown)
    across, down = gold.right_px - gold.left_px, gold.bottom_px - gold.top_px
    assert across < one.x_px * 1.001 or down < one.y_px * 1.001


@pytest.mark.parametrize("card", CARDS, ids=[card.name for card in CARDS])
@given(
    size=st.builds(Size, width=st.integers(400, 4000), height=st.integers(300, 2200)),
    where=st.tuples(st.floats(0.02, 0.9), st.floats(0.02, 0.9)),
    side=st.floats(0.03, 0.08),
)
def test_every_bundled_card_reads_its_own_gold_answer(
    card: GrounderCard, size: Size, where: tuple[float, float], side: float
) -> None:
    left, top = where[0] * size.width, where[1] * size.height
    gold = box(left, top, left + side * size.width, top + side * size.height)
    asked = example(step(size=size, boxes=(gold,)))
    text = gold_answer(card, asked)
    assert text is not None
    verdict = judged(asked, card, text, picture_sizes(size, card.image))
    assert verdict.outcome == "hit"
    assert verdict.point is not None
    assert math.hypot(verdict.point.x_px - gold.center.x_px, verdict.point.y_px - gold.center.y_px) < 0.01 * math.hypot(
        size.width, size.height
    )


PLAIN = small_card(image={"resize": "none"}, answer={"form": "point", "space": "original_px"})
SIZE = Size(width=300, height=400)
BUTTON = box(100, 100, 140, 120)
ASKED = example(step(size=SIZE, boxes=(BUTTON,)))

replies = st.one_of(
    st.text(max_size=60),
    st.builds("({},{})".format, st.integers(80, 160), st.integers(90, 130)),
    st.builds("[{:.2f}, {:.2f}]".format, st.floats(-1e12, 1e12), st.floats(-1e12, 1e12)),
    st.sampled_from(["(nan, nan)", "(1e400, 1)", "(" + "9" * 400 + ",1)", "", "(12", "(1,2,3,4)"]),
)


@given(replies)
def test_a_reply_is_worth_1_where_its_point_is_a_hit_and_else_0(text: str) -> None:
    point = read_reply(text, PLAIN.answer, picture_sizes(SIZE, PLAIN.image)).point
    assert reward(ASKED, PLAIN, text) == float(point is not None and is_hit(Region(boxes=(BUTTON,)), point))


def test_where_the_target_is_absent_saying_so_is_right() -> None:
    card = small_card(image={"resize": "none"}, answer={"form": "point", "space": "original_px", "refusal": "none"})
    absent = example(step(region=Region(), target_absent=True))
    assert [reward(absent, card, text) for text in ("none", "(1,1)")] == [1.0, 0.0]
    assert reward(ASKED, card, "none") == 0.0
