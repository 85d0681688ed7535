"""Files that are replaced whole or not at all, and what reaches the disk before they are."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import pytest

from grounding import atomic
from grounding.atomic import atomic_write, draft_of

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("shared", [False, True])
def test_the_draft_and_then_the_folder_are_flushed_around_the_replacement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    path, seen = tmp_path / "run.json", list[tuple[str, bytes]]()
    path.write_bytes(b"old")

    def flushed(handle: int) -> None:
        seen.append((Path(f"/proc/self/fd/{handle}").readlink().name, path.read_bytes()))

    monkeypatch.setattr(atomic.os, "fsync", flushed)
    atomic_write(path, (b"ne", b"w"), shared=shared)
    (draft, before), (folder, after) = seen
    assert re.fullmatch(r"\.run\.json\.([0-9a-f]{8}\.)?new", draft)
    assert (before, folder, after) == (b"old", tmp_path.name, b"new")
    assert [one.name for one in tmp_path.iterdir()] == ["run.json"]


def test_what_can_be_made_again_is_not_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic.os, "fsync", None)
    atomic_write(tmp_path / "a", b"x", mode=0o600, flush=False)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600


def test_where_something_fails_the_old_content_stays_and_no_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def pieces():  # type: ignore[no-untyped-def]
        yield b"half"
        raise OSError(28, os.strerror(28))

    def full(_: int) -> None:
        raise OSError(28, os.strerror(28))

    with pytest.raises(OSError, match="No space"):
        atomic_write(path, pieces())
    monkeypatch.setattr(atomic.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        atomic_write(path, b"new")
    with pytest.raises(IsADirectoryError), draft_of(path) as draft:
        draft.parent.write_bytes(b"half")
    assert path.read_bytes() == b"old"
    assert [one.name for one in tmp_path.iterdir()] == ["a"]


def test_nothing_else_makes_drafts_of_its_own() -> None:
    own = re.compile(r"mkstemp|os\.fsync|\.(draft|temporary)\.replace\(|^\s*(draft|temporary)\.replace\(", re.MULTILINE)
    found = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "grounding").rglob("*.py")
        if own.search(path.read_text(encoding="utf-8"))
    }
    # The last two append, and flush what they appended.
    assert found <= {"grounding/atomic.py", "grounding/report/html/triage.py", "grounding/training/loop.py"}
