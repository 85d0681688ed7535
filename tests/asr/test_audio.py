from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from asr.speech import tone, write
from grounding.asr.audio import SAMPLE_RATE_HZ, UnreadableAudio, read_audio

FFMPEG = pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="no ffmpeg here")


def pitch_hz(samples: np.ndarray) -> float:
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples))))
    return float(spectrum.argmax() * SAMPLE_RATE_HZ / len(samples))


@pytest.mark.parametrize("rate_hz", [8000, 16000, 22050, 44100, 48000, 96000])
@pytest.mark.parametrize("ending", ["wav", "flac"])
def test_any_rate_becomes_16_khz_of_the_same_length_pitch_and_level(tmp_path: Path, rate_hz: int, ending: str) -> None:
    found = read_audio(write(tmp_path / f"a.{ending}", tone(1.5, rate_hz=rate_hz), rate_hz=rate_hz))
    assert found.samples.dtype == np.float32
    assert found.seconds == pytest.approx(1.5, abs=0.01)
    assert pitch_hz(found.samples) == pytest.approx(440, abs=1)
    middle = found.samples[4000:-4000]
    assert np.sqrt(np.mean(middle**2)) == pytest.approx(0.3 / np.sqrt(2), rel=0.01)
    assert found.notes == ()
    assert len(found.sha256) == 64


def test_channels_that_cancel_each_other_are_not_averaged(tmp_path: Path) -> None:
    found = read_audio(write(tmp_path / "a.wav", np.stack([tone(1), -0.9 * tone(1)], axis=1)))
    assert found.notes == ("2 channels, they cancel each other: channel 1 taken",)
    assert np.abs(found.samples).max() == pytest.approx(0.3, abs=0.001)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "empty"),
        (b"this is no sound at all, but a line of text", "ffmpeg"),
        pytest.param(b"RIFF\x24\0\0\0WAVE", "neither libsndfile nor ffmpeg", marks=FFMPEG),
    ],
)
def test_files_without_sound_are_unreadable(tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "a.wav").write_bytes(content)
    with pytest.raises(UnreadableAudio, match=why) as caught:
        read_audio(tmp_path / "a.wav")
    assert "\n" not in str(caught.value)


def test_a_file_that_breaks_off_is_unreadable_and_not_half_a_clip(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    path = write(tmp_path / "a.flac", rng.normal(0, 0.1, 80000).astype(np.float32))
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(UnreadableAudio, match=r"breaks off|broken"):
        read_audio(path)


@FFMPEG
@pytest.mark.parametrize(("ending", "options"), [("m4a", []), ("webm", ["-c:a", "libopus"]), ("mka", ["-c:a", "ac3"])])
def test_what_libsndfile_cannot_read_goes_through_ffmpeg(tmp_path: Path, ending: str, options: list[str]) -> None:
    source = write(tmp_path / "a.wav", np.stack([tone(1, rate_hz=48000)] * 2, axis=1), rate_hz=48000)
    path = tmp_path / f"b.{ending}"
    subprocess.run(["ffmpeg", "-v", "error", "-i", source, *options, path], check=True)
    with pytest.raises(soundfile.SoundFileError):
        soundfile.SoundFile(path)
    found = read_audio(path)
    assert found.seconds == pytest.approx(1.0, abs=0.1)
    assert pitch_hz(found.samples) == pytest.approx(440, abs=2)
    assert found.notes == ("2 channels, averaged",)


@FFMPEG
def test_a_playlist_opens_no_other_file(tmp_path: Path) -> None:
    write(tmp_path / "secret.wav", tone(1))
    (tmp_path / "a.wav").write_text("ffconcat version 1.0\nfile secret.wav\n")
    (tmp_path / "b.wav").write_text("#EXTM3U\n#EXTINF:1,\nsecret.wav\n#EXT-X-ENDLIST\n")
    for name in ("a.wav", "b.wav"):
        with pytest.raises(UnreadableAudio):
            read_audio(tmp_path / name)


@settings(max_examples=60)
@given(content=st.binary(max_size=400), start=st.sampled_from([b"", b"fLaC", b"OggS", b"RIFF\xff\xff\xff\xffWAVEfmt "]))
def test_no_bytes_can_do_more_than_be_unreadable(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, start: bytes
) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "a.wav"
    path.write_bytes(start + content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", "")  # A process for each of them would take its time.
        try:
            found = read_audio(path)
        except UnreadableAudio:
            return
    assert np.isfinite(found.samples).all()
