"""Splits: who is on which side, what is left out, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.errors import UserError
from grounding.records import Session
from grounding.training.options import SharedRule
from grounding.training.split import Split, leaks, make_split, parse_hold_out, participants
from training.steps import clicked, sessions

CLEAN = sessions(("1", "Gift", "ab"), ("1", "Hotel", "c"), ("2", "Film", "de"), ("3", "Flight", "fg"))


def split(
    data: tuple[Session, ...], *values: str, shared: SharedRule = "refuse", test_limit: int | None = None
) -> Split:
    return make_split(
        data,
        parse_hold_out(values, ("participant", "task")),
        dataset="d",
        fingerprint="f",
        shared=shared,
        test_limit=test_limit,
    )


def test_a_participant_is_tested_and_the_others_are_trained_on_and_of_a_task_nothing_of_its_own() -> None:
    found = split(CLEAN, "participant=2")
    assert found.train == ("1/1", "1/2", "1/3", "3/1", "3/2")
    assert found.test == ("2/1", "2/2")
    assert found.left_out == {}
    assert split(CLEAN, "participant=2", "participant=3").held_out == ("participant=2", "participant=3")
    found = split(CLEAN, "task=Gift")
    assert (found.text, found.test, found.train) == ("task=Gift", ("1/1", "1/2"), ("2/1", "2/2", "3/1", "3/2"))
    assert found.left_out == {"participant": ("1/3",)}


def test_a_shared_screenshot_is_refused_or_dropped_from_the_training() -> None:
    data = sessions(("1", "Gift", "ab"), ("2", "Film", "bc"))
    with pytest.raises(UserError) as caught:
        split(data, "participant=2")
    said = str(caught.value)
    assert "screenshot b: 1 steps to train on (such as 1/2), 1 to test on (such as 2/1)" in said
    assert "--shared drop" in said
    found = split(data, "participant=2", shared="drop")
    assert found.train == ("1/1",)
    assert found.test == ("2/1", "2/2")
    assert found.left_out == {"screenshot": ("1/2",)}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (("task=Song",), "--hold-out task=Song: the data set has the tasks Gift, Hotel, Film, Flight"),
        (("participant=1", "participant=2", "participant=3"), "no step is left to train on"),
    ],
)
def test_what_can_not_be_split_is_refused(values: tuple[str, ...], said: str) -> None:
    with pytest.raises(UserError, match=said):
        split(CLEAN, *values)


def test_leaving_one_out_makes_a_split_of_every_participant_with_a_click() -> None:
    quiet = Session(participant="9", steps=(clicked("9/1", "9", "Song", "z", scored=False),))
    assert participants((*CLEAN, quiet)) == ("1", "2", "3")
    with pytest.raises(UserError, match="expected 2 or more"):
        participants(CLEAN[:1])


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


@given(rows, st.data(), rules)
def test_a_split_that_is_made_shares_nothing_and_forgets_no_step(
    made: list[tuple[str, str | int, str]], data: st.DataObject, shared: SharedRule
) -> None:
    held = sessions(*made)
    steps = {each.id: each for session in held for each in session.steps}
    known = {f"participant={each.participant}" for each in steps.values()} | {f"task={row[1]}" for row in made}
    try:
        found = split(held, data.draw(st.sampled_from(sorted(known))).strip(), shared=shared)
    except UserError:
        return
    train = [steps[each] for each in found.train]
    test = [steps[each] for each in found.test]
    assert train
    assert test
    assert not {each.participant for each in train} & {each.participant for each in test}
    assert not leaks("task", train, test)
    assert not leaks("screenshot", train, test)
    everywhere = [*found.train, *found.test, *(i for ids in found.left_out.values() for i in ids)]
    assert sorted(everywhere) == sorted(steps)
