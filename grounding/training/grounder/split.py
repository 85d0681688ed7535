"""Who is trained on and who is tested: a data set and what is held out, divided into two sides that share nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from grounding.errors import UserError
from grounding.records import Record, Session, Step, TaskLabel
from grounding.training.grounder.leakage import Leak, LeakKind, find_leaks, leak_lines

HoldOutKind = Literal["participant", "task"]
HOLD_OUT_KINDS: tuple[HoldOutKind, ...] = ("participant", "task")

SharedRule = Literal["refuse", "drop"]
"""What becomes of steps to train on that share something with the test: the split is refused, or they are left out."""

LeftOutReason = Literal["participant", "task", "screenshot", "limit"]
"""Why a step is on neither side: it is another step of a held-out task's participant, it is of a task or over a
screenshot that the test has too, or it is beyond the limit."""


class HeldOut(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One thing that is tested on and never trained on: all of a participant, or all tasks of a label."""

    kind: HoldOutKind
    name: str

    @property
    def text(self) -> str:
        """As a user writes it: ``participant=3``."""
        return f"{self.kind}={self.name}"


class SplitTask(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A task on one side of a split, and how many of its steps are there."""

    participant: str
    label: TaskLabel
    steps: int


class SplitSide(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One side of a split: scored steps only, in session order."""

    participants: tuple[str, ...]
    tasks: tuple[SplitTask, ...]
    step_ids: tuple[str, ...]


class LeftOut(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Steps that are on neither side, and why."""

    reason: LeftOutReason
    step_ids: tuple[str, ...]


class Split(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The content of ``split.json``. Every scored step of the data set is on one side, or left out once."""

    schema: Literal[1] = 1
    dataset: str
    fingerprint: str
    held_out: tuple[HeldOut, ...]
    train: SplitSide
    test: SplitSide
    left_out: tuple[LeftOut, ...] = ()

    @property
    def text(self) -> str:
        """What is held out, in one line: ``participant=3``."""
        return ";".join(held.text for held in self.held_out)


def parse_hold_out(values: Sequence[str]) -> tuple[HeldOut, ...]:
    """What ``--hold-out`` says: ``participant=3``, ``task=Buy a gift``, several of them; each once, in order.

    Raises:
        UserError: a value is not of this form.
    """
    found = []
    for value in values:
        kind, equals, name = value.partition("=")
        known = next((each for each in HOLD_OUT_KINDS if each == kind.strip()), None)
        if known is None or not equals or not name.strip():
            raise UserError(
                f"--hold-out {value}: expected participant=NAME or task=LABEL, such as --hold-out participant=3"
            )
        found.append(HeldOut(kind=known, name=name.strip()))
    return tuple(dict.fromkeys(found))


def make_split(
    sessions: Sequence[Session],
    held_out: Sequence[HeldOut],
    *,
    dataset: str,
    fingerprint: str,
    shared_screenshots: SharedRule = "refuse",
    shared_tasks: SharedRule = "refuse",
    limit: int | None = None,
    test_limit: int | None = None,
) -> Split:
    """Divide a data set. Nobody who is tested is trained on, with a task or a screenshot of the test neither.

    Where a task is held out, its participants' other tasks are on neither side: what somebody does in one task says
    much about how they speak and click in another.

    Args:
        sessions: All of the data set.
        held_out: What is tested on.
        dataset: The data set's name, for the record.
        fingerprint: Its fingerprint.
        shared_screenshots: What is done about a screenshot (by the hash of its file) that is on both sides.
        shared_tasks: What is done about a task, by its words, that is on both sides.
        limit: Train on the first so many of the steps only.
        test_limit: Test on the first so many of the steps only.

    Raises:
        UserError: nothing is called so, a side is empty, or the sides share something that is to be refused.
    """
    test = _tested(sessions, held_out)
    tested_participants = {step.participant for step in test}
    tested_ids = {step.id for step in test}
    left: dict[LeftOutReason, list[str]] = {}
    train: list[Step] = []
    for step in _scored(sessions):
        if step.id in tested_ids:
            continue
        if step.participant in tested_participants:
            left.setdefault("participant", []).append(step.id)
        else:
            train.append(step)
    rules: tuple[tuple[LeftOutReason, LeakKind, SharedRule], ...] = (
        ("task", "task", shared_tasks),
        ("screenshot", "screenshot", shared_screenshots),
    )
    for reason, kind, rule in rules:
        shared = {each for leak in find_leaks(train, test) if leak.kind == kind for each in leak.train_ids}
        if rule == "drop" and shared:
            left[reason] = [step.id for step in train if step.id in shared]
            train = [step for step in train if step.id not in shared]
    refuse_leaks(find_leaks(train, test), held_out)
    if limit is not None:
        left.setdefault("limit", []).extend(step.id for step in train[limit:])
        train = train[:limit]
    if test_limit is not None:
        left.setdefault("limit", []).extend(step.id for step in test[test_limit:])
        test = test[:test_limit]
    what = ", ".join(held.text for held in held_out)
    if not train:
        raise UserError(f"--hold-out {what}: no step is left to train on")
    return Split(
        dataset=dataset,
        fingerprint=fingerprint,
        held_out=tuple(held_out),
        train=_side(train),
        test=_side(test),
        left_out=tuple(LeftOut(reason=reason, step_ids=tuple(ids)) for reason, ids in left.items() if ids),
    )


def refuse_leaks(leaks: Sequence[Leak], held_out: Sequence[HeldOut]) -> None:
    """Nothing, where the sides of a split share nothing.

    Raises:
        UserError: they do; names what, and the ways out.
    """
    if not leaks:
        return
    kinds = dict.fromkeys(leak.kind for leak in leaks)
    ways = [f"--shared-{kind}s drop leaves them out of the training" for kind in kinds if kind != "participant"]
    raise UserError(
        f"--hold-out {' '.join(held.text for held in held_out)}: what is trained on and what is tested share\n"
        + "\n".join(f"  - {line}" for line in leak_lines(leaks))
        + "\nA score on what was trained on says nothing. "
        + ("; ".join(ways) or "Hold out whole participants")
    )


def leave_one_out(sessions: Sequence[Session]) -> tuple[tuple[HeldOut, ...], ...]:
    """Every split of a data set that holds out one participant who has a scored step, in the data set's order.

    Raises:
        UserError: there are fewer than two participants.
    """
    names = [session.participant for session in sessions if any(step.region is not None for step in session.steps)]
    if len(names) < 2:
        raise UserError(f"--leave-one-out participant: the data set has {len(names)} participants, expected 2 or more")
    return tuple((HeldOut(kind="participant", name=name),) for name in names)


def _scored(sessions: Sequence[Session]) -> list[Step]:
    return [step for session in sessions for step in session.steps if step.region is not None]


def _tested(sessions: Sequence[Session], held_out: Sequence[HeldOut]) -> list[Step]:
    if not held_out:
        raise UserError("nothing is held out: name it with --hold-out participant=NAME, or --leave-one-out participant")
    wanted: dict[HoldOutKind, set[str]] = {
        kind: {held.name for held in held_out if held.kind == kind} for kind in HOLD_OUT_KINDS
    }
    steps = _scored(sessions)
    known: dict[HoldOutKind, list[str]] = {
        "participant": list(dict.fromkeys(step.participant for step in steps)),
        "task": list(dict.fromkeys(str(step.task) for step in steps)),
    }
    for kind, names in wanted.items():
        for name in sorted(names - set(known[kind])):
            shown = ", ".join(known[kind][:20]) + (", …" if len(known[kind]) > 20 else "")
            raise UserError(f"--hold-out {kind}={name}: the data set has the {kind}s {shown}")
    return [step for step in steps if step.participant in wanted["participant"] or str(step.task) in wanted["task"]]


def _side(steps: Sequence[Step]) -> SplitSide:
    counts: dict[tuple[str, TaskLabel], int] = {}
    for step in steps:
        counts[step.participant, step.task] = counts.get((step.participant, step.task), 0) + 1
    return SplitSide(
        participants=tuple(dict.fromkeys(step.participant for step in steps)),
        tasks=tuple(
            SplitTask(participant=participant, label=label, steps=count)
            for (participant, label), count in counts.items()
        ),
        step_ids=tuple(step.id for step in steps),
    )
