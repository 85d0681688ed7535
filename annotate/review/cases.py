"""A run folder in, its scored steps out, each with what was planned, what was clicked and what became of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from grounding.errorsplit.labels import Label, LabelName
from grounding.records import Box, Record, Step, Verdict
from grounding.runfolder import RunFolder
from grounding.scoring.verdicts import judge

Shown = Literal["wrong", "miss", "unparsed", "error", "hit", "all"]
"""Which outcomes are gone through. ``wrong``: all but hits. ``error``: without an answer, ``missing`` ones included."""

LabelState = Literal["any", "mine missing", "mine given", "disputed"]
"""Which steps by their labels: all; those that I have not labelled, or have; those whose labels differ."""


class ReviewCase(Record, frozen=True, kw_only=True):
    """One scored step of a run. ``raw`` is the grounder's reply as it came, ``box`` the one that it answered with."""

    step: Step
    verdict: Verdict
    plan: str | None = None
    box: Box | None = None
    raw: str = ""

    @property
    def is_wrong(self) -> bool:
        """Whether it is anything but a hit."""
        return self.verdict.outcome != "hit"


class ReviewFilter(Record, frozen=True, kw_only=True):
    """Which cases are gone through. Empty texts and None leave nothing out.

    ``words`` must occur in the instruction, the plan or the task, whatever their case. ``label`` is one that somebody
    gave. ``within_px`` leaves clicks that were not farther off than that.
    """

    shown: Shown = "wrong"
    participant: str = ""
    labels: LabelState = "any"
    label: LabelName | Literal[""] = ""
    words: str = ""
    within_px: float | None = None


def read_cases(run: Path) -> tuple[ReviewCase, ...]:
    """The scored steps of a run in session order, judged anew from the stored answers. Writes nothing.

    Raises:
        UserError: the folder holds no run over screenshots, or a file in it is damaged.
    """
    folder = RunFolder(run)
    folder.read_info()
    steps = [step for session in folder.read_sessions() for step in session.steps if step.region is not None]
    plans, predictions = folder.plans(read_only=True), folder.predictions(read_only=True)
    try:
        cases = []
        for step in steps:
            plan, prediction = plans.last(step.id), predictions.last(step.id)
            cases.append(
                ReviewCase(
                    step=step,
                    verdict=judge(step, plan, prediction),
                    plan=None if plan is None else plan.text,
                    box=None if prediction is None else prediction.box,
                    raw="" if prediction is None or prediction.raw is None else prediction.raw,
                )
            )
        return tuple(cases)
    finally:
        plans.close()
        predictions.close()


def filtered(
    cases: Iterable[ReviewCase], by: ReviewFilter, said: Mapping[str, tuple[Label, ...]], labeller: str
) -> tuple[ReviewCase, ...]:
    """The cases that a filter leaves, in their order.

    Args:
        cases: All of them.
        by: The filter.
        said: The labels that count, by step.
        labeller: Who ``mine`` is.
    """
    return tuple(case for case in cases if _is_left(case, by, said.get(case.step.id, ()), labeller))


def _is_left(case: ReviewCase, by: ReviewFilter, labels: tuple[Label, ...], labeller: str) -> bool:
    verdict = case.verdict
    outcome: str = "error" if verdict.outcome == "missing" else verdict.outcome
    if by.shown == "wrong" and not case.is_wrong:
        return False
    if by.shown not in ("wrong", "all") and by.shown != outcome:
        return False
    if by.participant and by.participant != case.step.participant:
        return False
    if by.within_px is not None and (verdict.distance_px is None or verdict.distance_px > by.within_px):
        return False
    if by.words and by.words.casefold() not in f"{case.step.instruction}\n{case.plan}\n{case.step.task}".casefold():
        return False
    names = {label.label for label in labels}
    if by.label and by.label not in names:
        return False
    mine = any(label.labeller == labeller for label in labels)
    return {"any": True, "mine missing": not mine, "mine given": mine, "disputed": len(names) > 1}[by.labels]
