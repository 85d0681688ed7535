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
from grounding.scoring.intervals import RESAMPLES, Matrix, drawn_interval, resampled_sums, wilson
from grounding.scoring.metrics import are_trials
from grounding.scoring.scored import (
    ClusterName,
    Estimate,
    ScoredSession,
    ScoredStep,
    ScoredTask,
    estimated,
    participant_sums,
)


class Averages(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Step accuracy over the groups of one kind, in percent.

    ``micro`` is over the steps that belong to any of them, each counted once; its ``n`` is how many. ``macro`` is the
    mean of the groups' accuracies; its ``n`` is how many groups. Both intervals come from the same draws of tasks.
    """

    micro: Estimate
    macro: Estimate


def session_groups(session: ScoredSession) -> dict[str, dict[str, ScoredSession]]:
    """The scored steps of every group of a session, in the tasks that they belong to: by kind, then by name.

    Steps that are not scored are in no group; kinds and names are in the order of their first step.
    """
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


class GroupCells:
    """How many steps each task has in each group of one kind, and how many of them are hits: only what is not 0.

    Column 0 counts every step that is in any group once.
    """

    def __init__(self) -> None:
        self._rows, self._columns = array("q"), array("q")
        self._hits, self._steps = array("d"), array("d")

    def add(self, session: ScoredSession, kind: str, column: dict[str, int], *, first_task: int) -> None:
        """Count a session's steps; ``column`` has each group's, from 1; so many tasks came before ``first_task``."""
        for row, task in enumerate(session.tasks, start=first_task):
            counts: dict[int, list[int]] = {}
            for scored in task.asked():
                columns = {column[label.name] for label in scored.step.groups if label.kind == kind}
                hit = scored.verdict.outcome == "hit"
                for index in (0, *columns) if columns else ():
                    count = counts.setdefault(index, [0, 0])
                    count[0] += hit
                    count[1] += 1
            for index, (hits, steps) in counts.items():
                self.put(row, index, 100 * hits, steps)

    def put(self, row: int, column: int, above: float, below: float) -> None:
        """Set what a task adds to a column: the sum of its values in per cent, and how many they are."""
        self._rows.append(row)
        self._columns.append(column)
        self._hits.append(above)
        self._steps.append(below)

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
    counted: bool = True,
    most: float | None = 100.0,
    unit: str = "%",
) -> Averages:
    """Micro and macro accuracy over the groups of one kind, with 95 % bootstrap intervals over clusters.

    A resample in which a group has no step averages over the groups that it has. ``participants`` says whose each task
    is; ``counted`` whether the values count things, so that a ``k`` is known; ``most`` is their greatest value, None
    where there is none.
    """
    hits, steps = cells.tables(len(participants), groups)
    whole = _micro_and_macro(hits.sum(axis=0, keepdims=True), steps.sum(axis=0, keepdims=True))[0]
    steps_counted = int(steps[:, 0].sum())
    if not steps_counted:
        empty = estimated(None, 0, None)
        return Averages(micro=empty, macro=empty)
    sums = resampled_sums(participant_sums(np.hstack([hits, steps]), participants, clusters), seed, resamples)
    drawn = _micro_and_macro(*np.hsplit(sums, 2))
    drawn = drawn[~np.isnan(drawn).any(axis=1)]
    each = participant_sums(steps[:, :1], participants, clusters)
    micro, macro = (drawn_interval(draws, int((each > 0).sum()), most=most) for draws in drawn.T)
    right = round(hits[:, 0].sum() / 100) if counted else None
    # as for step accuracy: a cluster of one step is a single trial
    plain = right is not None and are_trials(each)
    found = wilson(right, steps_counted) if plain and right is not None else micro
    return Averages(
        micro=estimated(float(whole[0]), steps_counted, found, k=right, trials=plain, most=most, unit=unit),
        macro=estimated(float(whole[1]), int((steps[:, 1:].sum(axis=0) > 0).sum()), macro, most=most, unit=unit),
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
