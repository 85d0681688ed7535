"""What calls cost, and the limit that a run must not pass."""

from __future__ import annotations

import asyncio

from grounding.cards import Price
from grounding.records import Usage


class BudgetReached(Exception):
    """The cost limit does not leave room for another request."""


class Budget:
    """Money spent and money that requests in flight may still cost, held under one limit.

    A request in flight is taken to cost as much as the dearest one so far. Until one cost is known, requests go out
    one at a time, so that a first burst can't pass the limit unseen.
    """

    def __init__(self, limit_usd: float | None, spent_usd: float = 0.0) -> None:
        self.limit_usd = limit_usd
        self.spent_usd = spent_usd
        self._reserved_usd = 0.0
        self._dearest_usd: float | None = None
        self._in_flight = 0
        self._settled = asyncio.Event()

    async def reserve(self) -> float:
        """Set aside what one more request may cost; waits while no cost is known and one request is in flight.

        Raises:
            BudgetReached: spent, reserved and this request together would pass the limit.
        """
        if self.limit_usd is None:
            return 0.0
        while self._dearest_usd is None and self._in_flight:
            await self._settled.wait()
        amount = self._dearest_usd or 0.0
        committed = self.spent_usd + self._reserved_usd
        if committed + amount > self.limit_usd or committed >= self.limit_usd:
            raise BudgetReached(f"the cost limit of ${self.limit_usd:g} is reached (${self.spent_usd:.4f} spent)")
        self._reserved_usd += amount
        self._in_flight += 1
        return amount

    def settle(self, reserved_usd: float, cost_usd: float | None) -> None:
        """Replace a reservation by what the request really cost; None where it failed or nobody knows."""
        self.spent_usd += cost_usd or 0.0
        if self.limit_usd is None:
            return
        self._reserved_usd -= reserved_usd
        self._in_flight -= 1
        if cost_usd is not None:
            self._dearest_usd = max(self._dearest_usd or 0.0, cost_usd)
        self._settled.set()
        self._settled = asyncio.Event()


def cost_usd(usage: Usage | None, price: Price | None) -> float | None:
    """US dollars for the tokens of one call; None where the price or the usage is not known."""
    if usage is None or price is None:
        return None
    cached_usd = price.input_usd if price.cached_input_usd is None else price.cached_input_usd
    fresh = max(0, usage.input_tokens - usage.cached_input_tokens)
    million = fresh * price.input_usd + usage.cached_input_tokens * cached_usd + usage.output_tokens * price.output_usd
    return million / 1_000_000
