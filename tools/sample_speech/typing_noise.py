"""Make the noise ``typing`` of ``grounding.asr.noise``: the same samples on every machine.

python tools/sample_speech/typing_noise.py grounding/asr/typing.flac
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import soundfile

RATE_HZ, SECONDS, DBFS = 16_000, 30, -30.0
COUNT = SECONDS * RATE_HZ
Doubles = npt.NDArray[np.float64]


def main() -> None:
    """Write the file."""
    raw = _typing()
    scaled = raw * (10 ** (DBFS / 20) / np.sqrt(np.mean(raw**2)))
    rounded = np.clip(np.rint(scaled * (1 << 15)), -(1 << 15), (1 << 15) - 1).astype(np.int16)
    soundfile.write(Path(sys.argv[1]), rounded, RATE_HZ, format="FLAC", subtype="PCM_16", compression_level=1.0)


def _typing() -> Doubles:
    """Somebody who types fast on a mechanical keyboard: words of a few keys, short rests, a little room behind."""
    chance = np.random.RandomState(4)
    track = 0.24 * _shaped(5, lambda hz: 1 / np.maximum(hz, 60.0))
    at_s, left = 0.0, 0
    while at_s < SECONDS - 0.2:
        last = left == 0
        _add(track, at_s, _key(chance, 0.6 if last else 1.0))  # the space bar is larger, so its sounds are lower
        at_s += chance.uniform(0.13, 0.42) if last else chance.uniform(0.085, 0.19)
        left = chance.randint(2, 9) if last else left - 1
    return track


def _key(chance: np.random.RandomState, pitch: float) -> Doubles:
    """One key: the click on the way down, the stop at the bottom, and the softer click on the way up."""
    sound = np.zeros(int(0.2 * RATE_HZ))
    strength = chance.uniform(0.6, 1.0)
    down_s, up_s = 0.008 + 0.004 * chance.uniform(), chance.uniform(0.075, 0.11)
    _add(sound, 0.0, strength * _knock(chance, pitch * chance.uniform(2600, 4200), 0.003, 0.8))
    _add(sound, down_s, strength * _knock(chance, pitch * chance.uniform(900, 1500), 0.005, 0.5))
    _add(sound, down_s, strength * 0.3 * _knock(chance, pitch * chance.uniform(180, 280), 0.014, 0.1))
    _add(sound, up_s, strength * 0.35 * _knock(chance, pitch * chance.uniform(2200, 3600), 0.003, 0.8))
    return sound


def _knock(chance: np.random.RandomState, hz: float, decay_s: float, noise: float) -> Doubles:
    """A struck body: a tone that dies away, rough to the share ``noise`` (0 to 1)."""
    seconds = np.arange(int(8 * decay_s * RATE_HZ)) / RATE_HZ
    tone = (1 - noise) * np.sin(2 * np.pi * hz * seconds) + noise * chance.standard_normal(len(seconds))
    # Half a millisecond to set in: no real sound begins with a jump.
    rough: Doubles = tone * np.exp(-seconds / decay_s) * np.minimum(1.0, seconds / 0.0005)
    return rough


def _add(track: Doubles, at_s: float, sound: Doubles) -> None:
    start = int(at_s * RATE_HZ)
    part = track[start : start + len(sound)]
    part += sound[: len(part)]


def _white(seed: int = 1) -> Doubles:
    return np.asarray(np.random.RandomState(seed).standard_normal(COUNT), np.float64)


def _shaped(seed: int, amplitude: Callable[[Doubles], Doubles]) -> Doubles:
    """White noise with its spectrum multiplied by a function of the frequency in Hz; its end meets its beginning."""
    hz = np.asarray(np.fft.rfftfreq(COUNT, 1 / RATE_HZ), np.float64)
    spectrum = np.fft.rfft(_white(seed)) * amplitude(hz)
    spectrum[0] = 0.0
    found: Doubles = np.fft.irfft(spectrum, COUNT)
    return found


if __name__ == "__main__":
    main()
