"""Groups of items, and the averages over them: tasks and the names of their items' groups in, estimates out.

For each kind of group (platform, application, text or icon) accuracy is averaged in the two ways that papers use, side
by side, because they mix them up: ``micro`` counts every step once, ``macro`` every group once, however small it is.
"""

from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
import numpy as np

from grounding.records import Record
from grounding.scoring.intervals import RESAMPLES, Matrix, drawn_interval, resampled_sums, wilson
from grounding.scoring.metrics import Metric, are_trials, task_parts
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


def names_of(kind: str, scored: ScoredStep) -> list[str]:
    return [label.name for label in scored.step.groups if label.kind == kind]


def session_groups(session: ScoredSession) -> dict[str, dict[str, ScoredSession]]:
    """The scored steps of every group of a session, in the tasks that they belong to: by kind, then by name. Steps that
    are not scored are in no group; kinds and names are in the order of their first step.
    """
    found: dict[str, dict[str, list[ScoredTask]]] = {}
    for task in session.tasks:
        members: dict[tuple[str, str], dict[str, ScoredStep]] = {}
        for scored in task.steps:
            for label in scored.step.groups:
                # by id, so that a label written twice counts a step once
                members.setdefault((label.kind, label.name), {})[scored.id] = scored
        for (kind, name), steps in members.items():
            part = msgspec.structs.replace(task, steps=tuple(steps.values()))
            found.setdefault(kind, {}).setdefault(name, []).append(part)
    whose = session.participant
    return {
        kind: {name: ScoredSession(participant=whose, tasks=tuple(tasks), skipped=0) for name, tasks in names.items()}
        for kind, names in found.items()
    }


class GroupCells:
    """What each task adds to a metric in each group of one kind; only what is not 0 is kept. Column 0 counts every item
    that is in any group once. ``names`` are the groups, where their order is known before.
    """

    def __init__(self, metric: Metric, names: Iterable[str] = ()) -> None:
        self._metric = metric
        self._columns = {name: column for column, name in enumerate(names, start=1)}
        self._rows, self._places = array("q"), array("q")
        self._above, self._below = array("d"), array("d")

    def add(self, row: int, task: Any, names_of: Callable[[Any], Iterable[str]]) -> None:
        groups: dict[int, list[Any]] = {}
        for item in task.steps:
            own = {self._columns.setdefault(name, len(self._columns) + 1) for name in names_of(item)}
            for column in (0, *own) if own else ():
                groups.setdefault(column, []).append(item)
        for column, items in groups.items():
            (part,) = task_parts([self._metric], msgspec.structs.replace(task, steps=tuple(items)))
            if part.denominator:
                self._rows.append(row)
                self._places.append(column)
                self._above.append(part.numerator * self._metric.scale)
                self._below.append(part.denominator)

    def averages(
        self, participants: Sequence[str], *, seed: int = 0, resamples: int = RESAMPLES, clusters: ClusterName = "task"
    ) -> Averages:
        """Micro and macro over the groups, with 95 % bootstrap intervals over clusters. A resample in which a group has
        no item averages over the groups that it has. ``participants`` says whose the task of each row is.
        """
        above, below = (np.zeros((len(participants), len(self._columns) + 1)) for _ in range(2))
        where = np.array(self._rows, dtype=np.intp), np.array(self._places, dtype=np.intp)
        above[where], below[where] = self._above, self._below
        counted = int(below[:, 0].sum())
        if not counted:
            empty = estimated(None, 0, None)
            return Averages(micro=empty, macro=empty)
        whole = _micro_and_macro(above.sum(axis=0, keepdims=True), below.sum(axis=0, keepdims=True))[0]
        sums = resampled_sums(participant_sums(np.hstack([above, below]), participants, clusters), seed, resamples)
        drawn = _micro_and_macro(*np.hsplit(sums, 2))
        drawn = drawn[~np.isnan(drawn).any(axis=1)]
        each = participant_sums(below[:, :1], participants, clusters)
        most, unit = self._metric.most, self._metric.unit
        micro, macro = (drawn_interval(draws, int((each > 0).sum()), most=most) for draws in drawn.T)
        right = round(above[:, 0].sum() / 100) if self._metric.counted else None
        # as for step accuracy: a cluster of one step is a single trial
        plain = right is not None and are_trials(each)
        found = wilson(right, counted) if plain and right is not None else micro
        groups = int((below[:, 1:].sum(axis=0) > 0).sum())
        return Averages(
            micro=estimated(float(whole[0]), counted, found, k=right, trials=plain, most=most, unit=unit),
            macro=estimated(float(whole[1]), groups, macro, most=most, unit=unit),
        )


def _micro_and_macro(hits: Matrix, steps: Matrix) -> Matrix:
    """Sums to micro and macro accuracy in percent; NaN where nothing was drawn. Sums of hits, 100 each, and of steps
    have the shape (resamples, 1 + groups); the first column is over all groups.
    """
    shares = np.divide(hits, steps, out=np.full(hits.shape, np.nan), where=steps > 0)
    has_group = ~np.isnan(shares[:, 1:])
    groups = has_group.sum(axis=1)
    total = np.where(has_group, shares[:, 1:], 0.0).sum(axis=1)
    macro = np.divide(total, groups, out=np.full(len(total), np.nan), where=groups > 0)
    return np.asarray(np.column_stack([shares[:, 0], macro]), dtype=np.float64)
