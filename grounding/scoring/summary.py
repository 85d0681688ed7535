"""Sessions and verdicts in, the content of ``summary.json`` out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

# importing the module registers the paper's metrics
import grounding.scoring.paper  # noqa: F401
from grounding.records import Record, Session, Verdict
from grounding.scoring.clusters import ClusterName
from grounding.scoring.costs import CostTotals
from grounding.scoring.grouping import Averages, GroupCells, average_cells, session_groups
from grounding.scoring.intervals import RESAMPLES
from grounding.scoring.metrics import registered
from grounding.scoring.scored import ScoredSession, join
from grounding.scoring.scores import Scores
from grounding.scoring.tally import Counts, Tally, session_sums

__all__ = ["Counts", "Group", "Status", "Summariser", "Summary", "summarise"]

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
    summariser = Summariser()
    for session in scored:
        summariser.add(session)
    return summariser.summary(
        status=status, signature=signature, seed=seed, resamples=resamples, cost=cost, clusters=clusters
    )


class Summariser:
    """Makes the same summary of sessions that come one after the other and are not kept."""

    def __init__(self) -> None:
        self._metrics = registered()
        self._whole = Tally(self._metrics)
        self._participants: dict[str, Tally] = {}
        self._groups: dict[str, dict[str, Tally]] = {}
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
        self._participants[session.participant] = Tally(self._metrics)
        self._participants[session.participant].add(sums)
        for kind, parts in session_groups(session).items():
            groups, columns = self._groups.setdefault(kind, {}), self._columns.setdefault(kind, {})
            for name, part in parts.items():
                columns.setdefault(name, len(columns) + 1)
                groups.setdefault(name, Tally(self._metrics)).add(session_sums(self._metrics, part))
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
        """The figures of all sessions so far; the arguments are those of :func:`summarise`."""

        def group(tally: Tally, over: ClusterName) -> Group:
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
