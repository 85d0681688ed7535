"""Scored sessions and what answers took in, the content of ``summary.json`` out.

Sessions come one after the other; a few numbers are held for each task and no step, so that a run of any length is
summed up in the memory of its longest session.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Literal

import msgspec
import numpy as np

from grounding.records import Call, Record, Usage
from grounding.scoring.grouping import Averages, GroupCells, names_of, session_groups
from grounding.scoring.intervals import RESAMPLES
from grounding.scoring.metrics import (
    Metric,
    OfficialPart,
    estimate_sums,
    official_part,
    pooled_scores,
    registered,
    task_sums,
)
from grounding.scoring.scored import ClusterName, PaperScores, ScoredSession, Scores, participant_sums


class TimeTotals(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Seconds. ``planner_s`` and ``grounder_s`` add up requests that ran side by side, so they may exceed ``wall_s``.
    ``retries`` are the tries beyond the first.
    """

    wall_s: float = 0.0
    planner_s: float = 0.0
    grounder_s: float = 0.0
    retries: int = 0


class CallTotals(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What the requests to one model took, failed tries included as far as the server counted them.

    ``usd`` covers the calls whose price is known and is None where none is. Reasoning tokens are part of the output,
    cached ones of the input. ``failed_tokens`` are the input and output of tries that brought no answer.
    ``unreported_usd`` is the most that tries cost that may have been charged without a report.
    """

    calls: int = 0
    usd: float | None = None
    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    failed_tokens: int = 0
    unreported_usd: float = 0.0


class CostTotals(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Dollars and tokens that this run took. A sum of dollars is None where no price is known. ``reused`` is what the
    plans were worth that other runs paid for: it is in no other figure.
    """

    usd: float | None = None
    planner_usd: float | None = None
    grounder_usd: float | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    planner: CallTotals = CallTotals()
    grounder: CallTotals = CallTotals()
    reused: CallTotals = CallTotals()


class CallSums:
    """Adds up calls one by one, without keeping them."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._usd, self._unreported_usd, self._seconds = array("d"), array("d"), array("d")

    def add(self, call: Call | None) -> None:
        if call is None:
            return
        self._counts.update(calls=1, retries=call.attempts - 1)
        self._seconds.append(call.seconds)
        if call.cost_usd is not None:
            self._usd.append(call.cost_usd)
        if call.unreported_usd:
            self._unreported_usd.append(call.unreported_usd)
        for usage in (call.usage, call.failed_usage):
            if usage is not None:
                self._counts.update({name: getattr(usage, name) for name in Usage.__struct_fields__})
        if call.failed_usage is not None:
            self._counts["failed_tokens"] += call.failed_usage.input_tokens + call.failed_usage.output_tokens

    @property
    def retries(self) -> int:
        return self._counts["retries"]

    @property
    def seconds(self) -> float:
        return math.fsum(self._seconds)

    def totals(self) -> CallTotals:
        return CallTotals(
            usd=math.fsum(self._usd) if self._usd else None,
            unreported_usd=math.fsum(self._unreported_usd),
            **{name: count for name, count in self._counts.items() if name != "retries"},
        )


class RunSums:
    """Adds up what a run's answers took: what ``reused`` plans had cost others is kept apart."""

    def __init__(self) -> None:
        self.planner, self.grounder, self.reused = CallSums(), CallSums(), CallSums()

    def time(self, wall_s: float = 0.0) -> TimeTotals:
        """The seconds so far. ``wall_s`` is how long the run took by the clock, which no record knows."""
        planner, grounder = self.planner, self.grounder
        retries = planner.retries + grounder.retries
        return TimeTotals(wall_s=wall_s, planner_s=planner.seconds, grounder_s=grounder.seconds, retries=retries)

    def cost(self) -> CostTotals:
        planned, grounded = self.planner.totals(), self.grounder.totals()
        known = [usd for usd in (planned.usd, grounded.usd) if usd is not None]
        return CostTotals(
            usd=math.fsum(known) if known else None,
            planner_usd=planned.usd,
            grounder_usd=grounded.usd,
            input_tokens=planned.input_tokens + grounded.input_tokens,
            output_tokens=planned.output_tokens + grounded.output_tokens,
            planner=planned,
            grounder=grounded,
            reused=self.reused.totals(),
        )


def call_totals(calls: Iterable[Call]) -> CallTotals:
    """The sum over the requests to one model."""
    sums = CallSums()
    for call in calls:
        sums.add(call)
    return sums.totals()


class Counts(Record, frozen=True, kw_only=True):
    """What was scored. Tasks and instructions are those with a scored step; ``skipped`` steps have no region.

    The five outcomes add up to ``steps``. ``unasked`` are those of the missing that an unfinished run has not come to:
    they are in no score.
    """

    tasks: int
    instructions: int
    steps: int
    skipped: int
    hit: int
    miss: int
    unparsed: int
    error: int
    missing: int
    unasked: int = 0

    @property
    def answered(self) -> int:
        return self.steps - self.unasked

    @property
    def is_void(self) -> bool:
        """Whether a run that is through found no recorded answer for any step."""
        return self.steps > 0 and self.missing == self.steps and not self.unasked


class GroupSums:
    """The sums of several sessions, or of a group's part of them: a few numbers for each task, and no step."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._metrics = metrics
        self._counts = Counter[str]()
        # Whose each task is, and what it adds to each metric: shape (tasks, metrics) of each part.
        self.participants: list[str] = []
        self._above, self._below = [np.zeros((0, len(metrics)))], [np.zeros((0, len(metrics)))]
        self._official: list[OfficialPart] = []

    def add(self, session: ScoredSession) -> None:
        above, below = task_sums(self._metrics, session.tasks)
        self._above.append(above)
        self._below.append(below)
        self._official.append(official_part(session))
        self.participants += [session.participant] * len(session.tasks)
        self._counts.update(tasks=len(session.tasks), skipped=session.skipped)
        for task in session.tasks:
            self._counts.update(scored.verdict.outcome for scored in task.steps)
            unasked = len(task.steps) - len(task.asked())
            self._counts.update(steps=len(task.steps), instructions=len(task.instruction_hits()), unasked=unasked)

    def extend(self, other: GroupSums) -> None:
        self._above += other._above
        self._below += other._below
        self._official += other._official
        self.participants += other.participants
        self._counts.update(other._counts)

    def group(self, *, seed: int, resamples: int, clusters: ClusterName) -> Group:
        above, below = (
            participant_sums(np.concatenate(parts), self.participants, clusters) for parts in (self._above, self._below)
        )
        estimates = estimate_sums(self._metrics, above, below, seed=seed, resamples=resamples)
        paper = {name: estimates.pop(name) for name in PaperScores.__struct_fields__}
        return Group(
            counts=Counts(**{name: self._counts[name] for name in Counts.__struct_fields__}),
            scores=Scores(paper=PaperScores(**paper), official=pooled_scores(self._official), extra=estimates),
        )


Status = Literal["complete", "partial"]


class Group(Record, frozen=True, kw_only=True):
    """Counts and scores of a part of the data set; its intervals are over its own tasks."""

    counts: Counts
    scores: Scores


class Summary(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A run in figures. The scores of one that has not come to all steps are over what it has come to.

    ``groups`` maps a kind of group ("participant", and every kind that the steps are labelled with) to the groups by
    name, ``averages`` the kinds of the labels to micro and macro accuracy over their groups. ``independent`` says that
    no step follows another: a task is then what the steps over one screenshot have in common, and only step accuracy
    means anything. ``clusters`` is what the bootstrap drew together; the groups of "participant" are always over tasks.
    """

    schema: Literal[1] = 1
    status: Status
    signature: str
    counts: Counts
    scores: Scores
    groups: dict[str, dict[str, Group]]
    cost: CostTotals
    averages: dict[str, Averages] = msgspec.field(default_factory=dict)
    independent: bool = False
    clusters: ClusterName = "task"


class Summariser:
    """Makes the summary of sessions that come one after the other and are not kept. Raises UserError: an installed
    package announces a metric that can't be loaded.
    """

    def __init__(self) -> None:
        self._metrics = registered()
        self._accuracy = next(each for each in self._metrics if each.name == "step_accuracy")
        self._whole = GroupSums(self._metrics)
        self._groups: dict[str, dict[str, GroupSums]] = {"participant": {}}
        self._cells: dict[str, GroupCells] = {}
        self._dependent = False

    def add(self, session: ScoredSession) -> None:
        participants, whose = self._groups["participant"], session.participant
        if whose in participants:
            raise ValueError(f"participant {whose} has two sessions, expected one")
        own = participants[whose] = GroupSums(self._metrics)
        own.add(session)
        first_row = len(self._whole.participants)
        self._whole.extend(own)
        for kind, parts in session_groups(session).items():
            groups = self._groups.setdefault(kind, {})
            for name, part in parts.items():
                groups.setdefault(name, GroupSums(self._metrics)).add(part)
            cells = self._cells.setdefault(kind, GroupCells(self._accuracy))
            for row, task in enumerate(session.tasks, start=first_row):
                cells.add(row, task, partial(names_of, kind))
        if not self._dependent:
            self._dependent = any(not each.step.independent for task in session.tasks for each in task.steps)

    def summary(
        self,
        *,
        status: Status,
        signature: str,
        seed: int = 0,
        resamples: int = RESAMPLES,
        cost: CostTotals | None = None,
        clusters: ClusterName = "task",
    ) -> Summary:
        """All counts and scores, over everything, per participant and per group that the steps are labelled with.
        ``status`` is ``complete`` when every step was asked, ``signature`` one line that says what was run.
        """
        drawn = {"seed": seed, "resamples": resamples}
        whole = self._whole.group(**drawn, clusters=clusters)
        groups = {
            kind: {
                name: sums.group(**drawn, clusters="task" if kind == "participant" else clusters)
                for name, sums in parts.items()
            }
            for kind, parts in self._groups.items()
        }
        whose = self._whole.participants
        return Summary(
            status=status,
            signature=signature,
            counts=whole.counts,
            scores=whole.scores,
            groups=groups,
            cost=cost or CostTotals(),
            averages={kind: cells.averages(whose, **drawn, clusters=clusters) for kind, cells in self._cells.items()},
            independent=whole.counts.steps > 0 and not self._dependent,
            clusters=clusters,
        )
