from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding.asr.levels import Samples, active_level, level_dbfs, rms_dbfs

RATE = 16_000


def tone(seconds: float, amplitude: float = 0.1, hz: float = 440.0) -> Samples:
    times = np.arange(int(seconds * RATE)) / RATE
    return (amplitude * np.sin(2 * np.pi * hz * times)).astype(np.float32)


def bursts(seconds: float, on_s: float, off_s: float, amplitude: float = 0.1) -> Samples:
    """A tone that comes and goes."""
    sound = tone(seconds, amplitude)
    times = np.arange(len(sound)) / RATE
    return np.where(times % (on_s + off_s) < on_s, sound, np.float32(0))


def textbook(samples: Samples) -> float:
    """Method B as the recommendation describes it: sample by sample, thresholds a factor of two apart."""
    decay, hold = math.exp(-1 / (RATE * 0.03)), math.ceil(RATE * 0.2)
    thresholds = [2.0**power for power in range(-15, 0)]
    active, since = [0] * len(thresholds), [hold] * len(thresholds)
    once = twice = energy = 0.0
    for value in samples.tolist():
        energy += value * value
        once = decay * once + (1 - decay) * abs(value)
        twice = decay * twice + (1 - decay) * once
        for place, threshold in enumerate(thresholds):
            if twice >= threshold:
                active[place] += 1
                since[place] = 0
            elif since[place] < hold:
                active[place] += 1
                since[place] += 1
            else:
                break
    before = None
    for threshold, count in zip(thresholds, active, strict=True):
        level = 10 * math.log10(energy / count)
        above = level - 20 * math.log10(threshold) - 15.9
        if above <= 0:
            assert before is not None
            return before[0] + before[1] / (before[1] - above) * (level - before[0])
        before = (level, above)
    raise AssertionError("no threshold is near the level")


def test_the_rms_of_known_signals() -> None:
    assert rms_dbfs(tone(1.0, 1.0)) == pytest.approx(-3.0103, abs=1e-3)
    assert rms_dbfs(np.full(100, 0.5, np.float32)) == pytest.approx(-6.0206, abs=1e-4)
    assert rms_dbfs(bursts(10, 1, 1, 1.0)) == pytest.approx(-6.0206, abs=1e-2)


def test_silence_has_no_level() -> None:
    for samples in (np.zeros(0, np.float32), np.zeros(1000, np.float32)):
        assert rms_dbfs(samples) is None
        assert active_level(samples) is None
        assert level_dbfs(samples, "speech-active") is None


def test_a_steady_tone_is_active_throughout() -> None:
    found = active_level(tone(20))
    assert found is not None
    assert found.level_dbfs == pytest.approx(-23.01, abs=0.02)
    assert found.activity == pytest.approx(1.0, abs=0.005)


def test_pauses_do_not_count_but_for_the_hangover() -> None:
    # 2 s of tone, and 200 ms of hangover with what the envelope takes to fall by 15.9 dB.
    found = active_level(bursts(60, 2, 3))
    assert found is not None
    assert 2.2 / 5 < found.activity < 2.4 / 5
    assert found.level_dbfs == pytest.approx(-23.01 - 10 * math.log10(5 * found.activity / 2), abs=0.01)


def test_short_gaps_count_as_speech() -> None:
    found = active_level(bursts(30, 0.4, 0.15))
    assert found is not None
    assert found.activity == pytest.approx(1.0, abs=0.01)


def test_adding_silence_changes_the_rms_and_not_the_active_level() -> None:
    speech = bursts(10, 1.5, 0.4)
    longer = np.concatenate([speech, np.zeros(20 * RATE, np.float32)])
    before, after = active_level(speech), active_level(longer)
    assert before is not None
    assert after is not None
    # The hangover behind the last word is not speech.
    assert before.level_dbfs - 0.2 < after.level_dbfs <= before.level_dbfs
    assert (rms_dbfs(speech) or 0) - (rms_dbfs(longer) or 0) == pytest.approx(10 * math.log10(3), abs=0.01)


@pytest.mark.parametrize("amplitude", [0.02, 0.11, 0.6])
def test_it_agrees_with_the_textbook(amplitude: float) -> None:
    chance = np.random.default_rng(5)
    shape = np.repeat(chance.choice([0.02, 0.3, 1.0], size=40), RATE // 10)
    samples = (amplitude * shape * np.clip(chance.standard_normal(len(shape)) / 3, -1, 1)).astype(np.float32)
    found = active_level(samples)
    assert found is not None
    assert found.level_dbfs == pytest.approx(textbook(samples), abs=0.1)


def test_a_click_in_silence_has_a_level() -> None:
    samples = np.zeros(5 * RATE, np.float32)
    samples[RATE] = 1.0
    found = active_level(samples)
    assert found is not None
    assert 0 < found.activity < 0.1


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    length=st.integers(1, 40_000),
    gain_db=st.floats(-60, 40),
)
def test_a_gain_changes_both_levels_by_itself(seed: int, length: int, gain_db: float) -> None:
    chance = np.random.default_rng(seed)
    shape = np.repeat(chance.uniform(0, 1, size=length // 1600 + 1) ** 4, 1600)[:length]
    samples = (0.3 * shape * chance.standard_normal(length)).astype(np.float32)
    for measure in ("rms", "speech-active"):
        before = level_dbfs(samples, measure)
        after = level_dbfs(samples * np.float32(10 ** (gain_db / 20)), measure)
        assert before is not None
        assert after is not None
        assert after - before == pytest.approx(gain_db, abs=1e-3)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), length=st.integers(1, 300_000))
def test_the_active_level_is_never_below_the_rms(seed: int, length: int) -> None:
    chance = np.random.default_rng(seed)
    samples = (chance.standard_normal(length) * (chance.uniform(size=length) > 0.7)).astype(np.float32)
    found, rms = active_level(samples), rms_dbfs(samples)
    if rms is None:
        assert found is None
        return
    assert found is not None
    assert found.level_dbfs >= rms - 1e-6
    assert 0 < found.activity <= 1
