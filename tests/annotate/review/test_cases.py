"""Which cases a run has, and which of them a filter leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from annotate.review.cases import ReviewCase, ReviewFilter, filtered, read_cases
from annotate.review.shapes import outcome_words, shapes_of
from annotate.window.panels import OverlayBox, OverlayPoint
from grounding.errors import UserError
from grounding.errorsplit.labels import Label
from review.runs import make_run

NOTHING: dict[str, tuple[Label, ...]] = {}


@pytest.fixture
def cases(tmp_path: Path, tiny_dataset: Any) -> tuple[ReviewCase, ...]:
    data = tiny_dataset()
    gold = read_gold(data)
    run = make_run(data, tmp_path / "made", {"1/1": {"point": gold}, "1/2": {"point": None}})
    return read_cases(run)


def read_gold(data: Path) -> list[int]:
    import json

    item = json.loads((data / "1" / "questions_with_task_updated.json").read_text(encoding="utf-8"))[0]
    box = item["bounding_box"][0]
    return [box["x"] + box["width"] // 2, box["y"] + box["height"] // 2]


def ids(cases: tuple[ReviewCase, ...]) -> list[str]:
    return [case.step.id for case in cases]


def left(cases: tuple[ReviewCase, ...], said: dict[str, tuple[Label, ...]] = NOTHING, **fields: Any) -> list[str]:
    return ids(filtered(cases, ReviewFilter(**fields), said, "ann"))


def test_every_scored_step_is_a_case_and_the_others_are_none(cases: tuple[ReviewCase, ...]) -> None:
    assert ids(cases) == ["1/1", "1/2", "1/4", "2/1", "2/2", "2/4"]
    assert [case.verdict.outcome for case in cases] == ["hit", "unparsed", "miss", "miss", "miss", "miss"]
    assert cases[2].plan == "click thing 3"


def test_filters_by_outcome_participant_words_and_distance(cases: tuple[ReviewCase, ...]) -> None:
    assert left(cases) == ["1/2", "1/4", "2/1", "2/2", "2/4"]
    assert left(cases, shown="hit") == ["1/1"]
    assert left(cases, shown="unparsed") == ["1/2"]
    assert left(cases, shown="error") == []
    assert len(left(cases, shown="all")) == 6
    assert left(cases, participant="1") == ["1/2", "1/4"]
    assert left(cases, words="THING 3") == ["1/4", "2/4"]
    assert left(cases, words="2.0", participant="2") == ["2/1", "2/2"]
    near = left(cases, within_px=cases[3].verdict.distance_px)
    assert "2/1" in near
    assert "1/2" not in near


def test_filters_by_labels(cases: tuple[ReviewCase, ...]) -> None:
    said = {
        "1/2": (Label(step="1/2", label="grounding", labeller="ann"),),
        "1/4": (
            Label(step="1/4", label="grounding", labeller="ann"),
            Label(step="1/4", label="reasoning", labeller="bob"),
        ),
        "2/1": (Label(step="2/1", label="other", labeller="bob"),),
    }
    assert left(cases, said, labels="mine given") == ["1/2", "1/4"]
    assert left(cases, said, labels="mine missing") == ["2/1", "2/2", "2/4"]
    assert left(cases, said, labels="disputed") == ["1/4"]
    assert left(cases, said, label="reasoning") == ["1/4"]
    assert left(cases, said, label="other", labels="mine given") == []


def test_gold_is_green_and_the_click_says_how_far_off_it_is(cases: tuple[ReviewCase, ...]) -> None:
    gold, click = shapes_of(cases[3])
    assert isinstance(gold, OverlayBox)
    assert (gold.label, gold.box) == ("gold", cases[3].step.region.boxes[0])  # type: ignore[union-attr]
    assert isinstance(click, OverlayPoint)
    assert click.label == f"{cases[3].verdict.distance_px:.0f} px off"
    assert outcome_words(cases[3]).startswith("miss · click at 63, 47 · ")
    assert [type(shape) for shape in shapes_of(cases[1])] == [OverlayBox]


def test_a_folder_without_a_run_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a run folder"):
        read_cases(tmp_path)
