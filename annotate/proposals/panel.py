"""Proposals in the window: shown on demand, taken with one key, and snapping of boxes that were drawn by hand."""

from __future__ import annotations

import tkinter as tk
from functools import partial
from tkinter import ttk
from typing import TYPE_CHECKING

import numpy as np

from annotate.actions import Action
from annotate.proposals.choosing import around_click, in_order
from annotate.proposals.clicks import read_clicks
from annotate.proposals.list_view import NAMES, ProposalList
from annotate.proposals.on_picture import snap_selected
from annotate.proposals.records import Found, Proposal
from annotate.proposals.shapes import chosen_shape, shapes_of
from annotate.proposals.snapping import Frame
from annotate.proposals.source import ProposalSource
from annotate.proposals.taking import Taken, Taking, take
from annotate.window.panels import WindowOptions
from grounding.errors import UserError
from grounding.loaders.sequences import step_ids
from grounding.records import Point

if TYPE_CHECKING:
    from annotate.window.session import Session

LOOK_IN_MS = 40
_OVERLAY, _CHOSEN = "proposals", "proposal-chosen"

ACTIONS = (
    Action(name="proposals", words="Show proposals, or hide them", keys=("P",), group="Proposals"),
    Action(
        name="take-proposal",
        words="Box around what is under the cursor, or the next best; again: the one after it",
        keys=("B",),
        group="Proposals",
    ),
    Action(name="snap-box", words="Snap the box to the nearest edges", keys=("S",), group="Proposals"),
)


def make_panel(options: WindowOptions) -> ProposalPanel:
    """For ``annotate.window.panels``: the panel is always there.

    Raises:
        UserError: the run that was asked for can't be read.
    """
    return ProposalPanel(read_clicks(options.run) if options.run is not None else {})


class ProposalPanel:
    """The tab with what was found on the screenshot.

    Args:
        clicks: A model's clicks, by step id.
        source: Who looks at screenshots.
    """

    title = "Proposals"
    actions: tuple[Action, ...] = ACTIONS

    def __init__(self, clicks: dict[str, Point], source: ProposalSource | None = None) -> None:
        self._clicks = clicks
        self._source = source or ProposalSource()
        self._found: Found | None = None
        self._shown = False
        self._wanted_at: Point | None = None
        self._taking = False
        self._last: Taken | None = None
        self._timer: str | None = None

    def build(self, parent: tk.Misc, session: Session) -> ttk.Frame:
        """Make the tab; see ``annotate.window.panels.Panel``."""
        self._session = session
        frame = ttk.Frame(parent, padding=8)
        self._switch = tk.BooleanVar(frame, value=False)
        ttk.Checkbutton(
            frame, text=_with_key(session, "Show on the picture", "proposals"), variable=self._switch, takefocus=False,
            command=self._toggle,
        ).pack(anchor="w")  # fmt: skip
        self._words = ttk.Label(frame, style="Soft.TLabel", justify="left")
        self._words.pack(anchor="w", fill="x", pady=(4, 6))
        self._words.bind("<Configure>", lambda event: self._words.configure(wraplength=max(event.width, 80)))
        self._list = ProposalList(frame, self._show_chosen, self._take_number)
        self._list.pack(fill="both", expand=True)
        buttons = ttk.Frame(frame)
        buttons.pack(fill="x", pady=(8, 0))
        for words, action in (("Take", "take-proposal"), ("Snap box", "snap-box")):
            ttk.Button(
                buttons, text=_with_key(session, words, action), takefocus=False,
                command=partial(session.perform, action),
            ).pack(side="left", padx=(0, 6))  # fmt: skip
        session.bind_key("proposals", self._toggle)
        session.bind_key("take-proposal", self._take_at_cursor)
        session.bind_key("snap-box", partial(snap_selected, session))
        session.on_close(self._close)
        self._say()
        return frame

    def on_step(self, index: int) -> None:
        """See ``annotate.window.panels.Panel``."""
        del index
        self._found, self._last, self._taking = None, None, False
        if self._shown:
            self._ask()
        else:
            self._refresh()

    def on_change(self, index: int) -> None:
        """See ``annotate.window.panels.Panel``."""
        if index != self._session.index:
            return
        # Whoever went on by hand does not want a box to come after all.
        self._taking = False
        if self._found is not None and self._found.instruction != self._session.entry.instruction:
            self._found = None
            if self._shown:
                self._ask()

    # --- finding --------------------------------------------------------------------------------------------------

    def _toggle(self) -> None:
        self._shown = not self._shown
        self._switch.set(self._shown)
        if self._shown:
            self._ask()
        else:
            self._refresh()

    def _ask(self) -> None:
        session = self._session
        try:
            image = session.document.image_path(session.index)
        except UserError as error:
            self._found = None
            self._refresh(str(error))
            return
        found = self._source.ask(image, session.entry.instruction)
        if found is not None:
            self._arrived(found)
            return
        self._refresh()
        if self._timer is None:
            self._timer = session.root.after(LOOK_IN_MS, self._look_in)

    def _look_in(self) -> None:
        self._timer = None
        found = self._source.look_in()
        if found is not None:
            self._arrived(found)
        if self._source.is_waiting:
            self._timer = self._session.root.after(LOOK_IN_MS, self._look_in)

    def _arrived(self, found: Found) -> None:
        self._found = found
        self._refresh()
        if self._taking:
            self._take(self._wanted_at)

    # --- taking ---------------------------------------------------------------------------------------------------

    def _take_at_cursor(self) -> None:
        cursor = self._session.cursor()
        if self._found is None or self._found.problem:
            # Looked at now; the box comes as soon as something is found there.
            self._taking, self._wanted_at = True, cursor
            self._session.status("looking at the screenshot …")
            self._ask()
            return
        self._take(cursor)

    def _take(self, cursor: Point | None) -> None:
        found, session = self._found, self._session
        if found is None or session.picture() is None:
            return
        order = self._order(cursor)
        under = bool(order) and cursor is not None and _covers(order[0].frame, cursor)
        if not found.complete and not under:
            # The texts are still being read: what is under the cursor may be one of them.
            self._taking, self._wanted_at = True, cursor
            return
        self._taking = False
        taking = take(session.index, session.entry, order, cursor, self._last)
        if taking is None:
            self._session.status(found.problem or "nothing is left that could be proposed here")
            return
        self._keep(taking)

    def _keep(self, taking: Taking) -> None:
        session = self._session
        what = "take the next proposal" if taking.instead else "take a proposal"
        session.change(taking.entry, what)
        self._last = taking.taken
        session.select(taking.taken.number)
        chosen = taking.taken.proposals[-1]
        words = f" “{chosen.words[:60]}”" if chosen.words else ""
        key = session.keymap.shown("take-proposal").split("  ")[0]
        session.status(f"{NAMES[chosen.origin]}{words}; {key} again takes the next best instead")

    def _take_number(self, number: int) -> None:
        proposals = self._all()
        if number < len(proposals):
            # By name, not by place: whatever was taken before stays.
            taking = take(self._session.index, self._session.entry, [proposals[number]], None, None)
            if taking is None:
                self._session.status("the step has this box already")
            else:
                self._keep(taking)

    def _order(self, cursor: Point | None) -> tuple[Proposal, ...]:
        if self._found is None:
            return ()
        return in_order(self._found.proposals, cursor, self._found.meant, self._click_proposal())

    def _all(self) -> tuple[Proposal, ...]:
        """In the order of the list: what was clicked, what is meant, then from top left."""
        if self._found is None:
            return ()
        first = in_order(self._found.proposals, None, self._found.meant, self._click_proposal())
        head = (self._found.meant is not None) + (self._click_proposal() is not None)
        rest = sorted(first[head:], key=lambda one: (one.frame.top_px, one.frame.left_px))
        return (*first[:head], *rest)

    # --- the model's click ----------------------------------------------------------------------------------------

    def _model_click(self) -> Point | None:
        if not self._clicks:
            return None
        document = self._session.document
        ids = step_ids(document.folder.resolve().name, [entry.image for entry in document.entries])
        return self._clicks.get(ids[self._session.index])

    def _click_proposal(self) -> Proposal | None:
        click, picture = self._model_click(), self._session.picture()
        if click is None or picture is None or self._found is None:
            return None
        return around_click(click, self._found.proposals, np.asarray(picture))

    # --- showing --------------------------------------------------------------------------------------------------

    def _show_chosen(self, number: int | None) -> None:
        proposals = self._all()
        if number is None or number >= len(proposals):
            self._session.hide_overlay(_CHOSEN)
            return
        self._session.show_overlay(_CHOSEN, [chosen_shape(proposals[number])])

    def _refresh(self, problem: str = "") -> None:
        proposals = self._all() if self._shown else ()
        self._list.fill(proposals)
        self._session.hide_overlay(_CHOSEN)
        if proposals:
            self._session.show_overlay(_OVERLAY, shapes_of(proposals, self._meant()), on_pick=self._take_number)
        else:
            self._session.hide_overlay(_OVERLAY)
        self._say(problem)

    def _meant(self) -> Proposal | None:
        found = self._found
        return None if found is None or found.meant is None else found.proposals[found.meant]

    def _say(self, problem: str = "") -> None:
        found = self._found
        if problem or (found is not None and found.problem):
            words = problem or (found.problem if found is not None else "")
        elif not self._shown:
            words = "Texts and widgets that are found on the screenshot; one key turns them into boxes."
        elif found is None:
            words = "Looking at the screenshot …"
        else:
            words = f"{len(found.proposals)} found in {found.seconds:.1f} s" if found.complete else (
                f"{len(found.proposals)} regions; reading the texts …"
            )  # fmt: skip
        self._words.configure(text=words)

    def _close(self) -> None:
        if self._timer is not None:
            self._session.root.after_cancel(self._timer)
            self._timer = None
        self._source.close()


def _covers(frame: Frame, point: Point) -> bool:
    return frame.left_px <= point.x_px <= frame.right_px and frame.top_px <= point.y_px <= frame.bottom_px


def _with_key(session: Session, words: str, action: str) -> str:
    keys = session.keymap.shown(action).split("  ")[0]
    return f"{words}   {keys}" if keys else words
