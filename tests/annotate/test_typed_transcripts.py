"""Transcripts typed where there is no recording: kept, shown, and in nobody's way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from annotate.document import Document
from annotate.typed_transcripts import keep_typed
from grounding.errors import UserError

MACHINE = "transcriptions_Wlarge.json"
PEOPLES = "transcriptions_GT.json"


@pytest.fixture
def folder(tiny_dataset: Any) -> Path:
    return Path(tiny_dataset(participants=["ann"], steps=3, unscored=())) / "ann"


def shown(folder: Path, transcripts: str = "") -> list[str]:
    with Document.open(folder, transcripts=transcripts) as document:
        return [entry.transcript for entry in document.entries]


def test_typed_words_come_before_what_a_machine_heard(folder: Path) -> None:
    keep_typed(folder, "images/2.png", "open it")
    assert shown(folder) == ["", "open it", ""]
    heard = [{"steps": [f"images/{number}.png"], "text": f"heard {number}"} for number in (1, 2)]
    (folder / MACHINE).write_text(json.dumps(heard))
    assert shown(folder) == ["heard 1", "open it", ""]
    keep_typed(folder, "images/2.png", "open it now 🎁 שלום")
    keep_typed(folder, "images/1.png", "look")
    assert shown(folder) == ["look", "open it now 🎁 שלום", ""]
    assert shown(folder, MACHINE) == ["heard 1", "heard 2", ""]
    for image in ("images/1.png", "images/2.png"):
        keep_typed(folder, image, "")
    assert shown(folder) == ["heard 1", "heard 2", ""]
    assert not (folder / PEOPLES).exists()
    assert json.loads((folder / MACHINE).read_text()) == heard


def test_what_people_corrected_in_recordings_stays(folder: Path) -> None:
    clip = {"audio": "audio/1.flac", "steps": ["images/1.png"], "text": "said", "checked": False}
    (folder / PEOPLES).write_text(json.dumps([clip]))
    keep_typed(folder, "images/1.png", "typed")
    kept, typed = json.loads((folder / PEOPLES).read_text())
    assert kept == clip
    assert (typed["audio"], typed["steps"], typed["text"]) == ("", ["images/1.png"], "typed")
    # A recording is a fact; where it is the one shown, words typed at its picture count all the same.
    assert shown(folder)[0] == "typed"


def test_texts_that_count_by_their_place_are_not_moved(folder: Path) -> None:
    (folder / PEOPLES).write_text('["a", "b", "c"]')
    with pytest.raises(UserError, match=r"transcriptions_GT.json: .*by their place"):
        keep_typed(folder, "images/1.png", "typed")
    assert shown(folder) == ["a", "b", "c"]
