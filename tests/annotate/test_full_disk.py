"""Disks that are really full, small or not writable: a sentence, the file as it was, the work in memory."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from annotate.document import QUESTIONS, Document
from annotate.saving import SaveFailed


@pytest.fixture
def folder(tiny_dataset: Any) -> Path:
    return Path(tiny_dataset(participants=["ann"], unscored=())) / "ann"


@contextlib.contextmanager
def files_of_at_most(size_bytes: int) -> Iterator[None]:
    """No file of this process can grow beyond that: writing more fails as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def say(document: Document, index: int, comment: str) -> None:
    document.change(index, replace(document.entries[index], comment=comment), "say")


def comment_in(folder: Path, index: int = 0) -> str:
    return str(json.loads((folder / QUESTIONS).read_bytes())[index].get("annotation", {}).get("comment", ""))


def test_a_full_disk_says_so_and_the_work_is_kept_until_there_is_room(folder: Path) -> None:
    with Document.open(folder) as document:
        say(document, 0, "before")
        document.save()
        content, names = (folder / QUESTIONS).read_bytes(), sorted(folder.iterdir())
        journal = folder / ".annotate" / f"{QUESTIONS}.journal"
        with files_of_at_most(journal.stat().st_size + 20):
            say(document, 0, "in memory")
            say(document, 1, "é" * 1000)
            assert document.trouble.startswith("Changes are in memory only: the disk is full")
            assert document.entries[0].comment == "in memory"
            assert document.undo(1) == "say"
            assert document.redo(1) == "say"
            with pytest.raises(SaveFailed, match=r"the disk is full.*in memory only: leave the program open"):
                document.save()
            assert document.dirty
        assert (folder / QUESTIONS).read_bytes() == content
        assert sorted(folder.iterdir()) == names
        document.save()
        assert (document.trouble, document.dirty) == ("", False)
        assert comment_in(folder) == "in memory"
    with Document.open(folder) as document:
        assert (document.recovered, document.notes) == (0, ())
        assert document.undo(0) == "say"
        assert document.entries[0].comment == "before"
        assert document.can_undo(1)


def test_the_next_change_writes_what_could_not_be_written(folder: Path) -> None:
    document = Document.open(folder)
    with files_of_at_most(10):
        say(document, 0, "first")
        assert document.trouble
    say(document, 1, "second")
    assert document.trouble == ""
    document.close()
    with Document.open(folder) as document:
        assert [entry.comment for entry in document.entries[:2]] == ["first", "second"]


def test_closing_tries_once_more(folder: Path) -> None:
    document = Document.open(folder)
    with files_of_at_most(10):
        say(document, 0, "first")
    document.close()
    with Document.open(folder) as document:
        assert document.recovered == 1


def test_saving_works_where_only_the_journal_cannot(folder: Path) -> None:
    with Document.open(folder) as document:
        say(document, 0, "x" * 200_000)
        say(document, 0, "small")
        journal = folder / ".annotate" / f"{QUESTIONS}.journal"
        with files_of_at_most(journal.stat().st_size):
            say(document, 0, "small, too")
            assert document.trouble
            document.save()
            assert not document.dirty
        assert comment_in(folder) == "small, too"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own with room for 256 KiB."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"a file system can't be mounted here: {mounted.stderr.decode().strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(place: Path) -> Path:
    filler = place / "filler"
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 512)
    return filler


def test_a_file_system_without_room(small_disk: Path, folder: Path) -> None:
    here = small_disk / "p"
    here.mkdir()
    (here / QUESTIONS).write_bytes((folder / QUESTIONS).read_bytes())
    with Document.open(here) as document:
        content = (here / QUESTIONS).read_bytes()
        filler = fill(small_disk)
        for number in range(3):
            say(document, 0, f"{number} " + "long " * 2000)
        assert "the disk is full" in document.trouble
        with pytest.raises(SaveFailed, match="the disk is full"):
            document.save()
        assert (here / QUESTIONS).read_bytes() == content
        assert document.entries[0].comment.startswith("2 ")
        filler.unlink()
        document.save()
        assert comment_in(here).startswith("2 ")
    with Document.open(here) as document:
        assert [document.undo(0) for _ in range(4)] == ["say", "say", "say", None]


def test_a_file_system_that_was_full_when_the_folder_was_opened(small_disk: Path, folder: Path) -> None:
    (small_disk / QUESTIONS).write_bytes((folder / QUESTIONS).read_bytes())
    filler = fill(small_disk)
    with Document.open(small_disk) as document:
        say(document, 0, "kept")
        assert document.trouble
        filler.unlink()
        document.save()
        assert document.trouble == ""
    assert comment_in(small_disk) == "kept"


def test_a_folder_that_can_only_be_read_is_opened_with_a_warning(small_disk: Path, folder: Path) -> None:
    (small_disk / QUESTIONS).write_bytes((folder / QUESTIONS).read_bytes())
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with Document.open(small_disk) as document:
        assert "can only be read" in document.notes[0]
        say(document, 0, "x")
        assert "can only be read" in document.trouble
        with pytest.raises(SaveFailed, match="can only be read"):
            document.save()
        assert document.dirty


def test_what_counts_is_on_disk_before_it_is_acknowledged(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    names: dict[int, str] = {}
    fsync, os_open, os_replace = os.fsync, os.open, os.replace

    def opening(path: Any, *options: Any, **more: Any) -> int:
        handle = os_open(path, *options, **more)
        names[handle] = Path(path).name
        return handle

    def syncing(handle: int) -> None:
        fsync(handle)
        done.append(f"sync {names[handle]}")

    def replacing(source: Any, target: Any) -> None:
        os_replace(source, target)
        done.append(f"replace {Path(target).name}")

    monkeypatch.setattr(os, "open", opening)
    monkeypatch.setattr(os, "fsync", syncing)
    monkeypatch.setattr(os, "replace", replacing)
    with Document.open(folder) as document:
        say(document, 0, "x")
        assert done[-1] == f"sync {QUESTIONS}.journal"
        del done[:]
        say(document, 0, "y")
        assert done == [f"sync {QUESTIONS}.journal"]
        del done[:]
        document.save()
    assert done == [
        f"sync {QUESTIONS}.journal",
        f"sync .{QUESTIONS}.new",
        f"replace {QUESTIONS}.previous",
        f"replace {QUESTIONS}",
        f"sync {folder.name}",
    ]
