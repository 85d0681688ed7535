"""Sources of transcripts as people write them: read, printed, refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.asr.conditions import (
    HOW_FAST,
    Condition,
    noise_text,
    parse_condition,
    parse_noise,
    recogniser_options,
)
from grounding.asr.noise import Noisy
from grounding.asr.recogniser import RecogniserOptions
from grounding.combinations import combine
from grounding.errors import UserError


@pytest.mark.parametrize(
    ("text", "canonical", "kind"),
    [
        ("truth", "truth", "truth"),
        (" Truth ", "truth", "truth"),
        ("none", "truth", "truth"),
        ("whisper", "whisper", "recogniser"),
        ("whisper:turbo", "whisper:turbo", "recogniser"),
        ("whisper:/models/a@b/tiny.pt", "whisper:/models/a@b/tiny.pt", "recogniser"),
        ("whisper:/models/a@b/tiny.pt@babble:5dB", "whisper:/models/a@b/tiny.pt@babble:5dB", "recogniser"),
        ("pocketsphinx@babble:10dB", "pocketsphinx@babble:10dB", "recogniser"),
        ("pocketsphinx@babble:10", "pocketsphinx@babble:10dB", "recogniser"),
        ("pocketsphinx@babble:+10.0 db", "pocketsphinx@babble:10dB", "recogniser"),
        ("pocketsphinx@babble:-2.5dB", "pocketsphinx@babble:-2.5dB", "recogniser"),
        ("pocketsphinx@babble:\u22125dB", "pocketsphinx@babble:-5dB", "recogniser"),
        ("pocketsphinx@babble:-0dB", "pocketsphinx@babble:0dB", "recogniser"),
        ("pocketsphinx@typing:0dB:active:seed=3", "pocketsphinx@typing:0dB:active:seed=3", "recogniser"),
        ("pocketsphinx@typing:0dB:seed=0:rms", "pocketsphinx@typing:0dB", "recogniser"),
        ("whisper,language=en,beam_size=5@pink:3dB", "whisper,beam_size=5,language=en@pink:3dB", "recogniser"),
        ("file:transcriptions_Wturbo.json", "file:transcriptions_Wturbo.json", "file"),
        ("replay:transcriptions_Wturbo.json", "file:transcriptions_Wturbo.json", "file"),
        ("file:a@b.json", "file:a@b.json", "file"),
        ("questions:questions_Wlarge.json", "questions:questions_Wlarge.json", "questions"),
        ("asr@babble:5dB", "pocketsphinx@babble:5dB", "recogniser"),
        ("@babble:5dB", "pocketsphinx@babble:5dB", "recogniser"),
    ],
)
def test_what_is_written_has_one_canonical_text(text: str, canonical: str, kind: str) -> None:
    condition = parse_condition(text)
    assert (str(condition), condition.kind) == (canonical, kind)
    assert parse_condition(canonical) == condition


noises = st.builds(
    Noisy,
    source=st.sampled_from(["babble", "typing", "NeighborSpeaking", "Shutting-Door_2"]),
    snr_db=st.integers(-400, 400).map(lambda tenths: tenths / 10),
    measure=st.sampled_from(["rms", "speech-active"]),
    seed=st.integers(0, 10**9 - 1),
)


@given(noises)
def test_every_noise_comes_back(noise: Noisy) -> None:
    assert parse_noise(noise_text(noise)) == noise


@given(
    st.sampled_from(["pocketsphinx", "whisper:turbo", "whisper:/m/x.pt", "whisper-api:org/model"]),
    st.dictionaries(st.sampled_from(["language", "prompt", "model_dir"]), st.sampled_from(["en", "a, b", "/x"])),
    st.none() | noises,
)
def test_every_condition_comes_back(name: str, options: dict[str, str], noise: Noisy | None) -> None:
    kept = tuple(f"{key}={value}" for key, value in sorted(options.items()))
    condition = Condition(kind="recogniser", name=name, options=kept, noise=noise)
    assert parse_condition(str(condition)) == condition


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "got nothing"),
        ("pocketsphinx@", "which noise"),
        ("pocketsphinx@babble", "a source, a colon and decibels"),
        ("pocketsphinx@babble:loud", "a source, a colon and decibels"),
        ("pocketsphinx@babble:nan", "a source, a colon and decibels"),
        ("pocketsphinx@babble:500dB", "between -100 and 100"),
        ("pocketsphinx@babble:5dB:quiet", "quiet is neither"),
        ("truth@babble:5dB", "true transcripts have no noise"),
        ("file:x.json@babble:5dB", "is recorded already"),
        ("file:", "which file"),
        ("questions: ", "which file"),
        ("whisper,language=en,language=de", "given twice"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_a_reason(text: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        parse_condition(text)


def test_asr_stands_for_the_named_recogniser() -> None:
    assert str(parse_condition("asr@fan:0dB", asr="whisper:turbo,language=en")) == "whisper:turbo,language=en@fan:0dB"
    with pytest.raises(UserError, match="--asr truth: is no recogniser"):
        parse_condition("asr", asr="truth")


def test_options_are_typed_and_unknown_ones_refused() -> None:
    condition = parse_condition("whisper,beam_size=5,language=en,temperatures=0/0.5,prompt=Harbor Goods, candles")
    assert recogniser_options(condition) == RecogniserOptions(
        beam_size=5, language="en", temperatures=(0.0, 0.5), prompt="Harbor Goods, candles"
    )
    assert recogniser_options(parse_condition("whisper"), base_url="http://h/v1").base_url == "http://h/v1"
    with pytest.raises(UserError, match="beam_size=many"):
        recogniser_options(parse_condition("whisper,beam_size=many"))
    with pytest.raises(UserError, match="beam_width is no option"):
        recogniser_options(parse_condition("whisper,beam_width=3"))


def test_how_fast_it_is_and_where_files_lie_is_no_part_of_the_label() -> None:
    assert {field for field in RecogniserOptions.__struct_fields__} >= HOW_FAST
    assert (
        parse_condition("whisper-api:m,connections=8,language=en@fan:0dB").label == "whisper-api:m,language=en@fan:0dB"
    )
    assert parse_condition("file:/data/a/t.json").label == "file:t.json"


def test_options_of_runs_have_the_canonical_text_and_the_truth_is_no_option() -> None:
    given = {"transcript": ("truth", "asr", "asr@babble:5", "pocketsphinx"), "asr": None, "grounder": None}
    runs = combine(given, ("transcript",), command="")
    assert [run.transcript for run in runs] == [None, "pocketsphinx", "pocketsphinx@babble:5dB"]
    (alone,) = combine({"transcript": (None,), "asr": "whisper:turbo"}, ("transcript",), command="")
    assert alone.transcript == "whisper:turbo"
