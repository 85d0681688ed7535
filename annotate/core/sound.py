"""Mono sound, and playing it by whichever program of this computer plays a file."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from grounding.errors import UserError
from grounding.records import Record

SPEECH_RATE_HZ = 16_000
PROGRAMS = ("paplay", "pw-play", "aplay -q", "afplay", "ffplay -nodisp -autoexit -loglevel error")
"""Players and the arguments that make them quiet; the file comes last. In order of how soon the sound begins."""


class Sound(Record, frozen=True, kw_only=True, eq=False):
    """Samples as int16, 77 MB for 40 minutes at 16 kHz, or as float32 with full scale 1."""

    rate_hz: int
    samples: NDArray[Any]

    def between(self, start_s: float, end_s: float) -> Sound:
        first = max(0, round(start_s * self.rate_hz))
        return Sound(rate_hz=self.rate_hz, samples=self.samples[first : max(first, round(end_s * self.rate_hz))])


class Player:
    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._file = Path()

    def play(self, sound: Sound) -> None:
        """Play a sound in place of what plays now. Raises UserError: nothing here plays sound."""
        import soundfile

        self.stop()
        found = next((one.split() for one in PROGRAMS if shutil.which(one.split()[0])), None)
        if found is None:
            raise UserError("sound cannot be played here: install one of the programs paplay, aplay or ffplay")
        with tempfile.NamedTemporaryFile(prefix="clip-", suffix=".wav", delete=False) as file:
            self._file = Path(file.name)
        soundfile.write(self._file, sound.samples, sound.rate_hz, format="WAV", subtype="PCM_16")
        nothing = subprocess.DEVNULL
        self._process = subprocess.Popen([*found, str(self._file)], stdin=nothing, stdout=nothing, stderr=nothing)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._file.unlink(missing_ok=True)
        self._process = None

    def playing(self) -> bool:
        """Whether it plays; ask until it does not. Raises UserError: it could not be played."""
        code = None if self._process is None else self._process.poll()
        if code is not None:
            self.stop()
        if code:
            raise UserError(f"the sound could not be played (the program ended with {code}): is there a sound card?")
        return self._process is not None
