"""Real processes that annotate and are killed at a random moment: what was acknowledged is there, and only that."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from annotate.document import QUESTIONS, Document
from grounding.errors import UserError

STEPS = 4


@pytest.fixture
def folder(tiny_dataset: Any) -> Path:
    return Path(tiny_dataset(participants=["ann"], steps=STEPS, unscored=())) / "ann"


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
            self.now[step] += 1
        elif kind == "undo":
            self.now[step] = max(0, self.now[step] - 1)
        elif kind == "redo":
            self.now[step] = min(len(self.comments[step]) - 1, self.now[step] + 1)
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
        elif kind == "undo":
            document.undo(step)
        elif kind == "redo":
            document.redo(step)
        else:
            document.save()
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
    acknowledged = start
    wanted = start + chance.randrange(1, 12)
    try:
        while acknowledged < wanted:
            acknowledged = ours.recv()
        time.sleep(chance.random() * 0.01)
    finally:
        os.kill(process.pid or 0, signal.SIGKILL)
        process.join()
    while True:
        try:
            acknowledged = ours.recv()
        except EOFError:
            return acknowledged


def test_nothing_acknowledged_is_lost_and_undo_reaches_back_over_every_kill(folder: Path) -> None:
    before = json.loads((folder / QUESTIONS).read_bytes())
    chance = random.Random(7)
    model = Model()
    for _ in range(20):
        acknowledged = kill_at_a_random_moment(folder, model.done, chance)
        while model.done < acknowledged:
            model.go_on()
        items = json.loads((folder / QUESTIONS).read_bytes())
        assert [{**item, "annotation": None} for item in items] == [{**item, "annotation": None} for item in before]
        with Document.open(folder) as document:
            found = [entry.comment for entry in document.entries]
            if found != model.state():
                # The operation that it was killed in may be there, whole.
                model.go_on()
            assert found == model.state()
            assert not document.changed_on_disk()
            assert document.notes == ()
            if document.dirty:
                assert document.recovered > 0
    with Document.open(folder) as document:
        for step in range(STEPS):
            undone = 0
            while document.undo(step) is not None:
                undone += 1
                assert document.entries[step].comment == model.comments[step][model.now[step] - undone]
            assert undone == model.now[step]


SCRIPT = """
import sys
from msgspec.structs import replace
from pathlib import Path
from annotate.document import Document
document = Document.open(Path(sys.argv[1]), annotator="ann")
for number in range(int(sys.argv[2])):
    document.change(0, replace(document.entries[0], comment=f"c{number}"), "say")
print("ready", flush=True)
sys.stdin.read()
"""


def started(folder: Path, changes: int = 0) -> subprocess.Popen[str]:
    """Another program, with the folder open."""
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(folder), str(changes)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_the_lock_of_a_killed_program_is_taken_over_and_its_work_with_it(folder: Path) -> None:
    process = started(folder, changes=3)
    try:
        with pytest.raises(UserError, match=rf"open in another annotation program \(process {process.pid} on .*by ann"):
            Document.open(folder)
    finally:
        process.kill()
        process.wait()
    assert (folder / ".annotate" / "lock").exists()
    with Document.open(folder) as document:
        assert document.recovered == 3
        assert document.entries[0].comment == "c2"


def test_a_process_started_from_a_dead_program_does_not_hold_its_lock(folder: Path) -> None:
    forking = SCRIPT.replace('print("ready"', "import os\nchild = os.fork()\nif child: print(child")
    process = subprocess.Popen(
        [sys.executable, "-c", forking, str(folder), "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    child = int(process.stdout.readline())
    try:
        process.kill()
        process.wait()
        os.kill(child, 0)
        with Document.open(folder) as document:
            assert document.recovered == 1
    finally:
        os.kill(child, signal.SIGKILL)


def test_one_program_does_not_open_a_folder_twice(folder: Path) -> None:
    with Document.open(folder), pytest.raises(UserError, match="open in this program already"):
        Document.open(folder / ".." / folder.name)
    Document.open(folder).close()
