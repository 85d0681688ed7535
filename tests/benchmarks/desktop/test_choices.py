"""Which steps a run is about, and what an agent is told that it remembers at each."""

from __future__ import annotations

from collections import Counter

import pytest
from fakes.make import screenshot
from hypothesis import given
from hypothesis import strategies as st

from grounding.actions.kinds import Action
from grounding.benchmarks.desktop.benchmark import select_desktop
from grounding.benchmarks.desktop.folder import memories
from grounding.data.desktop_records import DesktopStep, DesktopTask, DesktopTaskKind
from grounding.errors import UserError


def task(name: str, thoughts: list[str], kind: DesktopTaskKind | None = None) -> DesktopTask:
    return DesktopTask(
        id=name,
        kind=kind,
        steps=tuple(
            DesktopStep(
                id=f"{name}/{at}",
                screenshot=screenshot(),
                gold=Action(kind="finish"),
                gold_text="finish",
                thought=thought,
            )
            for at, thought in enumerate(thoughts, start=1)
        ),
    )


def tasks_of(thoughts: list[list[str]]) -> tuple[DesktopTask, ...]:
    return tuple(task(f"t{number}", each) for number, each in enumerate(thoughts))


THOUGHTS = st.lists(st.lists(st.sampled_from(["", "a", "b", "c", "d", "e"]), min_size=1, max_size=5), max_size=6)


@given(THOUGHTS, st.integers(0, 9))
def test_shuffled_deals_out_the_same_thoughts_and_nobody_gets_their_own_where_that_can_be(
    thoughts: list[list[str]], seed: int
) -> None:
    tasks = tasks_of(thoughts)
    own = memories(tasks, "thought", seed)
    dealt = memories(tasks, "shuffled", seed)
    assert dealt.keys() == own.keys()
    assert Counter(dealt.values()) == Counter(own.values())
    kept = sum(dealt[step] == own[step] for step in own)
    most = max(Counter(own.values()).values(), default=0)
    assert kept == max(0, 2 * most - len(own))


@given(THOUGHTS, st.integers(0, 9))
def test_other_step_is_of_the_same_task_and_not_in_the_same_words(thoughts: list[list[str]], seed: int) -> None:
    tasks = tasks_of(thoughts)
    found = memories(tasks, "other-step", seed)
    for task in tasks:
        for step in task.steps:
            others = {one.thought for one in task.steps} - {step.thought, ""}
            assert found[step.id] in others if others else found[step.id] is None


def test_the_seed_decides() -> None:
    tasks = tasks_of([[f"thought {number}" for number in range(40)]])
    for kind in ("other-step", "shuffled"):
        assert memories(tasks, kind, 1) == memories(tasks, kind, 1)
        assert memories(tasks, kind, 1) != memories(tasks, kind, 2)


TASKS = (
    task("preference/a", [""] * 3, "preference"),
    task("preference/b", [""] * 2, "preference"),
    task("routine/a", [""] * 4, "routine"),
)


@pytest.mark.parametrize(
    ("kind", "sample_ids", "limit", "ids", "text"),
    [
        (None, (), None, "a/1 a/2 a/3 b/1 b/2 a/1 a/2 a/3 a/4", "all"),
        ("routine", (), 2, "a/1 a/2", "kind=routine;limit=2"),
        (None, (), 4, "a/1 a/2 a/3 b/1", "limit=4"),
        (None, ("routine/a/4", "preference/b/2"), None, "b/2 a/4", "steps=preference/b/2,routine/a/4"),
        (None, ("routine/a/9",), None, "", "no such step; ids look like preference/a/1"),
        ("routine", ("preference/a/1",), None, "", "no step is left"),
    ],
)
def test_steps_are_chosen_by_kind_id_and_number(
    kind: DesktopTaskKind | None, sample_ids: tuple[str, ...], limit: int | None, ids: str, text: str
) -> None:
    if not ids:
        with pytest.raises(UserError, match=text):
            select_desktop(TASKS, kind=kind, sample_ids=sample_ids, limit=limit)
        return
    tasks, words = select_desktop(TASKS, kind=kind, sample_ids=sample_ids, limit=limit)
    assert [step.id.partition("/")[2] for one in tasks for step in one.steps] == ids.split()
    assert words == text
