from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.benchmarks.personalwab.records import Behaviour, Review, ShopTask, ShopUser, Split
from grounding.errors import UserError
from grounding.training.puma.data import split_tasks


def task(number: int, user: str, *, split: Split = "train", words: str = "", at: int = 10) -> ShopTask:
    return ShopTask(
        id=f"{split}/{number}",
        user_id=user,
        type="search",
        instruction=words or f"{split} {number}",
        timestamp_ms=at,
        target_asin="B1",
        split=split,
    )


def people(*names: str, bought: tuple[Behaviour, ...] = ()) -> dict[str, ShopUser]:
    return {name: ShopUser(id=name, behaviours=bought) for name in names}


TRAIN = tuple(task(number, f"u{number % 10}") for number in range(40))
TEST = tuple(task(number, f"u{number}", split="test", at=20) for number in range(10))
USERS = people(*(f"u{number}" for number in range(10)))


@given(st.floats(0, 0.8), st.integers(0, 99), st.sets(st.sampled_from([f"u{n}" for n in range(10)]), max_size=5))
def test_nobody_is_on_two_sides(share: float, seed: int, test_users: set[str]) -> None:
    split = split_tasks(TRAIN, TEST, USERS, share=share, seed=seed, test_users=test_users)
    sides = [set(split.train_users), set(split.held_out_users), set(split.test_users)]
    assert sides[0].isdisjoint(sides[1] | sides[2])
    assert sides[1].isdisjoint(sides[2])
    used = [*split.train, *split.held_out, *(id_ for ids in split.left_out.values() for id_ in ids)]
    assert sorted(used) == sorted(one.id for one in TRAIN)
    assert split == split_tasks(TRAIN, TEST, USERS, share=share, seed=seed, test_users=test_users)
    assert split.tested == sum(not test_users or one.user_id in test_users for one in TEST)


def test_the_same_words_of_the_same_user_are_dropped() -> None:
    test = (*TEST, task(99, "u1", split="test", words="train 1", at=20), task(98, "u2", split="test", words="train 3"))
    split = split_tasks(TRAIN, test, USERS, share=0.0, seed=0)
    assert split.left_out["have the words of a task of the same user in the test"] == ("train/1",)
    assert "train/1" not in split.train


def test_a_task_made_after_a_purchase_of_the_test_is_dropped() -> None:
    bought = (Behaviour(asin="B9", review=Review(asin="B9", timestamp_ms=15), split="test"),)
    late = task(77, "u1", at=16)
    split = split_tasks((*TRAIN, late), TEST, people(*USERS, bought=bought), share=0.0, seed=0)
    assert split.left_out["come after a purchase of the test"] == ("train/77",)
    # Known by time and product too, where a history says nothing of its parts.
    same = (Behaviour(asin="B1", review=Review(asin="B1", timestamp_ms=20)),)
    later = task(78, "u1", at=21)
    split = split_tasks((*TRAIN, later), TEST, people(*USERS, bought=same), share=0.0, seed=0)
    assert split.left_out["come after a purchase of the test"] == ("train/78",)


def test_test_users_never_train() -> None:
    split = split_tasks(TRAIN, TEST, USERS, share=0.2, seed=1, test_users=("u3", "u4"))
    assert split.test_users == ("u3", "u4")
    assert split.tested == 2
    by_id = {one.id: one for one in TRAIN}
    assert not {by_id[id_].user_id for id_ in (*split.train, *split.held_out)} & {"u3", "u4"}
    with pytest.raises(UserError, match="--hold-out user=nobody"):
        split_tasks(TRAIN, TEST, USERS, share=0.2, seed=1, test_users=("nobody",))
