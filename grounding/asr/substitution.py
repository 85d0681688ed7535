"""Transcripts in place of the true words: sessions and what was heard in, sessions as models are told of them out.

Pure. ``instruction_index`` stays that of the true text, since one recording is one instruction whatever was heard in
it, so that scores count the same things under every condition.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from grounding.asr.spoken import Spoken
from grounding.records import Failure, HistoryEntry, Record, Session, Step, TaskLabel

NOTHING_HEARD = Failure(kind="unparsed", message="no transcript: nothing was heard")
_NOT_WANTED = Failure(kind="missing", message="no transcript: nobody asked for it")


class Instruction(Record, frozen=True, kw_only=True):
    """One instruction of a data set: its true text and the steps that carry it, by id, in order."""

    participant: str
    task: TaskLabel
    instruction_index: int
    text: str
    steps: tuple[str, ...]


def instructions_of(sessions: Sequence[Session]) -> tuple[Instruction, ...]:
    """The instructions of the sessions, in order of their first step, those without a click too."""
    found: dict[tuple[str, TaskLabel, int], list[Step]] = {}
    for session in sessions:
        for step in session.steps:
            found.setdefault((step.participant, step.task, step.instruction_index), []).append(step)
    return tuple(
        Instruction(
            participant=participant,
            task=task,
            instruction_index=index,
            text=steps[0].instruction,
            steps=tuple(step.id for step in steps),
        )
        for (participant, task, index), steps in found.items()
    )


def needed_steps(sessions: Sequence[Session], chosen: Collection[str]) -> frozenset[str]:
    """The steps whose words a run over the ``chosen`` ones may tell: those, and all that came before in the session."""
    needed: set[str] = set()
    for session in sessions:
        last = max((at for at, step in enumerate(session.steps) if step.id in chosen), default=-1)
        needed.update(step.id for step in session.steps[: last + 1])
    return frozenset(needed)


def substitute(sessions: Sequence[Session], spoken: Sequence[Spoken]) -> tuple[Session, ...]:
    """The sessions with what was heard as the instruction of every step and of every history entry.

    An instruction without words, and a step that nobody asked for, has an empty text and says so in ``Step.unheard``.
    """
    of: dict[str, Spoken] = {step_id: one for one in spoken for step_id in one.steps}
    return tuple(
        msgspec.structs.replace(session, steps=tuple(_told(step, of.get(step.id)) for step in session.steps))
        for session in sessions
    )


def _told(step: Step, spoken: Spoken | None) -> Step:
    heard = "" if spoken is None or spoken.failure is not None else spoken.heard
    entry = step.history_entry
    return msgspec.structs.replace(
        step,
        instruction=heard,
        unheard=_NOT_WANTED if spoken is None else spoken.failure,
        # The entry's own words are those of the questions file, or were written from them.
        history_entry=None if entry is None else HistoryEntry(instruction=heard, action=entry.action),
    )
