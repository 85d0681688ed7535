from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.asr.recogniser import RecogniserOptions
from grounding.data.speech import HOW_FAST, Transcript, Word, parse_condition, read_transcripts, write_transcripts
from grounding.errors import UserError
from grounding.run.several import combine


def saved(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


words = st.builds(
    Word,
    text=st.text(),
    start_s=st.floats(0, 1e4),
    end_s=st.floats(0, 1e4),
    probability=st.none() | st.floats(0, 1),
)
ours = st.builds(
    Transcript,
    text=st.text().map(str.strip),
    audio=st.text(),
    steps=st.lists(st.text()).map(tuple),
    words=st.lists(words).map(tuple),
    key=st.text(),
)


@given(transcripts=st.lists(ours, min_size=1, max_size=5))
def test_what_is_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, transcripts: list[Transcript]) -> None:
    path = tmp_path_factory.mktemp("t") / "transcriptions_x.json"
    write_transcripts(path, transcripts)
    found = read_transcripts(path)
    assert [(each.text, each.audio, each.steps, each.key) for each in found] == [
        (each.text, each.audio, each.steps, each.key) for each in transcripts
    ]
    assert [[(w.text, w.start_s, w.end_s) for w in each.words] for each in found] == [
        [(w.text, w.start_s, w.end_s) for w in each.words] for each in transcripts
    ]


def test_the_other_shapes(tmp_path: Path) -> None:
    bare = read_transcripts(saved(tmp_path / "b.json", ["one", "two"]))
    assert [(each.audio, each.text) for each in bare] == [("", "one"), ("", "two")]
    marked = tmp_path / "d.json"
    marked.write_bytes(b'\xef\xbb\xbf["one"]')
    assert read_transcripts(marked)[0].text == "one"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([], "expected a list of transcripts"),
        (3, "expected a list of transcripts"),
        ([{"audio": "1.wav"}], "item 1: expected a text under one of"),
        ([{"text": "a"}, 7], "item 2: expected an object or a text"),
        ([{"text": "a", "steps": "images/1.png"}], "steps: expected a list of pictures"),
        ([{"text": "a", "words": [{"text": "a"}]}], "words: expected objects with"),
        ([{"text": "a", "words": "a"}], "words: expected objects"),
    ],
)
def test_what_is_something_else_is_refused_with_its_place(tmp_path: Path, content: Any, said: str) -> None:
    with pytest.raises(UserError, match=said):
        read_transcripts(saved(tmp_path / "t.json", content))


@pytest.mark.parametrize(
    ("text", "canonical", "kind"),
    [
        ("truth", "truth", "truth"),
        ("whisper:turbo", "whisper:turbo", "recogniser"),
        ("whisper:/models/a@b/tiny.pt@babble:5dB", "whisper:/models/a@b/tiny.pt@babble:5dB", "recogniser"),
        ("pocketsphinx@babble:+10.0 db", "pocketsphinx@babble:10dB", "recogniser"),
        ("pocketsphinx@babble:-2.5dB", "pocketsphinx@babble:-2.5dB", "recogniser"),
        ("pocketsphinx@babble:\u22125dB", "pocketsphinx@babble:-5dB", "recogniser"),
        ("pocketsphinx@typing:0dB:seed=3", "pocketsphinx@typing:0dB:seed=3", "recogniser"),
        ("whisper,language=en,beam_size=5@pink:3dB", "whisper,beam_size=5,language=en@pink:3dB", "recogniser"),
        ("file:transcriptions_Wturbo.json", "file:transcriptions_Wturbo.json", "file"),
        ("file:mine@home/t.json", "file:mine@home/t.json", "file"),
    ],
)
def test_what_is_written_has_one_canonical_text(text: str, canonical: str, kind: str) -> None:
    condition = parse_condition(text)
    assert (str(condition), condition.kind) == (canonical, kind)
    assert parse_condition(canonical) == condition


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected a source of transcripts"),
        ("pocketsphinx@babble", "a source, a colon and decibels"),
        ("pocketsphinx@babble:500dB", "between -100 and 100"),
        ("pocketsphinx@babble:5dB:quiet", "a source, a colon and decibels"),
        ("truth@babble:5dB", "truth has no sound"),
        ("file:x.json@babble:5dB", "has no sound"),
        ("file:", "which file"),
        ("whisper,language=en,language=de", "given twice"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_a_reason(text: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        parse_condition(text)


def test_how_fast_it_is_and_where_files_lie_is_no_part_of_the_label() -> None:
    assert set(RecogniserOptions.__dataclass_fields__) >= HOW_FAST
    found = parse_condition("whisper-api:m,connections=8,language=en@pink:0dB")
    assert found.label == "whisper-api:m,language=en@pink:0dB"
    assert parse_condition("file:/data/a/t.json").label == "file:t.json"


def test_options_of_runs_have_the_canonical_text_and_the_truth_is_no_option() -> None:
    given = {"transcript": ("truth", "pocketsphinx@babble:5", "pocketsphinx"), "grounder": None}
    runs = combine(given, ("transcript",), command="")
    assert [run.transcript for run in runs] == [None, "pocketsphinx@babble:5dB", "pocketsphinx"]
