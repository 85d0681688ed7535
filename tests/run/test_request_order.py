"""The order in which steps are asked about: sessions as they were lived, equal screenshots next to each other."""

from __future__ import annotations

import msgspec
from fakes.make import screenshot

from grounding.records import HistoryEntry, Session, Step
from grounding.run.steps import step_items


def session(participant: str, pictures: str) -> Session:
    """One step a letter; equal letters are equal screenshots."""

    def step(number: int, picture: str) -> Step:
        return Step(
            id=f"{participant}/{number}",
            participant=participant,
            task="t",
            instruction_index=0,
            instruction=f"say {number}",
            screenshot=msgspec.structs.replace(screenshot(), sha256=picture),
            region=None,
            history_entry=HistoryEntry(instruction=f"say {number}", action=f"did {number}"),
        )

    return Session(participant=participant, steps=tuple(step(n, p) for n, p in enumerate(pictures, start=1)))


def order(*sessions: Session, left_out: str = "") -> list[str]:
    selected = frozenset(step.id for each in sessions for step in each.steps if step.id != left_out)
    return [item.step.id for item in step_items(sessions, selected, 2)]


def test_different_screenshots_keep_the_order_of_the_session() -> None:
    assert order(session("b", "zyx"), session("a", "wv")) == ["b/1", "b/2", "b/3", "a/1", "a/2"]


def test_equal_screenshots_follow_the_first_of_them_even_of_another_session() -> None:
    assert order(session("1", "homepage"[:4]), session("2", "xoy")) == ["1/1", "1/2", "2/2", "1/3", "1/4", "2/1", "2/3"]
    assert order(session("1", "abacab")) == ["1/1", "1/3", "1/5", "1/2", "1/6", "1/4"]


def test_the_history_is_that_of_the_session_not_of_the_order() -> None:
    lived = session("1", "aba")
    items = {item.step.id: item for item in step_items((lived,), frozenset(["1/1", "1/2", "1/3"]), 2)}
    assert [entry.action for entry in items["1/3"].history] == ["did 1", "did 2"]
    assert [entry.action for entry in items["1/2"].history] == ["did 1"]
