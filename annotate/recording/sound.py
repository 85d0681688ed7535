"""The sound of a recording, on the clock of its pictures, and playing a part of it.

It is played by whichever program of this computer plays a file.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from grounding.errors import UserError
from grounding.records import Record

from .video import frames_of, load_av, opened, origin_s

SPEECH_RATE_HZ = 16_000
JUMP_S = 0.05
"""Time stamps that are this far from the sound before them leave a gap, which becomes silence, or an overlap."""
PROGRAMS = ("paplay", "pw-play", "aplay -q", "afplay", "ffplay -nodisp -autoexit -loglevel error")
"""Players and the arguments that make them quiet; the file comes last. In order of how soon the sound begins."""


class Sound(Record, frozen=True, kw_only=True, eq=False):
    """Mono sound from the recording's start: ``samples`` is int16, so that 40 minutes at 16 kHz take 77 MB."""

    rate_hz: int
    samples: NDArray[np.int16]

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return len(self.samples) / self.rate_hz

    def between(self, start_s: float, end_s: float) -> Sound:
        """The part from one time to another, as far as there is sound."""
        first = max(0, round(start_s * self.rate_hz))
        return Sound(rate_hz=self.rate_hz, samples=self.samples[first : max(first, round(end_s * self.rate_hz))])


def read_sound(path: Path, *, rate_hz: int | None = SPEECH_RATE_HZ) -> Sound | None:
    """The first sound track of a recording, as mono; None where there is none.

    Pauses in the track's time stamps become silence, so that a time in the sound is the time in the pictures. A track
    that breaks off ends there. Without ``rate_hz`` the samples have the track's own rate. Raises UserError: the file
    cannot be read.
    """
    with opened(path) as container:
        if not container.streams.audio:
            return None
        track = container.streams.audio[0]
        rate = rate_hz or track.codec_context.sample_rate
        resampler = load_av().AudioResampler(format="s16", layout="mono", rate=rate)
        parts: list[tuple[int, NDArray[np.int16]]] = []
        end = 0
        for time_s, frame in frames_of(container, track):
            for piece in resampler.resample(frame) if frame is not None else ():
                samples = piece.to_ndarray().reshape(-1)
                stated = round((time_s if piece.time is None else piece.time - origin_s(container)) * rate)
                first = end if abs(stated - end) <= JUMP_S * rate else max(0, stated)
                parts.append((first, samples))
                end = first + len(samples)
    whole = np.zeros(max((first + len(samples) for first, samples in parts), default=0), np.int16)
    for first, samples in parts:
        whole[first : first + len(samples)] = samples
    return Sound(rate_hz=rate, samples=whole)


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
        """Where in the sound it is now, None in silence; ask it often. Raises UserError: it could not be played."""
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
