"""Killed programs, full disks, damaged journals and files that others write: nothing that was done is lost."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from annotate.core.document import QUESTIONS, Document
from annotate.core.journal import ChangedOnDisk, SaveFailed
from grounding.errors import UserError

Items = list[dict[str, Any]]
STEPS = 4


@pytest.fixture
def folder(tiny_dataset: Any) -> Path:
    made = Path(tiny_dataset(participants=["ann"], steps=STEPS, unscored=())) / "ann"
    (made / QUESTIONS).write_text(json.dumps(items(made), indent=1) + "\n")
    return made


def items(folder: Path) -> Items:
    found: Items = json.loads((folder / QUESTIONS).read_bytes())
    return found


def comment_in(folder: Path, index: int = 0) -> str:
    return str(items(folder)[index].get("annotation", {}).get("comment", ""))


def journal_of(folder: Path) -> Path:
    return folder / ".annotate" / f"{QUESTIONS}.journal"


def say(document: Document, index: int, comment: str) -> None:
    document.change(index, replace(document.entries[index], comment=comment), f"say {comment}")


def seen(document: Document) -> list[tuple[str, str]]:
    return [(entry.instruction, entry.comment) for entry in document.entries]


# --- killed -------------------------------------------------------------------------------------------------------


class Model:
    """What the comments are after so many operations: lists only."""

    def __init__(self) -> None:
        self.comments = [[""] for _ in range(STEPS)]
        self.now = [0] * STEPS
        self.done = 0

    def go_on(self) -> None:
        kind, step = operation(self.done)
        if kind == "change":
            self.comments[step][self.now[step] + 1 :] = [f"c{self.done}"]
        by = {"change": 1, "redo": 1, "undo": -1, "save": 0}[kind]
        self.now[step] = min(max(0, self.now[step] + by), len(self.comments[step]) - 1)
        self.done += 1

    def state(self) -> list[str]:
        return [comments[now] for comments, now in zip(self.comments, self.now, strict=True)]


def operation(number: int) -> tuple[str, int]:
    chance = random.Random(number)
    return chance.choices(["change", "undo", "redo", "save"], [6, 2, 1, 2])[0], chance.randrange(STEPS)


def annotate(folder: Path, start: int, acknowledge: Connection) -> None:
    document = Document.open(folder)
    number = start
    while True:
        kind, step = operation(number)
        if kind == "change":
            document.change(step, replace(document.entries[step], comment=f"c{number}"), kind)
        elif kind == "save":
            document.save()
        else:
            (document.undo if kind == "undo" else document.redo)(step)
        number += 1
        acknowledge.send(number)


def kill_at_a_random_moment(folder: Path, start: int, chance: random.Random) -> int:
    """Let a process annotate for a while; how many operations it acknowledged, counted from the first one ever."""
    # A process of its own that needs no time to start: the moments are spread over all that it does.
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=annotate, args=(folder, start, theirs))
    process.start()
    theirs.close()
    acknowledged, wanted = start, start + chance.randrange(1, 12)
    try:
        while acknowledged < wanted:
            acknowledged = ours.recv()
        time.sleep(chance.random() * 0.01)
    finally:
        os.kill(process.pid or 0, signal.SIGKILL)
        process.join()
    with contextlib.suppress(EOFError):
        while True:
            acknowledged = ours.recv()
    return acknowledged


def test_nothing_acknowledged_is_lost_and_undo_reaches_back_over_every_kill(folder: Path) -> None:
    chance, model = random.Random(7), Model()
    for _ in range(20):
        acknowledged = kill_at_a_random_moment(folder, model.done, chance)
        while model.done < acknowledged:
            model.go_on()
        assert len(items(folder)) == STEPS
        with Document.open(folder) as document:
            if [entry.comment for entry in document.entries] != model.state():
                # The operation that it was killed in may be there, whole.
                model.go_on()
            assert [entry.comment for entry in document.entries] == model.state()
            assert not document.changed_on_disk()
            assert document.notes == []
            assert document.recovered or not document.dirty
    with Document.open(folder) as document:
        for step in range(STEPS):
            undone = 0
            while document.undo(step) is not None:
                undone += 1
                assert document.entries[step].comment == model.comments[step][model.now[step] - undone]
            assert undone == model.now[step]


SCRIPT = """
import subprocess, sys
from msgspec.structs import replace
from pathlib import Path
from annotate.core.document import Document
document = Document.open(Path(sys.argv[1]), annotator="ann")
for number in range(3):
    document.change(0, replace(document.entries[0], comment=f"c{number}"), "say")
print(subprocess.Popen(["sleep", "60"]).pid, flush=True)
sys.stdin.read()
"""


def test_one_program_at_a_time_has_a_folder_and_a_killed_ones_lock_and_work_are_taken_over(folder: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(folder)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    child = int(process.stdout.readline())
    try:
        with pytest.raises(UserError, match="open in another annotation program"):
            Document.open(folder)
        process.kill()
        process.wait()
        # A process that it started is still there.
        os.kill(child, 0)
        with Document.open(folder) as document:
            assert document.recovered == 3
            assert document.entries[0].comment == "c2"
            with pytest.raises(UserError, match="open in another annotation program"):
                Document.open(folder / ".." / folder.name)
    finally:
        os.kill(child, signal.SIGKILL)


# --- full ---------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def files_of_at_most(size_bytes: int) -> Iterator[None]:
    """No file of this process can grow beyond that: writing more fails as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_says_so_and_the_work_is_kept_until_there_is_room(folder: Path) -> None:
    with Document.open(folder) as document:
        say(document, 0, "before")
        document.save()
        content, names = (folder / QUESTIONS).read_bytes(), sorted(folder.iterdir())
        with files_of_at_most(journal_of(folder).stat().st_size + 20):
            say(document, 0, "in memory")
            say(document, 1, "é" * 1000)
            assert document.trouble.startswith("Changes are in memory only: the disk is full")
            assert document.undo(1) == document.redo(1) == f"say {'é' * 1000}"
            with pytest.raises(SaveFailed, match=r"the disk is full.*in memory only: leave the program open"):
                document.save()
            assert document.dirty
        assert (folder / QUESTIONS).read_bytes() == content
        assert sorted(folder.iterdir()) == names
        document.save()
        assert (document.trouble, document.dirty, comment_in(folder)) == ("", False, "in memory")
    with Document.open(folder) as document:
        assert (document.recovered, document.notes) == (0, [])
        assert document.undo(0) == "say in memory"
        assert document.undo(1) is not None


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

    for name, stand_in in (("open", opening), ("fsync", syncing), ("replace", replacing)):
        monkeypatch.setattr(os, name, stand_in)
    with Document.open(folder) as document:
        say(document, 0, "x")
        assert done == ["sync .annotate", f"sync {QUESTIONS}.journal"]
        del done[:]
        document.save()
    assert done == [
        f"sync {QUESTIONS}.journal",
        *(line for name in (f"{QUESTIONS}.previous", QUESTIONS)
          for line in (f"sync .{name}.new", f"replace {name}", f"sync {folder.name}")),
    ]  # fmt: skip


def test_an_interruption_between_disk_and_memory_leaves_both_alike(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    with Document.open(folder) as document:
        say(document, 0, "first")
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", interrupted)
            with pytest.raises(KeyboardInterrupt):
                say(document, 0, "second")
        assert document.undo(0) == "say second"
    with Document.open(folder) as document:
        assert seen(document)[0][1] == "first"
        assert document.redo(0) == "say second"


# --- damaged ------------------------------------------------------------------------------------------------------


def with_a_journal(folder: Path) -> list[bytes]:
    with Document.open(folder) as document:
        for number in range(3):
            say(document, 0, str(number))
        document.save()
        say(document, 0, "unsaved")
    return journal_of(folder).read_bytes().splitlines(keepends=True)


def test_a_line_torn_off_at_any_byte_is_dropped(folder: Path) -> None:
    lines = with_a_journal(folder)
    whole = b"".join(lines[:-1])
    for length in {0, 1, 20, len(lines[-1]) - 1}:
        journal_of(folder).write_bytes(whole + lines[-1][:length])
        with Document.open(folder) as document:
            assert (seen(document)[0][1], document.recovered, document.notes) == ("2", 0, [])
    journal_of(folder).write_bytes(whole + b"\0" * 100)
    with Document.open(folder) as document:
        say(document, 0, "next")
    with Document.open(folder) as document:
        assert document.undo(0) == "say next"


@pytest.mark.parametrize("line", [0, 2, 5])
@pytest.mark.parametrize(
    "damage", [b"garbage\n", b'{"do":"change","steps":{"77":{"final_image":"x"}},"what":"y","joined":false}\n']
)
def test_a_damaged_journal_is_kept_aside_and_the_file_counts(folder: Path, line: int, damage: bytes) -> None:
    lines = with_a_journal(folder)
    damaged = b"".join([*lines[:line], damage, *lines[line + 1 :]])
    journal_of(folder).write_bytes(damaged)
    with Document.open(folder) as document:
        assert "journal could not be read" in document.notes[0]
        assert (seen(document)[0][1], document.dirty, document.recovered) == ("2", False, 0)
        say(document, 0, "on")
    (aside,) = (folder / ".annotate").glob("*.damaged1")
    assert aside.read_bytes() == damaged
    with Document.open(folder) as document:
        assert (document.notes, document.undo(0)) == ([], "say on")


def test_a_journal_of_another_version_is_kept_aside(folder: Path) -> None:
    lines = with_a_journal(folder)
    journal_of(folder).write_bytes(lines[0].replace(b'"version": 4', b'"version": 3'))
    with Document.open(folder) as document:
        assert "another version of this program" in document.notes[0]


# --- changed by others --------------------------------------------------------------------------------------------


def elsewhere(folder: Path, edit: Callable[[Items], object]) -> bytes:
    """Another program changes the file."""
    found = items(folder)
    edit(found)
    content = json.dumps(found, indent=1).encode() + b"\n"
    (folder / QUESTIONS).write_bytes(content)
    return content


def theirs(found: Items) -> None:
    found[0]["instruction"] = "theirs"


def test_a_foreign_change_is_never_overwritten_silently(folder: Path) -> None:
    with Document.open(folder) as document:
        say(document, 1, "ours")
        content = elsewhere(folder, theirs)
        for _ in range(2):
            with pytest.raises(ChangedOnDisk, match="changed by another program"):
                document.save()
        assert (folder / QUESTIONS).read_bytes() == content
        document.save(overwrite=True)
        assert (items(folder)[0]["instruction"], comment_in(folder, 1)) == ("click thing 0", "ours")
        say(document, 1, "more")
        document.save()
    assert content in [path.read_bytes() for path in (folder / ".annotate").glob("*.version")]


def test_their_file_is_taken_and_ours_is_kept_beside_it(folder: Path) -> None:
    with Document.open(folder) as document:
        say(document, 0, "ours")
        content = elsewhere(folder, theirs)
        document.reload()
        assert seen(document)[0] == ("theirs", "")
        assert (document.dirty, document.changed_on_disk(), document.undo(0)) == (False, False, None)
        (kept,) = (folder / ".annotate").glob("*.version")
        assert json.loads(kept.read_bytes())[0]["annotation"]["comment"] == "ours"
        say(document, 0, "on")
    assert (folder / QUESTIONS).read_bytes() == content
    with Document.open(folder) as document:
        assert seen(document)[0] == ("theirs", "on")
        assert document.undo(0) == "say on"


def test_unsaved_work_and_a_foreign_change_are_both_kept_until_somebody_chooses(folder: Path) -> None:
    with Document.open(folder) as document:
        say(document, 1, "saved")
        document.save()
        say(document, 1, "unsaved")
    content = elsewhere(folder, theirs)
    for _ in range(2):
        with Document.open(folder) as document:
            assert document.recovered == 1
            assert "changed by another program" in document.notes[0]
            assert seen(document)[:2] == [("click thing 0", ""), ("click thing 1", "unsaved")]
            with pytest.raises(ChangedOnDisk):
                document.save()
    assert (folder / QUESTIONS).read_bytes() == content
    with Document.open(folder) as document:
        document.reload()
        assert seen(document)[:2] == [("theirs", ""), ("click thing 1", "saved")]
    # Between two sittings, with nothing unsaved, their file counts.
    elsewhere(folder, lambda found: found[1].update(instruction="theirs, too"))
    with Document.open(folder) as document:
        assert (document.recovered, document.notes) == (0, [])
        assert seen(document)[1] == ("theirs, too", "saved")


def test_a_deleted_or_broken_file_is_noticed_and_written_again_when_asked(folder: Path) -> None:
    with Document.open(folder) as document:
        (folder / QUESTIONS).unlink()
        assert document.changed_on_disk()
        say(document, 0, "x")
        with pytest.raises(ChangedOnDisk, match="has been deleted"):
            document.save()
        with pytest.raises(UserError, match="can't be read"):
            document.reload()
        document.save(overwrite=True)
        assert comment_in(folder) == "x"
        (folder / QUESTIONS).write_text("[")
        with pytest.raises(UserError, match="is not JSON"):
            document.reload()
        document.save(overwrite=True)
    (folder / QUESTIONS).unlink()
    with Document.open(folder) as document:
        assert "is gone" in document.notes[0]
        assert document.dirty
        document.save()
    assert comment_in(folder) == "x"
