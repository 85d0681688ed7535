"""Real video files: time stamps that vary, sound on the same clock, files that break off, files that are none."""

from __future__ import annotations

import builtins
import importlib
import sys
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from screenplay import Screenplay, film, voice

from annotate.recording.propose import propose
from annotate.recording.video import Recording
from grounding.errors import UserError

SIZE = (320, 200)


def counting(seconds: float = 6.0) -> Screenplay:
    """A screen whose brightness says how many half seconds have passed."""
    screens = [
        (half / 2, np.full((SIZE[1], SIZE[0], 3), 20 + 18 * half, np.uint8)) for half in range(round(seconds * 2))
    ]
    return Screenplay(SIZE, seconds, screens, pointer=[(0.0, 10.0, 10.0), (seconds, 300.0, 180.0)])


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[float]]:
    play = counting()
    play.say(2.0, voice(1.0))
    path = tmp_path_factory.mktemp("video") / "clip.mkv"
    return path, film(play, path, fps=15, keyframes_every=20)


def test_time_stamps_are_the_files_own(clip: tuple[Path, list[float]]) -> None:
    path, written = clip
    gaps = np.diff(written)
    assert gaps.max() > 1.5 * gaps.min(), "the frame rate varies"
    recording = Recording(path)
    assert [time_s for time_s, _ in recording.small_frames()] == pytest.approx(written, abs=0.0011)
    assert recording.damaged == 0


def test_a_picture_is_the_one_that_stood_at_that_time(clip: tuple[Path, list[float]]) -> None:
    path, written = clip
    for time_s in (0.0, 0.74, 1.99, 3.2, 5.9, 99.0):
        picture = Recording(path).picture_at(time_s)
        shown_s = max(stamp for stamp in written if stamp <= time_s)
        assert picture.shape == (SIZE[1], SIZE[0], 3)
        assert abs(int(np.median(picture)) - (20 + 18 * int(shown_s * 2))) <= 3


def test_sound_is_on_the_clock_of_the_pictures(clip: tuple[Path, list[float]]) -> None:
    sound = Recording(clip[0]).sound()
    assert sound is not None
    assert len(sound.samples) / sound.rate_hz == pytest.approx(6.0, abs=0.1)
    assert np.abs(sound.between(2.1, 2.9).samples).max() > 600
    assert np.abs(sound.between(0, 1.9).samples).max() < 300
    assert np.abs(sound.between(3.2, 6).samples).max() < 300


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("cut.mkv", {}, "breaks off: it states 6."),
        ("cut.mp4", {"movflags": "faststart"}, "breaks off: it states 6."),
        # Such a file states the length of what is there.
        ("fragments.mp4", {"movflags": "frag_keyframe+empty_moov"}, ""),
    ],
)
def test_a_file_that_breaks_off_gives_its_frames_and_says_where(
    tmp_path: Path, name: str, options: dict[str, str], said: str
) -> None:
    play = counting()
    rng = np.random.default_rng(0)

    def restless(_time_s: float, screen: np.ndarray[Any, Any]) -> None:
        screen[50:150, 50:250] = cv2.resize(rng.integers(0, 255, (25, 50, 3), dtype=np.uint8), (200, 100))

    play.layers.append(restless)
    play.say(1.0, voice(4.0))
    path = tmp_path / name
    written = film(play, path, fps=15, options=options, keyframes_every=15)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * 0.6)])
    recording = Recording(path)
    frames = list(recording.small_frames())
    assert 1.5 < frames[-1][0] < 5.0
    # In fragments the sound's lead-in, a frame of AAC, is part of the time stamps.
    assert [time_s for time_s, _ in frames[:10]] == pytest.approx(written[:10], abs=0.025)
    assert recording.seen_s == frames[-1][0]
    plan = propose(recording, recogniser=None)
    assert said in " ".join(plan.notes)
    assert plan.duration_s < 5.5
    assert recording.picture_at(1.2).shape == (SIZE[1], SIZE[0], 3)


def test_a_screen_that_stands_still_to_the_end_is_no_break(tmp_path: Path) -> None:
    dark, light = np.zeros((200, 320, 3), np.uint8), np.full((200, 320, 3), 200, np.uint8)
    play = Screenplay(SIZE, 6.0, [(0.0, dark), (1.0, light)])
    written = film(play, tmp_path / "still.mkv", fps=10)
    assert written[-1] < 1.2
    recording = Recording(tmp_path / "still.mkv")
    assert list(recording.small_frames())[-1][0] < 1.2
    assert "breaks off" not in str(propose(recording, recogniser=None).notes)


def test_what_is_no_video_or_lost_its_index_is_refused_in_words(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "lost.mp4"
    film(counting(2.0), path, fps=10)
    for content, said in (
        (path.read_bytes()[:3000], "has lost the index at its end"),
        (b"", "no video that can be read"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 500, "no video that can be read"),
    ):
        path.write_bytes(content)
        with pytest.raises(UserError, match=said):
            Recording(path)
    assert capfd.readouterr().err == ""


def test_without_the_package_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def absent(name: str, *arguments: Any, **others: Any) -> Any:
        if name == "av":
            raise ImportError(name)
        return real(name, *arguments, **others)

    monkeypatch.setattr(builtins, "__import__", absent)
    monkeypatch.delitem(sys.modules, "annotate.recording.video")
    with pytest.raises(UserError, match=r"grounding\[video\]"):
        importlib.import_module("annotate.recording.video")
