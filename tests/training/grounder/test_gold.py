"""The gold answer in the card's own form: it is read back as a hit, or no answer in these numbers would be."""

from __future__ import annotations

import math
from typing import Any

import pytest
from fakes.make import MODELS
from hypothesis import assume, given
from hypothesis import strategies as st

from grounding.cards import GrounderCard, read_cards
from grounding.coordinates import ModelPoint, point_to_original
from grounding.errors import UserError
from grounding.pictures import picture_sizes
from grounding.records import Box, Point, Polygon, Region, Size
from grounding.regions import is_hit
from grounding.training.grounder.gold import gold_answer, written_form
from grounding.training.grounder.reading import judged
from training.grounder.steps import box, example, small_card, step

CARDS = [card for card in read_cards(MODELS / "grounders", GrounderCard) if card.writes is not None]
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


def test_every_bundled_card_that_can_be_trained_says_how_it_writes() -> None:
    cards = read_cards(MODELS / "grounders", GrounderCard)
    silent = [card.name for card in cards if card.serving.how in ("vllm", "vllm-flags") and card.writes is None]
    assert silent == []


def test_what_follows_the_prefill_is_what_the_model_writes() -> None:
    card = next(card for card in CARDS if card.prefill is not None)
    text = gold_answer(card, example(step(size=FULL_HD, boxes=(box(100, 100, 140, 140),))))
    assert text is not None
    assert not text.startswith("<tool_call>")
    assert text.endswith("]}}\n</tool_call>")


def test_the_numbers_are_those_of_the_picture_that_the_model_sees() -> None:
    card = small_card(image={"resize": "client", "factor": 28, "min_pixels": 3136, "max_pixels": 28 * 28 * 100})
    asked = example(step(size=Size(width=1120, height=1120), boxes=(box(540, 260, 580, 300),)))
    assert gold_answer(card, asked) == "(140,70)"


def test_fractions_have_the_cards_own_decimals() -> None:
    showui = next(card for card in CARDS if card.name == "showui")
    asked = example(step(size=FULL_HD, boxes=(box(460, 520, 500, 560),)))
    assert gold_answer(showui, asked) == "[0.25, 0.50]"
    plain = small_card(answer={"form": "point", "space": "rel_1"})
    assert gold_answer(plain, asked) == "(0.250,0.500)"


def test_a_gold_shape_that_can_be_hit_is_taken_before_one_that_cannot() -> None:
    shapes = (box(10.2, 10.2, 10.3, 10.3), box(40, 40, 60, 60))
    assert gold_answer(small_card(), example(step(boxes=shapes))) == "(50,50)"


def test_no_gold_answer_where_no_number_hits() -> None:
    assert gold_answer(small_card(), example(step(boxes=(box(10.2, 10.2, 10.4, 10.4),)))) is None
    absent = step(region=Region(), target_absent=True)
    assert gold_answer(small_card(), example(absent)) is None


def test_a_polygon_is_clicked_inside_though_its_middle_is_outside() -> None:
    corners = [(10, 10), (100, 10), (100, 30), (30, 30), (30, 100), (10, 100)]
    shape = Polygon(points=tuple(Point(x_px=x, y_px=y) for x, y in corners))
    asked = example(step(polygons=(shape,)))
    assert not is_hit(Region(polygons=(shape,)), Point(x_px=55, y_px=55))
    text = gold_answer(small_card(), asked)
    assert text is not None
    assert (
        judged(asked, small_card(), text, picture_sizes(Size(width=112, height=112), small_card().image)).outcome
        == "hit"
    )


def test_how_a_card_writes_has_to_be_known() -> None:
    with pytest.raises(UserError, match="writes"):
        written_form(small_card(answer={"form": "point", "space": "rel_1000", "pattern": r"(\d+)-(\d+)"}))
    assert written_form(small_card(answer={"form": "box", "space": "rel_1000"})) == "[{x1},{y1},{x2},{y2}]"
