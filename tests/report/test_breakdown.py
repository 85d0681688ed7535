"""Step accuracy by a column: which step falls where, with which count, and both averages."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scoring.builders import Played, box, point, step, verdict

from grounding.errors import UserError
from grounding.records import GroupLabel, Polygon, Region, Session
from grounding.report.clicks import COLUMNS, ORDERS, metrics_of_items, rows_of
from grounding.report.rows import RunRows, break_down
from grounding.scoring.metrics import registered
from grounding.scoring.scored import ScoredSession, join


def joined() -> tuple[ScoredSession, ...]:
    return Played({"1": {"a": "++- . -", "b": "+"}, "2": {"a": "-- +"}}).joined()


def shown(sessions: tuple[ScoredSession, ...]) -> RunRows:
    asked = SimpleNamespace(dataset="", fingerprint="", select="", seed=0)
    return RunRows(
        folder=Path(),
        benchmark="",
        name="",
        who={},
        same={},
        metrics=metrics_of_items(registered()),
        read=lambda: rows_of(task for session in sessions for task in session.tasks),
        info=SimpleNamespace(asked=asked, started_at=""),
        summary=SimpleNamespace(signature="", status=""),
        load=lambda: None,
        orders=ORDERS,
    )


def cells(column: str, sessions: tuple[ScoredSession, ...] | None = None) -> dict[str, tuple[int | None, int]]:
    found = break_down(shown(joined() if sessions is None else sessions), column, resamples=50)
    return {row.name: (row.accuracy.k, row.accuracy.n) for row in found.rows}


def test_by_participant_task_and_position() -> None:
    assert cells("participant") == {"1": (3, 5), "2": (1, 3)}
    assert cells("task") == {"1: a": (2, 4), "1: b": (1, 1), "2: a": (1, 3)}
    assert cells("position") == {"1": (2, 3), "2": (1, 2), "3-5": (1, 3)}
    assert cells("instruction-words") == {"1-3": (4, 8)}
    assert cells("screen") == {"1920x1080": (4, 8)}
    assert cells("action") == {"not stated": (4, 8)}


def test_micro_and_macro_stand_beside_each_other() -> None:
    found = break_down(shown(joined()), "participant", resamples=50)
    assert (found.averages.micro.value, found.averages.micro.k, found.averages.micro.n) == (50, 4, 8)
    assert found.averages.macro.value == pytest.approx((60 + 100 / 3) / 2)
    assert found.averages.macro.n == 2
    assert [row.tasks for row in found.rows] == [2, 1]
    assert found.unlabelled == 0
    unfinished = Played({"1": {"a": "+- ?"}, "2": {"a": "??"}}).joined()
    assert cells("participant", unfinished) == {"1": (1, 2), "2": (0, 0)}
    assert break_down(shown(unfinished), "participant", resamples=50).unlabelled == 0
    with pytest.raises(UserError, match="no such column; these steps have participant, task"):
        break_down(shown(joined()), "colour")


def test_gold_shapes_and_area() -> None:
    small, wide = box(0, 0, 10, 10), box(0, 0, 100, 100)
    triangle = Polygon(points=(point(0, 0), point(30, 0), point(0, 20)))
    regions = [
        Region(boxes=(small,)),
        Region(boxes=(small, small)),
        Region(boxes=(wide,)),
        Region(polygons=(triangle,)),
    ]
    steps = [step(f"1/{number}", region) for number, region in enumerate(regions)]
    steps.append(msgspec.structs.replace(step("1/9", Region()), target_absent=True))
    verdicts = [verdict(one.id, "hit" if one.id != "1/2" else "miss") for one in steps]
    sessions = join([Session(participant="1", steps=tuple(steps))], verdicts)
    assert cells("gold-area", sessions) == {
        "absent": (1, 1),
        "under 16x16 px": (2, 2),
        "16x16 to 32x32 px": (1, 1),
        "64x64 to 128x128 px": (0, 1),
    }
    assert cells("gold-shapes", sessions) == {"0": (1, 1), "1": (2, 3), "2": (1, 1)}


def test_any_label_of_the_data_set_works_and_steps_without_one_are_counted() -> None:
    labels = [GroupLabel(kind="since seen", name="3"), GroupLabel(kind="application", name="mail")]
    steps = [msgspec.structs.replace(step("1/1"), groups=tuple(labels)), step("1/2")]
    sessions = join([Session(participant="1", steps=tuple(steps))], [verdict("1/1", "hit"), verdict("1/2", "hit")])
    assert shown(sessions).columns() == (*COLUMNS, "since seen", "application")
    assert cells("since seen", sessions) == {"3": (1, 1)}
    assert break_down(shown(sessions), "since seen", resamples=50).unlabelled == 1


@given(st.integers(0, 40), st.integers(1, 40))
def test_every_step_falls_in_exactly_one_bin(words: int, steps: int) -> None:
    one = msgspec.structs.replace(step("1/0"), instruction=" ".join(["w"] * words))
    rest = [step(f"1/{number}") for number in range(1, steps)]
    found = join([Session(participant="1", steps=(one, *rest))], [verdict(each.id, "miss") for each in (one, *rest)])
    for column in COLUMNS:
        assert sum(n for _, n in cells(column, found).values()) == steps
