"""A pool's cost limit reaches its workers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from fakes.askers import Gate, answer, expected, opener, queries, recipe, screenshot
from fakes.inprocess_link import InProcessLink

from executors.pools import asking, made, until
from grounding.budget import Budget, BudgetReached
from grounding.executors.recipe import Recipe
from grounding.records import Prediction, Query


def test_the_cost_limit_reaches_whoever_asks(tmp_path: Path) -> None:
    async def main() -> None:
        budget = Budget(1.0)
        link = InProcessLink(paying(0.25))
        pool = made(link, budget=budget, asked=recipe(cost_limit=1.0))
        done = await asyncio.gather(*asking(pool, queries(10, screenshot(tmp_path))), return_exceptions=True)
        assert sum(isinstance(each, Prediction) for each in done) == 4
        assert sum(isinstance(each, BudgetReached) for each in done) == 6
        assert "the cost limit of $1 is reached ($1.0000 spent" in str(
            next(e for e in done if isinstance(e, Exception))
        )
        assert budget.spent_usd == pytest.approx(1.0)
        assert budget._reserved_usd == 0.0
        await pool.aclose()

    asyncio.run(main())


def test_what_a_lost_worker_may_have_spent_is_counted(tmp_path: Path) -> None:
    async def main() -> None:
        budget = Budget(1.0)
        gate = Gate()
        link = InProcessLink(paying(0.25, gate))
        pool = made(link, workers=1, budget=budget, asked=recipe(cost_limit=1.0))
        asked = queries(2, screenshot(tmp_path))
        tasks = asking(pool, asked)
        await until(lambda: len(gate.asked) == 2)
        assert budget._reserved_usd == pytest.approx(0.5)
        link.kill(link.alive[0])
        assert budget.unreported_usd == pytest.approx(0.5)
        assert budget._reserved_usd == 0.0
        await until(lambda: len(gate.asked) == 4)
        gate.let_all()
        assert await asyncio.gather(*tasks) == [expected(query) for query in asked]
        assert budget.spent_usd == pytest.approx(0.5)
        assert budget._reserved_usd == 0.0
        await pool.aclose()

    asyncio.run(main())


def test_without_a_limit_nobody_asks_for_money(tmp_path: Path) -> None:
    async def main() -> None:
        link = InProcessLink(paying(0.25))
        pool = made(link)
        await pool.ask(queries(1, screenshot(tmp_path))[0])
        assert {type(message).__name__ for message in link.said} == {"Opened", "Answered"}
        await pool.aclose()

    asyncio.run(main())


def paying(each_usd: float, ask: Callable[[Query], Awaitable[Prediction]] = answer) -> Callable[..., object]:
    """An asker whose every question costs so much, under the worker's budget."""

    def open_it(asked: Recipe, budget: Budget, on_retry: Callable[[], None], **named: str) -> object:
        async def pay(query: Query) -> Prediction:
            reserved = await budget.reserve(each_usd)
            cost = None
            try:
                found = await ask(query)
                cost = each_usd
            finally:
                budget.settle(reserved, cost, 0.0 if cost else each_usd)
            return found

        return opener(pay)(asked, budget, on_retry, **named)

    return open_it
