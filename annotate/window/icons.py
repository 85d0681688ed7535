"""The little signs of a step's state, drawn for the display's size."""

from __future__ import annotations

import tkinter as tk
from typing import TYPE_CHECKING, NamedTuple

from annotate.records import Entry, State

if TYPE_CHECKING:
    from PIL import Image, ImageTk

    from annotate.window.style import Style

_SIDE = 14
_OVER = 8
"""Drawn so much larger and then shrunk, which smooths the edges."""

STATES: tuple[State, ...] = ("todo", "boxes", "no-click")


class Sign(NamedTuple):
    """What the list shows of a step: its state, and whether somebody checked it."""

    state: State
    verified: bool


def sign_of(entry: Entry) -> Sign:
    """The sign of a step."""
    return Sign(entry.state, entry.verified)


def make_icons(master: tk.Misc, style: Style) -> dict[Sign, ImageTk.PhotoImage]:
    """All signs as pictures: the state, and a tick beside it where the step is verified."""
    from PIL import Image, ImageTk

    side, gap = style.px(_SIDE), style.px(3)
    icons = {}
    for state in STATES:
        for verified in (False, True):
            icon = Image.new("RGBA", (2 * side + gap, side), (0, 0, 0, 0))
            icon.paste(_drawn(state, side), (0, 0))
            if verified:
                icon.paste(_drawn("verified", side), (side + gap, 0))
            icons[Sign(state, verified)] = ImageTk.PhotoImage(icon, master=master)
    return icons


def _drawn(name: str, side: int) -> Image.Image:
    from PIL import Image, ImageDraw

    big = side * _OVER
    unit = big / _SIDE
    image = Image.new("RGBA", (big, big), (0, 0, 0, 0))
    draw = ImageDraw.Draw(image)

    def place(*numbers: float) -> list[float]:
        return [number * unit for number in numbers]

    if name == "todo":
        draw.ellipse(place(2, 2, 12, 12), outline="#8c959f", width=round(1.5 * unit))
    elif name == "boxes":
        draw.rounded_rectangle(place(1.5, 3, 12.5, 11), radius=1.5 * unit, outline="#1f6feb", width=round(2 * unit))
    elif name == "no-click":
        draw.ellipse(place(1.5, 1.5, 12.5, 12.5), outline="#9a6700", width=round(1.7 * unit))
        draw.line(place(3.6, 10.4, 10.4, 3.6), fill="#9a6700", width=round(1.7 * unit))
    else:
        draw.ellipse(place(0.8, 0.8, 13.2, 13.2), fill="#1a7f37")
        draw.line(place(3.8, 7.2, 6.2, 9.6, 10.4, 4.8), fill="#ffffff", width=round(1.8 * unit), joint="curve")
    return image.resize((side, side), Image.Resampling.LANCZOS)
