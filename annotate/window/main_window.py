"""The window: everything put together, and opened for one folder after the other."""

from __future__ import annotations

import sys
import tkinter as tk
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tkinter import filedialog, messagebox, ttk

import msgspec

from annotate.actions import ACTIONS
from annotate.document import Document
from annotate.keys import Keymap, read_overrides
from annotate.transcripts.clips import AUDIO
from annotate.typed_transcripts import keep_typed
from annotate.window.autosave import Autosave
from annotate.window.box_list import BoxList, StepState
from annotate.window.box_menu import show_box_menu
from annotate.window.canvas import PictureCanvas
from annotate.window.commands import BoxCommands, StepCommands
from annotate.window.fields import Fields
from annotate.window.help import KeyList
from annotate.window.keyboard import Keyboard
from annotate.window.mouse import Mouse
from annotate.window.notices import Banners, NoticeBoard, StatusBar
from annotate.window.panels import Panel, WindowOptions, dormant_actions, make_panels
from annotate.window.session import Session
from annotate.window.step_list import StepList
from annotate.window.style import Style, make_dpi_aware
from annotate.window.toolbar import Toolbar
from annotate.window.view_commands import ViewCommands
from grounding.errors import UserError

_LEAST_WIDTH, _LEAST_HEIGHT = 860, 520
_SIDE_WIDTH = 322
_STEPS_SHARE, _STEPS_LEAST, _STEPS_MOST = 0.19, 226, 340
"""The width of the list of steps: a part of the window's, within bounds."""
_LARGEST_WIDTH, _LARGEST_HEIGHT = 2200, 1400
_ALIVE_MS = 250


def annotate(options: WindowOptions) -> None:
    """Open the window and stay until it is closed.

    Raises:
        UserError: The folder can't be annotated, or the keys contradict each other.
    """
    make_dpi_aware()
    folder: Path | None = options.folder
    while folder is not None:
        options = msgspec.structs.replace(options, folder=folder)
        panels = make_panels(options)
        keymap = keymap_for(options, panels)
        document = _opened(options)
        try:
            window = MainWindow(document, options, keymap, panels)
            folder = window.run()
        finally:
            document.close()
        options = msgspec.structs.replace(options, step=window.next_step)


def keymap_for(options: WindowOptions, panels: Sequence[Panel] = ()) -> Keymap:
    """The window's keys and the panels', with the user's own.

    Raises:
        UserError: The file of keys is not one, or two actions have one key.
    """
    actions = [*ACTIONS, *(action for panel in panels for action in panel.actions)]
    if options.keys is None:
        return Keymap(actions)
    dormant = dormant_actions(panels)
    overrides = {name: keys for name, keys in read_overrides(options.keys).items() if name not in dormant}
    return Keymap(actions, overrides, source=str(options.keys))


def _opened(options: WindowOptions) -> Document:
    if options.questions:
        return Document.open(options.folder, annotator=options.annotator, questions=options.questions)
    return Document.open(options.folder, annotator=options.annotator)


class MainWindow:
    """One folder in one window."""

    def __init__(
        self, document: Document, options: WindowOptions, keymap: Keymap, panels: Sequence[Panel] = ()
    ) -> None:
        if not document.entries:
            raise UserError(f"{options.folder}: there is no step to annotate")
        self.root = root = tk.Tk(className="Annotate")
        root.withdraw()
        root.report_callback_exception = self._failed
        self._next_folder: Path | None = None
        self.next_step: int | None = None
        self._alive: str | None = None
        self._asking = self.closed = False
        style = self._style = Style(root, options.scale)
        self.session = session = Session(root, document, options, keymap)
        self._panels = tuple(panels)
        root.columnconfigure(0, weight=1)
        root.rowconfigure(2, weight=1)
        panes = ttk.Panedwindow(root, orient="horizontal")
        panes.grid(row=2, column=0, sticky="nsew")
        self.steps = StepList(panes, session, style)
        middle = ttk.Frame(panes)
        middle.rowconfigure(1, weight=1)
        middle.columnconfigure(0, weight=1)
        self.banners = Banners(middle, style)
        self.banners.grid(row=0, column=0, sticky="ew")
        self.canvas = PictureCanvas(middle, session, style)
        self.canvas.grid(row=1, column=0, sticky="nsew")
        self.toolbar = Toolbar(root, session, style, self.canvas)
        self.toolbar.grid(row=0, column=0, sticky="ew")
        ttk.Frame(root, height=1, style="Line.TFrame").grid(row=1, column=0, sticky="ew")
        self.status = StatusBar(root, style)
        ttk.Frame(root, height=1, style="Line.TFrame").grid(row=3, column=0, sticky="ew")
        self.status.grid(row=4, column=0, sticky="ew")
        session.open_with(self._go_on_in)
        session.attach(self.canvas, NoticeBoard(self.status, self.banners))
        self.side = self._build_side(panes)
        panes.add(self.steps, weight=0)
        panes.add(middle, weight=1)
        panes.add(self.side, weight=0)
        self.mouse = Mouse(self.canvas, partial(show_box_menu, session))
        self.view_commands = ViewCommands(session, self.canvas, self.mouse, self.toolbar)
        self.keys = KeyList(session, style)
        self.boxes = BoxCommands(session, self.canvas)
        self.step_commands = StepCommands(session, self.steps)
        self.autosave = Autosave(session, self._show_saving)
        self._bind()
        if not (options.folder / AUDIO).is_dir():
            session.edit_transcripts_with(self._keep_transcript)
        self.keyboard = Keyboard(session, self.view_commands.hold)
        session.watch(on_step=self._stepped, on_change=lambda _index: self.toolbar.show())
        self.canvas.on_view = self._show_view
        root.protocol("WM_DELETE_WINDOW", self.close)
        self._place()

    def run(self) -> Path | None:
        """Show the window until it is closed; the folder to open next, or None."""
        document = self.session.document
        first = self.session.options.step
        if first is None:
            first = document.first_todo()
        self.root.deiconify()
        self.root.update()
        self.session.go_to(first or 0)
        self.canvas.focus_set()
        if document.recovered:
            count = f"{document.recovered} change{'' if document.recovered == 1 else 's'}"
            self.session.banner("recovered", f"{count} had not been saved when the program ended, and came back.")
        for number, note in enumerate(document.notes):
            self.session.banner(f"note {number}", note)
        self._stay_alive()
        self.root.mainloop()
        return self._next_folder

    def close(self) -> None:
        """Save and leave; where saving fails, leave only if that is wanted. Waits for an answer that is due."""
        if self._asking:
            # A window manager closes a window that has a dialog, too, and would pull it from under that.
            self._show_question()
            return
        if not self.autosave.save() and self.session.document.dirty:
            kept = "They are in the journal beside the file and come back when the folder is opened again."
            if self.session.document.trouble:
                kept = "They are nowhere but in this window, and will be lost."
            question = f"Some changes could not be saved to {self.session.document.file.name}. {kept}\n\nClose anyway?"
            with self._question():
                leave = messagebox.askyesno("Close", question, default="no", icon="warning", parent=self.root)
            if not leave:
                self._next_folder = self.next_step = None
                return
        self.closed = True
        self.session.close()
        if self._alive is not None:
            self.root.after_cancel(self._alive)
        self.root.destroy()

    @contextmanager
    def _question(self) -> Iterator[None]:
        self._asking = True
        try:
            yield
        finally:
            self._asking = False

    def _show_question(self) -> None:
        call = self.root.tk.call
        dialog = call("grab", "current", self.root)
        if dialog:
            call("raise", dialog)
            call("focus", "-force", call("focus", "-lastfor", dialog))

    # --- building -------------------------------------------------------------------------------------------------

    def _build_side(self, panes: ttk.Panedwindow) -> ttk.Frame:
        px = self._style.px
        side = ttk.Frame(panes, width=px(_SIDE_WIDTH))
        parent: ttk.Frame | ttk.Notebook = side
        pad = (px(8), px(10), px(10), px(8))
        if self._panels:
            parent = ttk.Notebook(side, takefocus=False)
            parent.pack(fill="both", expand=True)
        step = ttk.Frame(parent, padding=pad)
        self.fields = Fields(step, self.session, self._style)
        self.fields.pack(fill="x")
        self.state = StepState(step, self.session, self._style)
        self.state.pack(fill="x", pady=(px(2), px(10)))
        self.box_list = BoxList(step, self.session, self._style)
        self.box_list.pack(fill="both", expand=True)
        if isinstance(parent, ttk.Notebook):
            parent.add(step, text="Step")
            for panel in self._panels:
                parent.add(panel.build(parent, self.session), text=panel.title)
                self.session.watch(on_step=panel.on_step, on_change=panel.on_change)
            parent.bind("<ButtonRelease-1>", lambda _event: self.canvas.focus_set())
            self.session.reveal_with(partial(_reveal, parent))
        else:
            step.pack(fill="both", expand=True)
        return side

    def _place(self) -> None:
        root, px = self.root, self._style.px
        root.update_idletasks()
        wide, high = root.winfo_screenwidth(), root.winfo_screenheight()
        root.minsize(min(px(_LEAST_WIDTH), wide), min(px(_LEAST_HEIGHT), high))
        # Some room for the window's title and a panel of the desktop.
        wide, high = min(px(_LARGEST_WIDTH), wide), min(px(_LARGEST_HEIGHT), high - px(30))
        root.geometry(f"{wide}x{high}+0+0")
        self.side.configure(width=px(_SIDE_WIDTH))
        self.side.pack_propagate(False)
        self.steps.configure(width=round(min(max(wide * _STEPS_SHARE, px(_STEPS_LEAST)), px(_STEPS_MOST))))
        self.steps.pack_propagate(False)

    def _bind(self) -> None:
        bind, session = self.session.bind_key, self.session
        bind("verify", self.state.toggle_verified)
        bind("no-click", self.state.toggle_no_click)
        for name in ("instruction", "transcript", "task", "action", "comment"):
            bind(f"edit-{name}", partial(self.fields.focus_on, name))
        bind("undo", session.undo)
        bind("redo", session.redo)
        bind("save", self.autosave.save)
        bind("open", self._open)
        bind("help", self.keys.toggle)
        bind("quit", self.close)

    # --- actions --------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        here = self.session.document.folder
        with self._question():
            chosen = filedialog.askdirectory(
                parent=self.root, initialdir=here.parent, title="Open a folder", mustexist=True
            )
        if not chosen or Path(chosen) == here:
            return
        try:
            Document.open(Path(chosen)).close()
        except UserError as error:
            self.session.banner("open", str(error))
            return
        self._next_folder = Path(chosen)
        self.close()

    def _go_on_in(self, folder: Path, index: int) -> None:
        try:
            _opened(msgspec.structs.replace(self.session.options, folder=folder)).close()
        except UserError as error:
            self.session.banner("open", str(error))
            return
        self._next_folder, self.next_step = folder, index
        self.close()

    def _keep_transcript(self, index: int, text: str) -> None:
        document = self.session.document
        try:
            keep_typed(document.folder, document.entries[index].image, text)
            document.reload_transcripts()
        except UserError as error:
            self.session.banner("transcript", f"The transcript is not kept: {error}")
            return
        self.session.clear_banner("transcript")
        self.session.changed_outside(index)

    # --- showing --------------------------------------------------------------------------------------------------

    def _stepped(self, index: int) -> None:
        self._show_saving()
        self.toolbar.show()
        issues = self.session.document.issues(index)
        if issues:
            words = "; ".join(f"{issue.field} {issue.what}" if issue.field else issue.what for issue in issues)
            self.session.banner("issues", f"This step: {words}.")
        else:
            self.session.clear_banner("issues")

    def _show_view(self) -> None:
        self.status.show_view(self.canvas)
        words = f"{self.canvas.transform.scale * 100:.0f} %"
        self.toolbar.show_zoom(words)

    def _show_saving(self) -> None:
        document = self.session.document
        mark = "● " if document.dirty else ""
        here = f"{self.session.index + 1}/{len(document.entries)}"
        title = f"{mark}{document.folder.name} · {here} · {self.session.entry.image} · annotate"
        if self.root.title() != title:
            self.root.title(title)
        self.status.saved.configure(text=self.autosave.words)

    def _failed(self, _kind: type[BaseException], error: BaseException, _trace: object) -> None:
        """An error in something that the window called: said, never swallowed, and nobody loses the window."""
        if isinstance(error, KeyboardInterrupt):
            self.close()
        elif isinstance(error, UserError):
            self.session.banner("error", str(error))
        else:
            traceback.print_exception(error, file=sys.stderr)
            self.session.banner(
                "error", f"Something went wrong in this program ({type(error).__name__}: {error}). Your work is kept; "
                "the terminal shows where it happened."
            )  # fmt: skip

    def _stay_alive(self) -> None:
        """Python hears of Ctrl+C in the terminal only when some of its code runs."""
        self._alive = self.root.after(_ALIVE_MS, self._stay_alive)


def _reveal(tabs: ttk.Notebook, widget: tk.Misc) -> None:
    """Bring the tab that a widget is in to the front; Tk gives the keyboard to nothing that can't be seen."""
    for tab in tabs.tabs():  # type: ignore[no-untyped-call]
        if str(widget).startswith(f"{tab}."):
            tabs.select(tab)  # type: ignore[no-untyped-call]
            tabs.update_idletasks()
