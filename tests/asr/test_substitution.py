"""Transcripts in place of the true words: what changes, what stays, and what never stands in."""

from __future__ import annotations

import msgspec
import pytest
from scoring.builders import Played, step

from grounding.asr.spoken import Spoken
from grounding.asr.substitution import NOTHING_HEARD, instructions_of, needed_steps, substitute
from grounding.records import Failure, HistoryEntry, Session, Step


def with_history(sessions: list[Session]) -> list[Session]:
    def entry(one: Step) -> Step:
        return msgspec.structs.replace(
            one, history_entry=HistoryEntry(instruction=one.instruction, action=f"did {one.id}")
        )

    return [msgspec.structs.replace(each, steps=tuple(map(entry, each.steps))) for each in sessions]


@pytest.fixture
def sessions() -> list[Session]:
    return with_history(Played({"1": {"a": "++ .+", "b": "+"}, "2": {"a": "+"}}).sessions)


def heard(sessions: list[Session], texts: dict[str, str | Failure]) -> list[Spoken]:
    found = []
    for one in instructions_of(sessions):
        said = texts.get(one.steps[0], f"heard {one.steps[0]}")
        found.append(
            Spoken(
                participant=one.participant,
                task=one.task,
                instruction_index=one.instruction_index,
                steps=one.steps,
                reference=one.text,
                heard=said if isinstance(said, str) else "",
                failure=None if isinstance(said, str) else said,
            )
        )
    return found


def test_instructions_are_those_of_the_data_with_all_their_steps(sessions: list[Session]) -> None:
    found = instructions_of(sessions)
    assert [one.steps for one in found] == [("1/1", "1/2"), ("1/3", "1/4"), ("1/5",), ("2/1",)]
    assert [one.instruction_index for one in found] == [0, 1, 0, 0]


def test_every_step_and_every_history_entry_has_what_was_heard(sessions: list[Session]) -> None:
    (first, second) = substitute(sessions, heard(sessions, {}))
    assert [one.instruction for one in first.steps] == ["heard 1/1"] * 2 + ["heard 1/3"] * 2 + ["heard 1/5"]
    for before, after in zip(sessions[0].steps, first.steps, strict=True):
        assert after.history_entry == HistoryEntry(instruction=after.instruction, action=f"did {before.id}")
        kept = {name: getattr(before, name) for name in ("instruction", "history_entry", "unheard")}
        assert msgspec.structs.replace(after, **kept) == before
    assert second.steps[0].instruction == "heard 2/1"


def test_true_words_never_stand_in(sessions: list[Session]) -> None:
    broken = Failure(kind="error", message="no transcript: the server died")
    told = heard(sessions, {"1/1": broken, "1/3": NOTHING_HEARD})[:-1]
    first, second = substitute(sessions, told)
    assert [one.unheard for one in first.steps] == [broken, broken, NOTHING_HEARD, NOTHING_HEARD, None]
    for one in (*first.steps[:4], *second.steps):
        assert one.instruction == ""
        assert one.history_entry is not None
        assert one.history_entry.instruction == ""
    # Nobody asked what was said at this step: it can't be asked about either.
    assert second.steps[0].unheard is not None
    assert second.steps[0].unheard.kind == "missing"


def test_words_are_needed_up_to_the_last_chosen_step(sessions: list[Session]) -> None:
    assert needed_steps(sessions, {"1/2"}) == {"1/1", "1/2"}
    assert needed_steps(sessions, {"1/4", "1/1"}) == {"1/1", "1/2", "1/3", "1/4"}
    assert needed_steps(sessions, ()) == frozenset()


def test_a_step_with_its_words_is_written_as_before() -> None:
    assert b"unheard" not in msgspec.json.encode(step())
