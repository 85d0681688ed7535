"""The command from a video file to a participant's folder that everything else opens."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest
import soundfile
from cyclopts import App
from screenplay import Picture, Screenplay, film, voice

from annotate.core.document import Document
from annotate.recording import plan as edits
from annotate.recording.commands import segment_command
from annotate.recording.plan import CutPlan, read_plan, save_plan, write_participant
from annotate.recording.propose import propose
from annotate.recording.video import Recording
from grounding.asr.audio import Audio
from grounding.asr.recogniser import Answers, Recognition
from grounding.data.layouts.realwebassist import QUESTIONS
from grounding.errors import UserError

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
    for said_s, seed in ((1.0, 1), (5.5, 2), (13.0, 3)):
        made.say(said_s, voice(1.5, seed=seed))
    for at_s, x, y, seed in ((4.0, 200, 150, 1), (8.5, 300, 100, 2), (11.0, 100, 200, 3)):
        made.click(at_s, x, y, page(seed))
    return made


class Parrot:
    """Hears in every piece of speech how many tenths of a second it lasts."""

    name, identity, device, longest_s = "parrot:two", "parrot", "", None

    def hear(self, pieces: Iterator[Audio]) -> Answers:
        for audio in pieces:
            yield audio, Recognition(text=f"speech {audio.seconds * 10:.0f}")


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("session") / "session.mkv"
    film(play(), path, fps=15, keyframes_every=30)
    return path


@pytest.fixture(scope="module")
def plan(video: Path) -> CutPlan:
    return propose(Recording(video), recogniser=Parrot())


def test_steps_have_the_screens_before_the_actions_and_the_words_said_for_them(plan: CutPlan) -> None:
    assert [step.action_s for step in plan.steps] == pytest.approx([4.0, 8.5, 11.0], abs=0.15)
    assert all(step.screenshot_s < step.action_s for step in plan.steps)
    assert [step.instruction for step in plan.steps] == [0, 1, 1]
    assert [one.id for one in plan.instructions] == [0, 1, 2]
    first = plan.instructions[0]
    assert first.heard.startswith("speech ")
    assert (plan.recogniser, plan.notes) == ("parrot:two", ())


def test_what_is_written_opens_as_a_participants_folder(plan: CutPlan, video: Path, tmp_path: Path) -> None:
    folder = tmp_path / "7"
    corrected = edits.write_words(plan, 1, "open the second one")
    assert write_participant(corrected, Recording(video), folder) == "3 steps and 2 clips"
    items = json.loads((folder / QUESTIONS).read_text())
    assert [item["final_image"] for item in items] == ["images/1.png", "images/2.png", "images/3.png"]
    assert items[1]["instruction"] == items[2]["instruction"] == "open the second one"
    assert "bounding_box" not in items[0], "nobody has looked yet"
    assert items[0]["recording"]["action_s"] == pytest.approx(4.0, abs=0.15)
    for number in range(3):
        picture = cv2.cvtColor(cv2.imread(str(folder / "images" / f"{number + 1}.png")), cv2.COLOR_BGR2RGB)
        assert np.abs(picture.astype(int) - page(number)).mean() < 6
    with Document.open(folder) as document:
        assert [entry.state for entry in document.entries] == ["todo", "todo", "todo"]
        assert document.entries[0].transcript == plan.instructions[0].heard
    # The machine's words and the person's are apart.
    machine = json.loads((folder / "transcriptions_parrot-two.json").read_text())
    person = json.loads((folder / "transcriptions_GT.json").read_text())
    assert [one["audio"] for one in machine] == [one["audio"] for one in person] == ["audio/1.flac", "audio/2.flac"]
    assert machine[1]["steps"] == ["images/2.png", "images/3.png"]
    assert [one["text"] for one in machine] == [one.heard for one in plan.instructions[:2]]
    assert [(one["text"], one["checked"]) for one in person] == [
        (plan.instructions[0].heard, False), ("open the second one", True),
    ]  # fmt: skip
    samples, rate_hz = soundfile.read(folder / "audio" / "2.flac")
    bounds = plan.instructions[1]
    assert rate_hz == 48_000
    assert len(samples) / rate_hz == pytest.approx(bounds.end_s - bounds.start_s + 0.4, abs=0.05)
    assert np.abs(samples).max() > 0.05


def test_steps_that_are_there_are_never_replaced_unasked(plan: CutPlan, video: Path, tmp_path: Path) -> None:
    write_participant(plan, Recording(video), tmp_path)
    drawn = (tmp_path / QUESTIONS).read_text().replace('"action": "click"', '"action": "click", "bounding_box": []', 1)
    (tmp_path / QUESTIONS).write_text(drawn)
    with pytest.raises(UserError, match="--overwrite"):
        write_participant(plan, Recording(video), tmp_path)
    assert (tmp_path / QUESTIONS).read_text() == drawn
    write_participant(edits.drop(plan, 2), Recording(video), tmp_path, overwrite=True)
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
    # A person's change to the plan counts in the next call.
    save_plan(folder, edits.drop(kept, 0))
    assert code(arguments) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert code([*arguments, "--overwrite"]) == 0
    assert "2 steps and" in capsys.readouterr().out
    film(Screenplay(SIZE, 2.0, [(0.0, page(0)), (1.0, page(1))]), tmp_path / "other.mkv", fps=5, sound=False)
    for name, said in (("other.mkv", "another recording"), ("absent.mp4", "annotate: there is no file")):
        assert code(["segment", str(tmp_path / name), *arguments[2:]]) == 2
        assert said in capsys.readouterr().err


def test_a_recording_without_sound_gives_steps_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    film(play(), tmp_path / "silent.mp4", fps=10, sound=False)
    assert code(["segment", str(tmp_path / "silent.mp4"), "--no-window"]) == 0
    assert "no sound" in capsys.readouterr().err
    items = json.loads((tmp_path / "silent" / QUESTIONS).read_text())
    assert [item["instruction"] for item in items] == ["", "", ""]
    assert not (tmp_path / "silent" / "audio").exists()


def code(arguments: list[str]) -> object:
    """What the command line returns, its errors of the user's told as the program tells them."""
    app = App(result_action="return_value", exit_on_error=False)
    app.command(segment_command, name="segment")
    try:
        return app(arguments)
    except UserError as error:
        print(f"annotate: {error}", file=sys.stderr)
        return 2
