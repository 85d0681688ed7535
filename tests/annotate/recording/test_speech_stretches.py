"""Where somebody speaks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from screenplay import voice

from annotate.recording.sound import Sound
from annotate.recording.speech import LONGEST_S, PAUSE_S, SHORTEST_S, find_speech, join_frames


@given(st.lists(st.booleans(), max_size=400))
def test_stretches_are_apart_in_order_and_hold_all_longer_speech(speaking: list[bool]) -> None:
    stretches = join_frames(speaking, 0.03)
    for start_s, end_s in stretches:
        assert end_s - start_s >= SHORTEST_S - 1e-9
        assert speaking[round(start_s / 0.03)]
        assert speaking[round(end_s / 0.03) - 1]
    for (_, earlier_s), (later_s, _) in pairwise(stretches):
        assert later_s - earlier_s >= PAUSE_S - 1e-9
    run = 0
    for index, spoken in enumerate([*speaking, False]):
        run = run + 1 if spoken else 0
        if run * 0.03 >= SHORTEST_S:
            assert any(start_s <= index * 0.03 <= end_s for start_s, end_s in stretches)


def spoken(*parts: tuple[float, float], seconds: float) -> Sound:
    samples = np.random.default_rng(0).normal(0, 12, round(seconds * 16_000)).astype(np.int16)
    for start_s, length_s in parts:
        first = round(start_s * 16_000)
        speech = voice(length_s, seed=int(start_s))
        samples[first : first + len(speech)] += speech
    return Sound(rate_hz=16_000, samples=samples)


def test_two_sentences_are_found_within_a_third_of_a_second() -> None:
    found = find_speech(spoken((1.0, 1.8), (5.0, 2.5), seconds=9))
    assert [one.start_s for one in found] == pytest.approx([1.0, 5.0], abs=0.3)
    assert [one.end_s for one in found] == pytest.approx([2.8, 7.5], abs=0.3)
    assert all(not one.text and not one.failure for one in found)


def test_silence_holds_no_speech() -> None:
    assert find_speech(spoken(seconds=4)) == []
    assert find_speech(Sound(rate_hz=16_000, samples=np.zeros(0, np.int16))) == []


def test_speech_without_a_pause_is_cut_where_a_recogniser_can_take_it() -> None:
    found = find_speech(spoken((0.5, 70.0), seconds=71))
    assert len(found) >= 3
    assert all(one.end_s - one.start_s <= LONGEST_S for one in found)
    assert found[0].start_s < 1
    assert found[-1].end_s > 69
    for earlier, later in pairwise(found):
        assert earlier.end_s <= later.start_s + 1e-9


def test_another_rate_is_refused() -> None:
    with pytest.raises(ValueError, match="16000 Hz"):
        find_speech(Sound(rate_hz=48_000, samples=np.zeros(10, np.int16)))
