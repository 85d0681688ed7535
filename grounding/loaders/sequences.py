"""What follows from the order of a session's steps: their ids, and which of them belong to one instruction."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from grounding.records import Record, TaskLabel


class IdClash(Record, frozen=True, kw_only=True):
    """Two steps that would have the same id: their positions in the session, from 0."""

    id: str
    item: int
    earlier_item: int


def step_ids(participant: str, images: Sequence[str]) -> list[str]:
    """An id for every step of a session, from the names of their screenshots.

    The first step on ``images/42.png`` is ``3/42`` (participant 3), a second one on the same screenshot ``3/42#2``,
    and so on, whether or not the steps are scored. Saved replies of the benchmark's authors are keyed the same way,
    by participant and image number.

    Args:
        participant: Name of the participant.
        images: Path of each step's screenshot inside the participant's folder, with ``/``, in session order.
    """
    uses: dict[str, int] = {}
    ids = []
    for image in images:
        uses[image] = nth = uses.get(image, 0) + 1
        first = f"{participant}/{PurePosixPath(image).stem}"
        ids.append(first if nth == 1 else f"{first}#{nth}")
    return ids


def id_clashes(ids: Sequence[str]) -> list[IdClash]:
    """The steps whose id an earlier step has already (``1.png`` and ``1.jpg`` both give ``1``)."""
    first_with: dict[str, int] = {}
    clashes = []
    for item, step_id in enumerate(ids):
        earlier = first_with.setdefault(step_id, item)
        if earlier != item:
            clashes.append(IdClash(id=step_id, item=item, earlier_item=earlier))
    return clashes


def instruction_indices(tasks: Sequence[TaskLabel], instructions: Sequence[str]) -> list[int]:
    """For every step, the number of its instruction within the step's task, counted from 0.

    The release has no instruction ids, and repeats the text of an instruction on each of its steps (RealWebAssist,
    section 3.3): an instruction is a maximal run of equal text over the steps of one task, scored or not. Steps of
    other tasks in between do not end a run. Saying the same thing twice in a row counts once, as nothing in the data
    tells the two apart.

    Args:
        tasks: Task label of each step, in session order.
        instructions: Instruction of each step, in the same order.
    """
    latest: dict[TaskLabel, str] = {}
    index_of: dict[TaskLabel, int] = {}
    indices = []
    for task, instruction in zip(tasks, instructions, strict=True):
        if task not in latest:
            index_of[task] = 0
        elif latest[task] != instruction:
            index_of[task] += 1
        latest[task] = instruction
        indices.append(index_of[task])
    return indices
