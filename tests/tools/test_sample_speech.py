"""The sample's speech: what it promises, and that it can be made again."""

from __future__ import annotations

import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import soundfile

from grounding.asr.audio import read_audio
from grounding.asr.noise import noise_identity, open_sources, rms_dbfs
from grounding.asr.recogniser import open_recogniser
from grounding.asr.transcribe import heard_key, transcribe
from grounding.data.speech import Clip, Noisy, Transcript, file_sha256, read_transcripts
from grounding.scoring.words import word_errors

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "datasets" / "sample-web"
PARTICIPANTS = ("1", "2", "3")
HEARD = {
    "transcriptions_pocketsphinx.json": None,
    "transcriptions_pocketsphinx-babble-10dB.json": Noisy(source="babble", snr_db=10.0),
    "transcriptions_pocketsphinx-typing-0dB.json": Noisy(source="typing", snr_db=0.0),
}


def truth(name: str, folder: Path = SAMPLE) -> tuple[Transcript, ...]:
    return read_transcripts(folder / name / "transcriptions_GT.json")


def clip_of(name: str, item: Transcript) -> Clip:
    path = SAMPLE / name / item.audio
    return Clip(id=f"{name}/{path.stem}", path=str(path), sha256=file_sha256(path))


def instructions(name: str) -> list[tuple[str, list[str]]]:
    """The words of each instruction with the pictures that it goes with."""
    steps: list[dict[str, Any]] = json.loads((SAMPLE / name / "questions_with_task_updated.json").read_text())
    found: list[tuple[str, list[str]]] = []
    before = None
    for step in steps:
        key = (step["task"], step["instruction"])
        if key != before:
            found.append((step["instruction"], []))
        found[-1][1].append(step["final_image"])
        before = key
    return found


@pytest.mark.parametrize("name", PARTICIPANTS)
def test_every_instruction_has_its_recording(name: str) -> None:
    assert [(item.text, list(item.steps)) for item in truth(name)] == instructions(name)
    files = {f"audio/{path.name}" for path in (SAMPLE / name / "audio").iterdir()}
    assert {item.audio for item in truth(name)} == files
    assert all(Path(item.audio).stem == Path(item.steps[0]).stem for item in truth(name))


def test_the_recordings_are_small() -> None:
    assert sum(path.stat().st_size for path in SAMPLE.glob("*/audio/*")) < 12_000_000


def test_the_recordings_are_speech_at_16_khz() -> None:
    for name in PARTICIPANTS:
        lengths = set()
        for item in truth(name)[::9]:
            about = soundfile.info(SAMPLE / name / item.audio)
            assert (about.samplerate, about.channels, about.subtype) == (16_000, 1, "PCM_16")
            audio = read_audio(SAMPLE / name / item.audio)
            assert audio.notes == ()
            mean_dbfs = rms_dbfs(audio.samples)
            assert mean_dbfs is not None
            assert -35 < mean_dbfs < -18
            lengths.add(about.frames)
        assert len(lengths) > 3


@pytest.mark.parametrize("file", HEARD)
def test_what_was_heard_belongs_to_these_recordings_this_noise_and_this_recogniser(file: str) -> None:
    recogniser = open_recogniser("pocketsphinx")
    made_with = json.loads((SAMPLE / "heard-with.json").read_text())
    noises = [noise_identity(noise, open_sources()) for noise in HEARD.values() if noise is not None]
    assert made_with["noises"] == noises
    if recogniser.identity != made_with["recogniser"]:
        version = importlib.metadata.version("pocketsphinx")
        assert re.sub(r"(?<=pocketsphinx )\S+(?=,)", version, made_with["recogniser"]) == recogniser.identity
        pytest.skip(f"heard with another version than {version}: keys are not compared")
    for name in PARTICIPANTS:
        items = read_transcripts(SAMPLE / name / file)
        assert [(item.audio, item.steps) for item in items] == [(item.audio, item.steps) for item in truth(name)]
        assert [item.key for item in items] == [
            heard_key(clip_of(name, item), recogniser, HEARD[file]) for item in items
        ], "made of something else: run tools/sample_speech/hear.py"


def test_noise_costs_words() -> None:
    rates = []
    for file in HEARD:
        pairs = [
            (said.text, heard.text)
            for name in PARTICIPANTS
            for said, heard in zip(truth(name), read_transcripts(SAMPLE / name / file), strict=True)
        ]
        rate = word_errors(pairs).rate_percent
        assert rate is not None
        rates.append(rate)
    clean, *noisy = rates
    assert all(clean < rate for rate in noisy)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_louder_the_noise_the_more_words_are_lost() -> None:
    chosen = [(name, item) for name in PARTICIPANTS for item in truth(name)[4::48]]
    rates = []
    for noise in (None, Noisy(source="babble", snr_db=25.0), Noisy(source="babble", snr_db=10.0)):
        heard = transcribe([clip_of(name, item) for name, item in chosen], open_recogniser("pocketsphinx"), noise=noise)
        assert all(found.failure is None for found in heard)
        pairs = [(item.text, found.text) for (_, item), found in zip(chosen, heard, strict=True)]
        rate = word_errors(pairs).rate_percent
        assert rate is not None
        rates.append(rate)
    clean, at_25_db, at_10_db = rates
    assert clean < at_25_db < at_10_db


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="remaking the speech needs espeak-ng")
def test_the_speech_can_be_made_again(tmp_path: Path) -> None:
    """The same bytes with the same programs, else recordings of about the same length."""
    script = ROOT / "tools" / "sample_speech" / "build.py"
    subprocess.run([sys.executable, str(script), "--out", str(tmp_path), "--participant", "3"], check=True, timeout=250)
    again = tmp_path / "3"
    assert truth("3", tmp_path) == truth("3")
    same = (tmp_path / "speech-made-with.json").read_text() == (SAMPLE / "speech-made-with.json").read_text()
    for item in truth("3"):
        new, old = again / item.audio, SAMPLE / "3" / item.audio
        if same:
            assert new.read_bytes() == old.read_bytes(), item.audio
        else:
            assert soundfile.info(new).frames == pytest.approx(soundfile.info(old).frames, rel=0.1)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="remaking the babble needs espeak-ng")
def test_the_babble_can_be_made_again(tmp_path: Path) -> None:
    script = ROOT / "tools" / "sample_speech" / "babble.py"
    subprocess.run([sys.executable, str(script), "--out", str(tmp_path / "babble.flac")], check=True, timeout=100)
    shipped = ROOT / "grounding" / "asr" / "babble.flac"
    assert shipped.stat().st_size < 1_500_000
    assert soundfile.info(tmp_path / "babble.flac").frames == soundfile.info(shipped).frames
    check = [
        sys.executable,
        "-c",
        "import sys; sys.path.insert(0, sys.argv[1]); from build import made_with; print(made_with())",
    ]
    made = subprocess.run([*check, str(script.parent)], capture_output=True, text=True, check=True).stdout
    if made.strip() == str(json.loads((SAMPLE / "speech-made-with.json").read_text())):
        assert (tmp_path / "babble.flac").read_bytes() == shipped.read_bytes()
