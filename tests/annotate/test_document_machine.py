"""Anything an annotator may do, in any order, against a model that is a few lists; the program ends at any moment."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from annotate.document import QUESTIONS, Document
from annotate.records import Entry

STEPS = 3
EXTRA = {"n": 1.0, "é": [1e3, None]}


class Line:
    """One step: all its comments, and which of them counts."""

    def __init__(self, first: str) -> None:
        self.comments = [first]
        self.now = 0

    @property
    def comment(self) -> str:
        return self.comments[self.now]


class Annotating(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.lines = {number: Line("") for number in range(STEPS)}
        self.order = list(range(STEPS))
        self.past: list[list[int]] = []
        self.future: list[list[int]] = []
        self.words = 0
        content = [{"final_image": f"{number}.png", "instruction": "x", **EXTRA} for number in range(STEPS)]
        (self.folder / QUESTIONS).write_text(json.dumps(content))
        self.on_disk = self.state()

    @initialize()
    def open(self) -> None:
        self.document = Document.open(self.folder, annotator="ann")

    def state(self) -> list[tuple[int, str]]:
        return [(number, self.lines[number].comment) for number in self.order]

    def pick(self, data: st.DataObject) -> int:
        return int(data.draw(st.integers(0, len(self.order) - 1)))

    @precondition(lambda self: self.order)
    @rule(data=st.data())
    def change(self, data: st.DataObject) -> None:
        index = self.pick(data)
        self.words += 1
        comment = f"c{self.words}"
        self.document.change(index, replace(self.document.entries[index], comment=comment), comment)
        line = self.lines[self.order[index]]
        line.comments[line.now + 1 :] = [comment]
        line.now += 1

    @precondition(lambda self: self.order)
    @rule(data=st.data())
    def undo(self, data: st.DataObject) -> None:
        index = self.pick(data)
        line = self.lines[self.order[index]]
        assert self.document.can_undo(index) == (line.now > 0)
        assert self.document.undo(index) == (line.comment if line.now else None)
        line.now = max(0, line.now - 1)

    @precondition(lambda self: self.order)
    @rule(data=st.data())
    def redo(self, data: st.DataObject) -> None:
        index = self.pick(data)
        line = self.lines[self.order[index]]
        more = line.now + 1 < len(line.comments)
        assert self.document.can_redo(index) == more
        assert self.document.redo(index) == (line.comments[line.now + 1] if more else None)
        line.now += more

    @rule(data=st.data())
    def insert(self, data: st.DataObject) -> None:
        at = data.draw(st.integers(0, len(self.order)))
        number = len(self.lines)
        self.document.insert(at, Entry(image=f"{number}.png", instruction="new", comment=f"i{number}"))
        self.lines[number] = Line(f"i{number}")
        self.reorder([*self.order[:at], number, *self.order[at:]])

    @precondition(lambda self: self.order)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        index = self.pick(data)
        self.document.remove(index)
        self.reorder([*self.order[:index], *self.order[index + 1 :]])

    def reorder(self, order: list[int]) -> None:
        self.past.append(self.order)
        self.future.clear()
        self.order = order

    @rule()
    def undo_order(self) -> None:
        assert (self.document.undo_order() is not None) == bool(self.past)
        if self.past:
            self.future.append(self.order)
            self.order = self.past.pop()

    @rule()
    def redo_order(self) -> None:
        assert (self.document.redo_order() is not None) == bool(self.future)
        if self.future:
            self.past.append(self.order)
            self.order = self.future.pop()

    @rule()
    def save(self) -> None:
        self.document.save()
        self.on_disk = self.state()
        items: list[dict[str, Any]] = json.loads((self.folder / QUESTIONS).read_bytes())
        assert [(int(item["final_image"][:-4]), item.get("annotation", {}).get("comment", "")) for item in items] == (
            self.on_disk
        )
        for item in items:
            extra = {name: item[name] for name in item if name in EXTRA}
            assert json.dumps(extra) == (json.dumps(EXTRA) if item["instruction"] == "x" else "{}")

    @rule()
    def end_and_start(self) -> None:
        self.document.close()
        self.document = Document.open(self.folder, annotator="ann")
        assert (self.document.recovered > 0) == (self.state() != self.on_disk)
        assert self.document.notes == ()

    @invariant()
    def the_document_is_the_model(self) -> None:
        if not hasattr(self, "document"):
            return
        found = [(int(entry.image[:-4]), entry.comment) for entry in self.document.entries]
        assert found == self.state()
        assert self.document.dirty == (self.state() != self.on_disk)
        assert not self.document.changed_on_disk()

    def teardown(self) -> None:
        self.document.close()
        shutil.rmtree(self.folder)


TestAnnotating = Annotating.TestCase
TestAnnotating.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)
