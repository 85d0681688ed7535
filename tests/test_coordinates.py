"""Spaces to pixels and back, and the sizes that Qwen-VL image processors make."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, cast, get_args

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from grounding.coordinates import (
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


@given(image_sizes, st.floats(-1e4, 1e4), st.floats(-1e4, 1e4))
def test_pixels_of_the_original_are_not_touched_by_arithmetic(at: ImageSizes, x: float, y: float) -> None:
    """An answer on the very edge of a gold box is a hit: 31 / 1920 * 1920 would be 31.000000000000004."""
    assert point_to_original(ModelPoint(space="original_px", x=x, y=y), at) == Point(x_px=x, y_px=y)
    assert point_from_original(Point(x_px=x, y_px=y), "original_px", at) == ModelPoint(space="original_px", x=x, y=y)


@given(image_sizes, st.integers(0, 1000), st.integers(0, 1000))
def test_whole_numbers_are_scaled_as_exactly_as_a_float_can(at: ImageSizes, x: int, y: int) -> None:
    for space, whole in (("rel_1000", 1000), ("rel_999", 999)):
        found = point_to_original(ModelPoint(space=cast(Space, space), x=x, y=y), at)
        assert found.x_px == float(Fraction(x * at.original.width, whole))
        assert found.y_px == float(Fraction(y * at.original.height, whole))


@given(image_sizes, share, share)
def test_all_spaces_name_the_same_share_of_the_picture(at: ImageSizes, across: float, down: float) -> None:
    point = Point(x_px=across * at.original.width, y_px=down * at.original.height)
    whole = {
        "original_px": at.original.width,
        "sent_px": at.sent.width,
        "resized_px": at.model.width,
        "rel_1": 1,
        "rel_999": 999,
        "rel_1000": 1000,
    }
    for space in SPACES:
        assert point_from_original(point, space, at).x == pytest.approx(across * whole[space], abs=1e-6)


@pytest.mark.parametrize("corners", [(10, 20, 30, 50), (30, 50, 10, 20), (30, 20, 10, 50), (10, 50, 30, 20)])
def test_the_corners_of_a_box_may_come_in_any_order(corners: tuple[int, int, int, int]) -> None:
    x1, y1, x2, y2 = corners
    box = box_to_original(ModelBox(space="sent_px", x1=x1, y1=y1, x2=x2, y2=y2), FULL_HD)
    assert box == Box(left_px=20, top_px=40, right_px=60, bottom_px=100)
    assert box.center == Point(x_px=40, y_px=70)


@given(st.sampled_from(SPACES), image_sizes, *[st.floats(-1e4, 1e4)] * 4)
def test_a_box_is_its_two_corners(space: Space, at: ImageSizes, x1: float, y1: float, x2: float, y2: float) -> None:
    box = box_to_original(ModelBox(space=space, x1=x1, y1=y1, x2=x2, y2=y2), at)
    assert box.left_px <= box.right_px
    assert box.top_px <= box.bottom_px
    ends = [point_to_original(ModelPoint(space=space, x=x, y=y), at) for x, y in ((x1, y1), (x2, y2))]
    assert sorted(end.x_px for end in ends) == [box.left_px, box.right_px]
    assert sorted(end.y_px for end in ends) == [box.top_px, box.bottom_px]


# --- smart_resize ---------------------------------------------------------------------------------------------------

GTA1 = {"factor": 28, "min_pixels": 3136, "max_pixels": 8847360}


@pytest.mark.parametrize(
    ("size", "limits", "expected"),
    [
        # Each side divided by 28, rounded, times 28: 68.57 -> 69, 38.57 -> 39.
        ((1920, 1080), GTA1, (1932, 1092)),
        ((1280, 720), GTA1, (1288, 728)),  # 45.71 -> 46, 25.71 -> 26
        ((2560, 1440), GTA1, (2548, 1428)),  # 91.43 -> 91, 51.43 -> 51
        ((3840, 2160), GTA1, (3836, 2156)),  # 137.14 -> 137, 77.14 -> 77: 8,270,416 pixels, just allowed
        ((1080, 1920), GTA1, (1092, 1932)),
        ((28, 28), {**GTA1, "min_pixels": 784}, (28, 28)),
        # Halves go to the even multiple: 1.5 -> 2, 2.5 -> 2, 3.5 -> 4.
        ((42, 70), GTA1 | {"min_pixels": 1}, (56, 56)),
        ((98, 70), GTA1 | {"min_pixels": 1}, (112, 56)),
        # Too large: divided by sqrt(7680 * 4320 / 8847360) = 1.9365, then floored: 141.6 -> 141, 79.7 -> 79.
        ((7680, 4320), GTA1, (3948, 2212)),
        # The library's own limit of 1,003,520: 1.4374; 47.70 -> 47, 26.84 -> 26.
        ((1920, 1080), {**GTA1, "max_pixels": 1003520}, (1316, 728)),
        # Too small: times sqrt(3136 / (20 * 10)) = 3.9598, then ceiled: 2.83 -> 3, 1.41 -> 2.
        ((20, 10), GTA1, (84, 56)),
        ((1, 1), GTA1, (56, 56)),
        # Qwen3-VL: 60 and 33.75 -> 34.
        ((1920, 1080), {"factor": 32, "min_pixels": 65536, "max_pixels": 16777216}, (1920, 1088)),
        # A side never shrinks to nothing: divided by sqrt(20) = 4.4721, 44.72 -> 44, and 0.22 -> 1 instead of 0.
        ((5600, 28), {"factor": 28, "min_pixels": 784, "max_pixels": 7840}, (1232, 28)),
    ],
)
def test_known_sizes(size: tuple[int, int], limits: dict[str, int], expected: tuple[int, int]) -> None:
    made = smart_resize(Size(width=size[0], height=size[1]), **limits)
    assert (made.width, made.height) == expected


@given(sizes, st.sampled_from([14, 28, 32]), st.integers(4 * 32 * 32, 10**6), st.integers(1, 200))
def test_sides_are_multiples_and_the_area_is_within_the_limits(
    size: Size, factor: int, min_pixels: int, wider: int
) -> None:
    assume(max(size.width, size.height) <= 200 * min(size.width, size.height))
    max_pixels = min_pixels * (1 + wider)
    made = smart_resize(size, factor=factor, min_pixels=min_pixels, max_pixels=max_pixels)
    assert made.width % factor == made.height % factor == 0
    assert min(made.width, made.height) >= factor
    area = made.width * made.height
    if min(made.width, made.height) > factor:  # a side that was held at one multiple can break the limit
        # Growing ceils both sides; shrinking floors them, and may so end below the lower limit.
        before = round(size.width / factor) * round(size.height / factor) * factor**2
        assert area <= max_pixels or before < min_pixels
        assert area >= min_pixels or before > max_pixels


@given(sizes)
def test_what_was_resized_once_stays(size: Size) -> None:
    assume(max(size.width, size.height) <= 100 * min(size.width, size.height))
    made = smart_resize(size, **GTA1)
    assert smart_resize(made, **GTA1) == made


@given(sizes)
def test_the_shape_is_nearly_kept(size: Size) -> None:
    assume(max(size.width, size.height) <= 20 * min(size.width, size.height))
    made = smart_resize(size, **GTA1)
    shorter = min(made.width, made.height)
    assert math.isclose(made.width / made.height, size.width / size.height, rel_tol=2 * 28 / shorter)


@pytest.mark.parametrize(("width", "height"), [(201, 1), (1, 201), (8192, 28), (40, 8192)])
def test_what_the_processors_refuse_is_refused(width: int, height: int) -> None:
    with pytest.raises(ValueError, match=f"{width}x{height} is more than 200 times"):
        smart_resize(Size(width=width, height=height), **GTA1)


@pytest.mark.parametrize(("width", "height"), [(200, 1), (28, 5600)])
def test_two_hundred_times_is_still_allowed(width: int, height: int) -> None:
    smart_resize(Size(width=width, height=height), **GTA1)


# --- the libraries' own functions -------------------------------------------------------------------------------------

Resize = Callable[..., tuple[int, int]]
TABLE: dict[str, Any] = json.loads((Path(__file__).parent / "smart_resize.json").read_text(encoding="utf-8"))


def test_the_table_covers_all_branches() -> None:
    kept = shrunk = grown = 0
    for width, height, factor, low, high, *_ in TABLE["rows"]:
        rounded = round(width / factor) * round(height / factor) * factor**2
        kept += low <= rounded <= high
        shrunk += rounded > high
        grown += rounded < low
    assert min(kept, shrunk, grown) >= 10


@pytest.mark.parametrize("row", TABLE["rows"], ids=lambda row: "-".join(map(str, row[:5])))
def test_the_sizes_are_those_of_both_libraries(row: list[int]) -> None:
    width, height, factor, low, high, *theirs = row
    made = smart_resize(Size(width=width, height=height), factor=factor, min_pixels=low, max_pixels=high)
    assert [made.width, made.height] * 2 == theirs


@pytest.mark.slow
@pytest.mark.parametrize("module", ["transformers.models.qwen2_vl.image_processing_qwen2_vl", "qwen_vl_utils"])
@given(
    st.builds(Size, width=side, height=side),
    st.sampled_from([28, 32]),
    st.integers(3136, 10**6),
    st.integers(10**6, 2 * 10**7),
)
def test_the_installed_library_agrees(module: str, size: Size, factor: int, low: int, high: int) -> None:
    resize: Resize = pytest.importorskip(module, reason="needs the library itself", exc_type=ImportError).smart_resize
    assume(max(size.width, size.height) <= 200 * min(size.width, size.height))
    height, width = resize(size.height, size.width, factor=factor, min_pixels=low, max_pixels=high)
    made = smart_resize(size, factor=factor, min_pixels=low, max_pixels=high)
    assert (made.width, made.height) == (width, height)
