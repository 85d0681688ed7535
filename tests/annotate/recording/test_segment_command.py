"""The command from a video file to a participant's folder that everything else opens."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
import pytest
import soundfile
from cyclopts import App
from screenplay import Picture, Screenplay, film, voice

from annotate.document import Document
from annotate.recording import edits
from annotate.recording.plan_file import read_plan
from annotate.recording.propose import propose
from annotate.recording.records import CutPlan
from annotate.recording.video import Recording
from annotate.recording.writing import write_participant
from annotate.segment import segment_command
from grounding.asr.audio import Audio
from grounding.asr.recogniser import Recognition
from grounding.asr.records import Word
from grounding.errors import UserError
from grounding.loaders.realwebassist import QUESTIONS

SIZE = (480, 300)


def page(seed: int) -> Picture:
    rng = np.random.default_rng(seed)
    picture = np.full((SIZE[1], SIZE[0], 3), 245, np.uint8)
    for _ in range(15):
        x, y = int(rng.integers(0, 380)), int(rng.integers(0, 250))
        cv2.rectangle(picture, (x, y), (x + 90, y + 40), rng.integers(0, 220, 3).tolist(), -1)
    return picture


def play() -> Screenplay:
    """Two instructions: the first for one click, the second for two; then words that lead to nothing."""
    made = Screenplay(SIZE, 16.0, [(0.0, page(0))], pointer=[(0.0, 20.0, 20.0)], pointer_scale=0.8)
    made.say(1.0, voice(1.5, seed=1))
    made.click(4.0, 200, 150, page(1))
    made.say(5.5, voice(1.5, seed=2))
    made.click(8.5, 300, 100, page(2))
    made.click(11.0, 100, 200, page(3))
    made.say(13.0, voice(1.5, seed=3))
    return made


class Parrot:
    """Hears in every piece of speech how many tenths of a second it lasts, as two words."""

    name = "parrot:two"
    identity = "parrot"
    workers = "connections"
    at_once = 1
    longest_s = None

    def __init__(self) -> None:
        self.pieces = 0

    def hear(self, batch: Sequence[Audio]) -> list[Recognition]:
        self.pieces += len(batch)
        heard = []
        for audio in batch:
            words = (
                Word(text="speech", start_s=0.2, end_s=0.6),
                Word(text=f"{audio.seconds * 10:.0f}", start_s=0.7, end_s=1.1),
            )
            heard.append(Recognition(text=" ".join(word.text for word in words), words=words))
        return heard

    def close(self) -> None:
        pass


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("session") / "session.mkv"
    film(play(), path, fps=15, keyframes_every=30)
    return path


def quiet(_what: str, _done: float, _of: float) -> None:
    pass


@pytest.fixture(scope="module")
def plan(video: Path) -> CutPlan:
    return propose(Recording(video), recogniser=Parrot(), task="shop", progress=quiet)


def test_steps_have_the_screens_before_the_actions_and_the_words_said_for_them(plan: CutPlan) -> None:
    assert [step.action_s for step in plan.steps] == pytest.approx([4.0, 8.5, 11.0], abs=0.15)
    assert all(step.screenshot_s < step.action_s for step in plan.steps)
    assert len(plan.instructions) == 3
    assert [step.instruction for step in plan.steps] == [0, 1, 1]
    assert plan.unused == (2,)
    first = plan.instructions[0]
    assert first.heard.startswith("speech ")
    # Words have the recording's clock.
    assert 0.9 < first.words[0].start_s < first.words[1].end_s < 2.6
    assert plan.recogniser == "parrot:two"
    assert plan.broke is None


def test_what_is_written_opens_as_a_participants_folder(plan: CutPlan, video: Path, tmp_path: Path) -> None:
    folder = tmp_path / "7"
    written = write_participant(plan, Recording(video), folder, progress=quiet)
    assert (written.steps, written.clips) == (3, 2)
    items = json.loads((folder / QUESTIONS).read_text())
    assert [item["final_image"] for item in items] == ["images/1.png", "images/2.png", "images/3.png"]
    assert items[1]["instruction"] == items[2]["instruction"] == plan.instructions[1].heard
    assert {item["task"] for item in items} == {"shop"}
    assert "bounding_box" not in items[0], "nobody has looked yet"
    assert items[0]["recording"]["action_s"] == pytest.approx(4.0, abs=0.15)
    for number, expected in enumerate((0, 1, 2), 1):
        picture = cv2.cvtColor(cv2.imread(str(folder / "images" / f"{number}.png")), cv2.COLOR_BGR2RGB)
        assert picture.shape == (SIZE[1], SIZE[0], 3)
        assert np.abs(picture.astype(int) - page(expected)).mean() < 6
    with Document.open(folder) as document:
        assert [entry.state for entry in document.entries] == ["todo", "todo", "todo"]
        assert document.entries[0].transcript == plan.instructions[0].heard


def test_clips_are_flac_with_the_words_in_them_and_machine_and_person_apart(
    plan: CutPlan, video: Path, tmp_path: Path
) -> None:
    second = plan.steps[1].instruction
    assert second is not None
    corrected = edits.correct(plan, second, "open the second one")
    write_participant(corrected, Recording(video), tmp_path, progress=quiet)
    machine = json.loads((tmp_path / "transcriptions_parrot-two.json").read_text())
    person = json.loads((tmp_path / "transcriptions_GT.json").read_text())
    assert [one["audio"] for one in machine] == [one["audio"] for one in person] == ["audio/1.flac", "audio/2.flac"]
    assert machine[1]["steps"] == ["images/2.png", "images/3.png"]
    assert [one["text"] for one in person] == [plan.instructions[0].heard, "open the second one"]
    assert [one["checked"] for one in person] == [False, True]
    assert machine[1]["text"] == plan.instructions[1].heard
    assert json.loads((tmp_path / QUESTIONS).read_text())[2]["instruction"] == "open the second one"
    samples, rate_hz = soundfile.read(tmp_path / "audio" / "2.flac")
    assert rate_hz == 48_000
    bounds = plan.instructions[1]
    assert len(samples) / rate_hz == pytest.approx(bounds.end_s - bounds.start_s + 0.4, abs=0.05)
    assert np.abs(samples).max() > 0.05
    for word in machine[1]["words"]:
        assert 0 <= word["start_s"] < word["end_s"] <= len(samples) / rate_hz


def test_steps_that_are_there_are_never_replaced_unasked(plan: CutPlan, video: Path, tmp_path: Path) -> None:
    write_participant(plan, Recording(video), tmp_path, progress=quiet)
    drawn = (tmp_path / QUESTIONS).read_text().replace('"action": "click"', '"action": "click", "bounding_box": []', 1)
    (tmp_path / QUESTIONS).write_text(drawn)
    with pytest.raises(UserError, match="--overwrite"):
        write_participant(plan, Recording(video), tmp_path, progress=quiet)
    assert (tmp_path / QUESTIONS).read_text() == drawn
    write_participant(edits.drop(plan, 2), Recording(video), tmp_path, overwrite=True, progress=quiet)
    assert (tmp_path / f"{QUESTIONS}.previous").read_text() == drawn
    assert sorted(path.name for path in (tmp_path / "images").iterdir()) == ["1.png", "2.png"]


def test_the_command_writes_and_then_goes_on_from_what_is_kept(
    video: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "cut"
    arguments = ["segment", str(video), "--out", str(folder), "--no-window", "--asr", "none"]
    assert code(arguments) == 0
    assert "3 steps and 2 clips" in capsys.readouterr().out
    kept = read_plan(folder)
    assert kept is not None
    assert kept.recogniser == ""
    assert not list(folder.glob("transcriptions_parrot*"))
    # A person's change to the plan counts in the next call.
    from annotate.recording.plan_file import save_plan

    save_plan(folder, edits.drop(kept, 0))
    assert code(arguments) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert code([*arguments, "--overwrite"]) == 0
    assert "2 steps and" in capsys.readouterr().out
    assert code([*arguments, "--overwrite", "--fresh"]) == 0
    assert "3 steps and" in capsys.readouterr().out


def test_the_kept_cut_of_another_recording_is_not_taken(
    video: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "cut"
    assert code(["segment", str(video), "--out", str(folder), "--no-window", "--asr", "none"]) == 0
    other = Screenplay(SIZE, 2.0, [(0.0, page(0)), (1.0, page(1))])
    film(other, tmp_path / "other.mkv", fps=5, sound=False)
    assert code(["segment", str(tmp_path / "other.mkv"), "--out", str(folder), "--no-window", "--asr", "none"]) == 2
    assert "another recording" in capsys.readouterr().err


def test_a_file_that_breaks_off_gives_steps_and_says_where(
    video: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = video.read_bytes()
    (tmp_path / "cut.mkv").write_bytes(content[: int(len(content) * 0.7)])
    assert code(["segment", str(tmp_path / "cut.mkv"), "--no-window", "--asr", "none"]) == 0
    said = capsys.readouterr()
    kept = read_plan(tmp_path / "cut")
    assert kept is not None
    assert kept.broke is not None
    assert 1 <= len(kept.steps) <= 3
    assert f"breaks off at {kept.broke.at_s:.2f} s" in said.err
    assert all(step.action_s <= kept.broke.at_s for step in kept.steps)


def test_silent_recordings_have_steps_without_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    film(play(), tmp_path / "silent.mp4", fps=10, sound=False)
    assert code(["segment", str(tmp_path / "silent.mp4"), "--no-window"]) == 0
    assert "no sound" in capsys.readouterr().err
    items = json.loads((tmp_path / "silent" / QUESTIONS).read_text())
    assert [item["instruction"] for item in items] == ["", "", ""]
    assert not (tmp_path / "silent" / "audio").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["notes.mp4"], "no video that can be read"),
        (["absent.mp4"], "there is no file"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.mp4").write_text("notes")
    assert code(["segment", *arguments, "--no-window"]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.startswith("annotate: ")
    assert "Traceback" not in said


def test_without_a_display_the_window_is_refused_before_any_work(
    video: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    assert code(["segment", str(video), "--asr", "none"]) == 2
    assert "display" in capsys.readouterr().err
    assert not video.with_suffix("").exists()


def code(arguments: list[str]) -> object:
    """What the command line returns, its errors of the user's told as the program tells them."""
    app = App(result_action="return_value", exit_on_error=False)
    app.command(segment_command, name="segment")
    try:
        return app(arguments)
    except UserError as error:
        print(f"annotate: {error}", file=sys.stderr)
        return 2


def test_the_program_itself_leaves_with_2_and_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "notes.mp4").write_text("notes")
    command = [sys.executable, "-m", "annotate", "segment", str(tmp_path / "notes.mp4"), "--no-window"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert len(ended.stderr.splitlines()) == 1
