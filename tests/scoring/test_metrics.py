from __future__ import annotations

import pytest

from grounding.cards.places import published_dir
from grounding.errors import UserError
from grounding.scoring import metrics
from grounding.scoring.metrics import Part, metric, registered, spread
from grounding.scoring.published import read_published
from grounding.scoring.scored import ScoredTask
from scoring.builders import Played


@pytest.fixture
def registry(monkeypatch):
    """A copy of the registry takes its place for the test."""
    monkeypatch.setattr(metrics, "_registry", dict(metrics._registry))
    metrics._load_entry_points.cache_clear()
    yield
    metrics._load_entry_points.cache_clear()


class Announced:
    """Stands for an installed package's entry point."""

    name, value = "late", "elsewhere.metrics"

    def __init__(self, load):
        self.load = load


def first_step(task):
    return Part(numerator=task.steps[0].is_hit, denominator=1)


@pytest.mark.usefixtures("registry")
def test_a_name_is_given_once():
    with pytest.raises(ValueError, match=r"'step_accuracy' of .*first_step is already defined by .*metrics"):
        metric("step_accuracy")(first_step)
    metric("first")(first_step)
    metric("first")(first_step)  # the same function again is no conflict


@pytest.mark.usefixtures("registry")
def test_a_package_that_cannot_be_loaded_is_named(monkeypatch):
    def fail():
        raise ImportError("no module named elsewhere")

    monkeypatch.setattr(metrics, "entry_points", lambda **_: [Announced(fail)])
    with pytest.raises(UserError, match=r"'late' \(elsewhere\.metrics, .*cannot be loaded: .*Repair or uninstall"):
        registered()


def tasks(*lines: str) -> list[ScoredTask]:
    played = Played({"1": dict(enumerate(lines))})
    return [task for session in played.joined() for task in session.tasks]


def test_what_is_right_in_all_and_in_any_epoch() -> None:
    found = spread(registered(), [tasks("++", "+-"), tasks("+-", "++"), tasks("++", "--")])
    assert (found.steps.in_all, found.steps.in_any, found.steps.n) == (1, 4, 4)
    assert (found.tasks.in_all, found.tasks.in_any, found.tasks.n) == (0, 2, 2)
    steps = found.metrics[0]
    assert (steps.metric, steps.values) == ("step_accuracy", (75.0, 75.0, 50.0))


def test_one_epoch_has_no_deviation_and_others_steps_are_refused() -> None:
    assert spread(registered(), [tasks("+")]).metrics[0].sd is None
    with pytest.raises(ValueError, match="epoch"):
        spread(registered(), [tasks("+"), tasks("++")])


def test_percus_table_is_there_cell_for_cell() -> None:
    figures = read_published(published_dir() / "percu.csv")
    table = {(one.row, one.column): one.value for one in figures if one.table == "2"}
    assert len(table) == 7 * 6
    assert table["GUI-R1-7B", "all macro"] == 45.56
    assert table["GUI-R1-7B", "routine micro"] == 43.1
    assert table["Humans", "preference micro"] == 90.59
    assert {one.n for one in figures if one.column == "preference macro"} == {121}
    assert all(one.source.startswith("PERCU, Table") for one in figures)


def test_the_flagged_cells_are_those_outside_their_own_parts() -> None:
    figures = [one for one in read_published(published_dir() / "percu.csv") if one.table == "2"]
    value = {(one.row, one.column): one.value for one in figures}
    outside = set()
    for row, column in value:
        kind, average = column.split()
        if kind == "all":
            parts = [value[row, f"{part} {average}"] for part in ("preference", "routine")]
            if not min(parts) <= value[row, column] <= max(parts):
                outside.add((row, column))
    assert outside == {(one.row, one.column) for one in figures if one.flag == "inconsistent"}
    assert len(outside) == 5
    assert {row for row, _ in outside} == {"GUI-R1-3B", "UI-TARS-1.5-7B", "Humans"}
    assert all(one.note for one in figures if one.flag)
