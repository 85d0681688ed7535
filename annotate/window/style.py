"""How the window looks: colours, fonts, and how large a pixel is on this display."""

import re
import subprocess
import tkinter as tk
from pathlib import Path
from tkinter import font as tkfont
from tkinter import ttk
from typing import Any

import yaml

_FAMILIES = ("Inter", "Cantarell", "Ubuntu", "Noto Sans", "DejaVu Sans", "Liberation Sans", "Helvetica")
_FONTS = {
    "TkDefaultFont": (10, "normal"), "TkTextFont": (10, "normal"), "TkHeadingFont": (9, "bold"),
    "TkCaptionFont": (10, "bold"), "TkSmallCaptionFont": (9, "normal"),
}  # fmt: skip
_DPI_AT_UNIT, _POINTS_PER_INCH = 96.0, 72.0
_NARROW, _LOW = 1200, 720

GROUND, SURFACE = "#f4f5f7", "#ffffff"
INK, SOFT_INK, LINE = "#1c2128", "#57606a", "#d0d7de"
ACCENT, ACCENT_DARK = "#1f6feb", "#1a5fd0"
HOVER, PRESSED, CHOSEN = "#e7ebf0", "#d8dee6", "#ddebff"
AMBER_GROUND, AMBER_INK = "#fff4d6", "#5c4400"
CANVAS, CANVAS_WORDS = "#2b2f36", "#e6e9ee"


class Style:
    """Fonts and colours of one window. ``unit`` is view pixels for one pixel at 96 dpi; ``narrow`` and ``low`` screens
    have little room.
    """

    font, small, bold = "TkDefaultFont", "TkSmallCaptionFont", "TkCaptionFont"

    def __init__(self, root: tk.Tk, scale: float | None = None) -> None:
        self.unit = scale if scale is not None else min(max(_dpi(root) / _DPI_AT_UNIT, 1.0), 4.0)
        self.narrow = root.winfo_screenwidth() / self.unit < _NARROW
        self.low = root.winfo_screenheight() / self.unit < _LOW
        root.tk.call("tk", "scaling", self.unit * _DPI_AT_UNIT / _POINTS_PER_INCH)
        there = set(tkfont.families(root))
        family = next((name for name in _FAMILIES if name in there), "sans")
        for name, (points, weight) in _FONTS.items():
            # Negative sizes are pixels: the same on every display but for the unit.
            pixels = -round(points * _DPI_AT_UNIT / _POINTS_PER_INCH * self.unit)
            root.tk.call("font", "configure", name, "-family", family, "-size", pixels, "-weight", weight)
        self._theme(root)

    def px(self, at_96_dpi: float) -> int:
        return round(at_96_dpi * self.unit)

    def _theme(self, root: tk.Tk) -> None:
        root.configure(background=GROUND)
        style = ttk.Style(root)
        style.theme_use("clam")
        theme = yaml.safe_load(Path(__file__).with_name("theme.yaml").read_text(encoding="utf-8"))
        for styles, options in theme["configure"].items():
            for name in styles.split():
                style.configure(name, **{option: self._value(value) for option, value in options.items()})
        for styles, mapped in theme["map"].items():
            for options, states in mapped.items():
                found = [(state, self._value(value)) for state, value in states.items()]
                for name in styles.split():
                    style.map(name, None, **dict.fromkeys(options.split(), found))
        row_px = tkfont.nametofont(self.font, root=root).metrics("linespace") + self.px(9)
        style.configure("Treeview", rowheight=row_px)
        # Without the dotted field around it, and without room for a sign: nothing here can be opened or closed.
        style.layout("Treeview", [("Treeview.treearea", {"sticky": "nswe"})])
        at_left = {"side": "left", "sticky": ""}
        inner: Any = [("Treeitem.image", at_left), ("Treeitem.text", at_left)]
        style.layout("Treeview.Item", [("Treeitem.padding", {"sticky": "nswe", "children": inner})])
        for name, value in (("font", self.font), ("background", SURFACE), ("selectBackground", CHOSEN),
                            ("selectForeground", INK)):  # fmt: skip
            root.option_add(f"*TCombobox*Listbox.{name}", value)

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return globals().get(value, value) if value.isupper() else value
        return [self.px(one) for one in value] if isinstance(value, list) else self.px(value)


def _dpi(root: tk.Tk) -> float:
    """What a desktop under X says of its scaling, which the size of the screen does not tell; else that."""
    try:
        answer = subprocess.run(["xrdb", "-query"], capture_output=True, text=True, timeout=5, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        answer = ""
    found = re.search(r"^Xft\.dpi:\s*([\d.]+)\s*$", answer, re.MULTILINE)
    return float(found[1]) if found else root.winfo_fpixels("1i")
