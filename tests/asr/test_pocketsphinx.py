"""The real decoder with the model in its wheel, on the sample's speech; figures are compared, never fixed."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest

from asr.speech import clip, sample_speech, tone
from grounding.asr.audio import from_samples, read_audio
from grounding.asr.recogniser import RecogniserOptions, open_recogniser
from grounding.asr.recognisers.pocketsphinx import PocketSphinx
from grounding.asr.running import transcribe
from grounding.asr.store import TranscriptStore
from grounding.errors import UserError


@pytest.fixture(scope="module")
def recogniser() -> PocketSphinx:
    found = open_recogniser("pocketsphinx")
    assert isinstance(found, PocketSphinx)
    return found


def test_it_hears_words_with_times_and_probabilities(recogniser: PocketSphinx) -> None:
    right = 0
    for path, text in sample_speech(3):
        audio = read_audio(path)
        (heard,) = recogniser.hear([audio])
        right += len(set(text.casefold().replace(",", "").split()) & set(heard.text.split()))
    assert right >= 3, "not one word in four is heard"
    assert [word.text for word in heard.words] == heard.text.split()
    times = [time for word in heard.words for time in (word.start_s, word.end_s)]
    assert times == sorted(times)
    assert 0 <= times[0] < times[-1] <= audio.seconds + 0.05
    assert all(word.probability is not None and 0 <= word.probability <= 1 for word in heard.words)
    assert any(word.probability is not None and 0 < word.probability < 0.999 for word in heard.words)
    assert heard.language == "en"
    assert heard.compute_s > 0


def test_what_was_heard_before_changes_nothing(recogniser: PocketSphinx) -> None:
    first, second = (read_audio(path) for path, _ in sample_speech(2))
    alone = recogniser.hear([first])[0]
    after = recogniser.hear([second, first])[1]
    assert (after.text, after.words) == (alone.text, alone.words)


@pytest.mark.parametrize("samples", [np.zeros(0, np.float32), np.zeros(10, np.float32), np.zeros(16000, np.float32)])
def test_silence_and_the_shortest_clips(recogniser: PocketSphinx, samples: np.ndarray) -> None:
    (heard,) = recogniser.hear([from_samples(samples)])
    assert len(heard.text.split()) <= 2


def test_a_copy_for_another_process_has_no_decoder(recogniser: PocketSphinx) -> None:
    recogniser.hear([from_samples(tone(0.2))])
    copy = pickle.loads(pickle.dumps(recogniser))  # noqa: S301
    assert copy.identity == recogniser.identity
    assert copy._decoder is None


@pytest.mark.slow
def test_processes_hear_what_one_hears(recogniser: PocketSphinx, tmp_path: Path) -> None:
    made = [clip(path) for path, _ in sample_speech(3)]
    store = TranscriptStore(tmp_path / "store")
    heard = transcribe(made, recogniser, store=store)
    assert all(each.failure is None for each in heard)
    alone = recogniser.hear([read_audio(Path(each.path)) for each in made])
    assert [each.text for each in heard] == [each.text for each in alone]


@pytest.mark.slow
def test_a_model_of_ones_own(tmp_path: Path) -> None:
    import pocketsphinx

    built_in = Path(pocketsphinx.get_model_path()) / "en-us"
    shutil.copytree(built_in, tmp_path / "model", ignore=shutil.ignore_patterns("*phone*"))
    audio = read_audio(sample_speech(1)[0][0])
    given = open_recogniser(f"pocketsphinx:{tmp_path / 'model'}", RecogniserOptions(language="de"))
    same = open_recogniser("pocketsphinx", RecogniserOptions(model_dir=str(tmp_path / "model")))
    assert given.identity == same.identity != open_recogniser("pocketsphinx").identity
    assert given.hear([audio])[0].text == open_recogniser("pocketsphinx").hear([audio])[0].text
    (tmp_path / "model" / "second.dict").write_text("a AH\n")
    with pytest.raises(UserError, match=r"expected one \*.dict"):
        open_recogniser(f"pocketsphinx:{tmp_path / 'model'}")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (RecogniserOptions(language="de"), "is English"),
        (RecogniserOptions(prompt="x"), "has no such option"),
        (RecogniserOptions(beam_size=2), "has no such option"),
        (RecogniserOptions(device="cuda"), "processor only"),
        (RecogniserOptions(model_dir="/none"), "is no folder"),
    ],
)
def test_what_it_refuses(options: RecogniserOptions, said: str) -> None:
    with pytest.raises(UserError, match=said):
        open_recogniser("pocketsphinx", options)
