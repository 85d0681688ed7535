from __future__ import annotations

import stat
from pathlib import Path

import msgspec
import pytest
import shell
from hypothesis import given
from hypothesis import strategies as st

from grounding.asr.records import Clip, ClipFailure, Heard, Word
from grounding.asr.store import TranscriptStore, shelves, transcript_key, transcript_store_dir
from grounding.errors import UserError

KEY = transcript_key("1" * 64, recogniser="a", noise="")
CLIP = Clip(id="1/2", path="x.wav", sha256="1" * 64)


def heard(**changes: object) -> Heard:
    word = Word(text="okay", start_s=0.1, end_s=0.4, probability=0.5)
    made = Heard(clip_id="1/1", key=KEY, text="okay", words=(word,), audio_s=2.0, compute_s=1.0, cost_usd=0.1)
    return msgspec.structs.replace(made, **changes)


def test_what_was_put_is_found_under_the_clips_present_name_and_costs_nothing_now(tmp_path: Path) -> None:
    store = TranscriptStore(tmp_path / "s")
    assert store.get(KEY, "pocketsphinx", CLIP) is None
    store.put(heard(), recogniser="pocketsphinx", noise="")
    found = store.get(KEY, "pocketsphinx", CLIP)
    assert found == heard(clip_id="1/2", compute_s=0.0, cost_usd=None)
    assert TranscriptStore(tmp_path / "s").get(KEY, "pocketsphinx", CLIP) == found
    assert TranscriptStore(None).get(KEY, "pocketsphinx", CLIP) is None


def test_failures_are_not_kept(tmp_path: Path) -> None:
    store = TranscriptStore(tmp_path / "s")
    store.put(heard(failure=ClipFailure(kind="error", message="x")), recogniser="a", noise="")
    assert not list(tmp_path.rglob("*.json"))


def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    TranscriptStore(tmp_path / "s").put(heard(), recogniser="a", noise="")
    (path,) = tmp_path.rglob("*.json")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "s").stat().st_mode) == 0o700


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"schema":1}', b"\xff\xfe"])
def test_a_damaged_file_counts_as_absent_and_is_written_anew(tmp_path: Path, content: bytes) -> None:
    store = TranscriptStore(tmp_path / "s")
    store.put(heard(), recogniser="a", noise="")
    (path,) = tmp_path.rglob("*.json")
    path.write_bytes(content)
    assert store.get(KEY, "a", CLIP) is None
    store.put(heard(), recogniser="a", noise="")
    assert store.get(KEY, "a", CLIP) is not None


def test_a_file_that_says_another_key_and_a_link_are_not_believed(tmp_path: Path) -> None:
    store = TranscriptStore(tmp_path / "s")
    store.put(heard(), recogniser="a", noise="")
    (path,) = tmp_path.rglob("*.json")
    path.write_bytes(path.read_bytes().replace(KEY.encode(), b"0" * 64))
    assert store.get(KEY, "a", CLIP) is None
    path.rename(tmp_path / "elsewhere.json")
    path.symlink_to(tmp_path / "elsewhere.json")
    assert store.get(KEY, "a", CLIP) is None


@given(name=st.text(max_size=120))
def test_no_name_leads_out_of_the_store(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    folder = tmp_path_factory.mktemp("store")
    store = TranscriptStore(folder / "s")
    store.put(heard(), recogniser=name, noise="")
    assert store.get(KEY, name, CLIP) is not None
    (path,) = folder.rglob("*.json")
    assert path.relative_to(folder / "s").parts[1:] == (KEY[:2], f"{KEY}.json")


def test_a_store_that_cannot_be_written_warns_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s").write_text("a file")
    store = TranscriptStore(tmp_path / "s")
    for _ in range(2):
        store.put(heard(), recogniser="a", noise="")
    assert capsys.readouterr().err.count("can't be written") == 1


@given(parts=st.lists(st.tuples(st.text(), st.text(), st.text()), min_size=2, max_size=2, unique=True))
def test_different_things_have_different_keys(parts: list[tuple[str, str, str]]) -> None:
    one, other = (transcript_key(a, recogniser=b, noise=c) for a, b, c in parts)
    assert one != other


def test_where_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GROUNDING_NO_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert transcript_store_dir() == tmp_path / "grounding" / "transcripts"
    assert transcript_store_dir(tmp_path) == tmp_path
    assert transcript_store_dir(off=True) is None
    with pytest.raises(UserError, match="contradict"):
        transcript_store_dir(tmp_path, off=True)
    monkeypatch.setenv("GROUNDING_NO_CACHE", "1")
    assert transcript_store_dir() is None


def test_the_cache_command_shows_and_clears_transcripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GROUNDING_NO_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "grounding" / "transcripts"
    TranscriptStore(folder).put(heard(), recogniser="whisper:turbo", noise="")
    (folder / "whisper_turbo" / KEY[:2] / "mine.txt").write_text("not theirs")
    shown = shell.call("cache", module="grounding.cli").stdout
    assert "whisper_turbo" in shown
    assert f"transcripts {folder}\n" in shown
    assert [shelf.recogniser for shelf in shelves(folder)] == ["whisper_turbo"]
    assert shelves(folder, before=0.0) == ()
    done = shell.call("cache", "clear", "--transcripts", "--yes", module="grounding.cli")
    assert done.stdout == "deleted 1 transcripts\n"
    assert [path.name for path in folder.rglob("*") if path.is_file()] == ["mine.txt"]
