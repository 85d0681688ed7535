"""What is open and shown: the document, the step, the selected box. Everybody in the window speaks through it."""

from __future__ import annotations

import sys
import tkinter as tk
import traceback
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from tkinter import ttk
from typing import TYPE_CHECKING, Any

from grounding.errors import UserError
from grounding.records import Size

from ..core.document import Document
from ..core.keys import Keymap
from ..core.records import AnnotatedStep, answered_anew
from ..display import WindowOptions
from .pictures import PictureStore

if TYPE_CHECKING:
    from PIL import Image

    from .canvas import PictureCanvas

Handler = Callable[[], object]
_LOOK_EVERY_MS = 20


def tell_of(error: BaseException, show: Callable[[str], object], close: Handler) -> None:
    """An error in something that a window called: said, never swallowed, and nobody loses the window."""
    if isinstance(error, KeyboardInterrupt):
        close()
    elif isinstance(error, UserError):
        show(str(error))
    else:
        traceback.print_exception(error, file=sys.stderr)
        show(
            f"Something went wrong in this program ({type(error).__name__}: {error}). Your work is kept; the terminal "
            "shows where it happened."
        )


class Background:
    """Two worker threads whose results come back into the window's thread, which alone may touch widgets."""

    def __init__(self, root: tk.Misc) -> None:
        self._root = root
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="annotate")
        self._closed = False

    def run(
        self, work: Callable[[], Any], done: Callable[[Any], object], failed: Callable[[Exception], object]
    ) -> None:
        """Start ``work``; later call ``done`` with its result, or ``failed`` with its error."""
        self._look(self._pool.submit(work), done, failed)

    def _look(self, future: Future[Any], done: Callable[[Any], object], failed: Callable[[Exception], object]) -> None:
        if self._closed:
            return
        if not future.done():
            self._root.after(_LOOK_EVERY_MS, self._look, future, done, failed)
            return
        error = future.exception()
        if error is None:
            done(future.result())
        elif isinstance(error, Exception):
            failed(error)

    def close(self) -> None:
        self._closed = True
        self._pool.shutdown(wait=False, cancel_futures=True)


class WindowSession:
    """The open document and where the annotator is in it; all that a tab may use of the window.

    ``selected`` is the position of the selected box in ``entry.boxes``. ``picture`` is the shown step's, upright, RGB;
    None while it can't be shown. ``banner`` shows a message over the picture, by a key, with (words, handler) for
    buttons. ``opener`` saves, and goes on with a step of another folder.
    """

    canvas: PictureCanvas
    status: Callable[[str], object]
    banner: Callable[..., object]
    clear_banner: Callable[[str], object]
    opener: Callable[[Path, int], object]

    def __init__(self, root: tk.Tk, document: Document, options: WindowOptions, keymap: Keymap) -> None:
        self.root, self.document, self.options, self.keymap = root, document, options, keymap
        self.key = keymap.first
        self.pictures = PictureStore()
        self.index = 0
        self.selected: int | None = None
        self.picture: Image.Image | None = None
        self._handlers: dict[str, Handler] = {}
        self._listeners: dict[str, list[Callable[..., object]]] = {}

    @property
    def entry(self) -> AnnotatedStep:
        return self.document.entries[self.index]

    @property
    def picture_size(self) -> Size | None:
        return None if self.picture is None else Size(width=self.picture.width, height=self.picture.height)

    def go_to(self, index: int) -> None:
        self.finish_edits()
        self.index = min(max(index, 0), len(self.document.entries) - 1)
        self.selected = self.picture = None
        self.tell("step", self.index)

    def change(self, entry: AnnotatedStep, what: str, *, joined: bool = False) -> None:
        self.change_together({self.index: entry}, what, joined=joined)

    def change_together(self, entries: Mapping[int, AnnotatedStep], what: str, *, joined: bool = False) -> None:
        """Change steps; undo in one of them takes it back in all. Where an answer is another, it is not verified.
        ``what`` was done, for undo, such as "move box"; ``joined`` is part of the movement of the change before it.
        """
        before = self.document.entries
        changed = {at: answered_anew(before[at], entry) for at, entry in entries.items() if entry != before[at]}
        if changed:
            self.document.change_together(changed, what, joined=joined)
            self._changed(changed)
        if any(entry != entries[at] for at, entry in changed.items()):
            self.status(f"Not verified any more; {self.key('verify')} verifies the new answer")

    def undo(self) -> None:
        self._again("undone", "nothing left to undo in this step", self.document.undo)

    def redo(self) -> None:
        self._again("done again", "nothing left to do again in this step", self.document.redo)

    def _again(self, done: str, nothing: str, work: Callable[[int], str | None]) -> None:
        self.finish_edits()
        before = self.document.entries
        what = work(self.index)
        pairs = enumerate(zip(before, self.document.entries, strict=True))
        self._changed([index for index, (old, new) in pairs if old != new])
        self.status(nothing if what is None else f"{done}: {what}")

    def select(self, box: int | None) -> None:
        self.selected = box
        self.tell("selection", box)

    def _changed(self, indices: Iterable[int]) -> None:
        if self.selected is not None and self.selected >= len(self.entry.boxes):
            self.select(None)
        for index in indices:
            self.tell("change", index)
        self.tell("edited")

    def bind_keys(self, handlers: Mapping[str, Handler]) -> None:
        self._handlers |= handlers

    def perform(self, action: str) -> None:
        self._handlers.get(action, lambda: None)()

    def with_key(self, words: str, action: str) -> str:
        """Words of a button or switch with the action's key behind."""
        return f"{words}   {self.key(action)}".rstrip()

    def button(self, parent: tk.Misc, words: str, action: str) -> ttk.Button:
        return ttk.Button(
            parent, text=self.with_key(words, action), takefocus=False, command=partial(self.perform, action)
        )

    def focus_canvas(self) -> None:
        self.canvas.focus_set()

    def watch(self, **listeners: Callable[..., object]) -> None:
        """Be told of news.

        ``step(index)``: another step is shown. ``change(index)``: an entry is another. ``selection(box)``: another box.
        ``edited()``: something was changed and has to be saved. ``refresh()``: the file was read anew. ``leaving()``:
        before the step changes, before undo and before saving; put what is half done into the document. ``close()``.
        """
        for name, listener in listeners.items():
            self._listeners.setdefault(name, []).append(listener)

    def tell(self, news: str, *arguments: object) -> None:
        for listener in self._listeners.get(news, ()):
            listener(*arguments)

    def finish_edits(self) -> None:
        """Put what is half done, such as typed words, into the document."""
        self.tell("leaving")

    def close(self) -> None:
        self.tell("close")
        self.pictures.close()
