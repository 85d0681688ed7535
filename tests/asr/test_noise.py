from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding.asr import noise as noises
from grounding.asr.audio import read_audio
from grounding.asr.noise import PEAK, Samples, add_noise, noise_identity, open_sources, rms_dbfs
from grounding.data.speech import Noisy

RATE = 16_000
BUILT_IN = ("babble", "pink", "typing", "white")
SOURCES = open_sources()


def speech_like(seed: int, seconds: float, loudness: float = 0.2) -> Samples:
    """Noise in syllables, with pauses."""
    chance = np.random.default_rng(seed)
    count = int(seconds * RATE)
    syllables = np.repeat(chance.choice([0.0, 0.2, 1.0], size=count // 2000 + 1), 2000)[:count]
    return (loudness * syllables * np.tanh(chance.standard_normal(count))).astype(np.float32)


def level(samples: Samples) -> float:
    found = rms_dbfs(samples)
    assert found is not None
    return float(found)


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(BUILT_IN),
    snr_db=st.floats(-20, 40),
    seed=st.integers(0, 1000),
    clip=st.integers(0, 2**32 - 1),
    seconds=st.floats(0.2, 4),
    loudness=st.floats(0.001, 1),
)
def test_the_ratio_is_what_was_asked_for_and_nothing_clips(
    name: str, snr_db: float, seed: int, clip: int, seconds: float, loudness: float
) -> None:
    speech = speech_like(clip, seconds, loudness)
    if not speech.any():
        return
    noisy = Noisy(source=name, snr_db=snr_db, seed=seed)
    mixed = add_noise(speech, noisy, clip_key=str(clip), sources=SOURCES)
    assert mixed.samples.dtype == np.float32
    assert mixed.samples.shape == speech.shape
    assert float(np.abs(mixed.samples).max()) <= PEAK
    # Measured without what the mixer says of itself: what is not the speech, at its gain, is the noise.
    spoken = speech.astype(np.float64) * 10 ** (mixed.gain_db / 20)
    noise = (mixed.samples - spoken).astype(np.float32)
    assert level(spoken.astype(np.float32)) - level(noise) == pytest.approx(snr_db, abs=0.1)


def test_a_clip_gets_the_same_noise_in_every_run_and_at_every_level() -> None:
    speech = speech_like(4, 3)

    def noise(clip: str = "a", snr_db: float = 0.0, seed: int = 0) -> Samples:
        noisy = Noisy(source="white", snr_db=snr_db, seed=seed)
        mixed = add_noise(speech, noisy, clip_key=clip, sources=open_sources())
        left = mixed.samples - speech * np.float32(10 ** (mixed.gain_db / 20))
        return (left / np.sqrt(np.mean(left.astype(np.float64) ** 2))).astype(np.float32)

    np.testing.assert_array_equal(noise(), noise())
    np.testing.assert_allclose(noise(), noise(snr_db=10), atol=1e-3)
    assert abs(float(np.mean(noise() * noise("b")))) < 0.1
    assert abs(float(np.mean(noise() * noise(seed=1)))) < 0.1


# --- sources ------------------------------------------------------------------------------------------------------


def test_what_is_computed_stays_what_its_version_says() -> None:
    # Sums of magnitudes in units of 2**-15: whoever changes a sound counts up noises.VERSION and these.
    assert noises.VERSION == 1
    samples = {"typing": read_audio(noises.TYPING).samples, **{name: noises.made(name) for name in noises.COMPUTED}}
    sums = {name: int(np.abs(np.rint(one * 32768)).sum()) for name, one in samples.items()}
    assert sums == pytest.approx(EXPECTED_SUMS, rel=1e-6)


EXPECTED_SUMS = {"pink": 397060544, "typing": 163211040, "white": 396993152}


def folder(tmp_path: Path) -> Path:
    chance = np.random.default_rng(0)
    place = tmp_path / "noise_test"
    place.mkdir()
    for name, rate_hz, channels in (("Babble_1", 16000, 1), ("Babble_2", 44100, 2), ("Typing_10", 16000, 1)):
        soundfile.write(place / f"{name}.wav", 0.1 * chance.standard_normal((rate_hz, channels)), rate_hz)
    (place / "README.txt").write_text("no noise")
    return place


def test_the_identity_is_of_the_files_bytes_and_all_choices(tmp_path: Path) -> None:
    place = folder(tmp_path)
    usual = Noisy(source="babble", snr_db=5)
    one = noise_identity(usual, open_sources(place))
    assert one == noise_identity(Noisy(source="Babble", snr_db=5), open_sources(place.parent))
    others = [
        noise_identity(usual, open_sources()),
        noise_identity(Noisy(source="typing", snr_db=5), open_sources(place)),
        noise_identity(Noisy(source="babble", snr_db=6), open_sources(place)),
        noise_identity(Noisy(source="babble", snr_db=5, seed=1), open_sources(place)),
    ]
    soundfile.write(place / "Babble_2.wav", np.full(RATE, 0.1), RATE)
    others.append(noise_identity(usual, open_sources(place)))
    assert len({one, *others}) == 6
