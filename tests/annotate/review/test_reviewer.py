"""Which cases a run has, which a filter leaves, and what people say of them; the keys of all tabs together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from annotate.review.panel import outcome_words, shapes_of
from annotate.review.reviewer import Reviewer, find_folders
from annotate.window.shapes import OverlayBox, OverlayPoint
from grounding.analysis.labels import Label
from grounding.data.layouts.realwebassist import QUESTIONS
from grounding.errors import UserError
from grounding.report.html.triage import append_label, read_triage
from review.runs import make_run


@pytest.fixture
def data(tiny_dataset: Any) -> Path:
    made: Path = tiny_dataset()
    return made


@pytest.fixture
def run(tmp_path: Path, data: Path) -> Path:
    """1/1 is a hit, 1/2 has no click, all others miss."""
    box = json.loads((data / "1" / QUESTIONS).read_text(encoding="utf-8"))[0]["bounding_box"][0]
    hit = [box["x"] + box["width"] // 2, box["y"] + box["height"] // 2]
    return make_run(data, tmp_path / "made", {"1/1": {"point": hit}, "1/2": {"point": None}})


def mine(reviewer: Reviewer, step: str) -> str | None:
    label = reviewer.mine(step)
    return None if label is None else label.label


def test_what_is_said_counts_last_can_be_taken_back_and_is_never_rewritten(run: Path) -> None:
    append_label(run, Label(step="1/1", label="grounding", labeller="bob"))
    reviewer = Reviewer(run, "ann")
    reviewer.label("1/1", "reasoning", "  names the wrong row ")
    reviewer.label("1/1", "grounding", "sorry")
    assert mine(reviewer, "1/1") == "grounding"
    reviewer.label("1/1", "withdrawn")
    assert mine(reviewer, "1/1") is None
    assert [label.labeller for label in reviewer.said("1/1")] == ["bob"]
    reviewer.label("1/2", "unclear")
    reviewer.label("1/2", "withdrawn")
    assert [(one.step, one.labeller) for one in read_triage(run)] == [("1/1", "bob")]
    lines = [json.loads(line) for line in (run / "labels.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["label"] for line in lines if line["labeller"] == "ann"] == [
        "reasoning", "grounding", "withdrawn", "unclear", "withdrawn",
    ]  # fmt: skip
    assert (lines[1]["note"], lines[1]["plan"]) == ("names the wrong row", "click thing 0")
    (run / "labels.jsonl").unlink()
    (run / "labels.jsonl").mkdir()
    with pytest.raises(UserError, match=r"labels\.jsonl: the label can't be written"):
        reviewer.label("1/4", "other")
    assert mine(reviewer, "1/4") is None


def test_what_is_wrong_is_gone_through_in_both_directions(run: Path) -> None:
    reviewer = Reviewer(run, "ann")
    assert [case.step.id for case in reviewer.wrong()] == ["1/2", "1/4", "2/1", "2/2", "2/4"]
    # From a step that is right, or was not scored, it goes on to the next one that is wrong.
    for here, direction, there in (("1/2", 1, "1/4"), ("1/1", 1, "1/2"), ("2/2", -1, "2/1"), ("2/4", 1, None)):
        case = reviewer.neighbour(here, direction)
        assert (None if case is None else case.step.id) == there


def test_gold_is_green_and_the_click_says_how_far_off_it_is(run: Path) -> None:
    cases = Reviewer(run, "ann").cases
    gold, click = shapes_of(cases[3])
    assert isinstance(gold, OverlayBox)
    assert (gold.label, gold.box) == ("gold", cases[3].step.region.boxes[0])  # type: ignore[union-attr]
    assert isinstance(click, OverlayPoint)
    assert click.label == f"{cases[3].verdict.distance_px:.0f} px off"
    assert outcome_words(cases[3]).startswith("miss · click at 63, 47 · ")
    assert [type(shape) for shape in shapes_of(cases[1])] == [OverlayBox]


def test_data_that_are_elsewhere_are_named_or_missed_in_words(run: Path, data: Path, tmp_path: Path) -> None:
    steps = [case.step for case in Reviewer(run, "ann").cases]
    moved = tmp_path / "moved"
    data.rename(moved)
    assert find_folders(steps, moved)[steps[-1].participant] == (moved / "2").resolve()
    with pytest.raises(UserError, match=r"participant 1 can't be found: .* --data DIR"):
        find_folders(steps, None)


def test_one_file_of_keys_does_for_every_window_and_conflicts_are_refused(
    run: Path, data: Path, tmp_path: Path
) -> None:
    pytest.importorskip("tkinter", reason="this Python has no tkinter")
    from annotate.display import WindowOptions
    from annotate.window.panels import make_panels

    keys = tmp_path / "keys.yaml"
    keys.write_text('label-reasoning: ["Q"]\nnext-step: ["L"]\n', encoding="utf-8")
    plain = WindowOptions(folder=data / "1", annotator="ann", keys=keys)
    assert make_panels(plain)[1].shown("next-step") == "L"
    panels, keymap = make_panels(WindowOptions(folder=data / "1", annotator="ann", keys=keys, run=run))
    assert [panel.title for panel in panels][:2] == ["Review", "Proposals"]
    assert keymap.shown("label-reasoning") == "Q"
    for text, said in (
        ('label-reasonign: ["Q"]', "no action 'label-reasonign'"),
        ('fit: ["B"]', r"B stands for both fit .* and take-proposal"),
    ):
        keys.write_text(text, encoding="utf-8")
        with pytest.raises(UserError, match=said):
            make_panels(plain)
