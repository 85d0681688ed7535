"""The window: everything put together, saved when the annotator rests, and opened for one folder after the other."""

import tkinter as tk
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from tkinter import ttk

from msgspec.structs import replace

from grounding.errors import UserError

from ..core.document import Document
from ..core.journal import ChangedOnDisk, SaveFailed
from ..core.keys import Keymap
from ..display import WindowOptions
from .canvas import PictureCanvas
from .chrome import BUTTONS, RIGHT_BUTTONS, Banners, Keyboard, KeyList, StatusBar, Toolbar
from .commands import Commands
from .fields import StepFields
from .lists import StepList, StepState
from .mouse import Mouse
from .panels import PanelTab, make_panels
from .session import WindowSession, tell_of
from .style import Style

_LEAST, _LARGEST = (860, 520), (2200, 1400)
_SIDE_WIDTH = 322
_STEPS_SHARE, _STEPS_LEAST, _STEPS_MOST = 0.19, 226, 340
"""The width of the list of steps: a part of the window's, within bounds."""
_ALIVE_MS = 250
_SAVE_AFTER_MS, _TRY_AGAIN_MS = 1000, 10_000
_CHANGED, _FAILED, _JOURNAL = "changed on disk", "save failed", "journal"


def annotate(options: WindowOptions) -> None:
    """Show the window until it is closed; a review goes on in other folders. Raises UserError: bad folder or keys."""
    following: tuple[Path, int | None] | None = (options.folder, options.step)
    while following is not None:
        options = replace(options, folder=following[0], step=following[1])
        panels, keymap = make_panels(options)
        with opened(options) as document:
            following = MainWindow(document, options, keymap, panels).run()


def opened(options: WindowOptions) -> Document:
    """The folder that the options name. Raises UserError as ``Document.open``, and where there is no step."""
    document = Document.open(options.folder, annotator=options.annotator)
    if not document.entries:
        document.close()
        raise UserError(f"{options.folder}: there is no step to annotate")
    return document


class Autosave:
    """Writes the document's file when the annotator rests; one that somebody else changed, never unasked."""

    def __init__(self, session: WindowSession, on_state: Callable[[], object]) -> None:
        self._session, self._document, self._on_state = session, session.document, on_state
        self._timer: str | None = None
        self._waiting_for_word = False
        self._saved_at = ""
        session.watch(edited=self._edited)

    @property
    def words(self) -> str:
        if self._waiting_for_word:
            return "file changed on disk"
        if self._document.dirty:
            return "not saved yet"
        return f"saved {self._saved_at}" if self._saved_at else "all saved"

    def save(self, *, overwrite: bool = False) -> bool:
        self._session.finish_edits()
        self._save_in(None)
        try:
            self._document.save(overwrite=overwrite)
        except ChangedOnDisk as error:
            self._ask(str(error))
        except SaveFailed as error:
            self._session.banner(_FAILED, str(error), [("Try again", self.save)])
            self._save_in(_TRY_AGAIN_MS)
        else:
            # Where there was nothing of ours to write, the file may still be another's.
            if not (self._waiting_for_word and self._document.changed_on_disk()):
                self._waiting_for_word = False
                self._saved_at = datetime.now().strftime("%H:%M:%S")
                self._session.clear_banner(_FAILED)
                self._session.clear_banner(_CHANGED)
        self._show_state()
        return not self._document.dirty

    def _edited(self) -> None:
        self._save_in(_SAVE_AFTER_MS)
        self._show_state()

    def _show_state(self) -> None:
        if trouble := self._document.trouble:
            self._session.banner(_JOURNAL, trouble)
        else:
            self._session.clear_banner(_JOURNAL)
        self._on_state()

    def _save_in(self, wait_ms: int | None) -> None:
        if self._timer is not None:
            self._session.root.after_cancel(self._timer)
        # Also while the annotator has yet to choose: somebody who closed the question is asked again after a change.
        self._timer = None if wait_ms is None else self._session.root.after(wait_ms, self.save)

    def _ask(self, why: str) -> None:
        self._waiting_for_word = True
        mine = ("Keep mine", lambda: self.save(overwrite=True))
        self._session.banner(_CHANGED, why, [("Take the file's version", self._take_theirs), mine])

    def _take_theirs(self) -> None:
        self._session.finish_edits()
        try:
            self._document.reload()
        except UserError as error:
            self._ask(str(error))
            return
        self._waiting_for_word = False
        self._session.tell("refresh")
        self._session.go_to(self._session.index)
        self._session.status("The file's version is shown; what was not saved of yours is kept in .annotate")
        self._on_state()


class MainWindow:
    def __init__(
        self, document: Document, options: WindowOptions, keymap: Keymap, panels: Sequence[PanelTab] = ()
    ) -> None:
        self.root = root = tk.Tk(className="Annotate")
        root.withdraw()
        root.report_callback_exception = self._failed
        self.closed = False
        self._following: tuple[Path, int] | None = None
        style = self._style = Style(root, options.scale)
        self.session = session = WindowSession(root, document, options, keymap)
        panes = ttk.Panedwindow(root, orient="horizontal")
        middle = ttk.Frame(panes)
        banners, self._status = Banners(middle, style), StatusBar(root, style)
        self.canvas = PictureCanvas(middle, session, style)
        session.canvas, session.status, session.opener = self.canvas, self._status.say, self._go_on_in
        session.banner, session.clear_banner = banners.show, banners.clear
        self.steps = StepList(panes, session, style)
        self._toolbar = Toolbar(root, style, keymap, session.perform, session.status, BUTTONS, RIGHT_BUTTONS)
        self._toolbar.buttons["zoom-100"].configure(width=7)
        banners.pack(fill="x")
        self.canvas.pack(fill="both", expand=True)
        for widget in (self._toolbar, _line(root)):
            widget.pack(side="top", fill="x")
        for widget in (self._status, _line(root)):
            widget.pack(side="bottom", fill="x")
        panes.pack(fill="both", expand=True)
        for pane, weight in ((self.steps, 0), (middle, 1), (self._build_side(panes, panels), 0)):
            panes.add(pane, weight=weight)
        self.canvas.on_view = self._show_view
        self.autosave = Autosave(session, self._show_saving)
        keys = KeyList(root, style, keymap, closed=session.focus_canvas)
        Commands(session, self.canvas, Mouse(self.canvas), self.steps)
        session.bind_keys({"save": self.autosave.save, "help": keys.toggle, "quit": self.close})
        Keyboard(root, keymap, session.perform)
        session.watch(step=self._stepped)
        root.protocol("WM_DELETE_WINDOW", self.close)
        self._place()

    def run(self) -> tuple[Path, int] | None:
        """Show the window until it is closed; the folder and step to open next, or None."""
        session, document = self.session, self.session.document
        # Before the picture: it must not move under the hand of who draws already.
        if document.recovered:
            words = "Changes that had not been saved when the program ended came back"
            session.banner("recovered", f"{words}: {document.recovered}.")
        for number, note in enumerate(document.notes):
            session.banner(f"note {number}", note)
        self.root.deiconify()
        self.root.update()
        first = session.options.step
        session.go_to((document.first_todo() or 0) if first is None else first)
        self.canvas.focus_set()
        self._stay_alive()
        self.root.mainloop()
        return self._following

    def close(self, following: tuple[Path, int] | None = None) -> None:
        self._following, document = following, self.session.document
        if self.autosave.save() or not document.dirty:
            self._leave()
            return
        kept = "They are in the journal beside the file and come back when the folder is opened again."
        if document.trouble:
            kept = "They are nowhere but in this window, and will be lost."
        question = f"Some changes could not be saved to {document.file.name}. {kept} Leave anyway?"
        self.session.banner("close", question, [("Leave anyway", self._leave)])

    def _leave(self) -> None:
        self.closed = True
        self.session.close()
        # What was to happen later would find its command gone, and say so on standard error.
        for timer in self.root.tk.splitlist(self.root.tk.call("after", "info")):
            self.root.tk.call("after", "cancel", timer)
        self.root.destroy()

    def _build_side(self, panes: ttk.Panedwindow, panels: Sequence[PanelTab]) -> ttk.Notebook:
        px, session = self._style.px, self.session
        side = ttk.Notebook(panes, takefocus=False, width=px(_SIDE_WIDTH))
        step = ttk.Frame(side, padding=(px(8), px(10), px(10), px(8)))
        self.fields = StepFields(step, session, self._style)
        self.fields.pack(fill="x")
        StepState(step, session, self._style).pack(fill="x", pady=(px(2), px(10)))
        side.add(step, text="Step")
        for panel in panels:
            side.add(panel.build(side, session), text=panel.title)
        side.bind("<ButtonRelease-1>", lambda _event: self.canvas.focus_set())
        return side

    def _place(self) -> None:
        root, px = self.root, self._style.px
        wide, high = root.winfo_screenwidth(), root.winfo_screenheight()
        root.minsize(min(px(_LEAST[0]), wide), min(px(_LEAST[1]), high))
        # Some room for the window's title and a panel of the desktop.
        wide, high = min(px(_LARGEST[0]), wide), min(px(_LARGEST[1]), high - px(30))
        root.geometry(f"{wide}x{high}+0+0")
        self.steps.configure(width=round(min(max(wide * _STEPS_SHARE, px(_STEPS_LEAST)), px(_STEPS_MOST))))
        self.steps.pack_propagate(False)

    def _go_on_in(self, folder: Path, index: int) -> None:
        opened(replace(self.session.options, folder=folder)).close()
        # Once what runs now has ended.
        self.root.after_idle(self.close, (folder, index))

    def _stepped(self, index: int) -> None:
        self._show_saving()
        issues = self.session.document.issues(index)
        if issues:
            self.session.banner("issues", f"This step: {'; '.join(issues)}.")
        else:
            self.session.clear_banner("issues")

    def _show_view(self) -> None:
        self._status.show_view(self.canvas)
        self._toolbar.buttons["zoom-100"].configure(text=f"{self.canvas.transform.scale * 100:.0f} %")

    def _show_saving(self) -> None:
        document = self.session.document
        mark = "● " if document.dirty else ""
        here = f"{self.session.index + 1}/{len(document.entries)}"
        title = f"{mark}{document.folder.name} · {here} · {self.session.entry.image} · annotate"
        if self.root.title() != title:
            self.root.title(title)
        self._status.saved.configure(text=self.autosave.words)

    def _failed(self, _kind: type[BaseException], error: BaseException, _trace: object) -> None:
        tell_of(error, partial(self.session.banner, "error"), self.close)

    def _stay_alive(self) -> None:
        """Python hears of Ctrl+C in the terminal only when some of its code runs."""
        self.root.after(_ALIVE_MS, self._stay_alive)


def _line(root: tk.Tk) -> ttk.Frame:
    return ttk.Frame(root, height=1, style="Line.TFrame")
