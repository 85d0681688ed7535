"""How loud is a recording? Root mean square over all of it, or the level of the speech alone (ITU-T P.56, method B).

Levels are in dB relative to full scale (dBFS): 0 is a constant 1.0. Samples are mono at 16 kHz.
"""

from __future__ import annotations

import math
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from grounding.records import Record

SAMPLE_RATE_HZ: Final = 16_000

Samples = npt.NDArray[np.float32]
Measure = Literal["rms", "speech-active"]
"""``rms``: over the whole clip, pauses too, as MS-SNSD has it. ``speech-active``: speech without its pauses."""

_Doubles = npt.NDArray[np.float64]

# ITU-T P.56 (12/2011), table 1: the constants of method B.
_SMOOTHING_S: Final = 0.03
_HANGOVER_S: Final = 0.2
_MARGIN_DB: Final = 15.9

# After 30 ms of smoothing the envelope changes so slowly that one value a millisecond tells all of it.
_FRAME: Final = 16
_FRAMES_A_SECOND: Final = SAMPLE_RATE_HZ // _FRAME

_CHUNK: Final = 1 << 17
_BLOCK: Final = 256
_STEPS_AN_OCTAVE: Final = 8
_QUIETEST_OCTAVE: Final = -20


class ActiveLevel(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The level of speech while it lasts, and the share of the time (0 to 1) for which it does."""

    level_dbfs: float
    activity: float


def level_dbfs(samples: Samples, measure: Measure) -> float | None:
    """The level by one of the two measures; None for silence, which has none."""
    if measure == "rms":
        return rms_dbfs(samples)
    active = active_level(samples)
    return None if active is None else active.level_dbfs


def rms_dbfs(samples: Samples) -> float | None:
    """Root mean square over all samples in dBFS; None where there is no sample, or only zeros.

    >>> round(rms_dbfs(np.full(16_000, 0.1, np.float32)), 2)
    -20.0
    """
    mean = _mean_square(samples)
    return None if mean == 0.0 else 10 * math.log10(mean)


def active_level(samples: Samples) -> ActiveLevel | None:
    """The active speech level after ITU-T P.56, method B; None for silence.

    The envelope is the signal's magnitude, smoothed twice with 30 ms. Time counts as active while the envelope is at a
    threshold or above, and for 200 ms thereafter. The level is the signal's energy over its active time, for that
    threshold which lies 15.9 dB below this very level. The recommendation tries thresholds a factor of two apart and
    interpolates; here they lie 0.75 dB apart and move with the signal's RMS, so that a gain changes the level by
    exactly that gain. A clip with hardly a peak above its mean, such as steady noise, is active throughout.
    """
    mean = _mean_square(samples)
    if mean == 0.0:
        return None
    envelope = _smoothed(_smoothed(_magnitudes(samples) / math.sqrt(mean)))
    # active[k]: how many milliseconds are active at threshold k; the signal has an RMS of 1 here.
    active = np.cumsum(_held_histogram(envelope)[::-1])[::-1].astype(np.float64)
    octaves = _QUIETEST_OCTAVE + np.arange(len(active)) / _STEPS_AN_OCTAVE
    reached = active > 0
    thresholds_db = 20 * math.log10(2) * octaves[reached]
    levels_db = 10 * np.log10(len(envelope) / active[reached])
    share = _relative_level_db(levels_db, thresholds_db)
    return ActiveLevel(level_dbfs=10 * math.log10(mean) + share, activity=min(1.0, 10 ** (-share / 10)))


def _relative_level_db(levels_db: _Doubles, thresholds_db: _Doubles) -> float:
    """Where the level lies the margin above its threshold, interpolated linearly; dB above the RMS."""
    above = levels_db - thresholds_db - _MARGIN_DB
    under = np.flatnonzero(above <= 0)
    if not len(under):
        # Even the highest threshold that is reached lies further below: a click in silence. Its own time counts.
        return float(levels_db[-1])
    first = int(under[0])
    if first == 0:
        return float(levels_db[0])
    part = above[first - 1] / (above[first - 1] - above[first])
    return float(levels_db[first - 1] + part * (levels_db[first] - levels_db[first - 1]))


def _mean_square(samples: Samples) -> float:
    # einsum turns blocks into doubles as it goes, and starts no threads.
    return float(np.einsum("i,i->", samples, samples, dtype=np.float64)) / len(samples) if len(samples) else 0.0


def _held_histogram(envelope: _Doubles) -> npt.NDArray[np.int64]:
    """How many values of the envelope, each held for the hangover, lie in each eighth of an octave."""
    hold = round(_HANGOVER_S * _FRAMES_A_SECOND)
    held = _sliding_max(np.concatenate([np.zeros(hold), envelope]), hold + 1)
    octaves = np.log2(np.maximum(held, 2.0**_QUIETEST_OCTAVE)) - _QUIETEST_OCTAVE
    return np.bincount((octaves * _STEPS_AN_OCTAVE).astype(np.int64))


def _magnitudes(samples: Samples) -> _Doubles:
    """The mean magnitude of every millisecond; what is left at the end is a frame of its own."""
    whole = len(samples) - len(samples) % _FRAME
    parts = []
    for start in range(0, whole, _CHUNK):
        chunk = np.abs(samples[start : min(start + _CHUNK, whole)])
        parts.append(chunk.reshape(-1, _FRAME).mean(axis=1, dtype=np.float64))
    if whole < len(samples):
        parts.append(np.array([np.abs(samples[whole:]).mean(dtype=np.float64)]))
    return np.concatenate(parts)


def _smoothed(values: _Doubles) -> _Doubles:
    """Exponential average ``y[n] = g y[n-1] + (1 - g) x[n]`` from silence, with g of the 30 ms.

    Within a block the recursion is a running sum of ``x[n] / g**n``, scaled back; a block is short enough that this
    costs no precision that matters (g**-256 is 5000).
    """
    decay = math.exp(-1 / (_SMOOTHING_S * _FRAMES_A_SECOND))
    blocks = -(-len(values) // _BLOCK)
    padded = np.zeros(blocks * _BLOCK)
    padded[: len(values)] = values
    rows = padded.reshape(blocks, _BLOCK)
    falling = decay ** np.arange(1, _BLOCK + 1)
    rows *= (1 - decay) / falling
    np.cumsum(rows, axis=1, out=rows)
    state = 0.0
    for row in rows:
        row += state
        row *= falling
        state = float(row[-1])
    return padded[: len(values)]


def _sliding_max(values: _Doubles, width: int) -> _Doubles:
    """The maximum of each run of ``width`` values; shorter by ``width - 1``.

    Runs are split at multiples of the width: the maximum is that of the rest of one block and the start of the next
    (van Herk, 1992), two passes whatever the width.
    """
    length = len(values) - width + 1
    padded = np.full(-(-len(values) // width) * width, -np.inf)
    padded[: len(values)] = values
    rows = padded.reshape(-1, width)
    ahead = np.maximum.accumulate(rows, axis=1).ravel()
    back = np.maximum.accumulate(rows[:, ::-1], axis=1)[:, ::-1].ravel()
    found: _Doubles = np.maximum(back[:length], ahead[width - 1 : width - 1 + length])
    return found
