"""What the tries of one request took: what was billed, what may have been, and how long the last one was."""

from __future__ import annotations

from grounding.budget import cost_usd
from grounding.cards import Price
from grounding.llm.wires import Spent
from grounding.records import Call, Usage
from grounding.tokens import RequestTokens


class Bill:
    """What one try cost, as far as is known by now.

    A try that was sent may be charged until a response says otherwise. A refusal (any status but 200) without a usage
    is free: no provider is known to charge for one.
    """

    def __init__(self, price: Price | None, most_usd: float) -> None:
        self._price = price
        self._most_usd = most_usd
        self.usage: Usage | None = None
        self._told_usd: float | None = None
        self._fee_usd = 0.0
        self.unreported_usd = 0.0

    @property
    def cost_usd(self) -> float | None:
        """What the server reported, in dollars; None where it reported nothing or there is no price.

        Its own sum counts where it tells one, else the price of its tokens and what it takes beside them.
        """
        if self._told_usd is not None:
            return self._told_usd
        of_tokens = cost_usd(self.usage, self._price)
        return None if of_tokens is None else of_tokens + self._fee_usd

    def tokens(self, expected: int) -> int:
        """What the try used of a limit on tokens; as expected where nobody says."""
        return expected if self.usage is None else self.usage.input_tokens + self.usage.output_tokens

    def sent(self) -> None:
        """It is on its way, and may be charged even if nothing ever comes back."""
        self.unreported_usd = 0.0 if self._price is None else self._most_usd

    def not_sent(self) -> None:
        """It never left."""
        self.unreported_usd = 0.0

    def refused(self, spent: Spent) -> None:
        """A response came that is no answer."""
        self._take(spent)
        self.unreported_usd = 0.0

    def answered(self, spent: Spent) -> None:
        """An answer came, complete or not; without its usage it stays unreported."""
        self._take(spent)
        if spent.usage is not None or spent.total_usd is not None:
            self.unreported_usd = 0.0

    def _take(self, spent: Spent) -> None:
        self.usage, self._fee_usd, self._told_usd = spent.usage, spent.fee_usd, spent.total_usd


class Tally:
    """The bills of all tries of one request."""

    def __init__(self, price: Price | None) -> None:
        self._price = price
        self._bills: list[Bill] = []
        self.seconds = 0.0

    @property
    def attempts(self) -> int:
        """How many tries there were."""
        return len(self._bills)

    @property
    def bill(self) -> Bill:
        """That of the last try."""
        return self._bills[-1]

    def next_try(self, most_usd: float) -> Bill:
        """Begin another try, which can cost as much as this, or is set aside so much for."""
        self._bills.append(Bill(self._price, most_usd))
        return self.bill

    def most_usd(self, tokens: RequestTokens | None) -> float | None:
        """The most that a try can cost: nothing where there is no price, None where nobody knows."""
        if self._price is None:
            return 0.0
        if tokens is None or tokens.input_most is None or tokens.output_most is None:
            return None
        dearest_usd = max(self._price.input_usd, self._price.cached_input_usd or 0.0)
        return (tokens.input_most * dearest_usd + tokens.output_most * self._price.output_usd) / 1_000_000

    def call(self, model: str) -> Call:
        """What an answer of this model took, with all tries before it."""
        return self._call(self.bill.usage, model, self._bills[:-1])

    def failed_call(self) -> Call | None:
        """What a request without an answer took; None where nothing was charged and nothing may have been."""
        if all(bill.usage is None and not bill.unreported_usd for bill in self._bills):
            return None
        return self._call(None, "", self._bills)

    def _call(self, usage: Usage | None, model: str, failed: list[Bill]) -> Call:
        costs = [bill.cost_usd for bill in self._bills if bill.cost_usd is not None]
        return Call(
            seconds=self.seconds,
            attempts=self.attempts,
            usage=usage,
            cost_usd=sum(costs) if costs else None,
            model=model,
            failed_usage=added([bill.usage for bill in failed if bill.usage is not None]),
            unreported_usd=sum(bill.unreported_usd for bill in self._bills),
        )


def added(usages: list[Usage]) -> Usage | None:
    """All of them together; None for none."""
    if not usages:
        return None
    return Usage(
        input_tokens=sum(usage.input_tokens for usage in usages),
        output_tokens=sum(usage.output_tokens for usage in usages),
        cached_input_tokens=sum(usage.cached_input_tokens for usage in usages),
        reasoning_tokens=sum(usage.reasoning_tokens for usage in usages),
    )
