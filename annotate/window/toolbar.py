"""The buttons above the picture: what the mouse wants at hand, each with its key in a tip."""

from __future__ import annotations

import tkinter as tk
from collections.abc import Callable
from tkinter import ttk

from annotate.window.canvas import PictureCanvas
from annotate.window.session import Session
from annotate.window.style import Style

_TIP_AFTER_MS = 500


class Toolbar(ttk.Frame):
    """One row of buttons; each does an action of the keymap."""

    def __init__(self, parent: tk.Misc, session: Session, style: Style, canvas: PictureCanvas) -> None:
        super().__init__(parent, padding=(style.px(10), style.px(6)))
        self._session, self._style, self._canvas = session, style, canvas
        self._checks: dict[str, tk.BooleanVar] = {}
        for words, action in (
            ("Previous", "previous-step"),
            ("Next", "next-step"),
            (self._short("Next to do", "To do"), "next-todo"),
        ):
            self._button(words, action)
        self._gap()
        self._button("New box", "new-box", "Accent.TButton")
        self._gap()
        self._button("-", "zoom-out")
        self._zoom = self._button("100 %", "zoom-100")
        self._zoom.configure(width=7)
        self._button("+", "zoom-in")
        self._button("Fit", "fit")
        self._gap()
        for words, action in (("Boxes", "toggle-boxes"), ("Crosshair", "crosshair"), ("Keep zoom", "keep-zoom")):
            self._check(words, action)
        self._lens = self._button("Lens", "magnifier")
        help_button = self._button("?", "help")
        help_button.pack_configure(side="right")
        redo, undo = self._button("Redo", "redo"), self._button("Undo", "undo")
        redo.pack_configure(side="right")
        undo.pack_configure(side="right")
        self._redo, self._undo = redo, undo

    def show(self) -> None:
        """Show the zoom, the switches and what can be undone as they are now."""
        canvas, document, index = self._canvas, self._session.document, self._session.index
        self._checks["toggle-boxes"].set(canvas.boxes_shown)
        self._checks["crosshair"].set(canvas.crosshair)
        self._checks["keep-zoom"].set(canvas.keep_zoom)
        self._lens.configure(text=self._short(f"Lens: {canvas.magnifier.mode}", "Lens"))
        self._undo.state(["!disabled" if document.can_undo(index) else "disabled"])
        self._redo.state(["!disabled" if document.can_redo(index) else "disabled"])

    def _short(self, words: str, on_narrow_screens: str) -> str:
        return on_narrow_screens if self._style.narrow else words

    def show_zoom(self, words: str) -> None:
        """Show the zoom in its button."""
        if self._zoom.cget("text") != words:
            self._zoom.configure(text=words)

    def _button(self, words: str, action: str, kind: str = "Tool.TButton") -> ttk.Button:
        button = ttk.Button(
            self, text=words, style=kind, takefocus=False, command=lambda: self._session.perform(action)
        )
        button.pack(side="left", padx=(0, self._style.px(4)))
        self._explain(button, action)
        return button

    def _check(self, words: str, action: str) -> None:
        variable = tk.BooleanVar(self)
        self._checks[action] = variable
        button = ttk.Checkbutton(
            self, text=words, style="Toolbutton", variable=variable, takefocus=False,
            command=lambda: self._session.perform(action),
        )  # fmt: skip
        button.pack(side="left", padx=(0, self._style.px(4)))
        self._explain(button, action)

    def _gap(self) -> None:
        ttk.Frame(self, width=1, style="Line.TFrame").pack(
            side="left", fill="y", padx=(self._style.px(4), self._style.px(8)), pady=self._style.px(3)
        )

    def _explain(self, widget: ttk.Widget, action: str) -> None:
        words = next(known.words for known in self._session.keymap.actions if known.name == action)
        keys = self._session.keymap.shown(action)
        Tip(widget, f"{words}   {keys}" if keys else words, self._style)


class Tip:
    """A word about a widget, shown below it when the mouse rests there."""

    def __init__(self, widget: tk.Misc, text: str, style: Style) -> None:
        self._widget, self._text, self._style = widget, text, style
        self._timer: str | None = None
        self._shown: tk.Toplevel | None = None
        hide: Callable[[object], None] = self._hide
        widget.bind("<Enter>", self._soon, add="+")
        for event in ("<Leave>", "<ButtonPress>", "<Destroy>"):
            widget.bind(event, hide, add="+")

    def _soon(self, _event: object) -> None:
        self._timer = self._widget.after(_TIP_AFTER_MS, self._show)

    def _show(self) -> None:
        self._timer = None
        px = self._style.px
        shown = self._shown = tk.Toplevel(self._widget, background="#1c2128")
        shown.wm_overrideredirect(True)
        tk.Label(
            shown, text=self._text, background="#1c2128", foreground="#ffffff", font=self._style.small, padx=px(8),
            pady=px(4),
        ).pack()  # fmt: skip
        shown.update_idletasks()
        left = min(self._widget.winfo_rootx(), self._widget.winfo_screenwidth() - shown.winfo_reqwidth() - px(4))
        top = self._widget.winfo_rooty() + self._widget.winfo_height() + px(4)
        shown.wm_geometry(f"+{left}+{top}")

    def _hide(self, _event: object) -> None:
        if self._timer is not None:
            self._widget.after_cancel(self._timer)
            self._timer = None
        if self._shown is not None:
            self._shown.destroy()
            self._shown = None
