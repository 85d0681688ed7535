"""The records that hold the scores of a desktop benchmark. Values are percentages unless a name says otherwise."""

from __future__ import annotations

from typing import Literal

from grounding.actions import ActionKind
from grounding.records import Record
from grounding.scoring.costs import CostTotals
from grounding.scoring.desktop.loops import DeadLoop
from grounding.scoring.desktop.rules import DesktopRule
from grounding.scoring.desktop.verdicts import DesktopFailure
from grounding.scoring.scores import Estimate


class DesktopAverages(Record, frozen=True, kw_only=True):
    """Accuracy of steps by one rule, averaged in three ways; 95 % intervals from a bootstrap over tasks.

    ``micro``: right steps over all steps (PERCU, equation 2). ``macro_task``: the mean of the tasks' accuracies (its
    equation 1, and what the released evaluator prints). ``macro_category``: the mean over categories of right steps
    over steps in each, which is what the words around equation 1 say; ``n`` counts categories.
    """

    micro: Estimate
    macro_task: Estimate
    macro_category: Estimate


class DesktopScores(Record, frozen=True, kw_only=True):
    """The averages by each of the three rules."""

    official: DesktopAverages
    paper: DesktopAverages
    strict: DesktopAverages


class DesktopCounts(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What was scored. ``right`` (by the paper) and the failures add up to ``steps``.

    ``looping`` are the tasks in which the agent was caught in a dead loop.
    """

    tasks: int
    steps: int
    right: int
    failures: dict[DesktopFailure, int]
    looping: int


class DesktopGroup(Record, frozen=True, kw_only=True):
    """Counts and scores of some of the tasks; its intervals are over its own tasks."""

    counts: DesktopCounts
    scores: DesktopScores


class KindScores(Record, frozen=True, kw_only=True):
    """Accuracy over the steps whose gold action is of one kind; 95 % intervals from a bootstrap over tasks."""

    official: Estimate
    paper: Estimate
    strict: Estimate


class CurvePoint(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Micro accuracy at another tolerance."""

    tolerance_px: float
    paper: Estimate
    strict: Estimate


class DesktopSummary(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A run over desktop tasks in figures, made like :class:`grounding.scoring.Summary`.

    ``groups`` maps "kind" and "category" to the groups by name. ``looping`` is the share of tasks with a dead loop
    (Wilson interval, over tasks).
    """

    schema: Literal[1] = 1
    status: Literal["complete", "partial"]
    signature: str
    tolerance_px: float
    counts: DesktopCounts
    scores: DesktopScores
    groups: dict[str, dict[str, DesktopGroup]]
    by_action: dict[ActionKind, KindScores]
    curve: tuple[CurvePoint, ...]
    looping: Estimate
    loops: tuple[DeadLoop, ...]
    cost: CostTotals


def averages(scores: DesktopScores, rule: DesktopRule) -> DesktopAverages:
    """The averages by one rule."""
    match rule:
        case "official":
            return scores.official
        case "paper":
            return scores.paper
        case "strict":
            return scores.strict
