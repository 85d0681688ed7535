"""What is open and shown: the document, the step, the selected box. Everybody in the window speaks through it."""

from __future__ import annotations

import tkinter as tk
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from annotate.document import Document
from annotate.edits import answered_anew
from annotate.keys import Keymap
from annotate.records import Entry
from annotate.window.background import Background
from annotate.window.panels import OverlayShape, WindowOptions
from annotate.window.pictures import PictureStore
from grounding.errors import UserError
from grounding.records import Point, Size

if TYPE_CHECKING:
    from PIL import Image

Handler = Callable[[], object]
Result = TypeVar("Result")


class View(Protocol):
    """What the session asks of the canvas."""

    def show_overlay(self, name: str, shapes: Sequence[OverlayShape], on_pick: Callable[[int], object] | None) -> None:
        """See ``Session.show_overlay``."""
        ...

    def hide_overlay(self, name: str) -> None:
        """See ``Session.hide_overlay``."""
        ...

    def cursor(self) -> Point | None:
        """See ``Session.cursor``."""
        ...

    def centre_on(self, point: Point) -> None:
        """Bring an image coordinate to the middle of the canvas."""
        ...

    def focus_set(self) -> None:
        """Take the keyboard."""
        ...


class Notices(Protocol):
    """What the session asks of the status bar and of the strip for messages."""

    def status(self, text: str) -> None:
        """See ``Session.status``."""
        ...

    def banner(self, key: str, text: str, buttons: Sequence[tuple[str, Handler]]) -> None:
        """See ``Session.banner``."""
        ...

    def clear_banner(self, key: str) -> None:
        """See ``Session.clear_banner``."""
        ...


class Session:
    """The open document and where the annotator is in it.

    All methods are called in the window's thread. Only ``in_background`` runs something elsewhere.

    Attributes:
        root: The window, for timers.
        document: The participant's folder.
        options: What the command line asked for.
        keymap: All actions and their keys.
        pictures: The decoded screenshots.
        selected: Position of the selected box in ``entry.boxes``; None for none.
    """

    def __init__(self, root: tk.Tk, document: Document, options: WindowOptions, keymap: Keymap) -> None:
        self.root, self.document, self.options, self.keymap = root, document, options, keymap
        self.pictures = PictureStore()
        self.selected: int | None = None
        self._index = 0
        self._background = Background(root)
        self._view: View | None = None
        self._notices: Notices | None = None
        self._handlers: dict[str, Handler] = {}
        self._on_step: list[Callable[[int], object]] = []
        self._on_change: list[Callable[[int], object]] = []
        self._on_selection: list[Callable[[int | None], object]] = []
        self._on_edited: list[Handler] = []
        self._on_refresh: list[Handler] = []
        self._before_leaving: list[Handler] = []
        self._on_close: list[Handler] = []
        self._opener: Callable[[Path, int], object] | None = None
        self._picture: Image.Image | None = None
        self._reveal: Callable[[tk.Misc], object] | None = None
        self.transcript_editor: Callable[[int, str], object] | None = None

    # --- the document and the step --------------------------------------------------------------------------------

    @property
    def index(self) -> int:
        """Position of the shown step in ``document.entries``."""
        return self._index

    @property
    def entry(self) -> Entry:
        """The shown step as it is now."""
        return self.document.entries[self._index]

    def go_to(self, index: int, *, box: int | None = None) -> None:
        """Show another step, or the same one again, and select one of its boxes where asked."""
        self.finish_edits()
        index = min(max(index, 0), len(self.document.entries) - 1)
        self._index, self.selected, self._picture = index, None, None
        self._call(self._on_step, index)
        if box is not None and box < len(self.entry.boxes):
            self.select(box)

    def change(self, entry: Entry, what: str, *, joined: bool = False) -> None:
        """Make this the shown step's entry. Where its answer is another, it is not verified any more.

        Args:
            entry: Its new value, made with ``msgspec.structs.replace`` from ``entry``.
            what: What was done, for undo, such as "move box".
            joined: Part of the same movement as the change before it: one undo takes back both.
        """
        self._change(self._index, entry, what, joined=joined)

    def change_at(self, index: int, entry: Entry, what: str) -> None:
        """Change any step's entry, as ``change`` does."""
        self._change(index, entry, what)

    def _change(self, index: int, entry: Entry, what: str, *, joined: bool = False) -> None:
        before = self.document.entries[index]
        if entry == before:
            return
        changed = answered_anew(before, entry)
        self.document.change(index, changed, what, joined=joined)
        self._changed(index)
        if changed != entry:
            self.status(f"Not verified any more; {self.keymap.shown('verify').split('  ')[0]} verifies the new answer")

    def undo(self) -> None:
        """Undo the last change of the shown step and say what it was."""
        self.finish_edits()
        self._stepped("undone", "nothing left to undo in this step", self.document.undo(self._index))

    def redo(self) -> None:
        """Do again what was undone last in the shown step."""
        self.finish_edits()
        self._stepped("done again", "nothing left to do again in this step", self.document.redo(self._index))

    def _stepped(self, done: str, nothing: str, what: str | None) -> None:
        if what is None:
            self.status(nothing)
            return
        self._changed(self._index)
        self.status(f"{done}: {what}")

    def refresh(self) -> None:
        """The document is another: entries came or went, or the file was read anew."""
        self._index = min(self._index, len(self.document.entries) - 1)
        self.selected, self._picture = None, None
        self._call(self._on_refresh)
        self._call(self._on_step, self._index)

    def _changed(self, index: int) -> None:
        if index == self._index and self.selected is not None and self.selected >= len(self.entry.boxes):
            self.select(None)
        self._call(self._on_change, index)
        self._call(self._on_edited)

    # --- the selected box -----------------------------------------------------------------------------------------

    def select(self, box: int | None, *, centre: bool = False) -> None:
        """Select a box of the shown step, and bring it to the middle of the canvas where asked."""
        self.selected = box
        self._call(self._on_selection, box)
        if box is not None and centre and self._view is not None:
            found = self.entry.boxes[box]
            self._view.centre_on(Point(x_px=found.x_px + found.width_px / 2, y_px=found.y_px + found.height_px / 2))

    # --- the picture ----------------------------------------------------------------------------------------------

    def picture(self) -> Image.Image | None:
        """The shown step's picture, upright, RGB; None while it is being decoded or where it can't be."""
        return self._picture

    def picture_size(self) -> Size | None:
        """The size of the upright picture in pixels; None as for ``picture``."""
        return None if self._picture is None else Size(width=self._picture.width, height=self._picture.height)

    def set_picture(self, picture: Image.Image | None) -> None:
        """For the canvas: this is the shown step's picture."""
        self._picture = picture

    def cursor(self) -> Point | None:
        """Where the mouse is over the picture, in image pixels; None where it is elsewhere."""
        return None if self._view is None else self._view.cursor()

    def show_overlay(
        self, name: str, shapes: Sequence[OverlayShape], on_pick: Callable[[int], object] | None = None
    ) -> None:
        """Show shapes over the picture in place of those that ``name`` showed before.

        They stay until they are hidden: a panel changes them in ``on_step``. ``on_pick`` is called with the position
        of a shape that is double-clicked.
        """
        if self._view is not None:
            self._view.show_overlay(name, shapes, on_pick)

    def hide_overlay(self, name: str) -> None:
        """Show nothing under this name."""
        if self._view is not None:
            self._view.hide_overlay(name)

    # --- messages and keys ----------------------------------------------------------------------------------------

    def status(self, text: str) -> None:
        """Show a short message in the status bar; the next one replaces it."""
        if self._notices is not None:
            self._notices.status(text)

    def banner(self, key: str, text: str, buttons: Sequence[tuple[str, Handler]] = ()) -> None:
        """Show a message over the picture until it is closed or ``clear_banner`` is called with its key.

        It does not stop anybody from working. A button takes the message away and then calls its handler.
        """
        if self._notices is not None:
            self._notices.banner(key, text, buttons)

    def clear_banner(self, key: str) -> None:
        """Take a message away, if it is shown."""
        if self._notices is not None:
            self._notices.clear_banner(key)

    def bind_key(self, action: str, handler: Handler) -> None:
        """Say what an action of the keymap does.

        Raises:
            KeyError: The keymap has no such action.
        """
        self.keymap.chords(action)
        self._handlers[action] = handler

    def perform(self, action: str) -> bool:
        """Do an action; False where nobody said what it does."""
        handler = self._handlers.get(action)
        if handler is None:
            return False
        handler()
        return True

    # --- who listens ----------------------------------------------------------------------------------------------

    def watch(
        self,
        *,
        on_step: Callable[[int], object] | None = None,
        on_change: Callable[[int], object] | None = None,
        on_selection: Callable[[int | None], object] | None = None,
        on_edited: Handler | None = None,
        on_refresh: Handler | None = None,
    ) -> None:
        """Be told of another step, of a changed entry, of another selected box, of any change, of a file read anew."""
        for listeners, listener in ((self._on_step, on_step), (self._on_change, on_change)):
            if listener is not None:
                listeners.append(listener)
        if on_selection is not None:
            self._on_selection.append(on_selection)
        if on_edited is not None:
            self._on_edited.append(on_edited)
        if on_refresh is not None:
            self._on_refresh.append(on_refresh)

    def before_leaving(self, handler: Handler) -> None:
        """Be called before the step changes, before undo and before saving: put what is half done into the document."""
        self._before_leaving.append(handler)

    def finish_edits(self) -> None:
        """Put what is half done, such as typed words, into the document."""
        for handler in self._before_leaving:
            handler()

    def on_close(self, handler: Handler) -> None:
        """Be called when the window closes."""
        self._on_close.append(handler)

    def attach(self, view: View, notices: Notices) -> None:
        """For the window: who draws and who shows messages."""
        self._view, self._notices = view, notices

    def close(self) -> None:
        """Let everybody stop what they do."""
        for handler in self._on_close:
            handler()
        self._background.close()
        self.pictures.close()

    def focus_canvas(self) -> None:
        """Give the keyboard back to the picture."""
        if self._view is not None:
            self._view.focus_set()

    def open_with(self, opener: Callable[[Path, int], object]) -> None:
        """For the window: this opens another folder in its place."""
        self._opener = opener

    def open_folder(self, folder: Path, index: int) -> None:
        """Save, and go on with a step of another folder once what runs now has ended."""
        if self._opener is not None:
            self.root.after_idle(self._opener, folder, index)

    def reveal_with(self, reveal: Callable[[tk.Misc], object]) -> None:
        """For the window: what brings a widget's tab to the front."""
        self._reveal = reveal

    def focus_on(self, widget: tk.Misc) -> None:
        """Give the keyboard to a widget, in whatever tab it is."""
        if self._reveal is not None:
            self._reveal(widget)
        widget.focus_set()

    def edit_transcripts_with(self, editor: Callable[[int, str], object]) -> None:
        """Say what puts a corrected transcript away, as ``editor(index, text)``; without it the field is only read.

        Transcripts lie in a file of their own, which is not the document's. The editor calls ``document.
        reload_transcripts`` and then ``changed_outside(index)``.
        """
        self.transcript_editor = editor

    def changed_outside(self, index: int) -> None:
        """The document's entry is another without ``change``: everybody looks at it again; nothing is saved."""
        self._call(self._on_change, index)

    def in_background(self, work: Callable[[], Result], done: Callable[[Result], object], *, what: str) -> None:
        """Run ``work`` in another thread, then ``done`` with its result in the window's thread.

        An error of the user's, or a file that can't be read, is shown as a message that begins with ``what``. ``work``
        must not touch the document or any widget.
        """

        def failed(error: Exception) -> None:
            if not isinstance(error, UserError | OSError):
                raise error
            self.banner(what, f"{what}: {error}")

        self._background.run(work, done, failed)

    @staticmethod
    def _call(listeners: Sequence[Callable[..., object]], *arguments: object) -> None:
        for listener in tuple(listeners):
            listener(*arguments)
