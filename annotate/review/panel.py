"""The tab for going through a run: what was right and planned, where the click went, what people say of it."""

from __future__ import annotations

import tkinter as tk
from collections.abc import Callable
from tkinter import ttk
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from annotate.actions import Action
from annotate.edits import with_added
from annotate.proposals.choosing import around_click
from annotate.review.cases import ReviewCase, ReviewFilter
from annotate.review.filter_bar import FilterBar
from annotate.review.keys import ACTIONS, LABEL_KEYS
from annotate.review.label_bar import LabelBar, action_button
from annotate.review.opening import reviewer_of
from annotate.review.places import Folders, entry_ids, find_folders, has_changed, index_in_file
from annotate.review.reviewer import ACCEPTED, CLICK_RIGHT, Reviewer
from annotate.review.shapes import outcome_words, shapes_of
from annotate.window.panels import WindowOptions
from grounding.errors import UserError
from grounding.errorsplit.labels import LabelName
from grounding.loaders.realwebassist import QUESTIONS

if TYPE_CHECKING:
    from annotate.window.session import Session

_OVERLAY = "review"
MOST_LETTERS = 4_000
"""Of a reply, which may be anything, so much is shown."""


def make_panel(options: WindowOptions) -> ReviewPanel | None:
    """For ``annotate.window.panels``: None where no run is reviewed.

    Raises:
        UserError: the run, or the folders that it is over, can't be read.
    """
    if options.run is None:
        return None
    reviewer = reviewer_of(options.run, options.annotator)
    questions = options.questions or QUESTIONS
    steps = [case.step for case in reviewer.cases]
    here = options.folder.resolve()
    data = here if len({step.participant for step in steps}) == 1 else here.parent
    return ReviewPanel(reviewer, find_folders(steps, data, questions), questions)


class ReviewPanel:
    """The tab.

    Args:
        reviewer: Who goes through which run.
        folders: Where the participants' data are.
        questions: The name of their questions files.
    """

    title = "Review"
    actions: tuple[Action, ...] = ACTIONS

    def __init__(self, reviewer: Reviewer, folders: Folders, questions: str) -> None:
        self._reviewer, self._folders, self._questions = reviewer, folders, questions
        self._case: ReviewCase | None = None
        self._participant = ""
        self._ids: list[str] = []

    def build(self, parent: tk.Misc, session: Session) -> ttk.Frame:
        """Make the tab; see ``annotate.window.panels.Panel``."""
        self._session = session
        here = session.document.folder.resolve()
        named = [name for name, folder in self._folders.by_participant.items() if folder == here]
        self._participant = named[0] if named else here.name
        frame = self._frame = ttk.Frame(parent, padding=8)
        self._progress = ttk.Label(frame, style="Title.TLabel")
        self._progress.pack(anchor="w")
        bar = FilterBar(frame, self._reviewer.filter, list(self._folders.by_participant), self._filter)
        bar.pack(fill="x", pady=(4, 6))
        steps = ttk.Frame(frame)
        steps.pack(fill="x", pady=(0, 6))
        action_button(steps, session, "Before", "previous-case").pack(side="left", padx=(0, 6))
        action_button(steps, session, "Next", "next-case").pack(side="left")
        self._facts = tk.Text(frame, height=9, width=10, wrap="word", relief="flat", borderwidth=0, takefocus=False,
                              font="TkSmallCaptionFont", padx=6, pady=4, cursor="arrow")  # fmt: skip
        self._facts.tag_configure("head", font="TkHeadingFont")
        self._facts.pack(fill="both", expand=True)
        self._labels = LabelBar(frame, session, self._note_done)
        self._labels.pack(fill="x")
        for action, handler in (
            ("next-case", lambda: self._go(1)),
            ("previous-case", lambda: self._go(-1)),
            ("accept-case", self._accept),
            ("accept-click", self._accept_click),
            ("label-withdrawn", self._withdraw),
            ("undo-label", self._undo),
            ("edit-note", self._edit_note),
        ):
            session.bind_key(action, handler)
        for name, _words, _key in LABEL_KEYS:
            session.bind_key(f"label-{name}", self._labelling(name))
        return frame

    def on_step(self, index: int) -> None:
        """See ``annotate.window.panels.Panel``."""
        if not self._ids and isinstance(self._frame.master, ttk.Notebook):
            # Whoever names a run is here for it.
            self._frame.master.select(self._frame)  # type: ignore[no-untyped-call]
        self._ids = entry_ids(self._participant, self._session.document.entries)
        self._case = self._reviewer.case(self._ids[index])
        mine = None if self._case is None else self._reviewer.mine(self._case.step.id)
        self._labels.note = "" if mine is None else mine.note
        self._show()

    def on_change(self, index: int) -> None:
        """See ``annotate.window.panels.Panel``."""
        if index == self._session.index and self._case is not None:
            self._show()

    # --- going about ----------------------------------------------------------------------------------------------

    def _filter(self, chosen: ReviewFilter) -> None:
        self._reviewer.filter = chosen
        self._show()

    def _go(self, direction: int) -> None:
        here = self._ids[self._session.index] if self._case is None else self._case.step.id
        case = self._reviewer.neighbour(here, direction)
        if case is None:
            self._session.status("that was the last case" if direction > 0 else "that was the first case")
            return
        if case.step.participant == self._participant:
            if case.step.id in self._ids:
                self._session.go_to(self._ids.index(case.step.id))
            else:
                self._gone(case)
            return
        folder = self._folders.of(case.step)
        index = index_in_file(folder, self._questions, case.step.id, case.step.participant)
        if index is None:
            self._gone(case)
        else:
            self._session.open_folder(folder, index)

    def _gone(self, case: ReviewCase) -> None:
        self._session.banner(
            "review", f"Step {case.step.id} of the run is not in the data any more; the run was over other screenshots."
        )

    # --- labelling ------------------------------------------------------------------------------------------------

    def _labelling(self, name: LabelName) -> Callable[[], object]:
        return lambda: self._label(name)

    def _label(self, name: LabelName, note: str | None = None) -> bool:
        if self._case is None:
            self._session.status("this step was not scored in the run: there is nothing to label")
            return False
        step_id = self._case.step.id
        try:
            self._reviewer.label(step_id, name, self._labels.note if note is None else note)
        except UserError as error:
            self._session.banner("review", str(error))
            return False
        self._session.status(f"{step_id}: {name}")
        if self._labels.goes_on:
            self._go(1)
        self._show()
        return True

    def _accept(self) -> None:
        """The gold place stands: verified in the data, and labelled so that nobody looks at it again."""
        entry = self._session.entry
        index = self._session.index
        if self._label("other", self._with_note(ACCEPTED)) and entry.state != "todo" and not entry.verified:
            self._session.change_at(index, msgspec.structs.replace(entry, verified=True), "verify")

    def _accept_click(self) -> None:
        """The click is right as well: a box around what it is on, and the annotation was wrong without it."""
        case, session = self._case, self._session
        if case is None or case.verdict.point is None:
            session.status("there is no click in this step")
            return
        picture = session.picture()
        if picture is None:
            session.status("the picture is still on its way")
            return
        proposal = around_click(case.verdict.point, (), np.asarray(picture))
        if proposal is None:
            session.status("the click is outside the picture")
            return
        index, entry = session.index, with_added(session.entry, [proposal.as_box()])
        if self._label("annotation-wrong", self._with_note(CLICK_RIGHT)):
            session.change_at(index, entry, "accept the click")

    def _with_note(self, words: str) -> str:
        note = self._labels.note.strip()
        return words if not note or note == words else f"{words}; {note}"

    def _withdraw(self) -> None:
        if self._case is None:
            return
        try:
            done = self._reviewer.withdraw(self._case.step.id)
        except UserError as error:
            self._session.banner("review", str(error))
            return
        self._session.status("label taken back" if done else "you have not labelled this step")
        self._show()

    def _undo(self) -> None:
        try:
            step_id = self._reviewer.undo()
        except UserError as error:
            self._session.banner("review", str(error))
            return
        self._session.status("no label of this sitting is left to undo" if step_id is None else f"{step_id}: undone")
        if step_id is not None and step_id in self._ids:
            self._session.go_to(self._ids.index(step_id))
        self._show()

    def _edit_note(self) -> None:
        self._labels.edit_note()

    def _note_done(self) -> None:
        """Return in the field: a label that was given gets the note, too."""
        mine = None if self._case is None else self._reviewer.mine(self._case.step.id)
        if self._case is not None and mine is not None and mine.note != self._labels.note.strip():
            try:
                self._reviewer.label(self._case.step.id, mine.label, self._labels.note)
            except UserError as error:
                self._session.banner("review", str(error))
                return
            self._session.status("note kept")
            self._show()
        self._session.perform("cancel")

    # --- showing --------------------------------------------------------------------------------------------------

    def _show(self) -> None:
        left = self._reviewer.left()
        done, of = self._reviewer.progress(left)
        self._progress.configure(text=f"{of} cases, {done} labelled by {self._reviewer.labeller}")
        case = self._case
        if case is None:
            self._session.hide_overlay(_OVERLAY)
            self._write([("", "This step was not scored in the run.")])
        else:
            self._session.show_overlay(_OVERLAY, shapes_of(case))
            self._write(self._facts_of(case))
        mine = None if case is None else self._reviewer.mine(case.step.id)
        self._labels.mark(None if mine is None else mine.label)

    def _facts_of(self, case: ReviewCase) -> list[tuple[str, str]]:
        facts = [("Step", f"{case.step.id} · {outcome_words(case)}"), ("Instruction", case.step.instruction)]
        if case.plan is not None and case.plan != case.step.instruction:
            facts.append(("Plan", case.plan))
        if case.raw:
            facts.append(("Reply", case.raw))
        region = case.step.region
        if region is not None and has_changed(region, self._session.entry):
            facts.append(("Annotation", "is another now than when the run was scored (green)"))
        for label in self._reviewer.labels(case.step.id):
            facts.append((label.labeller, f"{label.label}{': ' + label.note if label.note else ''}"))
        return facts

    def _write(self, facts: list[tuple[str, str]]) -> None:
        field = self._facts
        field.configure(state="normal")
        field.delete("1.0", "end")
        for head, words in facts:
            if head:
                field.insert("end", f"{head}  ", "head")
            field.insert("end", f"{words[:MOST_LETTERS]}\n")
        field.configure(state="disabled")
