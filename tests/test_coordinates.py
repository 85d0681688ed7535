"""Spaces to pixels and back, and the sizes that Qwen-VL image processors make."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from grounding.geometry import (
    ModelBox,
    ModelPoint,
    Space,
    box_to_original,
    point_from_original,
    point_to_original,
    smart_resize,
)
from grounding.records import Box, ImageSizes, Point, Size

SPACES: tuple[Space, ...] = get_args(Space)
FULL_HD = ImageSizes(
    original=Size(width=1920, height=1080), sent=Size(width=960, height=540), model=Size(width=1932, height=1092)
)


@pytest.mark.parametrize(
    ("space", "x", "y", "original"),
    [
        ("original_px", 960, 540, (960, 540)),
        ("sent_px", 480, 270, (960, 540)),
        ("resized_px", 966, 546, (960, 540)),
        ("rel_1", 0.5, 0.5, (960, 540)),
        ("rel_999", 499.5, 499.5, (960, 540)),
        ("rel_1000", 500, 500, (960, 540)),
        ("original_px", 0, 0, (0, 0)),
        ("rel_1", 1, 1, (1920, 1080)),
        ("rel_999", 999, 999, (1920, 1080)),
        ("rel_1000", 1000, 1000, (1920, 1080)),
        ("resized_px", 1932, 1092, (1920, 1080)),
        # The same numbers mean another place in each space.
        ("original_px", 500, 300, (500, 300)),
        ("rel_1000", 500, 300, (960, 324)),
        ("sent_px", 500, 300, (1000, 600)),
        # Outside stays outside, and nothing is rounded.
        ("rel_1000", -1, 1500, (-1.92, 1620)),
        ("original_px", 10.25, -3.75, (10.25, -3.75)),
    ],
)
def test_points(space: Space, x: float, y: float, original: tuple[float, float]) -> None:
    found = point_to_original(ModelPoint(space=space, x=x, y=y), FULL_HD)
    assert (found.x_px, found.y_px) == pytest.approx(original)


side = st.integers(28, 8192)
sizes = st.builds(Size, width=side, height=side)
image_sizes = st.builds(ImageSizes, original=sizes, sent=sizes, model=sizes)
share = st.floats(-0.5, 1.5)


@given(st.sampled_from(SPACES), image_sizes, share, share)
def test_every_space_and_back(space: Space, at: ImageSizes, across: float, down: float) -> None:
    point = Point(x_px=across * at.original.width, y_px=down * at.original.height)
    back = point_to_original(point_from_original(point, space, at), at)
    assert back.x_px == pytest.approx(point.x_px, abs=1e-6)
    assert back.y_px == pytest.approx(point.y_px, abs=1e-6)


@given(st.sampled_from(SPACES), image_sizes, share, share, share, share)
def test_every_box_and_back(space: Space, at: ImageSizes, x1: float, y1: float, x2: float, y2: float) -> None:
    box = Box(
        left_px=min(x1, x2) * at.original.width,
        top_px=min(y1, y2) * at.original.height,
        right_px=max(x1, x2) * at.original.width,
        bottom_px=max(y1, y2) * at.original.height,
    )
    one = point_from_original(Point(x_px=box.left_px, y_px=box.top_px), space, at)
    two = point_from_original(Point(x_px=box.right_px, y_px=box.bottom_px), space, at)
    back = box_to_original(ModelBox(space=space, x1=one.x, y1=one.y, x2=two.x, y2=two.y), at)
    edges = [back.left_px, back.top_px, back.right_px, back.bottom_px]
    assert edges == pytest.approx([box.left_px, box.top_px, box.right_px, box.bottom_px], abs=1e-6)


WHOLE_NUMBERS: tuple[Space, ...] = ("original_px", "sent_px", "resized_px", "rel_999", "rel_1000")


def units(space: Space, at: ImageSizes) -> Size:
    """How many whole numbers a model has for the width and the height."""
    grid = {"rel_999": 999, "rel_1000": 1000}.get(space)
    by_space = {"original_px": at.original, "sent_px": at.sent, "resized_px": at.model}
    return Size(width=grid, height=grid) if grid else by_space[space]


@given(st.sampled_from(WHOLE_NUMBERS), image_sizes, st.floats(0, 1), st.floats(0, 1))
def test_an_answer_in_whole_numbers_is_off_by_half_a_unit_at_most(
    space: Space, at: ImageSizes, across: float, down: float
) -> None:
    """Half a unit of the space: half a pixel where a unit is no larger, 4.1 pixels for a grid of 999 over 8192."""
    point = Point(x_px=across * at.original.width, y_px=down * at.original.height)
    exact, whole = point_from_original(point, space, at), units(space, at)
    back = point_to_original(ModelPoint(space=space, x=round(exact.x), y=round(exact.y)), at)
    assert abs(back.x_px - point.x_px) <= 0.5 * at.original.width / whole.width + 1e-6
    assert abs(back.y_px - point.y_px) <= 0.5 * at.original.height / whole.height + 1e-6
    if whole.width >= at.original.width and whole.height >= at.original.height:
        assert max(abs(back.x_px - point.x_px), abs(back.y_px - point.y_px)) <= 0.5 + 1e-6


# --- smart_resize ---------------------------------------------------------------------------------------------------


# --- the libraries' own functions -------------------------------------------------------------------------------------

TABLE: dict[str, Any] = json.loads((Path(__file__).parent / "smart_resize.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", TABLE["rows"], ids=lambda row: "-".join(map(str, row[:5])))
def test_the_sizes_are_those_of_both_libraries(row: list[int]) -> None:
    width, height, factor, low, high, *theirs = row
    made = smart_resize(Size(width=width, height=height), factor=factor, min_pixels=low, max_pixels=high)
    assert [made.width, made.height] * 2 == theirs


@pytest.mark.slow
@pytest.mark.needs("hf")
@given(
    st.builds(Size, width=side, height=side),
    st.sampled_from([28, 32]),
    st.integers(3136, 10**6),
    st.integers(10**6, 2 * 10**7),
)
def test_the_installed_library_agrees(size: Size, factor: int, low: int, high: int) -> None:
    from transformers.models.qwen2_vl.image_processing_qwen2_vl import smart_resize as resize

    assume(max(size.width, size.height) <= 200 * min(size.width, size.height))
    height, width = resize(size.height, size.width, factor=factor, min_pixels=low, max_pixels=high)
    made = smart_resize(size, factor=factor, min_pixels=low, max_pixels=high)
    assert (made.width, made.height) == (width, height)
