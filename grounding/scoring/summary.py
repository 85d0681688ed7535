"""Sessions and verdicts in, the content of ``summary.json`` out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

# importing the module registers the paper's metrics
import grounding.scoring.paper  # noqa: F401
from grounding.records import Outcome, Record, Session, Verdict
from grounding.scoring.clusters import ClusterName
from grounding.scoring.costs import CostTotals
from grounding.scoring.grouping import Averages, averages, group_names, group_sessions
from grounding.scoring.intervals import RESAMPLES
from grounding.scoring.metrics import estimate, registered
from grounding.scoring.official import official_scores
from grounding.scoring.scored import ScoredSession, join
from grounding.scoring.scores import PaperScores, Scores

Status = Literal["complete", "partial"]


class Counts(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What was scored. Tasks and instructions are those with a scored step; ``skipped`` steps have no region.

    The five outcomes add up to ``steps``.
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


def summarise(
    sessions: Iterable[Session],
    verdicts: Iterable[Verdict],
    *,
    status: Status,
    signature: str,
    seed: int = 0,
    resamples: int = RESAMPLES,
    cost: CostTotals | None = None,
    clusters: ClusterName = "task",
) -> Summary:
    """All counts and scores, over everything, per participant and per group that the steps are labelled with.

    Args:
        sessions: What was to be answered, with the steps that are not scored.
        verdicts: At most one per scored step; a step without one counts as missing.
        status: ``complete`` when every step was asked.
        signature: One line that says what was run.
        seed: Seed of the bootstrap.
        resamples: Size of the bootstrap.
        cost: What :func:`~grounding.scoring.costs.totals` gives.
        clusters: What is drawn together by the bootstrap.

    Raises:
        ValueError: Two verdicts or two steps carry one id, or a participant has two sessions.
        UserError: An installed package announces a metric that cannot be loaded.
    """
    scored = join(sessions, verdicts)
    names = group_names(scored)
    groups = {
        "participant": {
            session.participant: Group(counts=_counts([session]), scores=_scores([session], seed, resamples, "task"))
            for session in scored
        }
    }
    for kind, members in names.items():
        groups[kind] = {}
        for name in members:
            part = group_sessions(scored, kind, name)
            groups[kind][name] = Group(counts=_counts(part), scores=_scores(part, seed, resamples, clusters))
    steps = [each.step for session in scored for task in session.tasks for each in task.steps]
    return Summary(
        status=status,
        signature=signature,
        counts=_counts(scored),
        scores=_scores(scored, seed, resamples, clusters),
        groups=groups,
        cost=cost or CostTotals(),
        averages={
            kind: averages(scored, kind, members, seed=seed, resamples=resamples, clusters=clusters)
            for kind, members in names.items()
        },
        independent=bool(steps) and all(step.independent for step in steps),
        clusters=clusters,
    )


def _counts(sessions: Sequence[ScoredSession]) -> Counts:
    tasks = [task for session in sessions for task in session.tasks]
    outcomes: Counter[Outcome] = Counter(scored.verdict.outcome for task in tasks for scored in task.steps)
    return Counts(
        tasks=len(tasks),
        instructions=sum(len(task.instruction_hits()) for task in tasks),
        steps=outcomes.total(),
        skipped=sum(session.skipped for session in sessions),
        hit=outcomes["hit"],
        miss=outcomes["miss"],
        unparsed=outcomes["unparsed"],
        error=outcomes["error"],
        missing=outcomes["missing"],
    )


def _scores(sessions: Sequence[ScoredSession], seed: int, resamples: int, clusters: ClusterName) -> Scores:
    tasks = [task for session in sessions for task in session.tasks]
    estimates = estimate(registered(), tasks, seed=seed, resamples=resamples, clusters=clusters)
    paper = {name: estimates.pop(name) for name in PaperScores.__struct_fields__}
    return Scores(paper=PaperScores(**paper), official=official_scores(sessions), extra=estimates)
