"""What is drawn together by a bootstrap: whole tasks, or everything that one participant did.

Steps of one task are not independent of each other, and neither are tasks of one person. The rows of a matrix stand for
tasks; a clustering adds up the rows that are drawn as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from grounding.scoring.intervals import Matrix
from grounding.scoring.scored import ScoredTask

ClusterName = Literal["task", "participant"]


def cluster_sums(parts: Matrix, tasks: Sequence[ScoredTask], clusters: ClusterName) -> Matrix:
    """Rows of tasks to rows of clusters, in order of each cluster's first task.

    Args:
        parts: Shape (tasks, columns): what each task adds to sums.
        tasks: The tasks of the rows.
        clusters: What is drawn together.

    Returns:
        Shape (clusters, columns).

    Raises:
        ValueError: there is not one row for each task.
    """
    if len(parts) != len(tasks):
        raise ValueError(f"expected one row for each of {len(tasks)} tasks, got {len(parts)}")
    return participant_sums(parts, [task.participant for task in tasks], clusters)


def participant_sums(parts: Matrix, participants: Sequence[str], clusters: ClusterName) -> Matrix:
    """The same with the name of the participant of each row in place of the tasks."""
    if clusters == "task":
        return parts
    number: dict[str, int] = {}
    rows = np.array([number.setdefault(participant, len(number)) for participant in participants], dtype=np.intp)
    sums = np.zeros((len(number), parts.shape[1]))
    np.add.at(sums, rows, parts)
    return sums
