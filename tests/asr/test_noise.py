from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding.asr.levels import Measure, Samples, active_level, rms_dbfs
from grounding.asr.mixing import PEAK, mix
from grounding.asr.noise import Noisy, add_noise, check_noisy, noise_identity, open_sources
from grounding.asr.noises import made
from grounding.errors import UserError

RATE = 16_000
BUILT_IN = ("babble", "fan", "pink", "typing", "white")
MEASURES: tuple[Measure, ...] = ("rms", "speech-active")
SOURCES = open_sources()


def speech_like(seed: int, seconds: float, loudness: float = 0.2) -> Samples:
    """Noise in syllables, with pauses."""
    chance = np.random.default_rng(seed)
    count = int(seconds * RATE)
    syllables = np.repeat(chance.choice([0.0, 0.2, 1.0], size=count // 2000 + 1), 2000)[:count]
    return (loudness * syllables * np.tanh(chance.standard_normal(count))).astype(np.float32)


def level(samples: Samples, measure: Measure) -> float:
    found = rms_dbfs(samples) if measure == "rms" else getattr(active_level(samples), "level_dbfs", None)
    assert found is not None
    return float(found)


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(BUILT_IN),
    snr_db=st.floats(-20, 40),
    measure=st.sampled_from(MEASURES),
    seed=st.integers(0, 1000),
    clip=st.integers(0, 2**32 - 1),
    seconds=st.floats(0.2, 4),
    loudness=st.floats(0.001, 1),
)
def test_the_ratio_is_what_was_asked_for_and_nothing_clips(
    name: str, snr_db: float, measure: Measure, seed: int, clip: int, seconds: float, loudness: float
) -> None:
    speech = speech_like(clip, seconds, loudness)
    if not speech.any():
        return
    noisy = Noisy(source=name, snr_db=snr_db, measure=measure, seed=seed)
    mixed = add_noise(speech, noisy, clip_key=str(clip), sources=SOURCES)
    assert mixed.samples.dtype == np.float32
    assert mixed.samples.shape == speech.shape
    assert float(np.abs(mixed.samples).max()) <= PEAK
    # Measured without what the mixer says of itself: what is not the speech, at its gain, is the noise.
    spoken = speech.astype(np.float64) * 10 ** (mixed.gain_db / 20)
    noise = (mixed.samples - spoken).astype(np.float32)
    reached = level(spoken.astype(np.float32), measure) - level(noise, "rms")
    assert reached == pytest.approx(snr_db, abs=0.1)
    assert mixed.achieved_snr_db == pytest.approx(snr_db, abs=0.1)
    assert mixed.headroom_db <= 0


def test_it_is_ms_snsd_rule() -> None:
    """Both to -25 dBFS, the noise then to 10 ** (-snr / 20) of that, and the sum of the two."""
    speech, noise = speech_like(1, 2), np.random.default_rng(2).standard_normal(2 * RATE).astype(np.float32)
    mixed = mix(speech, noise, 10.0)
    target = 10 ** (-25 / 20)
    clean = speech * (target / np.sqrt(np.mean(speech.astype(np.float64) ** 2)))
    dirt = noise * (target / np.sqrt(np.mean(noise.astype(np.float64) ** 2)))
    assert mixed.headroom_db == 0
    np.testing.assert_allclose(mixed.samples, clean + dirt * 10 ** (-10 / 20), atol=1e-5)


def test_what_would_clip_is_made_quieter_as_a_whole() -> None:
    speech = np.zeros(RATE, np.float32)
    speech[:100] = 1.0
    noise = np.random.default_rng(2).standard_normal(RATE).astype(np.float32)
    mixed = mix(speech, noise, -20.0)
    assert mixed.headroom_db < 0
    assert float(np.abs(mixed.samples).max()) == pytest.approx(PEAK, abs=1e-5)
    assert mixed.achieved_snr_db == pytest.approx(-20, abs=0.01)
    assert mixed.gain_db == pytest.approx(-25 - (rms_dbfs(speech) or 0) + mixed.headroom_db, abs=1e-6)


def test_lengths_must_agree() -> None:
    with pytest.raises(ValueError, match="expected 10 samples of noise, got 9"):
        mix(np.ones(10, np.float32), np.ones(9, np.float32), 0.0)


def test_the_two_measures_differ_where_there_are_pauses() -> None:
    speech = np.concatenate([speech_like(3, 2), np.zeros(6 * RATE, np.float32)])
    by = {
        measure: add_noise(
            speech, Noisy(source="white", snr_db=10, measure=measure), clip_key="a", sources=SOURCES
        ).samples[-RATE:]
        for measure in MEASURES
    }
    # The level of the speech is higher without its pauses, so the speech is turned up less, and so is the noise beside.
    assert level(by["rms"], "rms") == pytest.approx(-35, abs=0.3)
    assert level(by["speech-active"], "rms") == pytest.approx(-35, abs=0.3)


@pytest.mark.parametrize("samples", [np.zeros(0, np.float32), np.zeros(RATE, np.float32)])
def test_silence_stays_as_it_is_with_a_note(samples: Samples) -> None:
    mixed = add_noise(samples, Noisy(source="babble", snr_db=0), clip_key="a", sources=SOURCES)
    assert mixed.samples is samples
    assert mixed.achieved_snr_db is None
    assert len(mixed.notes) == 1


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


def test_long_speech_gets_the_noise_around_and_around() -> None:
    speech = speech_like(5, 70)
    mixed = add_noise(speech, Noisy(source="babble", snr_db=-60), clip_key="a", sources=SOURCES)
    period = len(SOURCES.find("babble").samples(0))
    np.testing.assert_allclose(mixed.samples[:RATE], mixed.samples[period : period + RATE], atol=2e-3)


def test_the_rest_between_two_sounds_is_not_what_is_drawn(tmp_path: Path) -> None:
    sparse = np.zeros(20 * RATE, np.float32)
    sparse[:: 4 * RATE] = 0.9
    sparse += 1e-5
    soundfile.write(tmp_path / "Door_1.wav", sparse, RATE)
    sources, speech = open_sources(tmp_path), speech_like(6, 2)
    heard = 0
    for clip in range(40):
        mixed = add_noise(speech, Noisy(source="door", snr_db=0), clip_key=str(clip), sources=sources)
        noise = mixed.samples - speech * np.float32(10 ** (mixed.gain_db / 20))
        # A bang is far above the level of its cut; a constant hum, turned up, is not.
        heard += bool(np.abs(noise).max() > 20 * np.sqrt(np.mean(noise.astype(np.float64) ** 2)))
        assert heard or mixed.notes
    assert heard >= 39


# --- sources ------------------------------------------------------------------------------------------------------


def test_the_built_in_noises_are_there_small_and_without_a_seam() -> None:
    assert SOURCES.names == BUILT_IN
    assert made.BABBLE.stat().st_size < 1_500_000
    for name in BUILT_IN:
        samples = SOURCES.find(name).samples(0)
        assert len(samples) >= 20 * RATE
        assert -30.1 < (rms_dbfs(samples) or 0) < -24.9
        assert float(np.abs(samples).max()) < 1
        step = np.abs(np.diff(samples)).max()
        assert abs(float(samples[0] - samples[-1])) <= step


@pytest.mark.parametrize("name", sorted(made.COMPUTED))
def test_computed_noises_are_whole_numbers_of_16_bits(name: str) -> None:
    samples = made.made(name) * 32768
    np.testing.assert_array_equal(samples, np.rint(samples))


def test_the_noises_sound_as_their_names_say() -> None:
    def power(name: str, low_hz: float, high_hz: float) -> float:
        samples = SOURCES.find(name).samples(0).astype(np.float64)
        hz = np.fft.rfftfreq(len(samples), 1 / RATE)
        return float(np.sum(np.abs(np.fft.rfft(samples)[(hz >= low_hz) & (hz < high_hz)]) ** 2))

    assert power("white", 4000, 8000) == pytest.approx(power("white", 0, 4000), rel=0.05)
    assert power("pink", 100, 200) == pytest.approx(power("pink", 3200, 6400), rel=0.1)
    assert power("fan", 115, 125) > 3 * power("fan", 105, 115)
    assert power("babble", 200, 4000) > 10 * power("babble", 4000, 8000)
    typing = SOURCES.find("typing").samples(0)
    assert float(np.abs(typing).max()) > 10 * 10 ** (-30 / 20)


def test_what_is_computed_stays_what_its_version_says() -> None:
    # Sums of magnitudes in units of 2**-15: whoever changes a sound counts up made.VERSION and these.
    assert made.VERSION == 1
    sums = {name: int(np.abs(np.rint(made.made(name) * 32768)).sum()) for name in sorted(made.COMPUTED)}
    assert sums == pytest.approx(EXPECTED_SUMS, rel=1e-6)


EXPECTED_SUMS = {"fan": 394907872, "pink": 397060544, "typing": 163211040, "white": 396993152}


def folder(tmp_path: Path) -> Path:
    chance = np.random.default_rng(0)
    place = tmp_path / "noise_test"
    place.mkdir()
    for name, rate_hz, channels in (("Babble_1", 16000, 1), ("Babble_2", 44100, 2), ("Typing_10", 16000, 1)):
        soundfile.write(place / f"{name}.wav", 0.1 * chance.standard_normal((rate_hz, channels)), rate_hz)
    (place / "README.txt").write_text("no noise")
    return place


def test_a_folder_in_the_layout_of_ms_snsd(tmp_path: Path) -> None:
    place = folder(tmp_path)
    for given_folder in (place, place.parent):
        sources = open_sources(given_folder)
        assert set(sources.names) == {*BUILT_IN, "babble", "typing"}
        assert sources.find("BABBLE").count == 2
        for number in range(2):
            assert len(sources.find("Babble").samples(number)) == RATE
        check_noisy(Noisy(source="Babble", snr_db=5), sources)
    speech = speech_like(7, 3)
    drawn = {
        float(add_noise(speech, Noisy(source="Babble", snr_db=5), clip_key=str(clip), sources=sources).samples[0])
        for clip in range(8)
    }
    assert len(drawn) > 4


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
        noise_identity(Noisy(source="babble", snr_db=5, measure="speech-active"), open_sources(place)),
    ]
    soundfile.write(place / "Babble_2.wav", np.full(RATE, 0.1), RATE)
    others.append(noise_identity(usual, open_sources(place)))
    assert len({one, *others}) == 7
    assert noise_identity(Noisy(source="fan", snr_db=0.0), SOURCES) == noise_identity(
        Noisy(source="fan", snr_db=-0.0), SOURCES
    )


def test_sources_can_be_sent_to_other_processes(tmp_path: Path) -> None:
    sources = open_sources(folder(tmp_path))
    again = pickle.loads(pickle.dumps(sources))  # noqa: S301
    noisy = Noisy(source="typing", snr_db=0)
    assert noise_identity(noisy, again) == noise_identity(noisy, sources)


def test_what_is_no_source_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"'rain': there is no such noise; there are babble, fan, pink, typing, white"):
        check_noisy(Noisy(source="rain", snr_db=0), SOURCES)
    with pytest.raises(UserError, match="between -100 and 100 dB"):
        check_noisy(Noisy(source="fan", snr_db=float("nan")), SOURCES)
    with pytest.raises(UserError, match="there is no such folder"):
        open_sources(tmp_path / "none")
    with pytest.raises(UserError, match=r"Babble_1\.wav.*found none"):
        open_sources(tmp_path)
    (tmp_path / "Fan_1.wav").write_bytes(b"RIFF nothing")
    with pytest.raises(UserError, match=r"Fan_1\.wav"):
        open_sources(tmp_path).find("fan").samples(0)
    soundfile.write(tmp_path / "Fan_2.wav", np.zeros(100), RATE)
    with pytest.raises(UserError, match="is silent"):
        open_sources(tmp_path).find("fan").samples(1)
