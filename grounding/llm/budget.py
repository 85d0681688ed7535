"""What calls cost, and the limit that a run must not pass."""

import asyncio
import math
from collections.abc import Callable, Iterable, Sequence

from grounding.cards import Price
from grounding.errors import Halted
from grounding.records import Call, Usage


def dollars(usd: float) -> str:
    """An amount with as many places as it takes to tell it from nothing.

    >>> dollars(203.4), dollars(1.234), dollars(0.0123), dollars(0.00001)
    ('$203', '$1.23', '$0.0123', '$0.000010')
    """
    if usd >= 100:
        return f"${usd:,.0f}"
    if usd >= 0.1 or usd == 0:
        return f"${usd:.2f}"
    return f"${usd:.4f}" if usd >= 0.001 else f"${usd:.6f}"


class BudgetReached(Halted):
    """The cost limit does not leave room for another request."""


class Budget:
    """Money spent and money that requests in flight may still cost, held under one limit. Every try sets aside the most
    that it can cost, so the bill can't pass the limit however unevenly requests cost. Where there is no room for that
    beside what is in flight, the try waits for the others: most of them cost far less than was set aside. Only when
    nothing is in flight any more and there is still no room is the limit reached. Where the most is not known (no limit
    on the output tokens, no rule for the tokens of a picture), a request is taken to cost as much as the dearest one so
    far, and goes alone until one cost is known; the limit can then be passed by as much as the requests in flight are
    dearer than any before them. ``spent_usd`` is what servers reported. ``unreported_usd`` is the most that tries cost
    that may have been charged without a report (a reply that never came, or came without its usage); it counts against
    the limit. ``on_paid`` is told of every request as soon as it is paid: for which model's part in the run, and what
    it took.
    """

    def __init__(self, limit_usd: float | None, spent_usd: float = 0.0) -> None:
        self.limit_usd = limit_usd
        self.on_paid: Callable[[str, Call], None] | None = None
        self.spent_usd = spent_usd
        self.unreported_usd = 0.0
        self._reserved_usd = 0.0
        self._dearest_usd: float | None = None
        self._in_flight = 0
        self._settled = asyncio.Event()

    def take_up(self, calls: Iterable[Call]) -> None:
        """Count what earlier calls under the same limit cost, so that it holds over all starts of a run."""
        for call in calls:
            self.spent_usd += call.cost_usd or 0.0
            self.unreported_usd += call.unreported_usd
            if call.cost_usd is not None:
                self._dearest_usd = max(self._dearest_usd or 0.0, call.cost_usd)

    def paid(self, role: str, call: Call) -> None:
        if self.on_paid is not None:
            self.on_paid(role, call)

    async def reserve(self, most_usd: float | None = None) -> float:
        """Set aside what one more try may cost, once there is room for it. ``most_usd`` None: nobody knows. Raises
        BudgetReached: spent and this try together would pass the limit.
        """
        if self.limit_usd is None:
            return 0.0
        while True:
            unknown = most_usd is None and self._dearest_usd is None
            amount = most_usd if most_usd is not None else self._dearest_usd or 0.0
            committed = self.spent_usd + self.unreported_usd + self._reserved_usd
            # A try of unknown price needs some room at least; one that is free needs none.
            full = committed + amount > self.limit_usd or (most_usd is None and committed >= self.limit_usd)
            if not full and not (unknown and self._in_flight):
                break
            if not self._in_flight:
                raise BudgetReached(self._message(amount))
            await self._settled.wait()
        self._reserved_usd += amount
        self._in_flight += 1
        return amount

    def settle(self, reserved_usd: float, cost_usd: float | None, unreported_usd: float = 0.0) -> None:
        """Replace what was set aside by what the try really cost. ``cost_usd`` None: the server reported nothing.
        ``unreported_usd`` is the most that it may have charged all the same.
        """
        self.spent_usd += cost_usd or 0.0
        self.unreported_usd += unreported_usd
        if self.limit_usd is None:
            return
        self._reserved_usd -= reserved_usd
        self._in_flight -= 1
        if not self._in_flight:
            self._reserved_usd = 0.0  # What is left of rounding.
        if cost_usd is not None:
            self._dearest_usd = max(self._dearest_usd or 0.0, cost_usd)
        self._settled.set()
        self._settled = asyncio.Event()

    def _message(self, amount_usd: float) -> str:
        spent = f"${self.spent_usd:.4f} spent"
        if self.unreported_usd:
            spent += f", up to ${self.unreported_usd:.4f} for tries without a reply"
        reached = f"the cost limit of ${self.limit_usd:g} is reached ({spent}"
        return f"{reached}; one more request may cost ${amount_usd:.4f})" if amount_usd else f"{reached})"


def cost_usd(usage: Usage | None, price: Price | None) -> float | None:
    """US dollars for the tokens of one call; None where the price or the usage is not known."""
    if usage is None or price is None:
        return None
    cached_usd = price.input_usd if price.cached_input_usd is None else price.cached_input_usd
    fresh = max(0, usage.input_tokens - usage.cached_input_tokens)
    million = fresh * price.input_usd + usage.cached_input_tokens * cached_usd + usage.output_tokens * price.output_usd
    return million / 1_000_000


def charged_usd(call: Call | None) -> float:
    """All that a stored call counts against a limit: what was reported, and the most that was not."""
    return 0.0 if call is None else (call.cost_usd or 0.0) + call.unreported_usd


def added(usages: Sequence[Usage]) -> Usage | None:
    if not usages:
        return None
    return Usage(**{name: sum(getattr(usage, name) for usage in usages) for name in Usage.__struct_fields__})


def together(calls: Sequence[Call]) -> Call | None:
    if not calls:
        return None
    costs = [call.cost_usd for call in calls if call.cost_usd is not None]
    return Call(
        seconds=sum(call.seconds for call in calls),
        attempts=sum(call.attempts for call in calls),
        usage=added([call.usage for call in calls if call.usage is not None]),
        cost_usd=math.fsum(costs) if costs else None,
        model=calls[-1].model,
        failed_usage=added([call.failed_usage for call in calls if call.failed_usage is not None]),
        unreported_usd=math.fsum(call.unreported_usd for call in calls),
    )
