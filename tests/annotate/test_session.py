"""What everybody in the window speaks through, and saving in the background of it, without a window."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace

from annotate.actions import ACTIONS
from annotate.document import QUESTIONS, Document
from annotate.edits import as_no_click
from annotate.keys import Keymap
from annotate.window.autosave import Autosave
from annotate.window.panels import WindowOptions
from annotate.window.session import Session


class Clock:
    """Timers that go off when they are told to."""

    def __init__(self) -> None:
        self._timers: dict[str, tuple[int, Callable[[], object]]] = {}
        self._now = self._count = 0

    def after(self, wait_ms: int, call: Callable[[], object]) -> str:
        self._count += 1
        self._timers[str(self._count)] = (self._now + wait_ms, call)
        return str(self._count)

    def after_cancel(self, name: str) -> None:
        self._timers.pop(name, None)

    def goes_on(self, by_ms: int) -> None:
        end = self._now + by_ms
        while self._timers:
            name = min(self._timers, key=lambda each: self._timers[each][0])
            if self._timers[name][0] > end:
                break
            self._now, call = self._timers.pop(name)
            call()
        self._now = end


class Board:
    """Messages as they are shown."""

    def __init__(self) -> None:
        self.words = ""
        self.banners: dict[str, str] = {}
        self.buttons: dict[str, Callable[[], object]] = {}

    def status(self, text: str) -> None:
        self.words = text

    def banner(self, key: str, text: str, buttons: Sequence[tuple[str, Callable[[], object]]]) -> None:
        self.banners[key] = text
        self.buttons.update(buttons)

    def clear_banner(self, key: str) -> None:
        self.banners.pop(key, None)


@pytest.fixture
def folder(tiny_dataset: Any) -> Path:
    return Path(tiny_dataset(participants=["ann"], steps=3, unscored=())) / "ann"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def board() -> Board:
    return Board()


@pytest.fixture
def session(folder: Path, clock: Clock, board: Board) -> Iterator[Session]:
    with Document.open(folder, annotator="ann") as document:
        made = Session(cast(Any, clock), document, WindowOptions(folder=folder), Keymap(ACTIONS))
        made.attach(cast(Any, None), board)
        yield made
        made.close()


def items(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / QUESTIONS).read_bytes())
    return found


def elsewhere(folder: Path) -> None:
    """Another program changes the file."""
    found = items(folder)
    found[1]["instruction"] = "theirs"
    (folder / QUESTIONS).write_text(json.dumps(found))


def say(session: Session, comment: str) -> None:
    session.change(replace(session.entry, comment=comment), "edit comment")


def test_another_answer_is_not_verified_any_more_and_undo_brings_that_back(session: Session, board: Board) -> None:
    session.change(replace(session.entry, verified=True), "verify")
    say(session, "hm")
    assert session.entry.verified
    session.change(as_no_click(session.entry), "not a click")
    assert not session.entry.verified
    assert "Space" in board.words
    session.undo()
    assert session.entry.verified
    assert session.entry.boxes
    session.go_to(1)
    session.change_at(0, as_no_click(session.document.entries[0]), "not a click")
    assert not session.document.entries[0].verified


def test_everybody_hears_of_a_file_that_was_read_anew(session: Session, folder: Path, board: Board) -> None:
    heard: list[str] = []
    session.watch(on_refresh=lambda: heard.append(session.document.entries[1].instruction))
    saving = Autosave(session, lambda: None)
    elsewhere(folder)
    saving.save()
    assert heard == []
    cast(Clock, session.root).goes_on(2500)
    board.buttons["Take the file's version"]()
    assert heard == ["theirs"]


def test_a_question_that_was_closed_is_asked_again_after_a_change(
    session: Session, folder: Path, clock: Clock, board: Board
) -> None:
    saving = Autosave(session, lambda: None)
    elsewhere(folder)
    clock.goes_on(2500)
    assert "by another program" in board.banners["changed on disk"]
    board.banners.clear()
    clock.goes_on(10_000)
    assert not board.banners
    # Nothing of ours to save: the question is the same.
    assert saving.save()
    assert "by another program" in board.banners["changed on disk"]
    board.banners.clear()
    say(session, "mine")
    clock.goes_on(1500)
    assert "by another program" in board.banners["changed on disk"]
    assert saving.words == "file changed on disk"
    assert "comment" not in json.dumps(items(folder))
    board.buttons["Keep mine"]()
    assert not board.banners
    assert items(folder)[0]["annotation"]["comment"] == "mine"
    assert items(folder)[1]["instruction"] != "theirs"


def test_a_file_that_is_gone_is_called_gone(session: Session, folder: Path, clock: Clock, board: Board) -> None:
    saving = Autosave(session, lambda: None)
    (folder / QUESTIONS).unlink()
    clock.goes_on(2500)
    assert "is gone" in board.banners["changed on disk"]
    board.buttons["Keep mine"]()
    assert len(items(folder)) == 3
    assert saving.words.startswith("saved")
