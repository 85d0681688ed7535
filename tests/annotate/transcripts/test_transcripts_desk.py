"""Machine's and person's words of a folder, kept apart; which clip belongs to which steps; hearing clips again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from annotate.transcribe import participant_folders, transcribe_command, transcribe_folder
from annotate.transcripts.clip_sounds import clip_sound
from annotate.transcripts.clips import clip_path, folder_clips
from annotate.transcripts.corrections import Corrected, machine_file, read_corrected, write_corrected
from annotate.transcripts.desk import Desk
from annotate.transcripts.words import place_words, time_of, word_at
from grounding.asr.audio import Audio
from grounding.asr.recogniser import Recognition
from grounding.asr.records import Word
from grounding.asr.store import TranscriptStore
from grounding.asr.transcripts import read_transcripts
from grounding.errors import UserError
from grounding.loaders.realwebassist import QUESTIONS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A participant with two instructions, the first for two steps, and a clip for each."""
    place = tmp_path / "3"
    (place / "audio").mkdir(parents=True)
    items = [
        {"task": "t", "instruction": text, "action": "click", "final_image": f"images/{number}.png"}
        for number, text in enumerate(("open the first", "open the first", "go back"), 1)
    ]
    (place / QUESTIONS).write_text(json.dumps(items))
    for number in (1, 2):
        noise = np.random.default_rng(number).normal(0, 800, 8000 * number).astype(np.int16)
        soundfile.write(place / "audio" / f"{number}.flac", noise, 16_000)
    return place


class Counter:
    """Hears how many samples a clip has, and counts how often it was asked."""

    name = "counter"
    identity = "counter 1"
    workers = "connections"
    at_once = 1
    longest_s = None

    def __init__(self) -> None:
        self.heard = 0

    def hear(self, batch: Sequence[Audio]) -> list[Recognition]:
        self.heard += len(batch)
        return [Recognition(text=f"{len(audio.samples)} samples") for audio in batch]

    def close(self) -> None:
        pass


def test_without_any_file_clips_go_with_instructions_by_their_order(folder: Path) -> None:
    clips = folder_clips(folder)
    assert [one.audio for one in clips] == ["audio/1.flac", "audio/2.flac"]
    assert [one.steps for one in clips] == [("images/1.png", "images/2.png"), ("images/3.png",)]
    assert [one.text for one in clips] == ["open the first", "go back"]


def test_what_a_file_says_of_steps_counts_more_than_the_order(folder: Path) -> None:
    swapped = [
        {"audio": "audio/2.flac", "steps": ["images/1.png", "images/2.png"], "text": "open"},
        {"audio": "audio/1.flac", "steps": ["images/3.png"], "text": "back"},
    ]
    (folder / "transcriptions_Wturbo.json").write_text(json.dumps(swapped))
    desk = Desk(folder)
    clip = desk.clip_for("images/3.png")
    assert clip is not None
    assert clip.audio == "audio/1.flac"
    heard = desk.heard(clip, "Wturbo")
    assert heard is not None
    assert heard.text == "back"
    assert desk.clip_for("images/9.png") is None


def test_a_correction_is_kept_apart_and_names_every_clip(folder: Path) -> None:
    recogniser = Counter()
    transcribe_folder(folder, recogniser, TranscriptStore(None))
    machine = folder / "transcriptions_counter.json"
    before = machine.read_bytes()
    desk = Desk(folder)
    clip = desk.clip_for("images/1.png")
    assert clip is not None
    assert not clip.checked
    desk.correct(clip, "open the very first")
    assert machine.read_bytes() == before
    kept = {one.audio: one for one in read_corrected(folder)}
    assert kept["audio/1.flac"].text == "open the very first"
    assert kept["audio/1.flac"].checked
    assert set(kept) == {"audio/1.flac", "audio/2.flac"}, "it also says which clip goes with which steps"
    assert not kept["audio/2.flac"].checked
    assert desk.checked() == (1, 2)
    assert Desk(folder).checked() == (1, 2)
    # Hearing again does not touch it.
    transcribe_folder(folder, recogniser, TranscriptStore(None))
    assert {one.audio: one for one in read_corrected(folder)} == kept


def test_texts_of_the_release_count_as_checked(folder: Path) -> None:
    (folder / "transcriptions_GT.json").write_text(
        json.dumps([{"audio": "audio/1.flac", "steps": ["images/1.png"], "text": "open"}])
    )
    assert [one.checked for one in read_corrected(folder)] == [True]
    desk = Desk(folder)
    clip = desk.clip_for("images/1.png")
    assert clip is not None
    desk.correct(clip, "open it")
    assert next(iter(read_corrected(folder))).text == "open it"


def test_a_broken_file_of_corrections_is_never_written_over(folder: Path) -> None:
    (folder / "transcriptions_GT.json").write_text("[{")
    with pytest.raises(UserError, match="GT"):
        Desk(folder)
    assert (folder / "transcriptions_GT.json").read_text() == "[{"


def test_a_clip_without_words_and_what_is_not_ours_stay_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "transcriptions_GT.json").write_text('[{"audio": "audio/1.flac", "text": "one", "speaker": "ann"}]')
    items = [*read_corrected(tmp_path), Corrected(audio="audio/2.flac")]
    write_corrected(tmp_path, items)
    first, second = json.loads((tmp_path / "transcriptions_GT.json").read_text())
    assert first["speaker"] == "ann"
    assert second["text"] == ""
    assert [one.text for one in read_transcripts(tmp_path / "transcriptions_GT.json")] == ["one", ""]


def test_no_recogniser_can_take_the_name_of_the_corrections() -> None:
    with pytest.raises(UserError, match="corrected"):
        machine_file("GT")
    assert machine_file("whisper:turbo") == "transcriptions_whisper-turbo.json"
    assert "/" not in machine_file("replay:../../etc/x.json")


@pytest.mark.parametrize("name", ["../secret.flac", "/etc/passwd", "audio/../../x.flac"])
def test_a_clip_is_never_outside_the_folder(folder: Path, name: str) -> None:
    with pytest.raises(UserError, match="leads out"):
        clip_path(folder, name)


def test_clips_that_were_heard_are_not_heard_again(folder: Path, tmp_path: Path) -> None:
    recogniser, store = Counter(), TranscriptStore(tmp_path / "store")
    done = transcribe_folder(folder, recogniser, store)
    assert (done.heard, done.stored, done.failures) == (2, 0, ())
    texts = [one["text"] for one in json.loads(done.file.read_text())]
    assert texts == ["8000 samples", "16000 samples"]
    again = transcribe_folder(folder, recogniser, store)
    assert (again.heard, again.stored) == (0, 2)
    assert recogniser.heard == 2


def test_a_clip_that_cannot_be_read_is_named_and_the_others_are_heard(folder: Path) -> None:
    (folder / "audio" / "1.flac").write_bytes(b"fLaC and then nothing")
    done = transcribe_folder(folder, Counter(), TranscriptStore(None))
    assert len(done.failures) == 1
    assert done.failures[0].startswith("audio/1.flac: ")
    assert [one["audio"] for one in json.loads(done.file.read_text())] == ["audio/2.flac"]


def test_the_command_hears_one_participant_or_all(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder.parent / "recorded.json").write_text(
        json.dumps([{"audio": f"3/audio/{number}.flac", "text": f"words {number}"} for number in (1, 2)])
    )
    spec = f"replay:{folder.parent / 'recorded.json'}"
    assert participant_folders(folder) == participant_folders(folder.parent) == [folder]
    assert transcribe_command(folder.parent, asr=spec, no_transcript_store=True) == 0
    assert "2 clips heard" in capsys.readouterr().out
    with pytest.raises(UserError, match="no such folder"):
        transcribe_command(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="clips"):
        transcribe_command(tmp_path / "empty")


def test_a_clip_is_read_as_it_is_played(folder: Path) -> None:
    assert clip_sound(folder / "audio" / "2.flac").seconds == pytest.approx(1.0)
    with pytest.raises(UserError, match="no such recording"):
        clip_sound(folder / "audio" / "9.flac")


# --- words in a text ---------------------------------------------------------------------

SENTENCE = tuple(
    Word(text=text, start_s=number * 0.5, end_s=number * 0.5 + 0.4)
    for number, text in enumerate(("okay", "open", "the", "first", "open", "one"))
)


def test_words_are_found_in_their_order_whatever_stands_around_them() -> None:
    text = "Okay, open the first; open one."
    placed = place_words(text, SENTENCE)
    assert [text[one.first : one.end] for one in placed] == ["Okay", "open", "the", "first", "open", "one"]
    first = text.index("open", 10)
    assert time_of(placed, first, first + 2) == pytest.approx((1.95, 2.45))
    assert time_of(placed, 0, len(text)) == pytest.approx((0.0, 2.95))
    assert time_of(placed, 5, 6) is None
    at = word_at(placed, 1.2)
    assert at is not None
    assert text[at.first : at.end] == "the"
    assert word_at(placed, -1) is None


@given(st.lists(st.text(st.characters(categories=("Ll", "Lu")), min_size=1, max_size=6), max_size=12))
def test_every_word_of_a_plain_sentence_is_found_at_its_place(words: list[str]) -> None:
    times = tuple(Word(text=word, start_s=float(k), end_s=k + 0.5) for k, word in enumerate(words))
    text = " ".join(words)
    placed = place_words(text, times)
    assert len(placed) == len(words)
    assert [text[one.first : one.end] for one in placed] == words
