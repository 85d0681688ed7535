"""The toolkit's own noises: four computed, babble from a file that `tools/sample_speech/babble.py` makes.

Each is half a minute or so at 16 kHz that goes over into its own beginning without a seam, so that it can be repeated.
Computed samples are rounded to 16 bits, and the random numbers are NumPy's frozen legacy stream, so that they are the
same everywhere. They are models of the sounds, not recordings of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from grounding.asr.levels import SAMPLE_RATE_HZ, Samples

VERSION: Final = 1
"""Part of the identity of each computed noise: whoever changes one of them counts this up."""

SECONDS: Final = 30
BABBLE: Final = Path(__file__).with_name("babble.flac")

_COUNT: Final = SECONDS * SAMPLE_RATE_HZ
_LEVEL_DBFS: Final = -30.0
_FULL_SCALE: Final = 1 << 15

_Doubles = npt.NDArray[np.float64]


@cache
def made(name: str) -> Samples:
    """One of the computed noises by its name (a key of ``COMPUTED``): float32, 16 kHz, read only.

    Raises:
        KeyError: There is none of this name.
    """
    raw = COMPUTED[name]()
    scaled = raw * (10 ** (_LEVEL_DBFS / 20) / np.sqrt(np.mean(raw**2)))
    rounded = np.clip(np.rint(scaled * _FULL_SCALE), -_FULL_SCALE, _FULL_SCALE - 1)
    samples: Samples = (rounded / _FULL_SCALE).astype(np.float32)
    samples.setflags(write=False)
    return samples


def white() -> _Doubles:
    """Equal power at all frequencies."""
    return _normal(1)


def pink() -> _Doubles:
    """Equal power in each octave from 20 Hz on."""
    return _shaped(_normal(2), lambda hz: 1 / np.sqrt(np.maximum(hz, 20.0)))


def fan() -> _Doubles:
    """A desk fan: rushing air, loudest around 250 Hz, and the hum of five blades at 24 turns a second."""
    air = _shaped(_normal(3), lambda hz: hz / (hz**2 + 250.0**2) / (1 + (hz / 2500.0) ** 2))
    air /= np.sqrt(np.mean(air**2))
    turns = 24.0 * _times() + 0.05 * np.sin(2 * np.pi * 0.2 * _times())
    hum = sum(np.sin(2 * np.pi * 5 * order * turns + order) / order**1.5 for order in range(1, 6))
    # No blade is quite like the others: each turn goes up and down a little.
    result: _Doubles = (1 + 0.15 * np.sin(2 * np.pi * turns)) * air + 0.35 * hum
    return result


def typing() -> _Doubles:
    """Somebody who types fast on a mechanical keyboard: words of a few keys, short rests, a little room behind."""
    chance = np.random.RandomState(4)
    track = 0.24 * _shaped(_normal(5), lambda hz: 1 / np.maximum(hz, 60.0))
    at_s, left = 0.0, 0
    while at_s < SECONDS - 0.2:
        last = left == 0
        _add(track, at_s, _key(chance, 0.6 if last else 1.0))  # the space bar is larger, so its sounds are lower
        at_s += chance.uniform(0.13, 0.42) if last else chance.uniform(0.085, 0.19)
        left = chance.randint(2, 9) if last else left - 1
    return track


COMPUTED: Final[dict[str, Callable[[], _Doubles]]] = {"fan": fan, "pink": pink, "typing": typing, "white": white}


def _key(chance: np.random.RandomState, pitch: float) -> _Doubles:
    """One key: the click on the way down, the stop at the bottom, and the softer click on the way up."""
    sound = np.zeros(int(0.2 * SAMPLE_RATE_HZ))
    strength = chance.uniform(0.6, 1.0)
    down_s, up_s = 0.008 + 0.004 * chance.uniform(), chance.uniform(0.075, 0.11)
    _add(sound, 0.0, strength * _knock(chance, pitch * chance.uniform(2600, 4200), 0.003, 0.8))
    _add(sound, down_s, strength * _knock(chance, pitch * chance.uniform(900, 1500), 0.005, 0.5))
    _add(sound, down_s, strength * 0.3 * _knock(chance, pitch * chance.uniform(180, 280), 0.014, 0.1))
    _add(sound, up_s, strength * 0.35 * _knock(chance, pitch * chance.uniform(2200, 3600), 0.003, 0.8))
    return sound


def _knock(chance: np.random.RandomState, hz: float, decay_s: float, noise: float) -> _Doubles:
    """A struck body: a tone that dies away, rough to the share ``noise`` (0 to 1)."""
    seconds = np.arange(int(8 * decay_s * SAMPLE_RATE_HZ)) / SAMPLE_RATE_HZ
    tone = (1 - noise) * np.sin(2 * np.pi * hz * seconds) + noise * chance.standard_normal(len(seconds))
    # Half a millisecond to set in: no real sound begins with a jump.
    rough: _Doubles = tone * np.exp(-seconds / decay_s) * np.minimum(1.0, seconds / 0.0005)
    return rough


def _add(track: _Doubles, at_s: float, sound: _Doubles) -> None:
    start = int(at_s * SAMPLE_RATE_HZ)
    part = track[start : start + len(sound)]
    part += sound[: len(part)]


def _normal(seed: int) -> _Doubles:
    return np.asarray(np.random.RandomState(seed).standard_normal(_COUNT), np.float64)


def _times() -> _Doubles:
    return np.arange(_COUNT) / SAMPLE_RATE_HZ


def _shaped(noise: _Doubles, amplitude: Callable[[_Doubles], _Doubles]) -> _Doubles:
    """Noise with its spectrum multiplied by a function of the frequency in Hz; the end still meets the beginning."""
    spectrum = np.fft.rfft(noise) * amplitude(np.asarray(np.fft.rfftfreq(len(noise), 1 / SAMPLE_RATE_HZ), np.float64))
    spectrum[0] = 0.0
    result: _Doubles = np.fft.irfft(spectrum, len(noise))
    return result
