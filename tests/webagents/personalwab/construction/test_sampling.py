"""Users drawn by a bounded count are the users that a full count would have drawn."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.errors import UserError
from grounding.webagents.personalwab.construction.records import RawUser, Sampling, SourceFacts
from grounding.webagents.personalwab.construction.sampling import CandidateCounts, chance_rank, select
from grounding.webagents.personalwab.records import Product, Review

FACTS = SourceFacts(source="S", files=(), times="", ids="", reviews_read=0, products_read=0, eligible=0)
PRODUCTS = {f"B{number}": Product(asin=f"B{number}", title=f"thing {number}") for number in range(30)}


@given(st.lists(st.integers(0, 60), max_size=200), st.integers(1, 6), st.integers(0, 3))
def test_a_bounded_count_draws_the_same_users_as_a_full_one(seen: list[int], capacity: int, seed: int) -> None:
    counts = CandidateCounts(capacity, seed)
    for user in seen:
        counts.add(f"u{user}")
        assert len(counts) <= 2 * capacity
    full = Counter(f"u{user}" for user in seen)
    queue = sorted(full, key=lambda user: chance_rank(seed, user))
    drawn = counts.eligible(2, 9)
    # The first of the queue are all there with their true counts; those beyond the bound may be missing.
    assert set(drawn) >= {user for user in queue[:capacity] if 2 <= full[user] <= 9}
    # Whoever is held was counted from the first review on.
    for count in range(1, len(seen) + 1):
        assert all(full[user] == count for user in counts.eligible(count, count))
    assert list(drawn) == sorted(drawn, key=lambda user: chance_rank(seed, user))


def users(count: int, behaviours: int = 10) -> list[RawUser]:
    return [
        RawUser(
            id=f"u{user}",
            reviews=tuple(Review(asin=f"B{(user + at) % 20}", timestamp_ms=at) for at in range(behaviours)),
        )
        for user in range(count)
    ]


def test_the_draw_hangs_on_the_seed_and_not_on_the_order() -> None:
    def drawn(raw: list[RawUser], seed: int) -> list[str]:
        return [one.id for one in select(raw, PRODUCTS, (), Sampling(users=4, seed=seed), FACTS).users]

    assert drawn(users(12), 1) == drawn(users(12)[::-1], 1)
    assert len({tuple(drawn(users(12), seed)) for seed in range(8)}) > 1


def test_only_what_was_bought_is_in_the_shop_and_some_more_if_wanted() -> None:
    few = select(users(1), PRODUCTS, PRODUCTS, Sampling(users=1), FACTS)
    assert set(few.products) == {f"B{number}" for number in range(10)}
    more = select(users(1), PRODUCTS, PRODUCTS, Sampling(users=1, products=7), FACTS)
    assert len(more.products) == 17
    assert set(few.products) < set(more.products)
    assert list(more.products) == sorted(more.products)


def test_reviews_of_unknown_products_and_repeats_are_left_out_and_counted() -> None:
    (one,) = users(1)
    raw = RawUser(id="u0", reviews=(*one.reviews, one.reviews[0], Review(asin="GONE", timestamp_ms=3)))
    selection = select([raw], PRODUCTS, (), Sampling(), FACTS)
    assert (selection.facts.same_twice, selection.facts.without_product) == (1, 1)
    assert len(selection.users[0].behaviours) == 10


def test_nobody_with_enough_is_said() -> None:
    with pytest.raises(UserError, match="no user has 11 to 500 behaviours"):
        select(users(3), PRODUCTS, (), Sampling(min_behaviours=11), FACTS)
    with pytest.raises(UserError, match="no user has 5 to 9 behaviours"):
        select(users(3), PRODUCTS, (), Sampling(max_behaviours=9), FACTS)
