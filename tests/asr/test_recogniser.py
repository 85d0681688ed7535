"""Recognisers by their names, and the real decoder with the model in its wheel: figures are compared, never fixed."""

from __future__ import annotations

import pytest

from asr.speech import clip, sample_speech
from grounding.asr.audio import read_audio
from grounding.asr.recogniser import RecogniserOptions, open_recogniser
from grounding.asr.transcribe import transcribe
from grounding.errors import UserError


@pytest.mark.parametrize(
    ("spec", "options", "said"),
    [
        ("sphinx", {}, "did you mean 'pocketsphinx'"),
        ("zzz", {}, "there are: pocketsphinx, whisper, whisper-api"),
        ("whisper-api:m,connections=many", {}, "connections"),
        ("whisper-api:m,connections=0", {}, ">= 1"),
        ("pocketsphinx,beam_width=2", {}, "beam_width is no option"),
        ("pocketsphinx", {"language": "de"}, "de is for whisper"),
        ("pocketsphinx", {"beam_size": 2}, "has no such option"),
    ],
)
def test_names_and_values_that_are_none(spec: str, options: dict[str, object], said: str) -> None:
    with pytest.raises(UserError, match=said):
        open_recogniser(spec, RecogniserOptions(**options))  # type: ignore[arg-type]


def test_pocketsphinx_hears_words_with_times_and_probabilities() -> None:
    right, spoken = 0, sample_speech(3)
    for (path, text), heard in zip(
        spoken, transcribe([clip(path) for path, _ in spoken], open_recogniser("pocketsphinx")), strict=True
    ):
        right += len(set(text.casefold().replace(",", "").split()) & set(heard.text.split()))
        assert [word.text for word in heard.words] == heard.text.split()
        times = [time for word in heard.words for time in (word.start_s, word.end_s)]
        assert times == sorted(times)
        assert 0 <= times[0] < times[-1] <= read_audio(path).seconds + 0.05
        assert all(word.probability is not None and 0 <= word.probability <= 1 for word in heard.words)
        assert heard.compute_s > 0
    assert right >= 3, "not one word in four is heard"
