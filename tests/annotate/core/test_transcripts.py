"""Machine's and person's words of a folder, kept apart; which clip belongs to which steps"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

from annotate.core.document import Document
from annotate.core.words import CorrectedFile, clip_path, clips_of, correct, folder_clips, machine_file
from grounding.data.layouts.realwebassist import QUESTIONS
from grounding.errors import UserError

PEOPLES = "transcriptions_GT.json"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A participant with two instructions, the first for two steps, and a clip for each."""
    place = tmp_path / "3"
    (place / "audio").mkdir(parents=True)
    texts = enumerate(("open the first", "open the first", "go back"), 1)
    items = [
        {"task": "t", "instruction": text, "action": "click", "final_image": f"images/{n}.png"} for n, text in texts
    ]
    (place / QUESTIONS).write_text(json.dumps(items))
    for number in (1, 2):
        noise = np.random.default_rng(number).normal(0, 800, 8000 * number).astype(np.int16)
        soundfile.write(place / "audio" / f"{number}.flac", noise, 16_000)
    return place


def test_clips_go_with_instructions_by_their_order_or_by_what_a_file_says(folder: Path) -> None:
    clips = folder_clips(folder)
    assert [one.audio for one in clips] == ["audio/1.flac", "audio/2.flac"]
    assert [one.steps for one in clips] == [("images/1.png", "images/2.png"), ("images/3.png",)]
    assert [one.text for one in clips] == ["open the first", "go back"]
    swapped = [{"audio": "audio/1.flac", "steps": ["images/3.png"], "text": "back"}]
    (folder / "transcriptions_Wturbo.json").write_text(json.dumps(swapped))
    assert [one.audio for one in clips_of(folder, "images/3.png")] == ["audio/1.flac"]
    assert clips_of(folder, "images/9.png") == []


def test_what_a_machine_heard_and_corrections_are_kept_apart(folder: Path) -> None:
    machine = folder / machine_file("counter")
    heard = [{"audio": one.audio, "text": f"words {number}"} for number, one in enumerate(folder_clips(folder))]
    machine.write_text(json.dumps(heard))
    before = machine.read_bytes()
    correct(folder, "images/1.png", "open the very first")
    kept = {one.audio: one for one in CorrectedFile(folder).clips}
    assert (kept["audio/1.flac"].text, kept["audio/1.flac"].checked) == ("open the very first", True)
    assert kept["audio/2.flac"].checked is False, "it also says which clip goes with which steps"
    with Document.open(folder) as document:
        assert [document.transcript_source(index) for index in range(3)] == [
            "what was said", "what was said", "heard, not checked",
        ]  # fmt: skip
    assert machine.read_bytes() == before


def test_a_correction_changes_and_marks_its_own_clip_alone(folder: Path) -> None:
    lines = [f'{{"text":"said {n}","audio":"audio/{n}.flac","steps":["images/{n}.png"]}}' for n in range(1, 91)]
    path = folder / PEOPLES
    path.write_text("[\n " + ",\n ".join(lines) + "\n]\n")
    before = path.read_text().splitlines()
    assert not correct(folder, "images/7.png", "open it")
    after = path.read_text().splitlines()
    (changed,) = [new for old, new in zip(before, after, strict=True) if old != new]
    assert json.loads(changed.strip().rstrip(",")) == {
        "text": "open it", "audio": "audio/7.flac", "steps": ["images/7.png"], "checked": True,
    }  # fmt: skip
    path.write_text(json.dumps(json.loads(path.read_text()), indent=3).replace(": ", " : "))
    assert correct(folder, "images/7.png", "close it")
    assert not correct(folder, "images/7.png", "open it")
    path.write_text("[{")
    with pytest.raises(UserError, match="GT"):
        correct(folder, "images/7.png", "close it")


@pytest.mark.parametrize("name", ["../secret.flac", "/etc/passwd", "audio/../../x.flac"])
def test_names_stay_inside_the_folder(folder: Path, name: str) -> None:
    with pytest.raises(UserError, match="leads out"):
        clip_path(folder, name)
    with pytest.raises(UserError, match="corrected"):
        machine_file("GT")
    assert "/" not in machine_file("replay:../../etc/x.json")


def test_typed_words_come_before_what_a_machine_heard_and_go_when_they_are_taken_out(folder: Path) -> None:
    def shown() -> list[str]:
        with Document.open(folder) as document:
            return [entry.transcript for entry in document.entries]

    for clip in (folder / "audio").iterdir():
        clip.unlink()
    correct(folder, "images/2.png", "open it")
    heard = [{"steps": [f"images/{number}.png"], "text": f"heard {number}"} for number in (1, 2)]
    (folder / "transcriptions_Wlarge.json").write_text(json.dumps(heard))
    assert shown() == ["heard 1", "open it", ""]
    correct(folder, "images/2.png", "open it now 🎁 שלום")
    assert shown() == ["heard 1", "open it now 🎁 שלום", ""]
    correct(folder, "images/2.png", "")
    assert shown() == ["heard 1", "heard 2", ""]
    assert not (folder / PEOPLES).exists()
    # What people corrected in recordings stays; words typed at the picture count all the same.
    said = {"audio": "audio/1.flac", "steps": ["images/1.png"], "text": "said", "checked": False}
    (folder / PEOPLES).write_text(json.dumps([said]))
    correct(folder, "images/1.png", "typed")
    assert json.loads((folder / PEOPLES).read_text())[0] == said
    assert shown()[0] == "typed"
    (folder / PEOPLES).write_text('["a", "b", "c"]')
    with pytest.raises(UserError, match=r"transcriptions_GT.json: .*by their place"):
        correct(folder, "images/1.png", "typed")
