"""Groups of steps, and the averages over them: scored sessions in, group names and estimates out.

A step belongs to the groups that its labels name, of several kinds (platform, application, text or icon). For each
kind, accuracy is averaged in the two ways that papers use, side by side, because they mix them up: ``micro`` counts
every step once, ``macro`` every group once, however small it is.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np

from grounding.records import Record
from grounding.scoring.clusters import ClusterName, participant_sums
from grounding.scoring.intervals import RESAMPLES, Matrix, resampled_sums, wilson
from grounding.scoring.metrics import are_trials
from grounding.scoring.scored import ScoredSession, ScoredStep, ScoredTask
from grounding.scoring.scores import Estimate

_TAILS = (0.025, 0.975)


class Averages(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Step accuracy over the groups of one kind, in percent.

    ``micro`` is over the steps that belong to any of them, each counted once; its ``n`` is how many. ``macro`` is the
    mean of the groups' accuracies; its ``n`` is how many groups. Both intervals come from the same draws of tasks.
    """

    micro: Estimate
    macro: Estimate


def group_names(sessions: Sequence[ScoredSession]) -> dict[str, tuple[str, ...]]:
    """The groups that occur, by kind; kinds and names in order of their first step."""
    found: dict[str, dict[str, None]] = {}
    for task in _tasks(sessions):
        for scored in task.steps:
            for label in scored.step.groups:
                found.setdefault(label.kind, {})[label.name] = None
    return {kind: tuple(names) for kind, names in found.items()}


def group_sessions(sessions: Sequence[ScoredSession], kind: str, name: str) -> tuple[ScoredSession, ...]:
    """The scored steps of one group, in the tasks that they belong to; steps that are not scored are in no group."""
    found = (session_groups(session).get(kind, {}).get(name) for session in sessions)
    return tuple(part for part in found if part is not None)


def session_groups(session: ScoredSession) -> dict[str, dict[str, ScoredSession]]:
    """The same for all groups of one session at once: by kind, then by name, in order of their first step."""
    tasks: dict[str, dict[str, list[ScoredTask]]] = {}
    for task in session.tasks:
        steps: dict[tuple[str, str], dict[str, ScoredStep]] = {}
        for scored in task.steps:
            for label in scored.step.groups:
                # by id, so that a label written twice counts a step once
                steps.setdefault((label.kind, label.name), {})[scored.step.id] = scored
        for (kind, name), members in steps.items():
            part = ScoredTask(participant=task.participant, label=task.label, steps=tuple(members.values()))
            tasks.setdefault(kind, {}).setdefault(name, []).append(part)
    return {
        kind: {
            name: ScoredSession(participant=session.participant, tasks=tuple(found), skipped=0)
            for name, found in names.items()
        }
        for kind, names in tasks.items()
    }


def averages(
    sessions: Sequence[ScoredSession],
    kind: str,
    names: Sequence[str],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    clusters: ClusterName = "task",
) -> Averages:
    """Micro and macro accuracy over the groups of one kind, with 95 % bootstrap intervals over clusters.

    A resample in which a group has no step averages over the groups that it has.

    Args:
        sessions: The scored steps.
        kind: Kind of the groups.
        names: The groups.
        seed: Seed of the bootstrap.
        resamples: Its size.
        clusters: What is drawn together.
    """
    column = {name: index for index, name in enumerate(names, start=1)}
    cells, first = GroupCells(), 0
    for session in sessions:
        cells.add(session, kind, column, first_task=first)
        first += len(session.tasks)
    participants = [task.participant for task in _tasks(sessions)]
    return average_cells(cells, len(names), participants, seed=seed, resamples=resamples, clusters=clusters)


class GroupCells:
    """How many steps each task has in each group of one kind, and how many of them are hits: only what is not 0.

    Column 0 counts every step that is in any group once.
    """

    def __init__(self) -> None:
        self._rows, self._columns = array("q"), array("q")
        self._hits, self._steps = array("d"), array("d")

    def add(self, session: ScoredSession, kind: str, column: dict[str, int], *, first_task: int) -> None:
        """Count a session's steps.

        Args:
            session: The session.
            kind: Kind of the groups.
            column: The number of each group's column, from 1.
            first_task: How many tasks the sessions before it have.
        """
        for row, task in enumerate(session.tasks, start=first_task):
            counts: dict[int, list[int]] = {}
            for scored in task.steps:
                columns = {column[label.name] for label in scored.step.groups if label.kind == kind}
                hit = scored.verdict.outcome == "hit"
                for index in (0, *columns) if columns else ():
                    count = counts.setdefault(index, [0, 0])
                    count[0] += hit
                    count[1] += 1
            for index, (hits, steps) in counts.items():
                self._rows.append(row)
                self._columns.append(index)
                self._hits.append(100 * hits)
                self._steps.append(steps)

    def tables(self, tasks: int, groups: int) -> tuple[Matrix, Matrix]:
        """Hits, 100 each, and steps: shape (tasks, 1 + groups) both."""
        hits, steps = np.zeros((tasks, groups + 1)), np.zeros((tasks, groups + 1))
        where = np.array(self._rows, dtype=np.intp), np.array(self._columns, dtype=np.intp)
        hits[where], steps[where] = self._hits, self._steps
        return hits, steps


def average_cells(
    cells: GroupCells,
    groups: int,
    participants: Sequence[str],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    clusters: ClusterName = "task",
) -> Averages:
    """:func:`averages` from counts.

    Args:
        cells: The counts.
        groups: How many groups there are.
        participants: Whose each task is.
        seed: Seed of the bootstrap.
        resamples: Its size.
        clusters: What is drawn together.
    """
    hits, steps = cells.tables(len(participants), groups)
    whole = _micro_and_macro(hits.sum(axis=0, keepdims=True), steps.sum(axis=0, keepdims=True))[0]
    counted = int(steps[:, 0].sum())
    if not counted:
        empty = Estimate(value=None, n=0, low=None, high=None)
        return Averages(micro=empty, macro=empty)
    sums = resampled_sums(participant_sums(np.hstack([hits, steps]), participants, clusters), seed, resamples)
    drawn = _micro_and_macro(*np.hsplit(sums, 2))
    drawn = drawn[~np.isnan(drawn).any(axis=1)]
    (micro_low, macro_low), (micro_high, macro_high) = np.quantile(drawn, _TAILS, axis=0)
    right = round(hits[:, 0].sum() / 100)
    # as for step accuracy: a cluster of one step is a single trial
    plain = are_trials(participant_sums(steps[:, :1], participants, clusters))
    if plain:
        micro_low, micro_high = (interval := wilson(right, counted)).low, interval.high
    return Averages(
        micro=Estimate(
            value=float(whole[0]),
            k=right,
            n=counted,
            low=float(micro_low),
            high=float(micro_high),
            method="wilson" if plain else "bootstrap",
        ),
        macro=Estimate(
            value=float(whole[1]),
            n=int((steps[:, 1:].sum(axis=0) > 0).sum()),
            low=float(macro_low),
            high=float(macro_high),
        ),
    )


def _micro_and_macro(hits: Matrix, steps: Matrix) -> Matrix:
    """Sums to micro and macro accuracy in percent; NaN where nothing was drawn.

    Sums of hits, 100 each, and of steps have the shape (resamples, 1 + groups); the first column is over all groups.
    """
    shares = np.divide(hits, steps, out=np.full(hits.shape, np.nan), where=steps > 0)
    has_group = ~np.isnan(shares[:, 1:])
    groups = has_group.sum(axis=1)
    total = np.where(has_group, shares[:, 1:], 0.0).sum(axis=1)
    macro = np.divide(total, groups, out=np.full(len(total), np.nan), where=groups > 0)
    return np.asarray(np.column_stack([shares[:, 0], macro]), dtype=np.float64)


def _tasks(sessions: Sequence[ScoredSession]) -> list[ScoredTask]:
    return [task for session in sessions for task in session.tasks]
