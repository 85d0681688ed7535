"""The writer's cost limit at the service of one worker: it asks before each try, and tells what the try came to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from grounding.budget import Budget, BudgetReached
from grounding.executors.messages import Down, Granted, Refused, Reserve, Settled


class Ledger:
    """What one worker has set aside in the run's budget."""

    def __init__(self, budget: Budget, say: Callable[[Down], None]) -> None:
        """Nothing is set aside.

        Args:
            budget: The run's.
            say: Sends a message to the worker.
        """
        self._budget = budget
        self._say = say
        self._last_token = 0
        self._open: dict[int, tuple[float, float | None]] = {}
        self._waiting: set[asyncio.Task[None]] = set()

    def reserve(self, asked: Reserve) -> None:
        """Set money aside once there is room; the worker is told then, or that there is none.

        Tokens rise: one that came before is no new request.
        """
        if asked.token <= self._last_token:
            return
        self._last_token = asked.token
        task = asyncio.get_running_loop().create_task(self._reserve(asked))
        self._waiting.add(task)
        task.add_done_callback(self._waiting.discard)

    async def _reserve(self, asked: Reserve) -> None:
        try:
            amount_usd = await self._budget.reserve(asked.most_usd)
        except BudgetReached as reached:
            self._say(Refused(token=asked.token, message=str(reached)))
            return
        self._open[asked.token] = (amount_usd, asked.most_usd)
        self._say(Granted(token=asked.token, reserved_usd=amount_usd))

    def settle(self, told: Settled) -> None:
        """Replace what was set aside by what the try cost; a token that is not open is nothing to settle."""
        reserved = self._open.pop(told.token, None)
        if reserved is not None:
            self._budget.settle(reserved[0], told.cost_usd, told.unreported_usd)

    def close(self) -> None:
        """The worker is gone: each open try may have been charged in full, and nobody will tell."""
        for task in self._waiting:
            task.cancel()
        while self._open:
            _, (amount_usd, most_usd) = self._open.popitem()
            self._budget.settle(amount_usd, None, amount_usd if most_usd is None else most_usd)
