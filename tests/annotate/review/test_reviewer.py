"""Labels: what is written, what counts, what is taken back, and that the error split and the triage read the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from shell import call

from annotate.records import Entry, MarkedBox
from annotate.review.cases import ReviewFilter
from annotate.review.opening import first_place
from annotate.review.places import find_folders, has_changed, index_in_file, index_of
from annotate.review.reviewer import Reviewer
from grounding.errors import UserError
from grounding.errorsplit.labels import Label
from grounding.report.html.triage import append_label, read_triage
from review.runs import make_run


@pytest.fixture
def data(tiny_dataset: Any) -> Path:
    made: Path = tiny_dataset()
    return made


@pytest.fixture
def run(tmp_path: Path, data: Path) -> Path:
    return make_run(data, tmp_path / "made")


def lines(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "labels.jsonl").read_text(encoding="utf-8").splitlines()]


def test_a_label_is_in_the_file_with_the_plan_that_was_seen(run: Path) -> None:
    reviewer = Reviewer(run, "ann")
    reviewer.label("1/1", "reasoning", "  names the wrong row ")
    (line,) = lines(run)
    assert {name: line[name] for name in ("step", "label", "labeller", "note", "plan")} == {
        "step": "1/1", "label": "reasoning", "labeller": "ann", "note": "names the wrong row", "plan": "click thing 0",
    }  # fmt: skip
    assert line["at"].endswith("Z")
    mine = reviewer.mine("1/1")
    assert mine is not None
    assert mine.label == "reasoning"


def test_the_last_word_counts_and_can_be_taken_back_and_undone(run: Path) -> None:
    reviewer = Reviewer(run, "ann")
    reviewer.label("1/1", "reasoning")
    reviewer.label("1/1", "grounding", "sorry")
    assert reviewer.undo() == "1/1"
    assert _mine(reviewer, "1/1") == "reasoning"
    assert reviewer.undo() == "1/1"
    assert _mine(reviewer, "1/1") is None
    assert reviewer.undo() is None
    reviewer.label("1/2", "unclear")
    assert reviewer.withdraw("1/2")
    assert not reviewer.withdraw("1/2")
    assert read_triage(run).labels == ()
    # Nothing is ever rewritten: what was said stays readable.
    assert [line["label"] for line in lines(run)] == [
        "reasoning", "grounding", "reasoning", "withdrawn", "unclear", "withdrawn",
    ]  # fmt: skip


def _mine(reviewer: Reviewer, step: str) -> str | None:
    label = reviewer.mine(step)
    return None if label is None else label.label


def test_what_others_said_is_seen_and_never_touched(run: Path) -> None:
    append_label(run, Label(step="1/1", label="grounding", labeller="bob"))
    reviewer = Reviewer(run, "ann")
    reviewer.label("1/1", "reasoning")
    assert {label.labeller: label.label for label in reviewer.labels("1/1")} == {
        "bob": "grounding", "ann": "reasoning",
    }  # fmt: skip
    reviewer.withdraw("1/1")
    assert [label.labeller for label in reviewer.labels("1/1")] == ["bob"]
    append_label(run, Label(step="1/2", label="other", labeller="eve"))
    assert reviewer.labels("1/2") == ()
    reviewer.refresh()
    assert [label.labeller for label in reviewer.labels("1/2")] == ["eve"]


def test_the_error_split_reads_the_file(run: Path) -> None:
    reviewer = Reviewer(run, "ann")
    reviewer.label("1/1", "reasoning")
    reviewer.label("1/2", "grounding")
    reviewer.label("2/1", "annotation-wrong", "the box is elsewhere")
    done = call("blame", run, "--no-reference", "--labels", reviewer.file, "--json", module="grounding.cli")
    assert done.returncode == 0, done.stderr
    (split,) = json.loads(done.stdout)["splits"]
    assert split["source"] == "label:ann"
    assert (split["reasoning"]["k"], split["grounding"]["k"], split["unclear"], split["missing"]) == (1, 1, 1, 3)
    triage = read_triage(run)
    assert {count.label: count.steps for count in triage.counts} == {
        "reasoning": 1, "grounding": 1, "annotation-wrong": 1,
    }  # fmt: skip


def test_going_through_the_cases_that_are_left_in_both_directions(run: Path) -> None:
    reviewer = Reviewer(run, "ann")
    reviewer.filter = ReviewFilter(labels="mine missing")
    assert _step(reviewer, None, 1) == "1/1"
    assert _step(reviewer, None, -1) == "2/4"
    reviewer.label("1/2", "other")
    # From a step that the filter leaves out it goes on to the next one that it leaves.
    assert _step(reviewer, "1/2", 1) == "1/4"
    assert _step(reviewer, "1/4", -1) == "1/1"
    assert _step(reviewer, "2/4", 1) is None
    assert reviewer.progress(reviewer.cases) == (1, 6)


def _step(reviewer: Reviewer, here: str | None, direction: int) -> str | None:
    case = reviewer.neighbour(here, direction)
    return None if case is None else case.step.id


def test_what_can_not_be_labelled_is_said(run: Path) -> None:
    reviewer = Reviewer(run, "ann")
    with pytest.raises(UserError, match="step 1/3 was not scored"):
        reviewer.label("1/3", "other")
    with pytest.raises(UserError, match="may have 2000 characters, this one has 2001"):
        reviewer.label("1/1", "other", "x" * 2001)
    with pytest.raises(UserError, match="labels need the name"):
        Reviewer(run, " ann")
    assert not (run / "labels.jsonl").exists()


def test_a_file_that_can_not_be_written_is_said_and_nothing_is_counted(run: Path) -> None:
    reviewer = Reviewer(run, "ann")
    (run / "labels.jsonl").mkdir()
    with pytest.raises(UserError, match=r"labels\.jsonl: the label can't be written"):
        reviewer.label("1/1", "other")
    assert reviewer.mine("1/1") is None
    assert reviewer.undo() is None


def test_the_review_begins_at_the_first_wrong_step_without_a_label(run: Path, data: Path) -> None:
    place = first_place(run, None, None, "somebody new")
    assert (place.folder, place.index) == ((data / "1").resolve(), 0)
    Reviewer(run, "eve").label("1/1", "other")
    Reviewer(run, "eve").label("1/2", "other")
    place = first_place(run, data, None, "eve")
    # The third step of the file has no click.
    assert (place.index, place.labeller) == (3, "eve")


def test_data_that_are_elsewhere_are_named_or_missed_in_words(run: Path, data: Path, tmp_path: Path) -> None:
    steps = [case.step for case in Reviewer(run, "ann").cases]
    moved = tmp_path / "moved"
    data.rename(moved)
    found = find_folders(steps, moved, "questions_with_task_updated.json")
    assert found.of(steps[-1]) == (moved / "2").resolve()
    with pytest.raises(UserError, match=r"participant 1 can't be found: .* --data DIR"):
        find_folders(steps, None, "questions_with_task_updated.json")


def test_places_and_changes_of_annotation(run: Path, data: Path) -> None:
    case = Reviewer(run, "ann").cases[2]
    folder = data / "1"
    assert index_in_file(folder, "questions_with_task_updated.json", "1/4", "1") == 3
    assert index_in_file(folder, "questions_with_task_updated.json", "1/9", "1") is None
    entries = [Entry(image=f"images/{number}.png") for number in (1, 2, 3, 4)]
    assert index_of("1/4", "1", entries) == 3
    region = case.step.region
    assert region is not None
    box = region.boxes[0]
    same = MarkedBox(
        x_px=box.left_px, y_px=box.top_px, width_px=box.right_px - box.left_px, height_px=box.bottom_px - box.top_px
    )
    assert not has_changed(region, Entry(image="x", state="boxes", boxes=(same,)))
    assert has_changed(region, Entry(image="x", state="no-click"))
