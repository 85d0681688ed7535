"""Real video files: time stamps that vary, sound on the same clock, files that break off, files that are none."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from screenplay import Screenplay, film, voice

from annotate.recording.sound import Sound, peaks, read_sound
from annotate.recording.video import Recording, load_av
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
    assert [frame.time_s for frame in recording.small_frames()] == pytest.approx(written, abs=0.0011)
    assert recording.broke is None
    assert recording.damaged_frames == 0


def test_small_pictures_keep_the_proportions(clip: tuple[Path, list[float]]) -> None:
    recording = Recording(clip[0])
    frame = next(iter(recording.small_frames()))
    assert recording.small_size == (320, 200)
    assert frame.luma.shape == (200, 320)
    assert frame.luma.dtype == np.uint8


@pytest.mark.parametrize("time_s", [0.0, 0.74, 1.99, 3.2, 5.9, 99.0])
def test_a_picture_is_the_one_that_stood_at_that_time(clip: tuple[Path, list[float]], time_s: float) -> None:
    path, written = clip
    shown_s = max(stamp for stamp in written if stamp <= time_s)
    picture = Recording(path).picture_at(time_s)
    assert picture.shape == (SIZE[1], SIZE[0], 3)
    assert abs(int(np.median(picture)) - (20 + 18 * int(shown_s * 2))) <= 3


def test_many_pictures_are_those_of_their_times(clip: tuple[Path, list[float]]) -> None:
    recording = Recording(clip[0])
    times = [0.1, 0.15, 0.6, 2.2, 5.7]
    found = list(recording.pictures_at(times))
    assert [time_s for time_s, _ in found] == times
    for time_s, picture in found:
        assert np.array_equal(picture, recording.picture_at(time_s))


def test_the_last_of_several_close_frames_is_not_lost(tmp_path: Path) -> None:
    """A recorder that writes 100 frames a second for a moment and then rests: the screen at rest is what counts."""
    play = Screenplay(SIZE, 3.0, [(0.0, np.zeros((200, 320, 3), np.uint8))])
    play.screens += [(1.0 + k * 0.01, np.full((200, 320, 3), 50 + 50 * k, np.uint8)) for k in range(4)]
    film(play, tmp_path / "fast.mkv", fps=100, vary=False, sound=False)
    frames = list(Recording(tmp_path / "fast.mkv").small_frames())
    assert int(np.median(frames[-1].luma)) > 150
    assert len(frames) < 6


def test_sound_is_on_the_clock_of_the_pictures(clip: tuple[Path, list[float]]) -> None:
    sound = read_sound(clip[0])
    assert sound is not None
    assert sound.seconds == pytest.approx(6.0, abs=0.1)
    loud = np.array(peaks(sound, 60))
    assert loud[21:29].min() > 0.02
    assert loud[:19].max() < 0.01
    assert loud[32:].max() < 0.01


def test_a_part_of_the_sound_is_the_same_part(clip: tuple[Path, list[float]]) -> None:
    whole = read_sound(clip[0])
    part = read_sound(clip[0], start_s=1.5, end_s=3.5)
    assert whole is not None
    assert part is not None
    assert part.seconds == pytest.approx(2.0, abs=0.01)
    expected = whole.between(1.5, 3.5).samples.astype(float)
    correlation = np.corrcoef(expected[: len(part.samples)], part.samples)[0, 1]
    assert correlation > 0.95


def test_a_clip_keeps_the_rate_of_its_track(clip: tuple[Path, list[float]]) -> None:
    part = read_sound(clip[0], rate_hz=None, start_s=1.0, end_s=2.0)
    assert part is not None
    assert part.rate_hz == 48_000


def test_a_recording_without_sound_has_none(tmp_path: Path) -> None:
    film(counting(2.0), tmp_path / "silent.mp4", fps=10, sound=False)
    recording = Recording(tmp_path / "silent.mp4")
    assert not recording.facts.has_audio
    assert read_sound(recording.path) is None
    assert list(recording.small_frames())
    assert recording.broke is None


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("cut.mkv", {}),
        ("cut.mp4", {"movflags": "faststart"}),
        ("fragments.mp4", {"movflags": "frag_keyframe+empty_moov"}),
    ],
)
def test_a_file_that_breaks_off_gives_its_frames_and_says_where(
    tmp_path: Path, name: str, options: dict[str, str]
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
    assert 1.5 < frames[-1].time_s < 5.0
    # In fragments the sound's lead-in, a frame of AAC, is part of the time stamps.
    assert [frame.time_s for frame in frames[:10]] == pytest.approx(written[:10], abs=0.025)
    assert recording.broke is not None
    assert recording.broke.at_s == pytest.approx(frames[-1].time_s, abs=0.01)
    assert f"{recording.broke.at_s:.1f} s" in recording.broke.message
    assert recording.picture_at(1.2).shape == (SIZE[1], SIZE[0], 3)


def test_a_screen_that_stands_still_to_the_end_is_no_break(tmp_path: Path) -> None:
    dark, light = np.zeros((200, 320, 3), np.uint8), np.full((200, 320, 3), 200, np.uint8)
    play = Screenplay(SIZE, 6.0, [(0.0, dark), (1.0, light)])
    written = film(play, tmp_path / "still.mkv", fps=10)
    assert written[-1] < 1.2
    recording = Recording(tmp_path / "still.mkv")
    assert list(recording.small_frames())[-1].time_s < 1.2
    assert recording.broke is None


def test_an_mp4_that_lost_its_index_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "lost.mp4"
    film(counting(2.0), path, fps=10)
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(UserError, match="cut off before its index"):
        Recording(path)


@pytest.mark.parametrize("content", [b"", b"hello, I am no video\n" * 200, b"\x89PNG\r\n\x1a\n" + b"\0" * 500])
def test_a_file_that_is_no_video_is_refused_in_words(
    tmp_path: Path, content: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "notes.mp4"
    path.write_bytes(content)
    with pytest.raises(UserError, match="no video that can be read"):
        Recording(path)
    assert capfd.readouterr().err == ""


def test_a_file_of_sound_alone_and_one_that_is_not_there(tmp_path: Path) -> None:
    import soundfile

    soundfile.write(tmp_path / "speech.flac", voice(0.5), 16_000)
    with pytest.raises(UserError, match="no video that can be read"):
        Recording(tmp_path / "speech.flac")
    with pytest.raises(UserError, match="there is no file"):
        Recording(tmp_path / "nothing.mp4")


def test_without_the_package_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def absent(name: str, *arguments: Any, **others: Any) -> Any:
        if name == "av":
            raise ImportError(name)
        return real(name, *arguments, **others)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(UserError, match=r"grounding\[video\]"):
        load_av()


def test_peaks_of_nothing_and_of_more_columns_than_samples() -> None:
    nothing = Sound(rate_hz=16_000, samples=np.zeros(0, np.int16))
    assert peaks(nothing, 3) == [0.0, 0.0, 0.0]
    loudest = Sound(rate_hz=16_000, samples=np.array([-32768, 0], np.int16))
    assert peaks(loudest, 4) == [1.0, 1.0, 0.0, 0.0]
    assert peaks(loudest, 0) == []
