"""The two tasks on profiles: drawn fairly, scored by hand-worked figures."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.errors import UserError
from grounding.records import Failure
from grounding.webagents.personalwab.construction.consistency import (
    Question,
    Ranking,
    consistency_figures,
    draw_questions,
    ndcg,
    recall,
)
from grounding.webagents.personalwab.construction.judges import read_ranking
from grounding.webagents.personalwab.records import Behaviour, Product, Profile, Review, ShopUser

PRODUCTS = {f"B{number:02}": Product(asin=f"B{number:02}", title=f"thing {number}") for number in range(30)}


def people(count: int, bought: int = 5) -> dict[str, ShopUser]:
    return {
        f"u{user}": ShopUser(
            id=f"u{user}",
            profile=Profile(gender="Female"),
            behaviours=tuple(
                Behaviour(asin=asin, review=Review(asin=asin, timestamp_ms=at))
                for at, asin in enumerate(f"B{(user * 3 + place) % 30:02}" for place in range(bought))
            ),
        )
        for user in range(count)
    }


@given(st.integers(5, 12), st.integers(3, 20), st.integers(0, 9))
def test_one_user_among_four_and_three_products_among_seven(count: int, bought: int, seed: int) -> None:
    users = people(count, bought)
    questions = draw_questions(users, PRODUCTS, seed=seed)
    assert (len(questions.asked), questions.too_few) == (2 * count, 0)
    for one in questions.asked:
        right = {one.candidates[place] for place in one.right}
        wrong = set(one.candidates) - right
        assert len(set(one.candidates)) == len(one.candidates)
        if one.kind == "users":
            assert (right, len(wrong)) == ({one.user_id}, 4)
        else:
            own = {behaviour.asin for behaviour in users[one.user_id].behaviours}
            assert (len(right), len(wrong)) == (3, 7)
            assert right <= own
            assert not wrong & own
    assert questions == draw_questions(dict(reversed(users.items())), PRODUCTS, seed=seed)


def test_the_right_one_stands_anywhere() -> None:
    questions = draw_questions(people(200), PRODUCTS, seed=0)
    places = [one.right[0] for one in questions.asked if one.kind == "users"]
    assert min(np.bincount(places, minlength=5)) > 20


def test_who_can_not_be_asked_about_is_counted() -> None:
    users = people(6) | {"few": people(1, 2)["u0"], "nameless": ShopUser(id="nameless")}
    users["few"] = ShopUser(id="few", profile=Profile(), behaviours=users["few"].behaviours)
    questions = draw_questions(users, PRODUCTS, seed=0)
    assert (questions.without_profile, questions.too_few, len(questions.asked)) == (1, 1, 13)
    assert len(draw_questions(users, PRODUCTS, seed=0, limit=2).asked) <= 4
    with pytest.raises(UserError, match="at least 5"):
        draw_questions(people(4), PRODUCTS, seed=0)


def test_ndcg_and_recall_by_hand() -> None:
    assert ndcg([0, 9, 1, 8, 2], [0, 1, 2]) == pytest.approx(
        (1 + 1 / 2 + 1 / math.log2(6)) / (1 + 1 / math.log2(3) + 1 / 2)
    )
    assert ndcg([9, 8, 7, 6, 5, 0], [0, 1, 2]) == 0
    assert recall([0, 9, 1, 8, 7, 2], [0, 1, 2]) == pytest.approx(2 / 3)
    assert recall([], [0]) == 0


def test_figures_count_unreadable_as_wrong_and_leave_errors_out() -> None:
    users = [Question(kind="users", user_id=f"u{n}", candidates=tuple("abcde"), right=(2,)) for n in range(4)]
    items = [Question(kind="items", user_id=f"u{n}", candidates=tuple("abcdefghij"), right=(0, 1, 2)) for n in range(3)]
    rankings = {
        "users/u0": Ranking(step_id="", key="", order=(2,)),
        "users/u1": Ranking(step_id="", key="", order=(1, 2)),
        "users/u2": Ranking(step_id="", key="", failure=Failure(kind="unparsed", message="")),
        "users/u3": Ranking(step_id="", key="", failure=Failure(kind="error", message="")),
        "items/u0": Ranking(step_id="", key="", order=(2, 1, 0, 5, 6)),
        "items/u1": Ranking(step_id="", key="", order=(9, 8, 7, 6, 5, 0)),
    }
    top, gain, found = consistency_figures([*users, *items], rankings, seed=0)
    assert (top.k, top.n, top.chance) == (1, 3, 0.2)
    assert top.value == pytest.approx(1 / 3)
    assert top.low is not None
    assert top.high is not None
    assert 0 < top.low < 1 / 3 < top.high < 1
    assert (gain.n, gain.value, found.value) == (2, 0.5, 0.5)
    assert (gain.low, gain.high) == (0.0, 1.0)
    empty = consistency_figures([*users, *items], {}, seed=0)
    assert [(one.n, one.value, one.low) for one in empty] == [(0, None, None)] * 3


def test_chance_is_what_random_orders_get() -> None:
    random = np.random.default_rng(0)
    orders = [list(random.permutation(10)) for _ in range(4000)]
    _, gain, found = consistency_figures([], {}, seed=0)
    assert np.mean([ndcg(order, [0, 1, 2]) for order in orders]) == pytest.approx(gain.chance, abs=0.02)
    assert np.mean([recall(order, [0, 1, 2]) for order in orders]) == pytest.approx(found.chance, abs=0.02)


USERS = Question(kind="users", user_id="u", candidates=tuple("abcde"), right=(0,))
ITEMS = Question(kind="items", user_id="u", candidates=tuple("abcdefghij"), right=(0, 1, 2))


@pytest.mark.parametrize(
    ("question", "text", "order"),
    [
        (USERS, "3", (2,)),
        (USERS, "Shopper 3.", (2,)),
        (USERS, "Shopper 3, number 3", (2,)),
        (USERS, "Shopper 3 or 4", None),
        (USERS, "6", None),
        (USERS, "0", None),
        (USERS, "the first", None),
        (ITEMS, "[3, 1, 2, 10, 9, 8, 7, 6, 5, 4]", (2, 0, 1, 9, 8, 7, 6, 5, 4, 3)),
        (ITEMS, "Ranking: [1,2,3,4,5]", (0, 1, 2, 3, 4)),
        (ITEMS, "[1, 2, 3]", None),
        (ITEMS, "[1, 2, 3, 4, 4]", None),
        (ITEMS, "[1, 2, 3, 4, 11]", None),
        (ITEMS, "1, 2, 3, 4, 5", None),
    ],
)
def test_a_reply_names_places_or_is_unparsed(question: Question, text: str, order: tuple[int, ...] | None) -> None:
    found = read_ranking(question, text)
    if order is None:
        assert isinstance(found, Failure)
        assert found.kind == "unparsed"
    else:
        assert found == order


@given(st.text(), st.sampled_from([USERS, ITEMS]))
def test_no_reply_raises(text: str, question: Question) -> None:
    assert isinstance(read_ranking(question, text), tuple | Failure)
