"""A history that a model wrote, put into a data set: only where it is about that data set, and whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from grounding.data import DatasetProblems, inspect_dataset, load_dataset
from grounding.data.history import FORMAT, CaptionedStep, CaptionFile, next_screenshots, read_captions
from grounding.records import Dataset, Failure

if TYPE_CHECKING:
    from conftest import TinyDataset

Edit = Callable[[list[CaptionedStep]], object]


def captioned(dataset: Dataset) -> list[CaptionedStep]:
    return [
        CaptionedStep(
            step_id=step.id,
            instruction=step.instruction,
            before_sha256=step.screenshot.sha256,
            after_sha256=after,
            action=f"Did {step.id}",
        )
        for session in dataset.sessions
        for step, after in zip(session.steps, next_screenshots(session.steps), strict=True)
    ]


def write(path: Path, steps: list[CaptionedStep]) -> Path:
    file = CaptionFile(
        format=FORMAT, dataset="tiny", captioner="gpt-4o", prompt="p.1@00", identity="all of it", steps=tuple(steps)
    )
    path.write_bytes(msgspec.json.encode(file))
    return path


@pytest.fixture
def data_dir(tiny_dataset: TinyDataset) -> Path:
    return tiny_dataset()


@pytest.fixture
def captions(data_dir: Path, tmp_path: Path) -> Path:
    return write(tmp_path / "captions.json", captioned(load_dataset("realwebassist", data_dir)))


def edited(path: Path, edit: Edit) -> Path:
    steps = list(read_captions(path).steps)
    edit(steps)
    return write(path, steps)


def load(data_dir: Path, captions: Path, **options: Any) -> Dataset:
    return load_dataset("realwebassist", data_dir, history=str(captions), **options)


def without(step: CaptionedStep, failure: Failure | None = None) -> CaptionedStep:
    return msgspec.structs.replace(step, action=None, failure=failure)


def test_every_step_gets_its_sentence_and_the_words_of_the_user(data_dir: Path, captions: Path) -> None:
    dataset = load(data_dir, captions)
    entries = {step.id: step.history_entry for session in dataset.sessions for step in session.steps}
    assert entries["2/3"] is not None
    assert (entries["2/3"].instruction, entries["2/3"].action) == ("click thing 2", "Did 2/3")
    assert len(entries) == 8
    assert None not in entries.values()
    assert dataset.history_file == "captions:gpt-4o"
    others = [load_dataset("realwebassist", data_dir, history=history) for history in (None, "auto")]
    assert dataset.fingerprint not in [other.fingerprint for other in others]
    assert inspect_dataset("realwebassist", data_dir, history=str(captions)).problems == ()


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (
            lambda steps: steps.pop(5),
            "1 of 4 steps of participant 2 have no caption yet; run the same `grounding caption`",
        ),
        (lambda steps: steps.__setitem__(0, without(steps[0])), 'step = "1/1": 1 of 4 steps of participant 1 have no'),
        (
            lambda steps: steps.__setitem__(2, msgspec.structs.replace(steps[2], instruction="other")),
            'step = "1/3": 1 of 4 steps of participant 1 were captioned over other screenshots or words',
        ),
        (
            lambda steps: steps.__setitem__(2, msgspec.structs.replace(steps[2], after_sha256="0")),
            "were captioned over other screenshots or words; use captions made of this data set and questions file",
        ),
        (
            lambda steps: steps.__setitem__(3, msgspec.structs.replace(steps[3], after_sha256="0")),
            'step = "1/4"',
        ),
        (
            lambda steps: steps.__setitem__(
                slice(None), [without(step, Failure(kind="error", message="HTTP 500")) for step in steps]
            ),
            "has no caption at all: every step failed",
        ),
    ],
)
def test_what_does_not_fit_the_data_set_is_said(data_dir: Path, captions: Path, edit: Edit, words: str) -> None:
    edited(captions, edit)
    with pytest.raises(DatasetProblems) as caught:
        load(data_dir, captions)
    assert words in str(caught.value)
    assert len(inspect_dataset("realwebassist", data_dir, history=str(captions)).problems) == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"[]", "is a list, as history files of a release are; give the name of the history file in every participant"),
        (b"{}", "is not a file of captions: Object missing required field `format`"),
        (b'{"format": "other"}', "is not a file of captions: Invalid enum value 'other' - at `$.format`"),
        (b'{"format": ', "is not a file of captions: Input data was truncated"),
        (b"\xff{", "is not a file of captions"),
    ],
)
def test_another_file_is_refused(data_dir: Path, tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "other.json").write_bytes(content)
    with pytest.raises(DatasetProblems) as caught:
        load(data_dir, tmp_path / "other.json")
    assert words in str(caught.value)
