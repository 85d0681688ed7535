"""Which tasks of a shop a run is about."""

from __future__ import annotations

from collections.abc import Sequence

from grounding.errors import UserError
from grounding.webagents.personalwab.options import ShopOptions
from grounding.webagents.personalwab.records import ShopTask


def select_tasks(tasks: Sequence[ShopTask], options: ShopOptions) -> tuple[ShopTask, ...]:
    """Choose by type, user and task id, and the first ``limit`` of what is left.

    Raises:
        UserError: a name that the data set doesn't have, or nothing left.
    """
    users, ids = {task.user_id for task in tasks}, {task.id for task in tasks}
    for user in options.participant:
        if user not in users:
            raise UserError(f"--participant {user}: no task is of this user; users look like {min(users, default='')}")
    for task_id in options.sample_id:
        if task_id not in ids:
            raise UserError(f"--sample-id {task_id}: no such task; ids look like {min(ids, default='test/0')}")
    chosen = [
        task
        for task in tasks
        if (options.kind is None or task.type == options.kind)
        and (not options.participant or task.user_id in options.participant)
        and (not options.sample_id or task.id in options.sample_id)
    ][: options.limit]
    if not chosen:
        raise UserError("no task is left by --kind, --participant, --sample-id and --limit")
    return tuple(chosen)


def selection_text(options: ShopOptions) -> str:
    """The choice of tasks for the signature."""
    words = [
        f"kind={options.kind}" if options.kind is not None else "",
        f"users={','.join(sorted(options.participant))}" if options.participant else "",
        f"tasks={','.join(sorted(options.sample_id))}" if options.sample_id else "",
        f"limit={options.limit}" if options.limit is not None else "",
        f"split={options.split}" if options.split != "test" else "",
    ]
    return ";".join(word for word in words if word) or "all"
