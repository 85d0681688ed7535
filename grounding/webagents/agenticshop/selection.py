"""Which tasks of a data set a run is about."""

from __future__ import annotations

from collections.abc import Sequence

from grounding.errors import UserError
from grounding.webagents.agenticshop.options import CurationOptions
from grounding.webagents.agenticshop.records import CurationTask


def select_tasks(tasks: Sequence[CurationTask], options: CurationOptions) -> tuple[CurationTask, ...]:
    """Choose by user and task id, and the first ``limit`` of what is left; scenarios were chosen in reading.

    Raises:
        UserError: a name that the data set doesn't have, or nothing left.
    """
    users, ids = {task.user for task in tasks}, {task.id for task in tasks}
    for user in options.participant:
        if user not in users:
            raise UserError(f"--participant {user}: no task is of this user; users look like {min(users, default='')}")
    for task_id in options.sample_id:
        if task_id not in ids:
            raise UserError(f"--sample-id {task_id}: no such task; ids look like {min(ids, default='SCENARIO/USER')}")
    chosen = [
        task
        for task in tasks
        if (not options.participant or task.user in options.participant)
        and (not options.sample_id or task.id in options.sample_id)
    ][: options.limit]
    if not chosen:
        raise UserError("no task is left by --scenario, --participant, --sample-id and --limit")
    return tuple(chosen)


def selection_text(options: CurationOptions) -> str:
    """The choice of tasks for the signature."""
    words = [
        f"scenarios={','.join(sorted(options.scenario))}" if options.scenario else "",
        f"users={','.join(sorted(options.participant))}" if options.participant else "",
        f"tasks={','.join(sorted(options.sample_id))}" if options.sample_id else "",
        f"limit={options.limit}" if options.limit is not None else "",
    ]
    return ";".join(word for word in words if word) or "all"
