"""The tab for going through a run: what was right and planned, where the click went, what people say of it."""

from __future__ import annotations

import tkinter as tk
from functools import partial
from pathlib import Path
from tkinter import ttk
from typing import TYPE_CHECKING

from grounding.analysis.labels import LabelName
from grounding.data.samples import step_ids
from grounding.records import Box, Polygon

from ..core.keys import actions
from ..display import WindowOptions
from ..window.shapes import OverlayBox, OverlayPoint, OverlayShape
from .reviewer import ReviewCase, Reviewer, find_folders, index_in_file, reviewer_of

if TYPE_CHECKING:
    from ..window.session import WindowSession

_OVERLAY = "review"
GOLD, CLICK, HIT = "#15803d", "#dc2626", "#1d4ed8"
# Of a reply, which may be anything, and of a plan over the picture, so much is shown.
_MOST_LETTERS, _PLAN_LETTERS = 4_000, 60
LABEL_KEYS: tuple[tuple[LabelName, str, str], ...] = (
    ("reasoning", "Reasoning", "1"),
    ("grounding", "Grounding", "2"),
    ("unclear", "Unclear", "3"),
    ("annotation-wrong", "Gold wrong", "4"),
    ("ambiguous", "Ambiguous", "5"),
    ("other", "Other", "6"),
)
ACTIONS = actions(
    "Review",
    ("next-case", "Next case of the run", "]"),
    ("previous-case", "Case before", "["),
    *((f"label-{name}", f"Label: {words}", key) for name, words, key in LABEL_KEYS),
    ("label-withdrawn", "Take my label back", "0"),
    ("edit-note", "Edit the note", "Mod+N"),
)


def make_panel(options: WindowOptions) -> ReviewPanel | None:
    if options.run is None:
        return None
    reviewer, here = reviewer_of(options.run.resolve(), options.annotator), options.folder.resolve()
    steps = [case.step for case in reviewer.cases]
    data = here if len({step.participant for step in steps}) == 1 else here.parent
    return ReviewPanel(reviewer, find_folders(steps, data))


class ReviewPanel:
    title = "Review"
    actions = ACTIONS

    def __init__(self, reviewer: Reviewer, folders: dict[str, Path]) -> None:
        self._reviewer, self._folders = reviewer, folders
        self._case: ReviewCase | None = None
        self._ids: list[str] = []

    def build(self, parent: tk.Misc, session: WindowSession) -> ttk.Frame:
        self._session = session
        here = session.document.folder.resolve()
        self._participant = next((name for name, folder in self._folders.items() if folder == here), here.name)
        frame = self._frame = ttk.Frame(parent, padding=8)
        self._progress = ttk.Label(frame, style="Title.TLabel")
        self._progress.pack(anchor="w")
        steps = ttk.Frame(frame)
        steps.pack(fill="x", pady=6)
        session.button(steps, "Before", "previous-case").pack(side="left", padx=(0, 6))
        session.button(steps, "Next", "next-case").pack(side="left")
        self._facts = tk.Text(frame, height=9, width=10, wrap="word", relief="flat", borderwidth=0, takefocus=False,
                              font="TkSmallCaptionFont", padx=6, pady=4, cursor="arrow")  # fmt: skip
        self._facts.tag_configure("head", font="TkHeadingFont")
        self._facts.pack(fill="both", expand=True)
        self._build_labels(frame)
        session.bind_keys({
            "next-case": partial(self._go, 1), "previous-case": partial(self._go, -1),
            "label-withdrawn": self._withdraw, "edit-note": lambda: self._field.focus_set(),
            **{f"label-{name}": partial(self._label, name) for name, _, _ in LABEL_KEYS},
        })  # fmt: skip
        session.watch(step=self._stepped, change=self._changed)
        # Whoever names a run is here for it; the tab is added after this returns.
        parent.after_idle(lambda: parent.select(frame))  # type: ignore[attr-defined]
        return frame

    def _build_labels(self, frame: ttk.Frame) -> None:
        grid = ttk.Frame(frame)
        grid.pack(fill="x", pady=(6, 0))
        grid.columnconfigure((0, 1), weight=1, uniform="labels")
        self._buttons: dict[str, ttk.Button] = {}
        named = [(f"label-{name}", words) for name, words, _ in LABEL_KEYS]
        for place, (action, words) in enumerate(named):
            button = self._buttons[action] = self._session.button(grid, words, action)
            button.grid(row=place // 2, column=place % 2, sticky="ew", padx=1, pady=1)
        line = ttk.Frame(frame)
        line.pack(fill="x", pady=6)
        ttk.Label(line, text="Note", style="Soft.TLabel").pack(side="left", padx=(0, 6))
        self._note = tk.StringVar(frame)
        self._field = ttk.Entry(line, textvariable=self._note)
        self._field.pack(side="left", fill="x", expand=True)
        self._field.bind("<Return>", lambda _event: self._note_done())

    def _stepped(self, index: int) -> None:
        self._ids = step_ids(self._participant, [entry.image for entry in self._session.document.entries])
        self._case = self._reviewer.case(self._ids[index])
        mine = self._reviewer.mine(self._ids[index])
        self._note.set("" if mine is None else mine.note)
        self._show()

    def _changed(self, index: int) -> None:
        if index == self._session.index:
            self._show()

    def _go(self, direction: int) -> None:
        session = self._session
        case = self._reviewer.neighbour(self._ids[session.index], direction)
        if case is None:
            session.status("that was the last case" if direction > 0 else "that was the first case")
            return
        step = case.step
        if step.participant == self._participant and step.id in self._ids:
            session.go_to(self._ids.index(step.id))
            return
        folder = self._folders[step.participant]
        index = index_in_file(folder, step.id, step.participant)
        if index is None or step.participant == self._participant:
            words = f"Step {step.id} of the run is not in the data any more; the run was over other screenshots."
            session.banner("review", words)
        else:
            session.opener(folder, index)

    def _label(self, name: LabelName) -> None:
        if self._case is None:
            self._session.status("this step was not scored in the run: there is nothing to label")
            return
        self._reviewer.label(self._case.step.id, name, self._note.get())
        self._session.status(f"{self._case.step.id}: {name}")
        self._go(1)
        self._show()

    def _withdraw(self) -> None:
        if self._case is None or self._reviewer.mine(self._case.step.id) is None:
            self._session.status("you have not labelled this step")
            return
        self._reviewer.label(self._case.step.id, "withdrawn")
        self._show()

    def _note_done(self) -> None:
        mine = self._reviewer.mine(self._ids[self._session.index])
        if mine is not None and mine.note != self._note.get().strip():
            self._reviewer.label(mine.step, mine.label, self._note.get())
        self._show()
        self._session.focus_canvas()

    def _show(self) -> None:
        left, case = self._reviewer.wrong(), self._case
        done = sum(self._reviewer.mine(one.step.id) is not None for one in left)
        self._progress.configure(text=f"{len(left)} misses, {done} labelled by {self._reviewer.labeller}")
        self._session.canvas.show_overlay(_OVERLAY, () if case is None else shapes_of(case))
        mine = None if case is None else self._reviewer.mine(case.step.id)
        for action, button in self._buttons.items():
            button.state(["pressed" if mine is not None and action == f"label-{mine.label}" else "!pressed"])
        self._facts.configure(state="normal")
        self._facts.delete("1.0", "end")
        for head, words in [("", "This step was not scored in the run.")] if case is None else self._facts_of(case):
            self._facts.insert("end", f"{head}  " if head else "", "head")
            self._facts.insert("end", f"{words[:_MOST_LETTERS]}\n")
        self._facts.configure(state="disabled")

    def _facts_of(self, case: ReviewCase) -> list[tuple[str, str]]:
        facts = [("Step", f"{case.step.id} · {outcome_words(case)}"), ("Instruction", case.step.instruction)]
        if case.plan is not None and case.plan != case.step.instruction:
            facts.append(("Plan", case.plan))
        if case.raw:
            facts.append(("Reply", case.raw))
        region = case.step.region
        if region is not None and set(region.boxes) != {box.box for box in self._session.entry.boxes}:
            facts.append(("Annotation", "is another now than when the run was scored (green)"))
        for label in self._reviewer.said(case.step.id):
            facts.append((label.labeller, f"{label.label}{': ' + label.note if label.note else ''}"))
        return facts


def shapes_of(case: ReviewCase) -> tuple[OverlayShape, ...]:
    """Green: where a click was right when the run was scored. Red: where the model clicked, blue if that was right."""
    region, point = case.step.region, case.verdict.point
    colour = CLICK if case.is_wrong else HIT
    shapes: list[OverlayShape] = []
    if region is not None:
        shapes += [OverlayBox(box=box, colour=GOLD, label="gold", dashed=False) for box in region.boxes]
        shapes += [OverlayBox(box=_bounds(one), colour=GOLD, label="gold") for one in region.polygons]
    if case.box is not None:
        shapes.append(OverlayBox(box=case.box, colour=colour))
    if point is not None:
        shapes.append(OverlayPoint(point=point, colour=colour, label=_click_words(case)))
    return tuple(shapes)


def outcome_words(case: ReviewCase) -> str:
    point, distance_px = case.verdict.point, case.verdict.distance_px
    parts: list[str] = [case.verdict.outcome]
    if point is not None:
        parts.append(f"click at {point.x_px:.0f}, {point.y_px:.0f}")
    if distance_px:
        parts.append(f"{distance_px:.0f} px from the gold")
    if case.verdict.reason:
        parts.append(case.verdict.reason)
    return " · ".join(parts)


def _click_words(case: ReviewCase) -> str:
    """How far off the click is, and the beginning of what was planned."""
    off = case.verdict.distance_px
    words = "hit" if not case.is_wrong else "click" if off is None else f"{off:.0f} px off"
    plan = " ".join((case.plan or "").split())
    if not plan or plan == " ".join(case.step.instruction.split()):
        return words
    return f"{words}: {plan[:_PLAN_LETTERS]}{'…' if len(plan) > _PLAN_LETTERS else ''}"


def _bounds(polygon: Polygon) -> Box:
    across, down = [point.x_px for point in polygon.points], [point.y_px for point in polygon.points]
    return Box(left_px=min(across), top_px=min(down), right_px=max(across), bottom_px=max(down))
