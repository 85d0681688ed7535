"""Figures behind the diagrams, worked out by hand, and drawings that take the page's colours."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from grounding.records import Box, Point, Polygon, Region
from grounding.report.html.figures import (
    alive,
    by_area,
    by_position,
    by_screen_place,
    tolerance_curve,
)
from grounding.report.html.measured import measured, region_area_px
from grounding.report.html.plots import _short, _turns, draw_diagrams
from grounding.scorebook import scored_tasks
from grounding.scoring.scored import ScoredTask

from .runs import make_run


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> tuple[ScoredTask, ...]:
    return scored_tasks(make_run(tmp_path_factory.mktemp("plots") / "run", 40))


def hits(task: ScoredTask) -> list[bool]:
    return [step.is_hit for step in task.steps]


def test_tasks_alive_starts_at_all_never_rises_and_ends_at_task_success(tasks: tuple[ScoredTask, ...]) -> None:
    shares = alive(measured(tasks))
    assert shares[0] == 100
    assert list(shares) == sorted(shares, reverse=True)
    assert shares[-1] == 100 * sum(all(hits(task)) for task in tasks) / len(tasks)
    assert shares[1] == 100 * sum(hits(task)[0] for task in tasks) / len(tasks)
    assert alive(measured([])) == ()


def test_every_part_holds_every_step_once(tasks: tuple[ScoredTask, ...]) -> None:
    steps = [step for task in tasks for step in task.steps]
    right = sum(step.is_hit for step in steps)
    cells = [cell for row in by_screen_place(measured(tasks)) for cell in row]
    for bins in (by_area(measured(tasks)), by_position(measured(tasks)), cells):
        assert (sum(each.k for each in bins), sum(each.n for each in bins)) == (right, len(steps))
    assert [each.name for each in by_position(measured(tasks))] == ["1", "2", "3", "4", "5"]


def test_the_tolerance_curve_starts_at_accuracy_and_never_falls(tasks: tuple[ScoredTask, ...]) -> None:
    steps = [step for task in tasks for step in task.steps]
    curve = tolerance_curve(measured(tasks))
    assert curve[0] == pytest.approx(100 * sum(step.is_hit for step in steps) / len(steps))
    assert list(curve) == sorted(curve)
    within_20 = sum(step.verdict.distance_px is not None and step.verdict.distance_px <= 20 for step in steps)
    assert curve[3] == pytest.approx(100 * within_20 / len(steps))


def test_areas() -> None:
    square = Box(left_px=0, top_px=0, right_px=10, bottom_px=20)
    corners = tuple(Point(x_px=x, y_px=y) for x, y in ((0, 0), (40, 0), (0, 30)))
    assert region_area_px(Region(boxes=(square,))) == 200
    assert region_area_px(Region(polygons=(Polygon(points=corners),))) == 600
    assert region_area_px(Region(boxes=(square,), polygons=(Polygon(points=corners),))) == 600
    assert region_area_px(Region()) == region_area_px(None) == 0


def test_drawings_are_svg_without_colours_or_sizes_of_their_own(tasks: tuple[ScoredTask, ...]) -> None:
    found = draw_diagrams(tasks)
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
        assert re.search(r"\d/\d|n = \d", each.words)
        mine = set(re.findall(r' id="([^"]+)"', each.svg))
        assert not mine & names
        names |= mine


def test_where_no_step_follows_another_nothing_is_drawn_over_tasks(tasks: tuple[ScoredTask, ...]) -> None:
    assert "Tasks without a wrong step so far" not in [each.title for each in draw_diagrams(tasks, independent=True)]
    assert draw_diagrams([]) == ()


def test_drawings_are_the_same_every_time(tasks: tuple[ScoredTask, ...], tmp_path: Path) -> None:
    assert draw_diagrams(tasks) == draw_diagrams(scored_tasks(make_run(tmp_path / "run", 40)))


def test_a_line_of_very_many_places_is_thinned_out_and_keeps_its_ends() -> None:
    assert _turns([3.0, 2.0, 2.0]) == range(3)
    falling = [float(-at) for at in range(50_000)]
    places = _turns(falling)
    assert (places[0], places[-1]) == (0, 49_999)
    assert len(places) <= 1_002
    steps = [5.0] * 4_000 + [4.0] * 4_000
    assert _turns(steps) == [0, 4_000, 7_999]


def test_many_counts_below_bars_are_short() -> None:
    assert [_short(n, 8) for n in (999, 1_000, 92_310, 999_499, 999_500)] == ["n=999", "1.0k", "92k", "999k", "1.0M"]
    assert [_short(n, 5) for n in (5_540, 99_999, 184_616)] == ["n=5540", "n=99,999", "n=185k"]
