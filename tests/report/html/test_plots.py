"""The diagrams: shares that add up, from numbers worked out by hand, and drawings that take the page's colours."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from grounding.records import Box, Point, Polygon, Region, Size
from grounding.report.html.plots import (
    Measuring,
    StepColumns,
    alive,
    by_area,
    by_position,
    by_screen_place,
    draw_curves,
    draw_diagrams,
    sweep_curves,
    tolerance_curve,
)


def measured(*lines: str) -> StepColumns:
    """A task a line: + hits, - is 12 px off, u has no place; the region is 30 px wide and in the middle on top."""
    measuring = Measuring()
    region = Region(boxes=(Box(left_px=85, top_px=10, right_px=115, bottom_px=40),))
    for number, line in enumerate(lines):
        for mark in line:
            distance = {"+": 0.0, "-": 12.0}.get(mark)
            measuring.add(number, mark == "+", distance, region=region, size=Size(width=200, height=200))
    return measuring.done()


def test_numbers_of_a_small_run() -> None:
    steps = measured("++-", "-+", "+", "u")
    assert alive(steps) == (100, 50, 50, 25)
    assert [(each.name, each.k, each.n) for each in by_position(steps)] == [("1", 2, 4), ("2", 2, 2), ("3-5", 0, 1)]
    assert [(each.name, each.k, each.n) for each in by_area(steps)] == [("16-32", 4, 7)]
    assert [[each.n for each in row] for row in by_screen_place(steps)] == [[0, 7, 0], [0, 0, 0], [0, 0, 0]]
    curve = tolerance_curve(steps)
    assert (curve[0], curve[2], curve[3]) == pytest.approx((100 * 4 / 7, 100 * 4 / 7, 100 * 6 / 7))


def test_late_steps_are_put_together_and_polygons_have_a_middle() -> None:
    assert [(each.group, each.n) for each in by_position(measured("+" * 12))][-1] == ("position: 11-20", 2)
    measuring = Measuring()
    corners = tuple(Point(x_px=x, y_px=y) for x, y in ((150, 150), (190, 150), (150, 180)))
    measuring.add(0, False, region=Region(polygons=(Polygon(points=corners),)), size=Size(width=200, height=200))
    found = measuring.done()
    assert (found.area_px2[0], found.ninth[0]) == (600, 8)


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


def row(folder: str, value: float | None = 50.0, **values: Any) -> dict[str, Any]:
    estimate = {"value": value, "k": 1, "n": 2, "low": 10.0, "high": 90.0}
    summary = {"scores": {"paper": {"step_accuracy": estimate, "task_success": estimate}}, "status": "complete"}
    return {"values": values, "folder": folder, "planner": "none", "summary": summary}


def write(folder: Path, *rows: dict[str, Any]) -> None:
    (folder / "sweep_1").mkdir(parents=True)
    (folder / "sweep_1" / "sweep.json").write_text(json.dumps({"schema": 1, "command": "x", "rows": rows}))


def test_the_sweep_of_a_run_is_found_by_its_folder_wherever_the_results_lie_now(tmp_path: Path) -> None:
    grid = [row(f"r/{history}-{plans}", history=history, plans=plans) for plans in (None, "p") for history in (0, 1, 2)]
    write(tmp_path, *grid, row("r/unrun", history=7, plans="p") | {"summary": None})
    by_history, by_plans = sweep_curves(tmp_path / "2-p")
    assert (by_history.option, by_history.names, by_history.here) == ("history", ("0", "1", "2"), 2)
    assert (by_plans.names, by_plans.here) == (("none", "p"), 1)
    for name in ("c", "unrun"):
        assert sweep_curves(tmp_path / name) == ()


def test_a_file_that_is_no_sweep_is_passed_over(tmp_path: Path) -> None:
    write(tmp_path, row("r/a", history=0), row("r/b", history=1))
    for number, content in enumerate((b"", b"{", b"[]", b'{"rows": 3}', b"\xff")):
        (tmp_path / f"sweep_0{number}").mkdir()
        (tmp_path / f"sweep_0{number}" / "sweep.json").write_bytes(content)
    assert len(sweep_curves(tmp_path / "a")) == 1


def test_hostile_and_long_values_are_drawn_as_text(tmp_path: Path) -> None:
    names = ("<script>alert(1)</script>", "$x^2$", "a" * 300)
    write(tmp_path, *(row(f"r/{number}", grounder=name) for number, name in enumerate(names)))
    (diagram,) = draw_curves(sweep_curves(tmp_path / "0"))
    text = "".join(ElementTree.fromstring(diagram.svg).itertext())
    assert "<script>alert(1)" in text
    assert "$x^2$" in text
    assert "<script" not in diagram.svg
    assert "a" * 20 not in text
    assert "This run: <script>alert(1)" in diagram.words
