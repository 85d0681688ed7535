from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from asr.speech import tone
from grounding.asr.audio import SAMPLE_RATE_HZ, from_samples
from grounding.asr.pauses import cut_at_pauses, joined, pieces_of
from grounding.asr.recogniser import Recognition
from grounding.asr.records import Word


@given(seconds=st.floats(0, 20), longest_s=st.floats(1, 8), seed=st.integers(0, 5))
def test_the_pieces_are_all_of_it_and_none_is_too_long(seconds: float, longest_s: float, seed: int) -> None:
    samples = np.random.default_rng(seed).normal(0, 0.1, int(seconds * SAMPLE_RATE_HZ)).astype(np.float32)
    cuts = cut_at_pauses(samples, longest_s)
    assert [a for a, _ in cuts[1:]] == [b for _, b in cuts[:-1]]
    assert not cuts or (cuts[0][0], cuts[-1][1]) == (0, len(samples))
    assert all(0 < b - a <= longest_s * SAMPLE_RATE_HZ for a, b in cuts)
    assert bool(cuts) == bool(len(samples))


def test_the_cut_is_in_the_pause() -> None:
    samples = np.concatenate([tone(6), np.zeros(8000, np.float32), tone(6)])
    ((_, cut), _) = cut_at_pauses(samples, 10.0)
    assert 6.0 <= cut / SAMPLE_RATE_HZ <= 6.5


def test_no_limit_is_one_piece() -> None:
    assert cut_at_pauses(tone(50), None) == [(0, 50 * SAMPLE_RATE_HZ)]


def test_pieces_and_what_was_heard_in_them_go_together_again() -> None:
    audio = from_samples(tone(25))
    pieces, starts_s = pieces_of(audio, 10.0)
    assert sum(len(piece.samples) for piece in pieces) == len(audio.samples)
    heard = [
        Recognition(text=f" piece {at} ", words=(Word(text="w", start_s=0.5, end_s=1.0),), compute_s=1.0, cost_usd=0.5)
        for at in range(len(pieces))
    ]
    whole = joined(heard, starts_s)
    assert whole.text == " ".join(f"piece {at}" for at in range(len(pieces)))
    assert [word.start_s for word in whole.words] == [0.5 + start for start in starts_s]
    assert (whole.compute_s, whole.cost_usd) == (len(pieces), 0.5 * len(pieces))
    assert joined([heard[0], Recognition(text="")], [0.0, 1.0]).cost_usd is None
