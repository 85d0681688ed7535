from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asr.speech import tone, write
from grounding.asr.noise import Noisy
from grounding.asr.recogniser import RecogniserOptions, open_recogniser
from grounding.asr.records import Word
from grounding.asr.running import transcribe
from grounding.asr.transcripts import Transcript, best_match, clip_of, find_clips, read_transcripts, write_transcripts
from grounding.errors import UserError


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
        [(w.text.strip(), w.start_s, w.end_s) for w in each.words] for each in transcripts
    ]


@pytest.mark.parametrize(
    "content",
    [
        [{"audio": "audio/1.flac", "steps": ["images/1.png"], "text": "go back"}],
        [{"file": "audio/1.flac", "steps": ["images/1.png"], "transcription": " go back "}],
        [{"audio_path": "audio/1.flac", "final_image": "images/1.png", "transcript": "go back"}],
        [{"filename": "audio/1.flac", "image": "images/1.png", "instruction": "go back"}],
    ],
)
def test_the_likely_names_of_the_fields(tmp_path: Path, content: Any) -> None:
    (found,) = read_transcripts(saved(tmp_path / "t.json", content))
    assert (found.audio, found.steps, found.text) == ("audio/1.flac", ("images/1.png",), "go back")


def test_the_other_shapes(tmp_path: Path) -> None:
    by_name = read_transcripts(saved(tmp_path / "a.json", {"1.wav": "one", "2.wav": {"text": "two"}}))
    assert [(each.audio, each.text) for each in by_name] == [("1.wav", "one"), ("2.wav", "two")]
    bare = read_transcripts(saved(tmp_path / "b.json", ["one", "two"]))
    assert [(each.audio, each.text) for each in bare] == [("", "one"), ("", "two")]
    said = {"text": " one", "language": "en", "segments": [{"words": [{"word": " one", "start": 0, "end": 0.5}]}]}
    (package,) = read_transcripts(saved(tmp_path / "c.json", said))
    assert package.words == (Word(text="one", start_s=0.0, end_s=0.5),)
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
        ([{"text": "a", "words": [{"text": "a"}]}], "words: expected objects"),
        ([{"text": "a", "words": "a"}], "words: expected a list"),
    ],
)
def test_what_is_something_else_is_refused_with_its_place(tmp_path: Path, content: Any, said: str) -> None:
    with pytest.raises(UserError, match=said):
        read_transcripts(saved(tmp_path / "t.json", content))


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text("{")
    with pytest.raises(UserError, match="is not JSON"):
        read_transcripts(tmp_path / "t.json")
    with pytest.raises(UserError, match="can't be read"):
        read_transcripts(tmp_path / "none.json")


def test_a_recording_is_found_by_the_end_of_its_path() -> None:
    items = [Transcript(text=name, audio=name) for name in ("1/audio/3.wav", "2/audio/3.wav", "audio/4.mp3")]
    found = best_match(Path("/data/2/audio/3.flac"), items)
    assert found is not None
    assert found.text == "2/audio/3.wav"
    four = best_match(Path("/data/1/audio/4.flac"), items)
    assert four is not None
    assert four.text == "audio/4.mp3"
    assert best_match(Path("/data/3/audio/3.flac"), items) is None, "two agree equally long"
    assert best_match(Path("/data/3/audio/5.flac"), items) is None
    assert best_match(Path("/data/3/audio/5.flac"), [Transcript(text="x")]) is None


def test_recordings_of_a_folder_in_natural_order(tmp_path: Path) -> None:
    for name in ("1/audio/10.wav", "1/audio/2.wav", "2/audio/1.flac"):
        write(tmp_path / name, tone(0.1))
    (tmp_path / "1/notes.txt").write_text("no recording")
    clips = find_clips([tmp_path])
    assert [clip.id for clip in clips] == ["1/audio/2", "1/audio/10", "2/audio/1"]
    assert len({clip.sha256 for clip in clips}) == 2, "10.wav and 2.wav are equal"
    (one,) = find_clips([tmp_path / "2/audio/1.flac"])
    assert one.id == "1"
    twice = find_clips([tmp_path / "1/audio/10.wav", write(tmp_path / "3/10.wav", tone(0.2))])
    assert len({clip.id for clip in twice}) == 2


def test_places_without_recordings(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no recording in this folder"):
        find_clips([tmp_path])
    with pytest.raises(UserError, match="no such file"):
        find_clips([tmp_path / "none.wav"])


def test_replay_of_one_file_and_of_one_in_each_folder(tmp_path: Path) -> None:
    for participant in "12":
        write(tmp_path / participant / "audio" / "1.wav", tone(0.1, hz=100 * int(participant)))
        item = {
            "audio": "audio/1.flac",
            "text": f"said by {participant}",
            "words": [{"word": "w", "start": 0, "end": 1}],
        }
        saved(tmp_path / participant / "transcriptions_W.json", [item])
    write(tmp_path / "1" / "audio" / "2.wav", tone(0.2))
    clips = find_clips([tmp_path])
    heard = transcribe(clips, open_recogniser("replay:transcriptions_W.json"))
    assert [each.text for each in heard] == ["said by 1", "", "said by 2"]
    assert [each.failure is None for each in heard] == [True, False, True]
    assert heard[0].words == (Word(text="w", start_s=0.0, end_s=1.0),)
    one = open_recogniser(f"replay:{tmp_path / '2' / 'transcriptions_W.json'}")
    assert transcribe(clips, one)[0].text == "said by 2", "audio/1 is audio/1 in any folder"


def test_replay_of_a_text_for_each_step(tmp_path: Path) -> None:
    clip = clip_of(write(tmp_path / "1" / "audio" / "7.wav", tone(0.1)), "1/7")
    belongs = [{"audio": "audio/6.wav", "steps": ["images/1.png"], "text": "a"}]
    belongs.append({"audio": "audio/7.wav", "steps": ["images/2.png", "images/3.png"], "text": "b"})
    saved(tmp_path / "1" / "transcriptions_GT.json", belongs)
    saved(
        tmp_path / "1" / "questions_Wlarge.json",
        [{"final_image": f"images/{at}.png", "instruction": f"step {at}", "bounding_box": None} for at in (1, 2, 3)],
    )
    assert transcribe([clip], open_recogniser("replay:questions_Wlarge.json"))[0].text == "step 2"
    saved(tmp_path / "1" / "bare.json", ["first", "second"])
    assert transcribe([clip], open_recogniser("replay:bare.json"))[0].text == "second"
    saved(tmp_path / "1" / "three.json", ["first", "second", "third"])
    assert transcribe([clip], open_recogniser("replay:three.json"))[0].failure is not None


def test_what_replay_refuses(tmp_path: Path) -> None:
    clip = clip_of(write(tmp_path / "a.wav", tone(0.1)), "a")
    with pytest.raises(UserError, match="noise can't be added"):
        transcribe([clip], open_recogniser("replay:x.json"), noise=Noisy(source="white", snr_db=0.0))
    with pytest.raises(UserError, match="there is no such file for"):
        transcribe([clip], open_recogniser("replay:x.json"))
    with pytest.raises(UserError, match="can't be read"):
        open_recogniser(f"replay:{tmp_path}/none.json")
    with pytest.raises(UserError, match="which file"):
        open_recogniser("replay:")
    with pytest.raises(UserError, match="can't be heard differently"):
        open_recogniser("replay:x.json", RecogniserOptions(language="en"))
