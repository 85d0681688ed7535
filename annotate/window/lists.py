"""The list of steps with their states and a search, and the state of the shown step."""

import tkinter as tk
from tkinter import font as tkfont
from tkinter import ttk

from msgspec.structs import replace

from ..core.records import KINDS, AnnotatedStep, State, with_kind
from .panels import RowList
from .session import WindowSession
from .style import SOFT_INK, Style

_SIGNS: dict[State, str] = {"todo": "○", "boxes": "■", "no-click": "∅"}
_SEARCH_AFTER_MS = 200


class StepList(ttk.Frame):
    def __init__(self, parent: tk.Misc, session: WindowSession, style: Style) -> None:
        super().__init__(parent, padding=(style.px(10), style.px(10), style.px(6), style.px(8)))
        self._session = session
        self._timer = ""
        self._shown: list[int] = []
        self._progress, self._verified = ttk.Label(self, style="Title.TLabel"), ttk.Label(self, style="Soft.TLabel")
        self._bar = ttk.Progressbar(self, maximum=1.0)
        self._search = ttk.Entry(self)
        head = ttk.Label(self, text=session.with_key("Search words, todo, verified …", "filter"), style="Soft.TLabel")
        widgets = (self._progress, self._verified, self._bar, head, self._search)
        for widget, below in zip(widgets, (0, 5, 10, 2, 8), strict=True):
            widget.pack(fill="x", pady=(0, style.px(below)))
        self._search.bind("<KeyRelease>", self._fill_soon)
        self._search.bind("<Return>", lambda _event: session.focus_canvas())
        columns = {"#0": ("", 88), "words": ("", 150)}
        self._tree = RowList(self, columns, rows=10, px=style.unit, headings=False, chosen=session.go_to)
        self._tree.tag_configure("todo", foreground=SOFT_INK)
        self._letter_px = tkfont.nametofont(style.font, root=self).measure("an even letter") / 14
        self._tree.bind("<Configure>", self._fill_soon)
        # The keys of the program go to the canvas, not to the list.
        self._tree.bind("<ButtonRelease-1>", lambda _event: session.focus_canvas())
        session.watch(step=self._tree.mark, change=self._changed, refresh=self.fill)
        self.fill()

    def search(self) -> None:
        self._search.focus_set()
        self._search.selection_range(0, "end")

    def fill(self) -> None:
        self._timer = ""
        self._tree.clear()
        self._shown = [index for index, entry in enumerate(self._session.document.entries) if self._passes(entry)]
        for index in self._shown:
            self._tree.insert("", "end", iid=str(index))
            self._show_row(index)
        self._tree.mark(self._session.index)
        self._count()

    def words(self, index: int) -> str:
        return str(self._tree.set(str(index), "words"))

    def listed(self) -> list[int]:
        return self._shown or [self._session.index]

    def _passes(self, entry: AnnotatedStep) -> bool:
        said = (entry.instruction, entry.transcript, str(entry.task), entry.comment, entry.image, entry.action,
                entry.state, "verified" if entry.verified else "unchecked")  # fmt: skip
        text = " ".join(said).casefold()
        return all(word in text for word in self._search.get().casefold().split())

    def _show_row(self, index: int) -> None:
        entry = self._session.document.entries[index]
        several = f" ·{len(entry.boxes)}" if len(entry.boxes) > 1 else ""
        head = f"{_SIGNS[entry.state]} {index + 1}{several}{' ✓' if entry.verified else ''}"
        # Tk would cut in the middle of a letter.
        most = max(round(self._tree.column("words", "width") / self._letter_px) - 2, 8)
        words = " ".join(entry.instruction.split()) or entry.image
        words = words if len(words) <= most else f"{words[: most - 1].rstrip()}…"
        self._tree.item(str(index), text=head, values=(words,), tags=(entry.state,))

    def _changed(self, index: int) -> None:
        if self._tree.exists(str(index)):
            self._show_row(index)
        self._count()

    def _fill_soon(self, _event: object) -> None:
        if self._timer:
            self.after_cancel(self._timer)
        self._timer = self.after(_SEARCH_AFTER_MS, self.fill)

    def _count(self) -> None:
        entries = self._session.document.entries
        done, verified = sum(one.state != "todo" for one in entries), sum(one.verified for one in entries)
        self._progress.configure(text=f"{done} of {len(entries)} done ({100 * done // len(entries)} %)")
        more = f" · {len(self._shown)} listed" if len(self._shown) < len(entries) else ""
        self._verified.configure(text=f"{verified} verified{more}")
        self._bar.configure(value=done / len(entries))


class StepState(ttk.Frame):
    def __init__(self, parent: tk.Misc, session: WindowSession, style: Style) -> None:
        super().__init__(parent)
        self._session = session
        self._kind = tk.StringVar(self)
        self._marks = {"no-click": tk.BooleanVar(self), "verify": tk.BooleanVar(self)}
        handlers = {"no-click": self._toggle_no_click, "verify": self._toggle_verified}
        for name, words in (("no-click", "Not a click"), ("verify", "Verified")):
            ttk.Checkbutton(
                self, text=session.with_key(words, name), variable=self._marks[name], command=handlers[name],
                style="Toolbutton", takefocus=False,
            ).pack(fill="x", pady=(0, style.px(4)))  # fmt: skip
        self._box = ttk.Label(self, style="Heading.TLabel")
        self._box.pack(fill="x", pady=(style.px(6), style.px(3)))
        self._kinds = [
            ttk.Radiobutton(self, text=kind.words, value=kind.name or "-", variable=self._kind, style="Toolbutton",
                            takefocus=False, command=self._kind_chosen)
            for kind in KINDS
        ]  # fmt: skip
        for button in self._kinds:
            button.pack(side="left", fill="x", expand=True, padx=(0, style.px(4)))
        session.bind_keys(handlers)
        session.watch(step=self._show, change=self._show, selection=self._show)

    def _toggle_verified(self) -> None:
        self._session.finish_edits()
        entry = self._session.entry
        if entry.state == "todo" and not entry.verified:
            self._session.status("Draw a box or say that it is not a click first: then the step can be verified")
        else:
            what = "verify" if not entry.verified else "take back verified"
            self._session.change(replace(entry, verified=not entry.verified), what)
        self._show()

    def _toggle_no_click(self) -> None:
        session = self._session
        session.finish_edits()
        state: State = "todo" if session.entry.state == "no-click" else "no-click"
        if session.entry.boxes:
            session.status(f"The step's boxes are taken away; {session.key('undo')} brings them back")
        session.select(None)
        session.change(replace(session.entry, boxes=(), state=state, verified=False), f"make it {state}")
        self._show()

    def _show(self, _index: int | None = None) -> None:
        entry, number = self._session.entry, self._session.selected
        self._marks["no-click"].set(entry.state == "no-click")
        self._marks["verify"].set(entry.verified)
        words = {"todo": "To do", "no-click": "Not a click", "boxes": f"Boxes: {len(entry.boxes)}"}[entry.state]
        chosen = number is not None and number < len(entry.boxes)
        key = self._session.with_key(f"Kind of box {number + 1}", "box-kind") if number is not None and chosen else ""
        self._box.configure(text=key or words)
        self._kind.set(entry.boxes[number].kind or "-" if number is not None and chosen else "")
        for button in self._kinds:
            button.state(["!disabled" if chosen else "disabled"])

    def _kind_chosen(self) -> None:
        number, kind = self._session.selected, self._kind.get().removeprefix("-")
        if number is not None:
            self._session.change(with_kind(self._session.entry, number, kind), "kind of box")
