"""From recordings to words: which recording belongs to which steps, what is kept, and what comes with a data set."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
import shell
from conftest import Item, TinyDataset

from grounding.asr import sources
from grounding.asr.audio import Audio
from grounding.asr.recogniser import Answers, RecogniserOptions, Recognition
from grounding.asr.sources import Obtained, obtain
from grounding.asr.transcribe import heard_key
from grounding.data import load_dataset, participant_folders
from grounding.data.speech import clip_of
from grounding.errors import UserError
from grounding.options import EvalOptions
from grounding.records import Session

from .speech import tone, write


class Counting:
    """Hears how long a recording is, in tenths of a second; 0.9 s and more is beyond it."""

    name, identity, device, longest_s = "counting", "counting 1", "", None
    asked = 0

    def hear(self, pieces: Iterator[Audio]) -> Answers:
        for audio in pieces:
            Counting.asked += 1
            tenths = round(10 * audio.seconds)
            if tenths >= 9:
                yield audio, "the server died"
            else:
                yield audio, Recognition(text="" if tenths == 7 else f"thing {tenths}")


def counting(_spec: str, _options: RecogniserOptions | None = None) -> Counting:
    return Counting()


pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("GROUNDING_NO_CACHE", raising=False)
    monkeypatch.setattr(sources, "open_recogniser", counting)
    Counting.asked = 0
    return tmp_path / "cache"


def speech(data_dir: Path, *, manifest: bool = True) -> None:
    """A recording for each instruction: as long as its number in tenths of a second, beginning with 2."""
    for folder in data_dir.iterdir():
        items: list[Item] = json.loads((folder / "questions_with_task_updated.json").read_text())
        spoken: dict[str, list[str]] = {}
        for item in items:
            spoken.setdefault(item["instruction"], []).append(item["final_image"])
        entries = []
        for number, (text, pictures) in enumerate(spoken.items(), start=2):
            write(folder / "audio" / f"{number}.wav", tone(number / 10, hz=200 + 10 * int(folder.name)))
            entries.append({"audio": f"audio/{number}.wav", "steps": pictures, "text": text})
        if manifest:
            (folder / "transcriptions_GT.json").write_text(json.dumps(entries))


def in_pairs(_participant: str, items: list[Item]) -> None:
    for at, item in enumerate(items):
        item["instruction"] = f"thing {2 + at // 2}"


@pytest.fixture
def data_dir(tiny_dataset: TinyDataset) -> Path:
    folder = tiny_dataset(steps=6, steps_per_task=6, unscored=(), edit=in_pairs)
    speech(folder)
    return folder


def everything(data_dir: Path) -> tuple[tuple[Session, ...], dict[str, Path], frozenset[str]]:
    sessions = load_dataset("realwebassist", data_dir).sessions
    chosen = frozenset(step.id for session in sessions for step in session.steps)
    return sessions, participant_folders("realwebassist", data_dir), chosen


def heard(data_dir: Path, transcript: str = "counting", **options: object) -> Obtained:
    sessions, folders, chosen = everything(data_dir)
    asked = EvalOptions(transcript=transcript, display="none", **options)  # type: ignore[arg-type]
    return obtain(asked, sessions, folders, chosen=chosen, phase=lambda _words: nullcontext())


def words(found: Obtained) -> list[tuple[tuple[str, ...], str, str]]:
    assert found.transcripts is not None
    return [(one.steps, one.heard, one.failure.kind if one.failure else "") for one in found.transcripts.spoken]


# --- which recording belongs to which steps -----------------------------------------------------------------------


@pytest.mark.parametrize("manifest", [True, False])
def test_every_step_has_its_recording(tiny_dataset: TinyDataset, manifest: bool) -> None:
    folder = tiny_dataset(steps=6, steps_per_task=6, unscored=(3,), edit=in_pairs)
    speech(folder, manifest=manifest)
    assert words(heard(folder)) == [
        ((f"{person}/{2 * number - 3}", f"{person}/{2 * number - 2}"), f"thing {number}", "")
        for person in "12"
        for number in (2, 3, 4)
    ]


def test_saying_the_same_twice_in_a_row_is_two_recordings(tiny_dataset: TinyDataset) -> None:
    folder = tiny_dataset(
        participants=1,
        steps=4,
        unscored=(),
        steps_per_task=9,
        edit=lambda _, items: [item.update(instruction="next") for item in items],
    )
    for number in (2, 3):
        write(folder / "1" / "audio" / f"{number}.wav", tone(number / 10))
    entries = [
        {"audio": "audio/2.wav", "steps": ["images/1.png", "images/2.png"], "text": "next"},
        {"audio": "audio/3.wav", "steps": ["images/3.png", "images/4.png"], "text": "next"},
    ]
    (folder / "1" / "transcriptions_GT.json").write_text(json.dumps(entries))
    found = heard(folder)
    assert words(found) == [(("1/1", "1/2"), "thing 2", ""), (("1/3", "1/4"), "thing 3", "")]
    assert found.transcripts is not None
    assert found.transcripts.score.errors.reference_words == 2


@pytest.mark.parametrize(("count", "texts"), [(3, "112233"), (6, "123456")])
def test_a_plain_list_has_a_text_for_each_instruction_or_each_step(data_dir: Path, count: int, texts: str) -> None:
    for folder in data_dir.iterdir():
        (folder / "transcriptions_L.json").write_text(json.dumps([f"{number + 1}" for number in range(count)]))
    found = words(heard(data_dir, "file:transcriptions_L.json"))
    assert "".join(len(steps) * text for steps, text, _ in found) == 2 * texts
    (data_dir / "1" / "transcriptions_L.json").write_text('["one", "two"]')
    with pytest.raises(UserError, match="2 transcripts for 3 instructions in 6 steps"):
        heard(data_dir, "file:transcriptions_L.json")


def test_no_recording_is_read_from_outside(data_dir: Path) -> None:
    manifest = data_dir / "1" / "transcriptions_GT.json"
    manifest.write_text(manifest.read_text().replace("audio/2.wav", "../2/audio/2.wav"))
    with pytest.raises(UserError, match="leads out of"):
        heard(data_dir)


# --- what could not be heard --------------------------------------------------------------------------------------


def test_a_recogniser_that_failed_leaves_the_run_partial_and_is_asked_again(
    tmp_path: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(data_dir / "2" / "audio" / "2.wav", tone(0.9))
    args = ["--dataset", "realwebassist", "--data-dir", data_dir, "--log-dir", tmp_path / "results"]
    args += ["--grounder", "oracle", "--transcript", "counting"]
    first = shell.call(*args)
    assert first.returncode == 1
    assert "1 where the recogniser failed, which the same command tries again" in first.stderr
    folder = shell.run_folder(tmp_path / "results")
    assert shell.summary(folder)["counts"]["error"] == 2
    asked = Counting.asked
    monkeypatch.setattr(
        Counting, "hear", lambda _self, pieces: ((each, Recognition(text="now it works")) for each in pieces)
    )
    second = shell.call(*args)
    assert (second.returncode, second.stderr) == (0, "")
    assert shell.run_folder(tmp_path / "results") == folder
    assert shell.summary(folder)["counts"]["hit"] == 12
    assert Counting.asked == asked


# --- what is kept -------------------------------------------------------------------------------------------------


def test_nothing_is_heard_twice(data_dir: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = heard(data_dir)
    assert Counting.asked == 6
    assert words(heard(data_dir)) == words(first)
    assert Counting.asked == 6
    shutil.rmtree(cache)
    monkeypatch.setenv("GROUNDING_NO_CACHE", "1")
    for _ in range(2):
        heard(data_dir)
    # A command prepares its runs twice: within one process nothing is heard twice even so.
    assert Counting.asked == 12
    assert not cache.exists()


def test_what_comes_with_the_data_set_is_used_under_its_own_key_only(data_dir: Path) -> None:
    entries = []
    for number in (2, 3):
        path = data_dir / "1" / "audio" / f"{number}.wav"
        key = heard_key(clip_of(path, "x"), Counting())
        entries.append({"audio": f"audio/{number}.wav", "text": f"recorded {number}", "key": key})
    entries[1]["key"] = "0" * 64
    (data_dir / "1" / "transcriptions_counting.json").write_text(json.dumps(entries))
    texts = [text for _, text, _ in words(heard(data_dir))]
    assert texts == ["recorded 2", "thing 3", "thing 4", "thing 2", "thing 3", "thing 4"]
    assert Counting.asked == 5
    # It is not taken into the store of others.
    (data_dir / "1" / "transcriptions_counting.json").unlink()
    assert words(heard(data_dir))[0][1] == "thing 2"


def test_a_dry_run_hears_nothing_and_asks_for_the_same(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dry = heard(data_dir, dry_run=True)
    assert (dry.transcripts, Counting.asked) == (None, 0)
    assert "nothing is heard in a dry run" in capsys.readouterr().err
    assert dry.asked == heard(data_dir).asked
