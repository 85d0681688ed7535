"""Turns a script's short target names into boxes on the screen.

`button.go`              the one element with this CSS selector
`button::Reviews`        ... and exactly this text
`button::~Revi`          ... and this text somewhere in it
`chrome:back`            the browser's own back button; also forward, reload, newtab, address
`chrome:tab/0`           the first tab; `chrome:close/0` its close button
"""

from __future__ import annotations

import json
from pathlib import Path

from devtools import DevTools
from frame import FrameReader, View
from geometry import Rect

_LOCATE = (Path(__file__).parent / "locate.js").read_text(encoding="utf-8").split("\n", 1)[1].strip()
_VIEWS = {"back": ("BackForwardButton", 0), "forward": ("BackForwardButton", 1), "reload": ("ReloadButton", 0),
          "newtab": ("TabStripControlButton", 0), "address": ("OmniboxViewViews", 0)}  # fmt: skip
# A tab's view reaches under its neighbours by this many units on both sides (its rounded feet).
_TAB_FOOT, _TAB_TOP = 9, 5


class TargetError(RuntimeError):
    """A script names something that is not there, is hidden, or is not unique."""


def element_box(page: DevTools, spec: str, scale: float, origin: tuple[float, float]) -> Rect:
    """The clickable part of a page element, in screen pixels."""
    css, _, text = spec.partition("::")
    query = {"css": css, "text": text.removeprefix("~") or None, "part": text.startswith("~")}
    answer = page.evaluate(f"({_LOCATE})({json.dumps(query)})")
    if "error" in answer:
        raise TargetError(f"{spec}: {answer['error']}")
    box = Rect(answer["x"], answer["y"], answer["width"], answer["height"])
    return box.scaled(scale).moved(*origin)


def frame_box(reader: FrameReader, name: str, scale: float) -> Rect:
    """One of the browser's own controls, in screen pixels."""
    kind, _, index = name.partition("/")
    if kind in _VIEWS:
        view, position = _VIEWS[kind]
        return _pick(reader.views(view), position, name)
    tabs, buttons = reader.views("Tab"), reader.views("TabCloseButton")
    button = _pick(sorted(buttons, key=lambda item: item.box.x), int(index), name)
    if kind == "close":
        return button
    tab = _pick(sorted(tabs, key=lambda item: item.box.x), int(index), name)
    left, top = tab.x + _TAB_FOOT * scale, tab.y + _TAB_TOP * scale
    return Rect(left, top, button.x - left, tab.height - 2 * _TAB_TOP * scale)


def _pick(views: list[View], position: int, name: str) -> Rect:
    if position >= len(views):
        raise TargetError(f"chrome:{name}: only {len(views)} of them are shown")
    return views[position].box
