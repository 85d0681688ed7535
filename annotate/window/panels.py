"""How a part of the program hangs itself into the window: a tab beside the picture, keys of its own, an overlay.

A panel is made by a function ``(options: WindowOptions) -> Panel | None``; None where there is nothing to show, such as
a review without a run. ``EXTENSIONS`` names these functions; they are imported when a window is opened, never before.
A panel gets a ``Session`` (annotate.window.session), which is all that it may use of the window.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from annotate.actions import Action
from grounding.records import Box, Point, Record

if TYPE_CHECKING:
    import tkinter as tk
    from tkinter import ttk

    from annotate.window.session import Session

EXTENSIONS: tuple[str, ...] = (
    "annotate.review.panel:make_panel",
    "annotate.proposals.panel:make_panel",
    "annotate.agreement.panel:make_panel",
    "annotate.transcripts.panel:make_panel",
)
"""The panels that there are besides the window's own, as ``package.module:function``, in the order of their tabs."""


class WindowOptions(Record, frozen=True, kw_only=True):
    """What the command line asked of the window.

    ``run`` is the folder of a run to review. ``keys`` is a file of keys. ``scale`` is by how much everything is
    larger than at 96 dpi; None for what the display says.
    """

    folder: Path
    annotator: str = ""
    questions: str = ""
    run: Path | None = None
    keys: Path | None = None
    keep_zoom: bool = False
    scale: float | None = None
    step: int | None = None


class OverlayBox(Record, frozen=True, kw_only=True):
    """A rectangle shown over the picture that is no part of the annotation.

    ``halo`` is a white line around it, for a few that must be seen on any ground; many are better without.
    """

    box: Box
    colour: str = "#f59e0b"
    label: str = ""
    dashed: bool = True
    halo: bool = True


class OverlayPoint(Record, frozen=True, kw_only=True):
    """A place shown over the picture, as a cross in a ring, such as a model's click."""

    point: Point
    colour: str = "#dc2626"
    label: str = ""


OverlayShape = OverlayBox | OverlayPoint


class Panel(Protocol):
    """A tab beside the picture.

    ``actions`` are what its keys do; they are part of the keymap, so that the user's file of keys can change them and
    conflicts are refused. The panel says what they do by ``session.bind_key(action.name, handler)`` in ``build``.
    """

    title: str
    actions: tuple[Action, ...]

    def build(self, parent: tk.Misc, session: Session) -> ttk.Frame:
        """Make the tab's content, a child of ``parent``. Called once, before the first step is shown."""
        ...

    def on_step(self, index: int) -> None:
        """Another step is shown now. Its picture may still be on the way: see ``Session.picture``."""
        ...

    def on_change(self, index: int) -> None:
        """The entry of this step is another now: edited, undone, or read anew from the disk."""
        ...


PanelMaker = Callable[[WindowOptions], Panel | None]


def make_panels(options: WindowOptions, extensions: tuple[str, ...] = EXTENSIONS) -> tuple[Panel, ...]:
    """The panels that have something to show."""
    panels = []
    for extension in extensions:
        module, _, function = extension.partition(":")
        maker: PanelMaker = getattr(import_module(module), function)
        panel = maker(options)
        if panel is not None:
            panels.append(panel)
    return tuple(panels)


def dormant_actions(panels: Sequence[Panel], extensions: tuple[str, ...] = EXTENSIONS) -> frozenset[str]:
    """Names of actions of panels that have nothing to show now: a file of keys may name them all the same."""
    known = {action.name for extension in extensions for action in import_module(extension.partition(":")[0]).ACTIONS}
    return frozenset(known - {action.name for panel in panels for action in panel.actions})
