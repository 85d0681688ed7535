"""What two sides of a split share is found, whatever it is and however it is written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.records import Step
from grounding.training.grounder.leakage import find_leaks, goal_key, leak_lines

from .sessions import step

A = step("1/1", "1", "Buy a gift", "p1")


@pytest.mark.parametrize(
    ("other", "kinds"),
    [
        (step("2/1", "2", "Book a hotel", "p2"), []),
        (step("1/9", "1", "Book a hotel", "p2"), ["participant"]),
        (step("2/1", "2", "Buy a gift", "p2"), ["task"]),
        (step("2/1", "2", "  buy A  GIFT. ", "p2"), ["task"]),
        (step("2/1", "2", "Buy a gift card", "p2"), []),
        (step("2/1", "2", "Book a hotel", "p1"), ["screenshot"]),
        (step("1/9", "1", "buy a gift!", "p1"), ["participant", "task", "screenshot"]),
    ],
)
def test_what_is_shared_is_named(other: Step, kinds: list[str]) -> None:
    found = find_leaks([A], [other])
    assert [leak.kind for leak in found] == kinds
    assert all(leak.train_ids == ("1/1",) and leak.test_ids == (other.id,) for leak in found)


@pytest.mark.parametrize(("first", "second"), [(3, 3), ("3", "3"), ("task 3", "task 3"), (3, "3")])
def test_a_number_says_nothing_of_a_task(first: str | int, second: str | int) -> None:
    assert find_leaks([step("1/1", "1", first, "p1")], [step("2/1", "2", second, "p2")]) == ()
    assert goal_key(step("1/1", "1", first, "p1")) != goal_key(step("2/1", "2", second, "p2"))


def test_wide_letters_and_unbroken_blanks_make_no_other_task() -> None:
    assert goal_key(
        step("1/1", "1", "\N{FULLWIDTH LATIN CAPITAL LETTER B}uy\N{NO-BREAK SPACE}a gift", "p1")
    ) == goal_key(A)


def test_only_the_first_of_many_are_listed() -> None:
    train = [step(f"1/{number}", "1", f"task of {number} things", f"p{number}") for number in range(9)]
    test = [step(f"2/{number}", "2", f"another {number}", f"p{number}") for number in range(9)]
    lines = leak_lines(find_leaks(train, test))
    assert len(lines) == 6
    assert lines[0] == "screenshot p0: 1 steps to train on (such as 1/0), 1 to test on (such as 2/0)"
    assert lines[-1] == "and 4 more screenshots"


steps = st.lists(
    st.builds(
        step,
        st.uuids().map(str),
        st.sampled_from(["1", "2", "3"]),
        st.sampled_from(["Buy a gift", "buy a gift", "Book", 1, 2]),
        st.sampled_from(["p1", "p2", "p3"]),
    ),
    max_size=6,
)


@given(steps, steps)
def test_no_leak_is_found_where_and_only_where_nothing_is_shared(train: list[Step], test: list[Step]) -> None:
    leaks = find_leaks(train, test)
    pairs = [(one, other) for one in train for other in test]
    assert {leak.kind for leak in leaks} == {
        kind
        for one, other in pairs
        for kind, shared in (
            ("participant", one.participant == other.participant),
            ("task", goal_key(one) == goal_key(other)),
            ("screenshot", one.screenshot.sha256 == other.screenshot.sha256),
        )
        if shared
    }
    # What a leak names is all that has to go: without it nothing of its kind is left.
    for kind in {leak.kind for leak in leaks}:
        gone = {each for leak in leaks if leak.kind == kind for each in leak.train_ids}
        rest = find_leaks([one for one in train if one.id not in gone], test)
        assert kind not in {leak.kind for leak in rest}
