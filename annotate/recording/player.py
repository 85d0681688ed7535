"""Playing a part of a sound, by whichever program of this computer plays a file."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from grounding.errors import UserError

from .video import Sound

PROGRAMS = ("paplay", "pw-play", "aplay -q", "afplay", "ffplay -nodisp -autoexit -loglevel error")
"""Players and the arguments that make them quiet; the file comes last. In order of how soon the sound begins."""


class Player:
    """Plays one sound at a time; ``clock`` counts seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._process: subprocess.Popen[bytes] | None = None
        self._file: Path | None = None
        self._start_s = self._end_s = self._began_s = 0.0

    def play(self, sound: Sound, start_s: float = 0.0, end_s: float | None = None) -> None:
        """Play a part of a sound in place of what plays now. Raises UserError: nothing here plays sound."""
        import soundfile

        self.stop()
        part = sound.between(start_s, sound.seconds if end_s is None else end_s)
        if not len(part.samples):
            return
        found = next((one.split() for one in PROGRAMS if shutil.which(one.split()[0])), None)
        if found is None:
            raise UserError("sound cannot be played here: install one of the programs paplay, aplay or ffplay")
        with tempfile.NamedTemporaryFile(prefix="clip-", suffix=".wav", delete=False) as file:
            self._file = Path(file.name)
        soundfile.write(self._file, part.samples, part.rate_hz, format="WAV", subtype="PCM_16")
        nothing = subprocess.DEVNULL
        self._process = subprocess.Popen([*found, str(self._file)], stdin=nothing, stdout=nothing, stderr=nothing)
        self._start_s, self._end_s, self._began_s = start_s, start_s + part.seconds, self._clock()

    def stop(self) -> None:
        """Be silent, at once."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        if self._file is not None:
            self._file.unlink(missing_ok=True)
        self._process = self._file = None

    def position_s(self) -> float | None:
        """Where in the whole sound it is now; None while nothing plays. Call it often.

        Raises UserError: the program could not play after all.
        """
        if self._process is None:
            return None
        code = self._process.poll()
        if code:
            self.stop()
            raise UserError(f"the sound could not be played (the program ended with {code}): is there a sound card?")
        at_s = self._start_s + self._clock() - self._began_s
        if code == 0 and at_s >= self._end_s:
            self.stop()
            return None
        return min(at_s, self._end_s)

    @property
    def playing(self) -> bool:
        """Whether something plays."""
        return self._process is not None


def clip_sound(path: Path) -> Sound:
    """Read a clip. Raises UserError: there is no such file, or nothing in it can be read as sound."""
    from grounding.asr.audio import SAMPLE_RATE_HZ, UnreadableAudio, read_audio

    try:
        audio = read_audio(path)
    except UnreadableAudio as error:
        raise UserError(f"{path}: can't be played: {error}") from error
    samples = np.clip(np.round(audio.samples * 32767), -32768, 32767).astype(np.int16)
    return Sound(rate_hz=SAMPLE_RATE_HZ, samples=samples)
