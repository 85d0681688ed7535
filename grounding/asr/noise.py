"""Which noise, how loud: a name and a level in, a noisy clip out, the same in every run.

Which part of which recording a clip gets follows from the seed, the noise's name and the clip, and not from the level:
all levels of one clip have the same noise, louder or softer. The rule:

- one of the noise's recordings and a place in it are drawn; the noise goes on from there, and from the recording's
  beginning when that is over, as often as it takes;
- a place that is nearly silent (15 dB below the recording) is drawn again, up to eight times, the loudest counts: else
  the rest between two keystrokes would be turned up until it was as loud as they are.

MS-SNSD's own script always begins at a recording's first sample and goes on with another recording after 0.2 s of
silence; the levels are set as there (:mod:`grounding.asr.mixing`).
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace
from typing import Final

import numpy as np

from grounding.asr.levels import Measure, Samples, rms_dbfs
from grounding.asr.mixing import MIXER, Mixed, mix
from grounding.asr.noises.bank import Source, Sources, open_sources
from grounding.errors import UserError
from grounding.records import Record

__all__ = ["Measure", "Mixed", "Noisy", "Sources", "add_noise", "check_noisy", "noise_identity", "open_sources"]

DRAW: Final = "draw-1"
"""Name and version of the rule above."""

_QUIET_DB: Final = 15.0
_DRAWS: Final = 8
_WIDEST_DB: Final = 100.0


class Noisy(Record, frozen=True, kw_only=True):
    """Noise to add: ``source`` is a name of :class:`Sources`, ``snr_db`` how much louder the speech is than it."""

    source: str
    snr_db: float
    measure: Measure = "rms"
    seed: int = 0


def check_noisy(noisy: Noisy, sources: Sources) -> None:
    """Refuse what can't be added, before anything is heard.

    Raises:
        UserError: There is no such noise, or the level is none.
    """
    sources.find(noisy.source)
    if not (math.isfinite(noisy.snr_db) and abs(noisy.snr_db) <= _WIDEST_DB):
        raise UserError(f"noise {noisy.source}: expected a level between -100 and 100 dB, got {noisy.snr_db}")


def add_noise(speech: Samples, noisy: Noisy, *, clip_key: str, sources: Sources) -> Mixed:
    """A clip with noise.

    Args:
        speech: float32, mono, 16 kHz, shape (n,).
        noisy: Which noise, and how loud.
        clip_key: What the draw depends on: the SHA-256 of the clip's file, so that a clip keeps its noise under
            another name.
        sources: Where noises come from.

    Returns:
        As many samples; silent speech comes back as it is, with a note.

    Raises:
        UserError: There is no such noise, or its recording can't be read.
    """
    source = sources.find(noisy.source)
    if not len(speech):
        return Mixed(samples=speech, notes=("no samples: no noise added",))
    noise, note = _cut(source, len(speech), f"{noisy.seed}\n{noisy.source.lower()}\n{clip_key}")
    mixed = mix(speech, noise, noisy.snr_db, noisy.measure)
    return replace(mixed, notes=(*mixed.notes, note)) if note else mixed


def noise_identity(noisy: Noisy, sources: Sources) -> str:
    """All that decides what is added to a clip, as one line for keys: rules, recordings, level, measure, seed.

    Raises:
        UserError: There is no such noise, or its files can't be read.
    """
    source = sources.find(noisy.source)
    return f"{MIXER} {DRAW} {source.identity} {noisy.snr_db + 0.0!r}dB {noisy.measure} seed={noisy.seed}"


def _cut(source: Source, length: int, key: str) -> tuple[Samples, str]:
    """As much noise as is asked for, and a note where all of it is next to silent."""
    recording = source.samples(_drawn(key, "recording", source.count))
    enough_dbfs = (rms_dbfs(recording) or 0.0) - _QUIET_DB
    best, best_dbfs = recording[:0], -math.inf
    for draw in range(_DRAWS):
        start = _drawn(key, f"start {draw}", len(recording))
        cut = _around(recording, start, length)
        level_dbfs = rms_dbfs(cut)
        if level_dbfs is not None and level_dbfs >= enough_dbfs:
            return cut, ""
        if level_dbfs is not None and level_dbfs > best_dbfs:
            best, best_dbfs = cut, level_dbfs
    if not len(best):
        return np.zeros(length, np.float32), ""
    return best, "the noise has hardly a sound here, which was turned up to the level asked for"


def _around(recording: Samples, start: int, length: int) -> Samples:
    """``length`` samples from ``start`` on, around the recording as often as it takes."""
    whole = np.concatenate([recording[start:], recording[:start]])
    return np.resize(whole, length) if length > len(whole) else whole[:length]


def _drawn(key: str, what: str, count: int) -> int:
    """A number from 0 to ``count - 1`` that follows from the texts alone, on every machine."""
    digest = hashlib.sha256(f"{DRAW}\n{key}\n{what}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % count
