"""Money: what a call costs, and that a limit holds however many requests are open at once."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.cards import Price
from grounding.llm.budget import Budget, BudgetReached, cost_usd
from grounding.records import Call, Usage

PRICE = Price(input_usd=2.0, output_usd=8.0, date="2026-11-21", cached_input_usd=0.5)


@pytest.mark.parametrize(
    ("usage", "price", "expected"),
    [
        (Usage(input_tokens=1_000_000, output_tokens=0), PRICE, 2.0),
        (Usage(input_tokens=0, output_tokens=1_000_000), PRICE, 8.0),
        (Usage(input_tokens=1000, output_tokens=100), PRICE, 0.0028),
        # Of 1000 input tokens 600 are cached: 400 at 2 and 600 at 0.5.
        (Usage(input_tokens=1000, output_tokens=0, cached_input_tokens=600), PRICE, 0.0011),
        # Reasoning tokens are part of the output, not on top of it.
        (Usage(input_tokens=0, output_tokens=1000, reasoning_tokens=900), PRICE, 0.008),
        # Without a price of their own, cached tokens cost what all others do.
        (
            Usage(input_tokens=1000, output_tokens=0, cached_input_tokens=600),
            Price(input_usd=2.0, output_usd=8.0, date="x"),
            0.002,
        ),
        (
            Usage(input_tokens=1000, output_tokens=0, cached_input_tokens=1000),
            Price(input_usd=2.0, output_usd=8.0, date="x", cached_input_usd=0.0),
            0.0,
        ),
        # A server that counts cached tokens beside the input never pays us back.
        (Usage(input_tokens=100, output_tokens=0, cached_input_tokens=300), PRICE, 0.00015),
        (Usage(input_tokens=0, output_tokens=0), PRICE, 0.0),
        (None, PRICE, None),
        (Usage(input_tokens=1, output_tokens=1), None, None),
        (None, None, None),
    ],
)
def test_cost(usage: Usage | None, price: Price | None, expected: float | None) -> None:
    assert cost_usd(usage, price) == (None if expected is None else pytest.approx(expected, abs=1e-12))


@dataclass(frozen=True)
class Request:
    """What a request will cost, and the most that its card says it can (None: the card doesn't say)."""

    cost: float | None
    most: float | None = None


@dataclass(frozen=True)
class Played:
    """How a row of requests went: how many were open at each start, what the provider billed, who was left out."""

    opened: list[int]
    bill_usd: float
    left_out: int


def play(limit: float, requests: Sequence[Request], workers: int, *, spent: float = 0.0, seed: int = 0) -> Played:
    """Send requests, many at once, until the limit; the provider's bill is added up apart from the budget.

    Asserts at every start that what is paid and what is set aside stay within the limit together.
    """
    budget = Budget(limit, spent)
    shuffle = random.Random(seed)
    in_flight: dict[int, float] = {}  # What is set aside for each open request.
    opened: list[int] = []
    waiting = list(enumerate(requests))
    bill = [spent]

    async def worker() -> None:
        while waiting:
            number, request = waiting.pop()
            reserved = await budget.reserve(request.most)
            in_flight[number] = reserved
            assert budget.spent_usd + sum(in_flight.values()) <= limit + 1e-9
            opened.append(len(in_flight))
            bill[0] += request.cost or 0.0
            for _ in range(shuffle.randint(1, 5)):
                await asyncio.sleep(0)
            del in_flight[number]
            budget.settle(reserved, request.cost)

    async def run() -> int:
        results = await asyncio.wait_for(
            asyncio.gather(*(worker() for _ in range(workers)), return_exceptions=True), timeout=20
        )
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, BudgetReached):
                raise result
        return sum(isinstance(result, BudgetReached) for result in results)

    stopped = asyncio.run(run())
    assert budget.spent_usd == pytest.approx(bill[0])
    return Played(opened=opened, bill_usd=bill[0], left_out=len(waiting) + stopped)


@st.composite
def uneven(draw: st.DrawFn) -> Request:
    most = draw(st.floats(0.001, 1))
    return Request(cost=most * draw(st.sampled_from([0.0, 0.01, 0.1, 0.9, 1.0])), most=most)


@given(
    limit=st.floats(0.01, 10),
    requests=st.lists(uneven(), min_size=1, max_size=60),
    workers=st.integers(1, 20),
    seed=st.integers(0, 1000),
)
def test_where_the_most_is_known_the_bill_never_passes_the_limit(
    limit: float, requests: list[Request], workers: int, seed: int
) -> None:
    played = play(limit, requests, workers, seed=seed)
    assert played.bill_usd <= limit + 1e-9
    if played.left_out:  # Nobody is turned away while there is room for the dearest that is possible.
        assert played.bill_usd + max(request.most or 0.0 for request in requests) > limit - 1e-9


def test_a_limit_below_one_request_lets_none_out_and_says_why() -> None:
    assert play(0.05, [Request(cost=0.01, most=0.13)], workers=1).opened == []
    with pytest.raises(
        BudgetReached, match=r"\$0\.05 is reached \(\$0\.0000 spent; one more request may cost \$0\.1300\)"
    ):
        asyncio.run(Budget(0.05).reserve(0.13))


def test_a_try_that_may_have_been_charged_counts_against_the_limit() -> None:
    async def run() -> None:
        budget = Budget(0.3)
        for _ in range(2):
            reserved = await budget.reserve(0.1)
            budget.settle(reserved, None, unreported_usd=0.1)
        assert (budget.spent_usd, budget.unreported_usd) == (0.0, pytest.approx(0.2))
        with pytest.raises(BudgetReached, match=r"up to \$0\.2000 for tries without a reply"):
            await budget.reserve(0.11)

    asyncio.run(run())


def test_without_a_bound_every_request_is_taken_to_cost_as_much_as_the_dearest() -> None:
    async def run() -> list[float]:
        budget = Budget(1.0)
        reserved = []
        for cost in (0.1, 0.4, 0.01, None, 0.02):
            reserved.append(await budget.reserve())
            budget.settle(reserved[-1], cost)
        assert budget.spent_usd == pytest.approx(0.53)
        reserved.append(await budget.reserve())
        # 0.53 spent, 0.4 set aside for the open one: another 0.4 waits until that is settled.
        waiting = asyncio.create_task(budget.reserve())
        for _ in range(5):
            await asyncio.sleep(0)
        assert not waiting.done()
        budget.settle(reserved[-1], 0.03)
        reserved.append(await asyncio.wait_for(waiting, 5))
        budget.settle(reserved[-1], 0.3)
        with pytest.raises(BudgetReached):  # 0.86 spent
            await budget.reserve()
        return reserved

    assert asyncio.run(run()) == [0.0, 0.1, 0.4, 0.4, 0.4, 0.4, 0.4]


def test_a_limit_holds_over_all_starts_of_a_run() -> None:
    budget = Budget(1.0)
    budget.take_up([Call(seconds=1, cost_usd=0.3), Call(seconds=1, cost_usd=0.4, unreported_usd=0.1), Call(seconds=1)])
    assert (budget.spent_usd, budget.unreported_usd) == (pytest.approx(0.7), 0.1)
    # What one more may cost is known from before: 0.2 are left, and the dearest so far took 0.4.
    with pytest.raises(BudgetReached, match=r"one more request may cost \$0.4000"):
        asyncio.run(budget.reserve())
