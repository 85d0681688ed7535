"""The frame: around the gold place, whole, and told from any background."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from analysis.looking import MAGENTA, where
from grounding.analysis.showing import INSIDE, MIDDLE, OUTSIDE, frame_px, framed_picture
from grounding.records import Box, Region, Size

SIDE = 120


def framed(path: Path, region: Region, colour: tuple[int, int, int] = (90, 160, 90)) -> np.ndarray:
    Image.new("RGB", (SIDE, SIDE), colour).save(path)
    return np.asarray(Image.open(io.BytesIO(framed_picture(path, region))).convert("RGB"))


def box(left: float, top: float, right: float, bottom: float) -> Region:
    return Region(boxes=(Box(left_px=left, top_px=top, right_px=right, bottom_px=bottom),))


def test_the_box_itself_is_left_as_it_is(tmp_path: Path) -> None:
    image = framed(tmp_path / "s.png", box(40, 50, 70, 60))
    assert (image[50:60, 40:70] == (90, 160, 90)).all()
    frame = frame_px(Size(width=SIDE, height=SIDE))
    assert frame == 8
    assert [tuple(image[55, 40 - 1 - out]) for out in range(frame + 1)] == [
        *[INSIDE] * 2,
        *[MIDDLE] * 4,
        *[OUTSIDE] * 2,
        (90, 160, 90),
    ]
    assert where(image, MAGENTA) == (34, 44, 75, 65)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(left=st.floats(-30, 140), top=st.floats(-30, 140), width=st.floats(0, 150), height=st.floats(0, 150))
def test_all_four_sides_are_in_the_picture(
    tmp_path: Path, left: float, top: float, width: float, height: float
) -> None:
    image = framed(tmp_path / "s.png", box(left, top, left + width, top + height))
    found = where(image, MAGENTA)
    assert found is not None
    x0, y0, x1, y1 = found
    for edge in (image[y0, x0 : x1 + 1], image[y1, x0 : x1 + 1], image[y0 : y1 + 1, x0], image[y0 : y1 + 1, x1]):
        assert (edge == MAGENTA).all()
    assert min(x0, y0) >= 2
    assert max(x1, y1) <= SIDE - 3
