"""Sounds for the tests: tones and silence, made here, and speech from the bundled sample."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import soundfile
from fakes.make import REPOSITORY
from numpy.typing import NDArray

from grounding.asr.audio import SAMPLE_RATE_HZ
from grounding.data.speech import Clip, read_transcripts


def tone(
    seconds: float, *, rate_hz: int = SAMPLE_RATE_HZ, hz: float = 440.0, level: float = 0.3
) -> NDArray[np.float32]:
    """A sine of shape (n,)."""
    at = np.arange(round(seconds * rate_hz)) / rate_hz
    return (level * np.sin(2 * np.pi * hz * at)).astype(np.float32)


def write(path: Path, samples: NDArray[np.float32], *, rate_hz: int = SAMPLE_RATE_HZ, subtype: str = "PCM_16") -> Path:
    """A file whose ending chooses the format."""
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, samples, rate_hz, subtype=subtype)
    return path


def clip(path: Path, clip_id: str | None = None) -> Clip:
    return Clip(id=clip_id or path.stem, path=str(path), sha256=hashlib.sha256(path.read_bytes()).hexdigest())


def sample_speech(count: int) -> list[tuple[Path, str]]:
    """The shortest clips of the bundled sample's first participant, and what is said in them."""
    folder = REPOSITORY / "datasets" / "sample-web" / "1"
    items = read_transcripts(folder / "transcriptions_GT.json")
    found = sorted(((folder / item.audio, item.text) for item in items), key=lambda each: each[0].stat().st_size)
    # Of four words at least: of "go back" too little can be right.
    return [each for each in found if len(each[1].split()) >= 4][:count]
