"""Cutting a long recording into pieces that a recogniser takes, where nobody speaks. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence

from grounding.asr.audio import SAMPLE_RATE_HZ, Audio, Samples
from grounding.asr.recogniser import Recognition
from grounding.asr.records import Word

_FRAME_S = 0.02
_PAUSE_FRAMES = 15


def cut_at_pauses(samples: Samples, longest_s: float | None) -> list[tuple[int, int]]:
    """Where to cut: (first, end) of each piece, which together are all of the samples.

    A piece is never longer than ``longest_s``. Each cut is in the middle of the quietest 0.3 s of the second half of
    what a piece may hold; equally quiet ones: the last, so that there are fewer pieces.

    Args:
        samples: Of shape (n,), at 16 kHz.
        longest_s: In seconds, at least 1; None for no limit.
    """
    import numpy as np

    total = len(samples)
    most = total if longest_s is None else int(longest_s * SAMPLE_RATE_HZ)
    if total <= most:
        return [(0, total)] if total else []
    frame = int(_FRAME_S * SAMPLE_RATE_HZ)
    cuts = [0]
    while total - cuts[-1] > most:
        start = cuts[-1] + most // 2
        frames = (cuts[-1] + most - start) // frame
        window = samples[start : start + frames * frame].reshape(frames, frame)
        energy = np.square(window, dtype=np.float64).sum(axis=1)
        width = min(_PAUSE_FRAMES, frames)
        levels = np.convolve(energy, np.ones(width), mode="valid")
        quietest = len(levels) - 1 - int(levels[::-1].argmin())
        cuts.append(start + (quietest * frame) + width * frame // 2)
    return list(zip(cuts, [*cuts[1:], total], strict=True))


def pieces_of(audio: Audio, longest_s: float | None) -> tuple[list[Audio], list[float]]:
    """The pieces of a clip and where each begins, in seconds."""
    cuts = cut_at_pauses(audio.samples, longest_s)
    return [Audio(samples=audio.samples[a:b]) for a, b in cuts], [a / SAMPLE_RATE_HZ for a, _ in cuts]


def joined(heard: Sequence[Recognition], starts_s: Sequence[float]) -> Recognition:
    """What was heard in the pieces of one clip, put together; times count from the clip's start."""
    words = tuple(
        Word(text=w.text, start_s=w.start_s + at_s, end_s=w.end_s + at_s, probability=w.probability)
        for each, at_s in zip(heard, starts_s, strict=True)
        for w in each.words
    )
    costs = [each.cost_usd for each in heard]
    cut = (f"cut into {len(heard)} pieces at pauses",) if len(heard) > 1 else ()
    return Recognition(
        text=" ".join(each.text.strip() for each in heard if each.text.strip()),
        words=words,
        language=next((each.language for each in heard if each.language), ""),
        compute_s=sum(each.compute_s for each in heard),
        cost_usd=None if not costs or None in costs else sum(cost for cost in costs if cost is not None),
        notes=(*cut, *dict.fromkeys(note for each in heard for note in each.notes)),
    )
