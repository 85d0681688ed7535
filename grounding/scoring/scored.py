"""Sessions and verdicts in, scored tasks out: the one view of a run from which every score is computed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Literal, Protocol, Self, TypeVar

import msgspec
import numpy as np

from grounding.geometry import distance_px, is_finite, is_hit
from grounding.records import NEVER_ASKED, Failure, Outcome, Point, Record, Session, Step, TaskLabel, Verdict
from grounding.scoring.intervals import Interval, Matrix, alike


class AnyItem(Protocol):
    """What a benchmark scores one by one, such as a step, and whether it is right."""

    @property
    def id(self) -> str: ...
    @property
    def is_hit(self) -> bool: ...
    @property
    def was_asked(self) -> bool: ...
    def unasked(self) -> Self: ...


class AnyTask(Protocol):
    """The scored items of one task of one participant: what metrics are functions of."""

    @property
    def participant(self) -> str: ...
    @property
    def label(self) -> TaskLabel: ...
    @property
    def steps(self) -> tuple[AnyItem, ...]: ...
    def asked(self) -> tuple[AnyItem, ...]: ...


TaskT = TypeVar("TaskT", bound=AnyTask)


class ScoredStep(Record, frozen=True, kw_only=True):
    """A step that has a region, and what became of it."""

    step: Step
    verdict: Verdict

    @property
    def id(self) -> str:
        return self.step.id

    @property
    def is_hit(self) -> bool:
        """True for a hit; a miss and every kind of absent answer are equally wrong."""
        return self.verdict.outcome == "hit"

    @property
    def was_asked(self) -> bool:
        """False where an unfinished run has not come to the step."""
        return self.verdict.was_asked

    def unasked(self) -> ScoredStep:
        """The same step as if no run had come to it."""
        return ScoredStep(step=self.step, verdict=_unasked(self.step))


class ScoredTask(Record, frozen=True, kw_only=True):
    """The scored steps of one task of one participant, in session order; never empty."""

    participant: str
    label: TaskLabel
    steps: tuple[ScoredStep, ...]

    def asked(self) -> tuple[ScoredStep, ...]:
        return tuple(scored for scored in self.steps if scored.was_asked)

    def instruction_hits(self) -> tuple[bool, ...]:
        """One entry per instruction that has a scored step: are all its scored steps hits? (RealWebAssist, 3.1)"""
        instructions = groupby(self.steps, key=lambda scored: scored.step.instruction_index)
        return tuple(all([scored.is_hit for scored in steps]) for _, steps in instructions)


class ScoredSession(Record, frozen=True, kw_only=True):
    """One participant's scored tasks in order of their first step, and how many steps were not scored."""

    participant: str
    tasks: tuple[ScoredTask, ...]
    skipped: int


def join(sessions: Iterable[Session], verdicts: Iterable[Verdict]) -> tuple[ScoredSession, ...]:
    """Put each scored step beside its verdict.

    A scored step without a verdict is ``missing``: it was never asked, and no score takes it for wrong. Verdicts of
    other steps are ignored. Tasks without a scored step are left out, as in the released evaluator of RealWebAssist.
    """
    verdict_of = {verdict.step_id: verdict for verdict in verdicts}
    joined = []
    for session in sessions:
        tasks = []
        for task in session.tasks():
            steps = (step for step in task.steps if step.region is not None)
            scored = tuple(ScoredStep(step=step, verdict=verdict_of.get(step.id) or _unasked(step)) for step in steps)
            if scored:
                tasks.append(ScoredTask(participant=task.participant, label=task.label, steps=scored))
        skipped = sum(step.region is None for step in session.steps)
        joined.append(ScoredSession(participant=session.participant, tasks=tuple(tasks), skipped=skipped))
    return tuple(joined)


def _unasked(step: Step) -> Verdict:
    return Verdict(step_id=step.id, outcome="missing", reason=NEVER_ASKED)


ClusterName = Literal["task", "participant"]


def participant_sums(parts: Matrix, participants: Sequence[str], clusters: ClusterName) -> Matrix:
    """Rows of tasks to rows of clusters, in order of each cluster's first task; shape (clusters, columns).
    ``participants`` says whose the task of each row is.
    """
    if clusters == "task":
        return parts
    number: dict[str, int] = {}
    rows = np.array([number.setdefault(participant, len(number)) for participant in participants], dtype=np.intp)
    sums = np.zeros((len(number), parts.shape[1]))
    np.add.at(sums, rows, parts)
    return sums


Method = Literal["bootstrap", "wilson", "wilson over clusters", "none"]


class Estimate(Record, frozen=True, kw_only=True):
    """A score with its 95 % interval, in percent or in ``unit``. ``value`` is None when ``n`` is 0.

    ``k`` of ``n`` things are right; a mean over ``n`` tasks has no ``k``. ``method`` is how the interval was made: by
    drawing whole clusters; by Wilson's formula where every cluster is a single trial; by the same with a trial for each
    cluster where all of them are at 0 or all at 100 %; or ``none``: one cluster, or several that are all alike, say
    nothing of how sure the score is, and ``low`` and ``high`` are None.
    """

    value: float | None
    k: int | None = None
    n: int
    low: float | None
    high: float | None
    method: Method = "bootstrap"
    unit: str = "%"


def estimated(
    value: float | None,
    n: int,
    interval: Interval | None,
    *,
    k: int | None = None,
    trials: bool = False,
    most: float | None = 100.0,
    unit: str = "%",
) -> Estimate:
    """An estimate that says how its interval was made: ``trials`` by Wilson's formula, else by drawing clusters."""
    method: Method = "wilson" if trials else "bootstrap"
    if interval is None or value is None:
        interval, method = None, "none"
    elif not trials and most is not None and (alike(value, 0.0) or alike(value, most)):
        method = "wilson over clusters"
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    return Estimate(value=value, k=k, n=n, low=low, high=high, method=method, unit=unit)


class Figure(Record, frozen=True, kw_only=True):
    """A score as the released evaluator prints it: without an interval, and 0 where nothing was scored."""

    value: float
    k: int | None = None
    n: int


class PaperScores(Record, frozen=True, kw_only=True):
    """The measures as the paper defines them (RealWebAssist, section 3.2), and the accuracy of instructions."""

    step_accuracy: Estimate
    instruction_accuracy: Estimate
    average_progress: Estimate
    task_success: Estimate


class OfficialScores(Record, frozen=True, kw_only=True):
    """The measures as the authors' released evaluator computes them; ``average_distance`` is in pixels."""

    step_accuracy: Figure
    average_progress: Figure
    task_success: Figure
    average_distance: Figure


class Scores(Record, frozen=True, kw_only=True):
    """All scores of one set of steps. ``extra`` holds registered metrics beyond the paper's, by name."""

    paper: PaperScores
    official: OfficialScores
    extra: dict[str, Estimate] = msgspec.field(default_factory=dict)

    def of(self, name: str) -> Estimate | None:
        """A metric's estimate by its name; None where the run was scored without it."""
        found: Estimate | None = getattr(self.paper, name, None)
        return self.extra.get(name) if found is None else found


class PlanOutcome(Protocol):
    @property
    def failure(self) -> Failure | None: ...


class GroundingOutcome(PlanOutcome, Protocol):
    @property
    def point(self) -> Point | None: ...
    @property
    def declined(self) -> bool: ...


def judge(step: Step, plan: PlanOutcome | None, prediction: GroundingOutcome | None) -> Verdict:
    """Judge one step by its prediction, or by the plan's failure where there is no prediction.

    The outcome is ``hit`` (inside the region or on its edge), ``miss``, ``unparsed`` (a reply came and holds no usable
    point), ``error`` (infrastructure failed) or ``missing`` (there is no answer: the step was never asked, or a
    recorded file holds none). A click in any one of several shapes is right (RealWebAssist, section 3.1, and the
    released evaluator). Where the target is absent, an answer that says so is the hit and any point a miss. Raises
    ValueError: the step has no region, so there is nothing to judge.
    """
    if step.region is None:
        raise ValueError(f"step {step.id} has no region: it is part of the history and is not scored")

    def verdict(outcome: Outcome, reason: str, point: Point | None = None) -> Verdict:
        return Verdict(step_id=step.id, outcome=outcome, point=point, reason=reason)

    if prediction is None:
        failure = None if plan is None else plan.failure
        return _unasked(step) if failure is None else verdict(failure.kind, f"planner: {failure.message}")
    if step.target_absent and prediction.declined:
        return verdict("hit", "the target is absent, and the answer says so")
    if prediction.failure is not None:
        return verdict(prediction.failure.kind, prediction.failure.message)
    point = prediction.point
    if point is None:
        return verdict("unparsed", "the reply holds no point")
    if not is_finite(point):
        # the point is left out: JSON has no way to write it, so a stored verdict would differ from this one
        return verdict("unparsed", "the point's coordinates are not finite numbers")
    if step.target_absent:
        return verdict("miss", "the target is absent", point)
    if is_hit(step.region, point):
        return Verdict(step_id=step.id, outcome="hit", point=point, distance_px=0.0)
    return Verdict(step_id=step.id, outcome="miss", point=point, distance_px=distance_px(step.region, point))
