"""How the window looks: colours, fonts, and how large a pixel is on this display."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tkinter as tk
from tkinter import font as tkfont
from tkinter import ttk
from typing import Literal

_FAMILIES = (
    "Inter", "Segoe UI", "SF Pro Text", "Helvetica Neue", "Cantarell", "Ubuntu", "Noto Sans", "DejaVu Sans",
    "Liberation Sans", "Arial", "Helvetica",
)  # fmt: skip
_DPI_AT_UNIT = 96.0
_POINTS_PER_INCH = 72.0
_NARROW, _LOW = 1200, 720

GROUND = "#f4f5f7"
SURFACE = "#ffffff"
INK = "#1c2128"
SOFT_INK = "#57606a"
LINE = "#d0d7de"
ACCENT = "#1f6feb"
ACCENT_DARK = "#1a5fd0"
HOVER = "#e7ebf0"
PRESSED = "#d8dee6"
CHOSEN = "#ddebff"
GREEN = "#1a7f37"
AMBER_GROUND = "#fff4d6"
AMBER_INK = "#5c4400"
CANVAS = "#2b2f36"
CANVAS_WORDS = "#e6e9ee"


class Style:
    """Fonts and colours of one window.

    Args:
        root: The window.
        scale: By how much everything is larger than at 96 dpi; None for what the display says.

    Attributes:
        unit: View pixels for one pixel at 96 dpi.
        font: Name of the font of most words; there are ``bold``, ``small`` and ``fixed``, too.
    """

    def __init__(self, root: tk.Tk, scale: float | None = None) -> None:
        self._root = root
        self.unit = _unit(root, scale)
        root.tk.call("tk", "scaling", self.unit * _DPI_AT_UNIT / _POINTS_PER_INCH)
        self.canvas, self.canvas_words, self.accent = CANVAS, CANVAS_WORDS, ACCENT
        family = _family(root)
        fonts: tuple[tuple[str, int, Literal["normal", "bold"]], ...] = (
            ("TkDefaultFont", 10, "normal"), ("TkTextFont", 10, "normal"), ("TkMenuFont", 10, "normal"),
            ("TkHeadingFont", 9, "bold"), ("TkCaptionFont", 10, "bold"), ("TkSmallCaptionFont", 9, "normal"),
            ("TkTooltipFont", 9, "normal"),
        )  # fmt: skip
        for name, points, weight in fonts:
            # Negative sizes are pixels: the same on every display but for the unit.
            pixels = -round(points * _DPI_AT_UNIT / _POINTS_PER_INCH * self.unit)
            tkfont.nametofont(name, root=root).configure(family=family, size=pixels, weight=weight)
        self.font, self.small, self.bold = "TkDefaultFont", "TkSmallCaptionFont", "TkCaptionFont"
        self._theme(root)

    @property
    def narrow(self) -> bool:
        """Whether the screen has little room for what is on it, from side to side."""
        return self._root.winfo_screenwidth() / self.unit < _NARROW

    @property
    def low(self) -> bool:
        """Whether the screen has little room for what is on it, from top to bottom."""
        return self._root.winfo_screenheight() / self.unit < _LOW

    def px(self, at_96_dpi: float) -> int:
        """A length in view pixels, from what it is at 96 dpi."""
        return round(at_96_dpi * self.unit)

    def _theme(self, root: tk.Tk) -> None:
        root.configure(background=GROUND)
        style = ttk.Style(root)
        style.theme_use("clam")
        px = self.px
        style.configure(
            ".", background=GROUND, foreground=INK, font=self.font, bordercolor=LINE, lightcolor=GROUND,
            darkcolor=GROUND, troughcolor="#e8ebef", focuscolor=ACCENT, selectbackground=ACCENT,
            selectforeground=SURFACE, fieldbackground=SURFACE, insertcolor=INK, arrowcolor=SOFT_INK, relief="flat",
        )  # fmt: skip
        style.configure("Card.TFrame", background=SURFACE)
        style.configure("Line.TFrame", background=LINE)
        style.configure("Soft.TLabel", foreground=SOFT_INK, font=self.small)
        style.configure("Heading.TLabel", foreground=SOFT_INK, font="TkHeadingFont")
        style.configure("Status.TLabel", foreground=SOFT_INK, font=self.small)
        style.configure("Title.TLabel", font=self.bold)
        self._buttons(style)
        for name in ("TEntry", "TCombobox"):
            style.configure(name, padding=(px(6), px(4)), lightcolor=SURFACE, darkcolor=SURFACE)
            style.map(
                name,
                bordercolor=[("focus", ACCENT)], lightcolor=[("focus", ACCENT)], darkcolor=[("focus", ACCENT)],
                fieldbackground=[("readonly", SURFACE)], foreground=[("disabled", SOFT_INK)],
                selectbackground=[("!focus", SURFACE)], selectforeground=[("!focus", INK)],
            )  # fmt: skip
        style.configure("TCombobox", arrowsize=px(14))
        line_px = tkfont.nametofont(self.font, root=root).metrics("linespace")
        style.configure(
            "Treeview", background=SURFACE, fieldbackground=SURFACE, foreground=INK, rowheight=line_px + px(9),
            borderwidth=0, bordercolor=LINE, lightcolor=SURFACE, darkcolor=SURFACE,
        )  # fmt: skip
        style.map("Treeview", background=[("selected", CHOSEN)], foreground=[("selected", INK)])
        style.configure(
            "Treeview.Heading", background=GROUND, foreground=SOFT_INK, font="TkHeadingFont", relief="flat",
            padding=(px(4), px(4)), bordercolor=LINE,
        )  # fmt: skip
        style.map("Treeview.Heading", background=[("active", GROUND)])
        # Without the dotted field around it.
        style.layout("Treeview", [("Treeview.treearea", {"sticky": "nswe"})])
        # Nothing here can be opened or closed: without the room for that sign.
        style.layout(
            "Treeview.Item",
            [("Treeitem.padding", {"sticky": "nswe", "children": [
                ("Treeitem.image", {"side": "left", "sticky": ""}), ("Treeitem.text", {"side": "left", "sticky": ""}),
            ]})],
        )  # fmt: skip
        style.configure("Treeview", indent=0)
        style.configure("Treeview.Item", padding=(px(8), 0, 0, 0))
        style.configure("TNotebook", background=GROUND, borderwidth=0, tabmargins=(0, 0, 0, 0))
        style.configure("TNotebook.Tab", padding=(px(9), px(6)), background=GROUND, foreground=SOFT_INK)
        style.map(
            "TNotebook.Tab",
            background=[("selected", SURFACE)], foreground=[("selected", INK)], lightcolor=[("selected", SURFACE)],
            padding=[("selected", (px(9), px(6)))], expand=[("selected", (0, 0, 0, 0))],
        )  # fmt: skip
        style.configure(
            "TProgressbar", background=ACCENT, troughcolor="#e1e5ea", thickness=px(5), borderwidth=0,
            lightcolor=ACCENT, darkcolor=ACCENT, bordercolor="#e1e5ea",
        )  # fmt: skip
        for bar in ("Vertical.TScrollbar", "Horizontal.TScrollbar"):
            style.configure(
                bar, background="#c4cbd4", troughcolor=GROUND, bordercolor=GROUND, lightcolor="#c4cbd4",
                darkcolor="#c4cbd4", arrowsize=px(11), gripcount=0, relief="flat",
            )  # fmt: skip
            style.map(bar, background=[("disabled", GROUND), ("active", "#a9b2bd")],
                      lightcolor=[("disabled", GROUND)], darkcolor=[("disabled", GROUND)])  # fmt: skip
        for sash in ("TPanedwindow", "Sash"):
            style.configure(sash, background=LINE, sashthickness=px(5), gripcount=0, lightcolor=GROUND,
                            bordercolor=GROUND)  # fmt: skip
        root.option_add("*TCombobox*Listbox.font", self.font)
        root.option_add("*TCombobox*Listbox.background", SURFACE)
        root.option_add("*TCombobox*Listbox.selectBackground", CHOSEN)
        root.option_add("*TCombobox*Listbox.selectForeground", INK)
        root.option_add("*Menu.background", SURFACE)
        root.option_add("*Menu.activeBackground", CHOSEN)
        root.option_add("*Menu.activeForeground", INK)
        root.option_add("*Menu.relief", "solid")
        root.option_add("*Menu.borderWidth", px(1))
        root.option_add("*Menu.activeBorderWidth", px(2))

    def _buttons(self, style: ttk.Style) -> None:
        px = self.px
        style.configure(
            "TButton", background=SURFACE, padding=(px(10), px(4)), anchor="center", lightcolor=SURFACE,
            darkcolor=SURFACE, width=0,
        )  # fmt: skip
        style.map(
            "TButton",
            background=[("pressed", PRESSED), ("active", HOVER)], lightcolor=[("pressed", PRESSED), ("active", HOVER)],
            darkcolor=[("pressed", PRESSED), ("active", HOVER)], foreground=[("disabled", "#8c959f")],
        )  # fmt: skip
        style.configure("Tool.TButton", padding=(px(8), px(4)))
        for name in ("Tool.Toolbutton", "Toolbutton"):
            style.configure(name, background=SURFACE, padding=(px(8), px(4)), relief="raised", bordercolor=LINE,
                            lightcolor=SURFACE, darkcolor=SURFACE, anchor="center")  # fmt: skip
            style.map(
                name,
                background=[("disabled", GROUND), ("selected", CHOSEN), ("pressed", PRESSED), ("active", HOVER)],
                bordercolor=[("selected", ACCENT)], lightcolor=[("selected", CHOSEN), ("active", HOVER)],
                darkcolor=[("selected", CHOSEN), ("active", HOVER)],
                foreground=[("disabled", "#8c959f"), ("selected", ACCENT_DARK)],
                relief=[("selected", "raised"), ("!selected", "raised")],
            )  # fmt: skip
        style.configure("Accent.TButton", background=ACCENT, foreground=SURFACE, bordercolor=ACCENT_DARK,
                        lightcolor=ACCENT, darkcolor=ACCENT)  # fmt: skip
        style.map(
            "Accent.TButton",
            background=[("pressed", ACCENT_DARK), ("active", ACCENT_DARK)], foreground=[("active", SURFACE)],
            lightcolor=[("active", ACCENT_DARK)], darkcolor=[("active", ACCENT_DARK)],
        )  # fmt: skip
        style.configure("Banner.TFrame", background=AMBER_GROUND)
        style.configure("Banner.TLabel", background=AMBER_GROUND, foreground=AMBER_INK)
        style.configure("Banner.TButton", background=AMBER_GROUND, foreground=AMBER_INK, bordercolor="#d9b84c",
                        lightcolor=AMBER_GROUND, darkcolor=AMBER_GROUND, padding=(px(8), px(2)))  # fmt: skip
        style.map("Banner.TButton", background=[("active", "#ffe7a3")], lightcolor=[("active", "#ffe7a3")],
                  darkcolor=[("active", "#ffe7a3")])  # fmt: skip


def make_dpi_aware() -> None:
    """On Windows: ask for true pixels, before the first window is made. Elsewhere there is nothing to ask."""
    if sys.platform == "win32":
        import ctypes

        try:
            ctypes.windll.shcore.SetProcessDpiAwareness(2)
        except (AttributeError, OSError):  # Windows before 8.1
            ctypes.windll.user32.SetProcessDPIAware()


def _unit(root: tk.Tk, scale: float | None) -> float:
    if scale is not None:
        return scale
    if sys.platform == "darwin":
        return 1.0  # Tk counts in points there; the system enlarges.
    dpi = _xft_dpi() or root.winfo_fpixels("1i")
    return min(max(dpi / _DPI_AT_UNIT, 1.0), 4.0)


def _xft_dpi() -> float | None:
    """What a desktop under X says of its scaling, which the size of the screen does not tell."""
    program = shutil.which("xrdb")
    if sys.platform == "win32" or program is None or not os.environ.get("DISPLAY"):
        return None
    try:
        answer = subprocess.run([program, "-query"], capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    for line in answer.stdout.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "Xft.dpi":
            try:
                return float(value)
            except ValueError:
                return None
    return None


def _family(root: tk.Tk) -> str:
    there = set(tkfont.families(root))
    return next((name for name in _FAMILIES if name in there), str(tkfont.nametofont("TkDefaultFont").actual("family")))
