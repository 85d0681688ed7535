"""espeak-ng as a function: text and a voice in, 16 kHz samples out."""

from __future__ import annotations

import io
import shutil
import subprocess
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import soundfile
import soxr

SAMPLE_RATE_HZ = 16_000
PROGRAM = "espeak-ng"

Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Voice:
    """One of espeak-ng's voices and how it speaks: ``speed`` in words a minute, ``pitch`` from 0 to 99."""

    name: str
    speed: int
    pitch: int


def version() -> str:
    """The program's version, such as 1.51; it decides every sample."""
    if shutil.which(PROGRAM) is None:
        raise SystemExit(f"{PROGRAM} is missing: apt-get install espeak-ng")
    said = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout
    return said.partition(":")[2].split()[0]


def speak(text: str, voice: Voice) -> Doubles:
    """What is said, at 16 kHz, between -1 and 1."""
    command = [PROGRAM, "-v", voice.name, "-s", str(voice.speed), "-p", str(voice.pitch), "--stdout", "--", text]
    wav = subprocess.run(command, capture_output=True, check=True).stdout
    samples, rate_hz = soundfile.read(io.BytesIO(wav), dtype="float64")
    if not len(samples):
        raise SystemExit(f"{PROGRAM} said nothing for {text!r} with the voice {voice.name}")
    resampled: Doubles = soxr.resample(samples, rate_hz, SAMPLE_RATE_HZ)
    return resampled
