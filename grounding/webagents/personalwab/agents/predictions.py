"""Functions that were predicted elsewhere, as PUMA keeps them: a JSON file in, the type of each task out.

PUMA's ``function_res.json`` is an object of instructions and functions, ``{"A lamp": "search_product_by_query"}``, with
a string, or a list of candidates, of which the first counts. The instruction's text is the key, so that tasks with
equal words have one prediction between them: :func:`shared_words` counts them.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from grounding.errors import UserError
from grounding.records import Record
from grounding.webagents.personalwab.records import ShopTask, TaskType, TaskView
from grounding.webagents.personalwab.verdicts import FUNCTION_OF

_TYPE_OF: dict[str, TaskType] = {function: kind for kind, function in FUNCTION_OF.items()}


class Predictions(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The type that each instruction was taken for. ``identity`` is canonical text of all of them."""

    by_text: dict[str, TaskType]
    identity: str

    def of(self, view: TaskView) -> TaskType:
        """What a task was taken for."""
        return self.by_text[view.instruction]


def read_predictions(path: Path, tasks: Sequence[ShopTask]) -> Predictions:
    """Read a file of predicted functions and hold it against the tasks that are to be done.

    Raises:
        UserError: it is not there, it holds something else, a task is not in it, or a task's function is none that
            ends a task.
    """
    try:
        content = path.read_bytes()
        found = msgspec.json.decode(content, type=dict[str, str | list[str]])
    except OSError as error:
        raise UserError(f"--functions {path}: can't be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(f"--functions {path}: expected an object of instructions and functions: {error}") from error
    missing = [task for task in tasks if task.instruction not in found]
    if missing:
        raise UserError(
            f"--functions {path}: {len(missing)} of {len(tasks)} tasks are not in it, such as {missing[0].id} "
            f"({missing[0].instruction[:80]!r}); its keys must be the instructions, word for word"
        )
    by_text = {task.instruction: _type(path, task, found[task.instruction]) for task in tasks}
    digest = hashlib.sha256(msgspec.json.encode(sorted(by_text.items()))).hexdigest()[:16]
    return Predictions(by_text=by_text, identity=f"functions={digest}")


def shared_words(tasks: Sequence[ShopTask]) -> int:
    """How many tasks have the words of another one."""
    return sum(count for count in Counter(task.instruction for task in tasks).values() if count > 1)


def _type(path: Path, task: ShopTask, said: str | list[str]) -> TaskType:
    first = said if isinstance(said, str) else next(iter(said), "")
    kind = next((kind for name, kind in _TYPE_OF.items() if first.strip().startswith(name)), None)
    if kind is None:
        raise UserError(
            f"--functions {path}: the function of {task.id} is {first[:80]!r}; expected one of {', '.join(_TYPE_OF)}"
        )
    return kind
