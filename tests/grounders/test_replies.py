"""A whole reply to a place on the screenshot, by the card's rule and through its space."""

from __future__ import annotations

from typing import Any

from fakes.make import grounder_card

from grounding.cards import AnswerRule
from grounding.grounders.replies import ReadReply, read_reply
from grounding.records import Box, ImageSizes, Point, Size

SIZES = ImageSizes(
    original=Size(width=200, height=100), sent=Size(width=100, height=50), model=Size(width=100, height=50)
)


def rule(**fields: Any) -> AnswerRule:
    return grounder_card(answer={"form": "point", "space": "resized_px", **fields}).answer


def test_a_point_is_in_pixels_of_the_original() -> None:
    assert read_reply("go to (10, 20)", rule(), SIZES) == ReadReply(point=Point(x_px=20, y_px=40))


def test_a_box_counts_by_its_centre() -> None:
    found = read_reply("[10, 20, 30, 40]", rule(form="box", space="original_px"), SIZES)
    assert found.box == Box(left_px=10, top_px=20, right_px=30, bottom_px=40)
    assert found.point == Point(x_px=20, y_px=30)


def test_without_a_place_it_says_why() -> None:
    failure = read_reply("there", rule(form="point_or_box"), SIZES, finish_reason="length").failure
    assert failure is not None
    assert failure.message == "no point or box in the reply (finish reason: length)"
    assert (
        read_reply("there", rule(), SIZES, finish_reason="stop").failure == read_reply("there", rule(), SIZES).failure
    )


def test_who_declines_names_no_place() -> None:
    found = read_reply("none (10, 20)", rule(refusal="none"), SIZES)
    assert found.declined
    assert found.point is None
    assert found.failure is not None


def test_who_refused_is_not_read() -> None:
    found = read_reply("none (10, 20)", rule(refusal="none"), SIZES, refused=True)
    assert not found.declined
    assert found.point is None
    assert found.failure is not None
    assert found.failure.message == "the model refused"
