"""Scored sessions in, one after the other; counts and scores out. Holds a few numbers for each task and no step.

So a run of any length is summed up in the memory of its longest session.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from grounding.records import Outcome, Record
from grounding.scoring.clusters import ClusterName, participant_sums
from grounding.scoring.intervals import RESAMPLES, Matrix
from grounding.scoring.metrics import Metric, estimate_sums, task_sums
from grounding.scoring.official import OfficialPart, official_part, pooled_scores
from grounding.scoring.scored import ScoredSession
from grounding.scoring.scores import PaperScores, Scores


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
    )
    official = official_part(session)
    return SessionSums(participant=session.participant, counts=counts, above=above, below=below, official=official)


class Tally:
    """The sums of several sessions, or of a group's part of them.

    Args:
        metrics: What is scored.
    """

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
        """Both definitions' scores.

        Args:
            seed: Of the bootstrap.
            resamples: Its size.
            clusters: What is drawn together.
        """
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
