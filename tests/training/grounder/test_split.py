"""Splits: who is on which side, what is left out, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.errors import UserError
from grounding.loaders import load_dataset
from grounding.records import Dataset, Session
from grounding.training.grounder.leakage import find_leaks
from grounding.training.grounder.split import (
    HeldOut,
    SharedRule,
    Split,
    leave_one_out,
    make_split,
    parse_hold_out,
)

from .sessions import sessions, step

CLEAN = sessions(("1", "Gift", "ab"), ("1", "Hotel", "c"), ("2", "Film", "de"), ("3", "Flight", "fg"))


def split(
    data: tuple[Session, ...],
    *values: str,
    screenshots: SharedRule = "refuse",
    tasks: SharedRule = "refuse",
    limit: int | None = None,
    test_limit: int | None = None,
) -> Split:
    return make_split(
        data,
        parse_hold_out(values),
        dataset="d",
        fingerprint="f",
        shared_screenshots=screenshots,
        shared_tasks=tasks,
        limit=limit,
        test_limit=test_limit,
    )


def left(found: Split) -> dict[str, tuple[str, ...]]:
    return {each.reason: each.step_ids for each in found.left_out}


def test_what_is_held_out_is_said_in_words() -> None:
    assert parse_hold_out(["participant=3", "task=Buy = pay", "participant=3"]) == (
        HeldOut(kind="participant", name="3"),
        HeldOut(kind="task", name="Buy = pay"),
    )
    for wrong in ("3", "participant", "participant=", "person=3", "=3"):
        with pytest.raises(UserError, match=r"expected participant=NAME or task=LABEL"):
            parse_hold_out([wrong])


def test_a_participant_is_tested_and_the_others_are_trained_on() -> None:
    found = split(CLEAN, "participant=2")
    assert found.train.step_ids == ("1/1", "1/2", "1/3", "3/1", "3/2")
    assert found.test.step_ids == ("2/1", "2/2")
    assert found.train.participants == ("1", "3")
    assert [(task.participant, task.label, task.steps) for task in found.train.tasks] == [
        ("1", "Gift", 2),
        ("1", "Hotel", 1),
        ("3", "Flight", 2),
    ]
    assert found.left_out == ()
    assert split(CLEAN, "participant=2", "participant=3").test.participants == ("2", "3")


def test_a_task_is_tested_and_its_participant_not_trained_on() -> None:
    found = split(CLEAN, "task=Gift")
    assert found.test.step_ids == ("1/1", "1/2")
    assert found.train.step_ids == ("2/1", "2/2", "3/1", "3/2")
    assert left(found) == {"participant": ("1/3",)}


def test_steps_without_a_click_are_on_no_side() -> None:
    quiet = Session(participant="9", steps=(step("9/1", "9", "Song", "z", scored=False), step("9/2", "9", "Song", "y")))
    found = split((*CLEAN, quiet), "participant=9")
    assert found.test.step_ids == ("9/2",)
    assert all("9/1" not in each.step_ids for each in (found.train, found.test, *found.left_out))


def test_a_shared_screenshot_is_refused_or_dropped_from_the_training() -> None:
    data = sessions(("1", "Gift", "ab"), ("2", "Film", "bc"))
    with pytest.raises(UserError) as caught:
        split(data, "participant=2")
    said = str(caught.value)
    assert "screenshot b: 1 steps to train on (such as 1/2), 1 to test on (such as 2/1)" in said
    assert "--shared-screenshots drop" in said
    assert "--shared-tasks" not in said
    found = split(data, "participant=2", screenshots="drop")
    assert found.train.step_ids == ("1/1",)
    assert found.test.step_ids == ("2/1", "2/2")
    assert left(found) == {"screenshot": ("1/2",)}


def test_a_shared_task_is_refused_or_dropped_from_the_training() -> None:
    data = sessions(("1", "Buy a gift", "ab"), ("1", "Hotel", "c"), ("2", "buy a gift.", "de"))
    with pytest.raises(UserError, match=r"task buy a gift: 2 steps to train on .*\n.*--shared-tasks drop"):
        split(data, "participant=2")
    found = split(data, "participant=2", tasks="drop")
    assert found.train.step_ids == ("1/3",)
    assert left(found) == {"task": ("1/1", "1/2")}


def test_a_step_is_left_out_once() -> None:
    data = sessions(("1", "Gift", "ab"), ("1", "Hotel", "c"), ("2", "Gift", "bd"))
    found = split(data, "participant=2", tasks="drop", screenshots="drop")
    assert left(found) == {"task": ("1/1", "1/2")}


def test_the_limits_take_the_first_steps() -> None:
    found = split(CLEAN, "participant=3", limit=2, test_limit=1)
    assert found.train.step_ids == ("1/1", "1/2")
    assert found.test.step_ids == ("3/1",)
    assert left(found) == {"limit": ("1/3", "2/1", "2/2", "3/2")}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ((), "nothing is held out"),
        (("participant=4",), "--hold-out participant=4: the data set has the participants 1, 2, 3"),
        (("task=Song",), "--hold-out task=Song: the data set has the tasks Gift, Hotel, Film, Flight"),
        (("participant=1", "participant=2", "participant=3"), "no step is left to train on"),
    ],
)
def test_what_can_not_be_split_is_refused(values: tuple[str, ...], said: str) -> None:
    with pytest.raises(UserError, match=said):
        split(CLEAN, *values)


def test_leaving_one_out_makes_a_split_of_every_participant_with_a_click() -> None:
    quiet = Session(participant="9", steps=(step("9/1", "9", "Song", "z", scored=False),))
    assert [held[0].text for held in leave_one_out((*CLEAN, quiet))] == [
        "participant=1",
        "participant=2",
        "participant=3",
    ]
    with pytest.raises(UserError, match="expected 2 or more"):
        leave_one_out(CLEAN[:1])


rows = st.lists(
    st.tuples(
        st.sampled_from(["1", "2", "3", "4"]),
        st.sampled_from(["Gift", "gift ", "Hotel", "Film", 1, 2]),
        st.text("abcdefgh", min_size=1, max_size=3),
    ),
    min_size=1,
    max_size=8,
)
rules = st.sampled_from(["refuse", "drop"])


@given(rows, st.data(), rules, rules)
def test_a_split_that_is_made_shares_nothing_and_forgets_no_step(
    made: list[tuple[str, str | int, str]], data: st.DataObject, screenshots: SharedRule, tasks: SharedRule
) -> None:
    held = sessions(*made)
    steps = {each.id: each for session in held for each in session.steps}
    name = data.draw(st.sampled_from(sorted({each.participant for each in steps.values()})))
    label = data.draw(st.sampled_from(sorted({str(each.task) for each in steps.values()})))
    value = data.draw(st.sampled_from([f"participant={name}", f"task={label}"]))
    try:
        found = split(held, value, screenshots=screenshots, tasks=tasks)
    except UserError:
        return
    train = [steps[each] for each in found.train.step_ids]
    test = [steps[each] for each in found.test.step_ids]
    assert train
    assert test
    assert find_leaks(train, test) == ()
    everywhere = [*found.train.step_ids, *found.test.step_ids, *(i for each in found.left_out for i in each.step_ids)]
    assert sorted(everywhere) == sorted(steps)


@pytest.fixture(scope="module")
def sample() -> Dataset:
    return load_dataset("sample-web", None)


def test_the_sample_shares_a_task_between_two_participants(sample: Dataset) -> None:
    found = split(sample.sessions, "participant=3")
    assert (len(found.train.step_ids), len(found.test.step_ids)) == (198, 64)
    with pytest.raises(UserError, match="task buy a gift for a friend's birthday"):
        split(sample.sessions, "participant=1")
    dropped = split(sample.sessions, "participant=1", tasks="drop")
    assert len(dropped.train.step_ids) + len(dropped.test.step_ids) + len(left(dropped)["task"]) == 262
