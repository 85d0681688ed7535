"""Scored sessions and what answers took in, the content of ``summary.json`` out.

Sessions come one after the other; a few numbers are held for each task and no step, so that a run of any length is
summed up in the memory of its longest session. Sums of fractions are rounded once, so that they don't hang on the order
in which the answers came.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, Protocol

import msgspec
import numpy as np

# importing the module registers the paper's metrics
import grounding.scoring.metrics  # noqa: F401
from grounding.records import Call, Outcome, Record, Usage
from grounding.scoring.grouping import Averages, GroupCells, average_cells, session_groups
from grounding.scoring.intervals import RESAMPLES, Matrix
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
    """Dollars and tokens that this run took. A sum of dollars is None where no price is known.

    ``reused`` is what the plans were worth that other runs paid for: it is in no other figure.
    """

    usd: float | None = None
    planner_usd: float | None = None
    grounder_usd: float | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    planner: CallTotals = CallTotals()
    grounder: CallTotals = CallTotals()
    reused: CallTotals = CallTotals()


class Totals(Record, frozen=True, kw_only=True):
    """What a run took."""

    time: TimeTotals
    cost: CostTotals


class CallSums:
    """Adds up calls one by one, without keeping them."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._usd, self._unreported_usd, self._seconds = array("d"), array("d"), array("d")

    def add(self, call: Call) -> None:
        """Take one more."""
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
        """Tries beyond the first."""
        return self._counts["retries"]

    @property
    def seconds(self) -> float:
        """Of all calls together."""
        return math.fsum(self._seconds)

    def totals(self) -> CallTotals:
        """The sum so far."""
        return CallTotals(
            usd=math.fsum(self._usd) if self._usd else None,
            unreported_usd=math.fsum(self._unreported_usd),
            **{name: count for name, count in self._counts.items() if name != "retries"},
        )


class Paid(Protocol):
    """What is needed of an answer to know what it took: the call that brought it; None where none was made."""

    @property
    def call(self) -> Call | None: ...  # noqa: D102


class PaidPlan(Paid, Protocol):
    """The same of a plan, and whether another run had paid for it."""

    @property
    def reused(self) -> bool: ...  # noqa: D102


class RunSums:
    """Adds up what a run's answers took, one by one."""

    def __init__(self) -> None:
        self._planner, self._grounder, self._reused = CallSums(), CallSums(), CallSums()

    def add_plan(self, plan: PaidPlan) -> None:
        """Take a plan. One that was reused brings its first cost along, which is kept apart."""
        if plan.call is not None:
            (self._reused if plan.reused else self._planner).add(plan.call)

    def add_prediction(self, prediction: Paid) -> None:
        """Take a prediction."""
        if prediction.call is not None:
            self._grounder.add(prediction.call)

    def totals(self, *, wall_s: float = 0.0) -> Totals:
        """The sums so far. ``wall_s`` is how long the run took by the clock, which no record knows."""
        planned, grounded = self._planner.totals(), self._grounder.totals()
        known = [usd for usd in (planned.usd, grounded.usd) if usd is not None]
        return Totals(
            time=TimeTotals(
                wall_s=wall_s,
                planner_s=self._planner.seconds,
                grounder_s=self._grounder.seconds,
                retries=self._planner.retries + self._grounder.retries,
            ),
            cost=CostTotals(
                usd=math.fsum(known) if known else None,
                planner_usd=planned.usd,
                grounder_usd=grounded.usd,
                input_tokens=planned.input_tokens + grounded.input_tokens,
                output_tokens=planned.output_tokens + grounded.output_tokens,
                planner=planned,
                grounder=grounded,
                reused=self._reused.totals(),
            ),
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
        """The steps that the run has come to, however they ended."""
        return self.steps - self.unasked

    @property
    def is_void(self) -> bool:
        """Whether a run that is through found no recorded answer for any step."""
        return self.steps > 0 and self.missing == self.steps and not self.unasked


class SessionSums(Record, frozen=True, kw_only=True):
    """What one session adds. ``above`` and ``below`` have the shape (tasks, metrics)."""

    participant: str
    counts: Counts
    above: Matrix
    below: Matrix
    official: OfficialPart


def session_sums(metrics: Sequence[Metric], session: ScoredSession) -> SessionSums:
    """Add up one session's tasks."""
    above, below = task_sums(metrics, session.tasks)
    outcomes: Counter[Outcome] = Counter(scored.verdict.outcome for task in session.tasks for scored in task.steps)
    counts = Counts(
        tasks=len(session.tasks),
        instructions=sum(len(task.instruction_hits()) for task in session.tasks),
        steps=outcomes.total(),
        skipped=session.skipped,
        hit=outcomes["hit"],
        miss=outcomes["miss"],
        unparsed=outcomes["unparsed"],
        error=outcomes["error"],
        missing=outcomes["missing"],
        unasked=sum(len(task.steps) - len(task.asked()) for task in session.tasks),
    )
    official = official_part(session)
    return SessionSums(participant=session.participant, counts=counts, above=above, below=below, official=official)


class GroupSums:
    """The sums of several sessions, or of a group's part of them."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._metrics = metrics
        self._parts: list[SessionSums] = []

    def add(self, sums: SessionSums) -> None:
        """Take one more session."""
        self._parts.append(sums)

    @property
    def tasks(self) -> int:
        """How many tasks the sessions have."""
        return sum(part.counts.tasks for part in self._parts)

    def counts(self) -> Counts:
        """What was scored."""
        fields = Counts.__struct_fields__
        return Counts(**{name: sum(getattr(part.counts, name) for part in self._parts) for name in fields})

    def participants(self) -> list[str]:
        """Whose each task is."""
        return [part.participant for part in self._parts for _ in range(part.counts.tasks)]

    def scores(self, *, seed: int = 0, resamples: int = RESAMPLES, clusters: ClusterName = "task") -> Scores:
        """Both definitions' scores."""
        empty = np.zeros((0, len(self._metrics)))
        whose = self.participants()
        above, below = (
            participant_sums(np.concatenate([empty, *parts]), whose, clusters)
            for parts in ([part.above for part in self._parts], [part.below for part in self._parts])
        )
        estimates = estimate_sums(self._metrics, above, below, seed=seed, resamples=resamples)
        paper = {name: estimates.pop(name) for name in PaperScores.__struct_fields__}
        official = pooled_scores([part.official for part in self._parts])
        return Scores(paper=PaperScores(**paper), official=official, extra=estimates)


Status = Literal["complete", "partial"]


class Group(Record, frozen=True, kw_only=True):
    """Counts and scores of a part of the data set; its intervals are over its own tasks."""

    counts: Counts
    scores: Scores


class Summary(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A run in figures.

    ``groups`` maps a kind of group ("participant", and every kind that the steps are labelled with) to the groups by
    name, ``averages`` the kinds of the labels to micro and macro accuracy over their groups. ``independent`` says that
    no step follows another: a task is then what the steps over one screenshot have in common, and only step accuracy
    means anything. ``clusters`` is what the bootstrap drew together; the groups of "participant" are always over tasks.

    The scores of a run that has not come to all steps (``counts.unasked``) are over the steps that it has come to;
    those of tasks over the tasks that it is through with.
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
    """Makes the summary of sessions that come one after the other and are not kept.

    Raises:
        UserError: an installed package announces a metric that can't be loaded.
    """

    def __init__(self) -> None:
        self._metrics = registered()
        self._whole = GroupSums(self._metrics)
        self._participants: dict[str, GroupSums] = {}
        self._groups: dict[str, dict[str, GroupSums]] = {}
        self._columns: dict[str, dict[str, int]] = {}
        self._cells: dict[str, GroupCells] = {}
        self._dependent = False

    def add(self, session: ScoredSession) -> None:
        """Take one more session.

        Raises:
            ValueError: the participant has one already.
        """
        if session.participant in self._participants:
            raise ValueError(f"participant {session.participant} has two sessions, expected one")
        sums = session_sums(self._metrics, session)
        before = self._whole.tasks
        self._whole.add(sums)
        self._participants[session.participant] = GroupSums(self._metrics)
        self._participants[session.participant].add(sums)
        for kind, parts in session_groups(session).items():
            groups, columns = self._groups.setdefault(kind, {}), self._columns.setdefault(kind, {})
            for name, part in parts.items():
                columns.setdefault(name, len(columns) + 1)
                groups.setdefault(name, GroupSums(self._metrics)).add(session_sums(self._metrics, part))
            self._cells.setdefault(kind, GroupCells()).add(session, kind, columns, first_task=before)
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

        def group(tally: GroupSums, over: ClusterName) -> Group:
            return Group(counts=tally.counts(), scores=tally.scores(seed=seed, resamples=resamples, clusters=over))

        whole, whose = group(self._whole, clusters), self._whole.participants()
        groups = {"participant": {name: group(tally, "task") for name, tally in self._participants.items()}}
        for kind, tallies in self._groups.items():
            groups[kind] = {name: group(tally, clusters) for name, tally in tallies.items()}
        return Summary(
            status=status,
            signature=signature,
            counts=whole.counts,
            scores=whole.scores,
            groups=groups,
            cost=cost or CostTotals(),
            averages={
                kind: average_cells(
                    cells, len(self._columns[kind]), whose, seed=seed, resamples=resamples, clusters=clusters
                )
                for kind, cells in self._cells.items()
            },
            independent=whole.counts.steps > 0 and not self._dependent,
            clusters=clusters,
        )
