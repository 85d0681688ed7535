"""The window of earlier steps and its text, as the released evaluator of RealWebAssist writes them."""

from __future__ import annotations

from fakes.make import screenshot
from hypothesis import given
from hypothesis import strategies as st

from grounding.data.history import HistoryScope, history_text, history_window
from grounding.records import HistoryEntry, Session, Step
from grounding.run.steps import step_items


def entry(number: int) -> HistoryEntry:
    return HistoryEntry(instruction=f"say {number}", action=f"did {number}")


def step(number: int, *, task: str = "a", entered: bool = True) -> Step:
    return Step(
        id=f"1/{number}",
        participant="1",
        task=task,
        instruction_index=0,
        instruction=f"say {number}",
        screenshot=screenshot(),
        region=None,
        history_entry=entry(number) if entered else None,
    )


def test_the_text_of_a_window() -> None:
    window = (
        HistoryEntry(instruction="Open the shop", action="Clicked the link 'Shop'"),
        HistoryEntry(instruction="First one, please", action="Clicked the first result"),
    )
    assert history_text(window) == (
        "1. Instruction: Open the shop\n   Action: Clicked the link 'Shop'\n"
        "2. Instruction: First one, please\n   Action: Clicked the first result"
    )


def test_the_last_ten_count_and_numbers_start_again() -> None:
    steps = [step(n) for n in range(30)]
    window = history_window(steps, 25, 10)
    assert window == tuple(entry(n) for n in range(15, 25))
    lines = history_text(window).split("\n")
    assert lines[0] == "1. Instruction: say 15"
    assert lines[-2:] == ["10. Instruction: say 24", "   Action: did 24"]


def lived(participant: str, tasks: str) -> Session:
    """One step a letter, the letter its task; every entry tells who lived it and in which task."""
    return Session(
        participant=participant,
        steps=tuple(
            Step(
                id=f"{participant}/{number}",
                participant=participant,
                task=task,
                instruction_index=0,
                instruction="",
                screenshot=screenshot(),
                region=None,
                history_entry=HistoryEntry(instruction=f"{participant}{number}", action=f"{participant}{task}"),
            )
            for number, task in enumerate(tasks)
        ),
    )


@given(
    tasks=st.lists(st.text("abc", max_size=12), min_size=1, max_size=4),
    length=st.integers(0, 15),
    scope=st.sampled_from(["session", "task"]),
)
def test_no_window_crosses_participants_and_none_of_a_task_crosses_tasks(
    tasks: list[str], length: int, scope: HistoryScope
) -> None:
    sessions = [lived(name, told) for name, told in zip("WXYZ", tasks, strict=False)]
    everything = frozenset(step.id for session in sessions for step in session.steps)
    items = list(step_items(sessions, everything, length, scope))
    assert len(items) == len(everything)
    for item in items:
        session = next(each for each in sessions if each.participant == item.step.participant)
        before = session.steps[: session.steps.index(item.step)]
        assert all(told.action[0] == item.step.participant for told in item.history)
        if scope == "task":
            before = tuple(each for each in before if each.task == item.step.task)
            assert all(told.action == f"{item.step.participant}{item.step.task}" for told in item.history)
        wanted = [each.history_entry for each in before]
        assert list(item.history) == wanted[max(0, len(wanted) - length) :]
