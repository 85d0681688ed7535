"""Speech and noise at a set ratio, the way MS-SNSD mixes them; pure, no files, no chance.

The rule (``snr_mixer`` of github.com/microsoft/MS-SNSD, Reddy et al., 2019): speech and noise are both brought to
-25 dBFS, then the noise is multiplied by ``10 ** (-snr / 20)``, and the two are added. Here the speech's level is
either its RMS, as there, or its active level; the noise's is its RMS. MS-SNSD lets the sum clip; here both are made
quieter together where it would, and by how much is said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from grounding.asr.levels import Measure, Samples, level_dbfs, rms_dbfs

MIXER: Final = "ms-snsd-1"
"""Name and version of the rule, part of every key of a noisy transcript."""

LEVEL_DBFS: Final = -25.0
"""What speech is brought to before noise is added."""

PEAK: Final = 0.99
"""No sample of a noisy clip is beyond this; full scale is 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixed:
    """Speech with noise.

    ``samples`` are float32, mono, 16 kHz, shape (n,) like the speech's. ``gain_db`` is what the speech was multiplied
    by in all; ``headroom_db`` (0 or less) the part of it that keeps the sum from clipping, which the noise got, too.
    ``achieved_snr_db`` is measured on what was added; None where nothing was, which ``notes`` explain.
    """

    samples: Samples
    gain_db: float = 0.0
    headroom_db: float = 0.0
    achieved_snr_db: float | None = None
    notes: tuple[str, ...] = ()


def mix(speech: Samples, noise: Samples, snr_db: float, measure: Measure = "rms") -> Mixed:
    """Add noise to speech at a signal-to-noise ratio.

    Args:
        speech: The clip, float32, mono, 16 kHz.
        noise: As many samples of noise.
        snr_db: Level of the speech, by ``measure``, less the RMS level of the noise.
        measure: What the level of the speech is.

    Returns:
        The sum, or the speech as it came with a note where either is silent: no ratio is defined then.

    Raises:
        ValueError: The noise has another length than the speech.
    """
    if len(speech) != len(noise):
        raise ValueError(f"expected {len(speech)} samples of noise, got {len(noise)}")
    spoken_dbfs, noise_dbfs = level_dbfs(speech, measure), rms_dbfs(noise)
    if spoken_dbfs is None:
        return Mixed(samples=speech, notes=("no speech to set a ratio to: no noise added",))
    if noise_dbfs is None:
        return Mixed(samples=speech, notes=("the noise is silent here: none added",))
    speech_gain_db = LEVEL_DBFS - spoken_dbfs
    noise_gain_db = LEVEL_DBFS - noise_dbfs - snr_db
    spoken, added = _times(speech, speech_gain_db), _times(noise, noise_gain_db)
    total = spoken + added
    peak = float(np.abs(total).max())
    headroom_db = 0.0
    if peak > PEAK:
        # A hair more than is needed, so that rounding to float32 stays below the limit, too.
        factor = PEAK / peak * (1 - 1e-6)
        headroom_db = 20 * float(np.log10(factor))
        spoken, added, total = spoken * np.float32(factor), added * np.float32(factor), total * np.float32(factor)
    left_dbfs, right_dbfs = level_dbfs(spoken, measure), rms_dbfs(added)
    achieved = None if left_dbfs is None or right_dbfs is None else left_dbfs - right_dbfs
    return Mixed(samples=total, gain_db=speech_gain_db + headroom_db, headroom_db=headroom_db, achieved_snr_db=achieved)


def _times(samples: Samples, gain_db: float) -> Samples:
    return samples * np.float32(10 ** (gain_db / 20))
