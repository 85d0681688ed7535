"""The diagrams: shares that add up, from numbers worked out by hand, and drawings that take the page's colours."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import msgspec
import pytest

from grounding.records import Box, Point, Polygon, Region, Screenshot, Size, Step
from grounding.report.html.plots import Measuring, draw_diagrams

STEP = Step(
    id="1/1",
    participant="1",
    task="t",
    instruction_index=0,
    instruction="press it",
    screenshot=Screenshot(path="x.png", size=Size(width=200, height=200), sha256="0"),
    region=Region(boxes=(Box(left_px=85, top_px=10, right_px=115, bottom_px=40),)),
)


def measured(*lines: str) -> Measuring:
    """A task a line: + hits, - is 12 px off, u has no place; the region is 30 px wide and in the middle on top."""
    measuring = Measuring()
    for number, line in enumerate(lines):
        for mark in line:
            measuring.add(number, STEP, mark == "+", {"+": 0.0, "-": 12.0}.get(mark))
    return measuring


def counts(steps: Measuring, kind: str) -> list[tuple[str, int, int]]:
    return [(each.name, each.k, each.n) for each in steps.bins(kind) if each.n]


def test_numbers_of_a_small_run() -> None:
    steps = measured("++-", "-+", "+", "u")
    assert steps.alive() == (100, 50, 50, 25)
    assert counts(steps, "position") == [("1", 2, 4), ("2", 2, 2), ("3-5", 0, 1)]
    assert counts(steps, "gold-area") == [("16x16 to 32x32 px", 4, 7)]
    assert counts(steps, "screen-place") == [("top centre", 4, 7)]
    assert len(steps.bins("screen-place")) == 9
    curve = steps.tolerance_curve()
    assert (curve[0], curve[2], curve[3]) == pytest.approx((100 * 4 / 7, 100 * 4 / 7, 100 * 6 / 7))


def test_late_steps_are_put_together_and_polygons_have_a_middle() -> None:
    assert counts(measured("+" * 12), "position")[-1] == ("11-20", 2, 2)
    measuring = Measuring()
    corners = tuple(Point(x_px=x, y_px=y) for x, y in ((150, 150), (190, 150), (150, 180)))
    measuring.add(0, msgspec.structs.replace(STEP, region=Region(polygons=(Polygon(points=corners),))), False)
    assert counts(measuring, "gold-area") == [("16x16 to 32x32 px", 0, 1)]
    assert counts(measuring, "screen-place") == [("bottom right", 0, 1)]


def test_drawings_are_svg_without_colours_or_sizes_of_their_own() -> None:
    steps = measured(*["++-+-u", "+-+"] * 8)
    found = draw_diagrams(steps)
    assert [each.title for each in found] == [
        "Tasks without a wrong step so far",
        "Accuracy by step of the task",
        "Accuracy by size of the gold region",
        "Accuracy by place on the screen",
        "How far misses are off",
        "If clicks beside the region counted",
    ]
    names: set[str] = set()
    for each in found:
        root = ElementTree.fromstring(each.svg)
        assert root.get("viewBox")
        assert root.get("width") is None
        assert not re.findall(r"#[0-9a-f]{6}", each.svg)
        assert "currentColor" in each.svg
        assert "<style" not in each.svg
        assert [int(at) for at in re.findall(r' data-part="(\d+)"', each.svg)] == list(range(len(each.parts)))
        assert re.search(r"\d/\d|n = \d", each.words)
        mine = set(re.findall(r' id="([^"]+)"', each.svg))
        assert not mine & names
        names |= mine
    assert draw_diagrams(steps) == found
    assert "Tasks without a wrong step so far" not in [each.title for each in draw_diagrams(steps, independent=True)]
    assert draw_diagrams(measured()) == ()
