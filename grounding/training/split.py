"""Who is trained on and who is tested: a data set divided into two sides that share nothing."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Literal

from grounding.errors import UserError
from grounding.records import Record, Session, Step
from grounding.run.steps import goal_of
from grounding.training.options import SharedRule

Kind = Literal["task", "screenshot"]

_MOST_SHOWN = 5
_HASH_CHARS = 12
_EDGES = re.compile(r"^\W+|\W+$")


class Split(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The content of ``split.json``. Every scored step of the data set is on one side, or left out once.

    ``held_out`` are the participants (``participant=3``) and the tasks' labels (``task=…``) that are tested. ``train``
    and ``test`` are ids of steps in session order; ``left_out`` are those on neither side by the reason: another step
    of a held-out task's ``participant``, of a ``task`` or over a ``screenshot`` that the test has too, or beyond the
    ``limit``.
    """

    schema: Literal[4] = 4
    dataset: str
    fingerprint: str
    held_out: tuple[str, ...]
    train: tuple[str, ...]
    test: tuple[str, ...]
    left_out: dict[str, tuple[str, ...]]

    @property
    def text(self) -> str:
        return ";".join(self.held_out)


def parse_hold_out(values: Sequence[str], kinds: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """What ``--hold-out`` names, each once and in order: ``("participant", "3")``, or ``("user", ID)`` of a shop.
    Raises UserError: a value is not of this form.
    """
    found = []
    for value in values:
        kind, _, name = (part.strip() for part in value.partition("="))
        if kind not in kinds or not name:
            raise UserError(f"--hold-out {value}: expected {' or '.join(f'{one}=NAME' for one in kinds)}")
        found.append((kind, name))
    return tuple(dict.fromkeys(found))


def participants(sessions: Sequence[Session]) -> tuple[str, ...]:
    """Whom ``--leave-one-out participant`` holds out in turn: who has a scored step, in the data set's order. Raises
    UserError: there are fewer than two.
    """
    names = dict.fromkeys(step.participant for step in _scored(sessions))
    if len(names) < 2:
        raise UserError(f"--leave-one-out participant: the data set has {len(names)} participants, expected 2 or more")
    return tuple(names)


def goal_key(step: Step) -> str:
    """What makes two tasks one: the same words, whatever their case, blanks and marks at the ends. A label that is a
    number says nothing of the task, so it only names one of its participant's tasks.
    """
    goal = unicodedata.normalize("NFKC", goal_of(step.task)).casefold()
    return _EDGES.sub("", " ".join(goal.split())) or f"participant {step.participant}, task {step.task}"


_KEYS: dict[Kind, Callable[[Step], str]] = {"task": goal_key, "screenshot": lambda step: step.screenshot.sha256}


def leaks(kind: Kind, train: Sequence[Step], test: Sequence[Step]) -> dict[str, tuple[list[str], list[str]]]:
    """What is on both sides: each task or screenshot with the ids of its steps on each, as in the test."""
    key = _KEYS[kind]
    trained, tested = {key(step) for step in train}, dict.fromkeys(key(step) for step in test)
    return {
        name: ([step.id for step in train if key(step) == name], [step.id for step in test if key(step) == name])
        for name in tested
        if name in trained
    }


def _refuse_leaks(train: Sequence[Step], test: Sequence[Step], what: str) -> None:
    lines = [
        f"  - {kind} {name[:_HASH_CHARS] if kind == 'screenshot' else name}: {len(trained)} steps to train on (such as "
        f"{trained[0]}), {len(tested)} to test on (such as {tested[0]})"
        for kind in _KEYS
        for name, (trained, tested) in leaks(kind, train, test).items()
    ]
    if lines:
        more = [f"  - and {len(lines) - _MOST_SHOWN} more"] if len(lines) > _MOST_SHOWN else []
        shared = "\n".join([*lines[:_MOST_SHOWN], *more])
        raise UserError(
            f"--hold-out {what}: what is trained on and what is tested share\n{shared}\n"
            "A score on what was trained on says nothing. --shared drop leaves them out of the training"
        )


def make_split(
    sessions: Sequence[Session],
    held_out: Sequence[tuple[str, str]],
    *,
    dataset: str,
    fingerprint: str,
    shared: SharedRule = "refuse",
    test_limit: int | None = None,
) -> Split:
    """Divide a data set: what ``parse_hold_out`` names is tested, the others are trained on.

    Nobody who is tested is trained on, in other tasks neither: what somebody does in one task says much about how they
    speak and click in another. Nothing is trained on that has a task or a screenshot of the test.

    Raises UserError: nothing is called so, a side is empty, or the sides share something that is to be refused.
    """
    steps = _scored(sessions)
    test = _tested(steps, held_out)
    tested, people = {step.id for step in test}, {step.participant for step in test}
    left = {"participant": [step.id for step in steps if step.participant in people and step.id not in tested]}
    train = [step for step in steps if step.participant not in people]
    for kind in _KEYS if shared == "drop" else ():
        both = {each for ids, _ in leaks(kind, train, test).values() for each in ids}
        left[kind] = [step.id for step in train if step.id in both]
        train = [step for step in train if step.id not in both]
    what = tuple(f"{kind}={name}" for kind, name in held_out)
    _refuse_leaks(train, test, " ".join(what))
    left["limit"] = [step.id for step in test[test_limit:]] if test_limit is not None else []
    if not train:
        raise UserError(f"--hold-out {' '.join(what)}: no step is left to train on")
    return Split(
        dataset=dataset,
        fingerprint=fingerprint,
        held_out=what,
        train=tuple(step.id for step in train),
        test=tuple(step.id for step in test[:test_limit]),
        left_out={reason: tuple(ids) for reason, ids in left.items() if ids},
    )


def _scored(sessions: Sequence[Session]) -> list[Step]:
    return [step for session in sessions for step in session.steps if step.region is not None]


def _tested(steps: Sequence[Step], held_out: Sequence[tuple[str, str]]) -> list[Step]:
    if not held_out:
        raise UserError("nothing is held out: name it with --hold-out participant=NAME, or --leave-one-out participant")
    for kind, name in held_out:
        known = list(dict.fromkeys(str(getattr(step, kind)) for step in steps))
        if name not in known:
            shown = ", ".join(known[:20]) + (", …" if len(known) > 20 else "")
            raise UserError(f"--hold-out {kind}={name}: the data set has the {kind}s {shown}")
    return [step for step in steps if any(str(getattr(step, kind)) == name for kind, name in held_out)]
