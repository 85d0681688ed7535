from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from asr.speech import tone, write
from grounding.asr import audio as reader
from grounding.asr.audio import SAMPLE_RATE_HZ, UnreadableAudio, from_samples, read_audio

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


def test_blocks_leave_no_seams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.wav", tone(2, rate_hz=44100), rate_hz=44100)
    whole = read_audio(path).samples
    monkeypatch.setattr(reader, "_BLOCK_FRAMES", 997)
    assert np.allclose(read_audio(path).samples, whole, atol=1e-6)


def test_two_channels_are_averaged_and_said(tmp_path: Path) -> None:
    both = np.stack([tone(1), np.zeros(16000, np.float32)], axis=1)
    found = read_audio(write(tmp_path / "a.wav", both))
    assert found.notes == ("2 channels, averaged",)
    assert np.abs(found.samples).max() == pytest.approx(0.15, abs=0.001)


def test_channels_that_cancel_each_other_are_not_averaged(tmp_path: Path) -> None:
    found = read_audio(write(tmp_path / "a.wav", np.stack([tone(1), -0.9 * tone(1)], axis=1)))
    assert found.notes == ("2 channels, they cancel each other: channel 1 taken",)
    assert np.abs(found.samples).max() == pytest.approx(0.3, abs=0.001)


@pytest.mark.parametrize("seconds", [0.01, 1.0])
def test_silence_is_said(tmp_path: Path, seconds: float) -> None:
    found = read_audio(write(tmp_path / "a.flac", np.zeros(round(seconds * 16000), np.float32)))
    assert found.notes == ("silence",)
    assert found.seconds == pytest.approx(seconds)


def test_a_file_without_samples_is_a_clip_of_no_length(tmp_path: Path) -> None:
    found = read_audio(write(tmp_path / "a.wav", np.zeros(0, np.float32)))
    assert (found.seconds, found.notes) == (0.0, ("no samples",))


def test_clipping_is_said_and_a_lone_peak_is_none(tmp_path: Path) -> None:
    loud = np.clip(tone(1, level=4.0), -1, 1)
    assert read_audio(write(tmp_path / "a.wav", loud)).notes[0].startswith("clipped: ")
    lone = tone(1)
    lone[100] = 1.0
    assert read_audio(write(tmp_path / "b.wav", lone)).notes == ()


def test_what_is_beyond_full_scale_is_scaled_down(tmp_path: Path) -> None:
    found = read_audio(write(tmp_path / "a.wav", tone(1, level=4.0), subtype="FLOAT"))
    assert found.notes == ("12.0 dB beyond full scale, scaled down",)
    assert np.abs(found.samples).max() == pytest.approx(1.0, abs=0.001)


def test_samples_that_are_no_numbers_become_silence(tmp_path: Path) -> None:
    strange = tone(1)
    strange[50:53] = np.nan
    strange[60] = np.inf
    found = read_audio(write(tmp_path / "a.wav", strange, subtype="FLOAT"))
    assert found.notes == ("4 frames with samples that are no numbers, taken as silence",)
    assert np.isfinite(found.samples).all()
    assert np.isfinite(from_samples(strange).samples).all()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "empty"),
        (b"this is no sound at all, but a line of text", "ffmpeg"),
        (b"RIFF\x24\0\0\0WAVE", "neither libsndfile nor ffmpeg"),
    ],
)
def test_files_without_sound_are_unreadable(tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "a.wav").write_bytes(content)
    with pytest.raises(UnreadableAudio, match=why) as caught:
        read_audio(tmp_path / "a.wav")
    assert caught.value.kind == "unreadable"
    assert "\n" not in str(caught.value)


def test_missing_files_and_folders_are_unreadable(tmp_path: Path) -> None:
    for path in (tmp_path / "none.wav", tmp_path):
        with pytest.raises(UnreadableAudio, match="can't be read"):
            read_audio(path)


def test_a_file_that_breaks_off_is_unreadable_and_not_half_a_clip(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    path = write(tmp_path / "a.flac", rng.normal(0, 0.1, 80000).astype(np.float32))
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(UnreadableAudio, match=r"breaks off|broken after"):
        read_audio(path)


def test_longer_than_the_limit_is_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.wav", tone(2))
    monkeypatch.setattr(reader, "LONGEST_S", 1.0)
    with pytest.raises(UnreadableAudio, match="cut it into parts") as caught:
        read_audio(path)
    assert caught.value.kind == "too-long"


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


@FFMPEG
def test_a_damaged_file_behind_ffmpeg_is_unreadable(tmp_path: Path) -> None:
    source = write(tmp_path / "a.wav", tone(5))
    path = tmp_path / "b.m4a"
    subprocess.run(["ffmpeg", "-v", "error", "-i", source, path], check=True)
    content = bytearray(path.read_bytes())
    content[200 : len(content) // 2] = bytes(len(content) // 2 - 200)
    path.write_bytes(bytes(content))
    with pytest.raises(UnreadableAudio):
        read_audio(path)


def test_without_ffmpeg_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "a.m4a").write_bytes(b"no sound")
    with pytest.raises(UnreadableAudio, match="ffmpeg is not installed"):
        read_audio(tmp_path / "a.m4a")


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


@pytest.mark.slow
def test_a_long_recording_is_read_in_the_memory_of_its_mono_samples(tmp_path: Path) -> None:
    path, minutes = tmp_path / "long.wav", 12
    with soundfile.SoundFile(path, "w", 48000, 2) as file:
        minute = np.stack([tone(60, rate_hz=48000)] * 2, axis=1)
        for _ in range(minutes):
            file.write(minute)
    program = (
        "import resource, sys; from pathlib import Path; from grounding.asr.audio import read_audio;"
        "import numpy, soundfile, soxr; before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss;"
        "print(read_audio(Path(sys.argv[1])).seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    done = subprocess.run([sys.executable, "-c", program, path], check=True, capture_output=True, text=True)
    seconds, kilobytes = map(float, done.stdout.split())
    assert seconds == pytest.approx(minutes * 60, abs=0.1)
    samples_kb = seconds * SAMPLE_RATE_HZ * 4 / 1024
    # Read at once, the two channels at 48 kHz would be six times as many.
    assert kilobytes < 2.2 * samples_kb + 40_000
