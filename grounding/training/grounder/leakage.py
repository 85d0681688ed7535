"""What two sets of steps share that would let a model be tested on what it was trained on. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Literal

from grounding.records import Record, Step
from grounding.steps import goal_of

LeakKind = Literal["participant", "task", "screenshot"]

_MOST_SHOWN = 5
_HASH_CHARS = 12
_EDGES = re.compile(r"^\W+|\W+$")
_BLANKS = re.compile(r"\s+")


class Leak(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One thing that is on both sides, with the ids of its steps on each.

    ``name`` is the participant, the words of the task (its participant and label where it has no words), or the hash of
    the screenshot's file.
    """

    kind: LeakKind
    name: str
    train_ids: tuple[str, ...]
    test_ids: tuple[str, ...]


def goal_key(step: Step) -> str:
    """What makes two tasks one: the same words, whatever their case, blanks and marks at the ends.

    A label that is a number says nothing of the task, so it only names one of its participant's tasks.
    """
    goal = unicodedata.normalize("NFKC", goal_of(step.task)).casefold()
    words = _EDGES.sub("", _BLANKS.sub(" ", goal))
    return words or f"participant {step.participant}, task {step.task}"


def find_leaks(train: Sequence[Step], test: Sequence[Step]) -> tuple[Leak, ...]:
    """Every participant, task and screenshot that has steps on both sides; in that order, then that of the test."""
    keys: tuple[tuple[LeakKind, Callable[[Step], str]], ...] = (
        ("participant", lambda step: step.participant),
        ("task", goal_key),
        ("screenshot", lambda step: step.screenshot.sha256),
    )
    return tuple(leak for kind, key in keys for leak in _shared(kind, key, train, test))


def _shared(
    kind: LeakKind, key: Callable[[Step], str], train: Sequence[Step], test: Sequence[Step]
) -> tuple[Leak, ...]:
    def grouped(steps: Sequence[Step]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for step in steps:
            found.setdefault(key(step), []).append(step.id)
        return found

    trained, tested = grouped(train), grouped(test)
    return tuple(
        Leak(kind=kind, name=name, train_ids=tuple(trained[name]), test_ids=tuple(ids))
        for name, ids in tested.items()
        if name in trained
    )


def leak_lines(leaks: Sequence[Leak]) -> tuple[str, ...]:
    """One line for each leak, of each kind the first few; a step's id stands for its screenshot."""
    lines = []
    for kind in dict.fromkeys(leak.kind for leak in leaks):
        found = [leak for leak in leaks if leak.kind == kind]
        for leak in found[:_MOST_SHOWN]:
            name = leak.name[:_HASH_CHARS] if kind == "screenshot" else leak.name
            lines.append(
                f"{kind} {name}: {len(leak.train_ids)} steps to train on (such as {leak.train_ids[0]}), "
                f"{len(leak.test_ids)} to test on (such as {leak.test_ids[0]})"
            )
        if len(found) > _MOST_SHOWN:
            lines.append(f"and {len(found) - _MOST_SHOWN} more {kind}s")
    return tuple(lines)
