"""The run's cost limit as a worker sees it: it asks the writer before each try, and tells what each came to."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable

from grounding.budget import Budget, BudgetReached
from grounding.executors.messages import Granted, Refused, Reserve, Settled, Up


class Reservation(float):
    """Money that was set aside, in US dollars, with the number under which it was."""

    token: int

    def __new__(cls, reserved_usd: float, token: int) -> Reservation:
        """So many dollars under this number."""
        made = super().__new__(cls, reserved_usd)
        made.token = token
        return made


class RemoteBudget(Budget):
    """A budget whose money lies elsewhere; without a limit nothing is asked or told.

    ``spent_usd`` and ``unreported_usd`` are this worker's own.
    """

    def __init__(self, limit_usd: float | None, say: Callable[[Up], None]) -> None:
        """Nothing is spent.

        Args:
            limit_usd: The run's limit, over all its workers.
            say: Sends a message to the writer.
        """
        super().__init__(limit_usd)
        self._say = say
        self._tokens = itertools.count(1)
        self._asked: dict[int, asyncio.Future[float]] = {}

    async def reserve(self, most_usd: float | None = None) -> float:
        """Set aside what one more try may cost, once the writer has room for it.

        Raises:
            BudgetReached: spent and this try together would pass the limit.
        """
        if self.limit_usd is None:
            return 0.0
        token = next(self._tokens)
        answer: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._asked[token] = answer
        self._say(Reserve(token=token, most_usd=most_usd))
        try:
            return Reservation(await answer, token)
        except asyncio.CancelledError:
            if self._asked.pop(token, None) is None:  # Granted in the meantime, and nobody will spend it.
                self._say(Settled(token=token, cost_usd=None))
            raise

    def granted(self, message: Granted) -> None:
        """The writer has set it aside; what nobody waits for any more goes back."""
        answer = self._asked.pop(message.token, None)
        if answer is None or answer.done():
            self._say(Settled(token=message.token, cost_usd=None))
        else:
            answer.set_result(message.reserved_usd)

    def refused(self, message: Refused) -> None:
        """The writer has no room for it."""
        answer = self._asked.pop(message.token, None)
        if answer is not None and not answer.done():
            answer.set_exception(BudgetReached(message.message))

    def settle(self, reserved_usd: float, cost_usd: float | None, unreported_usd: float = 0.0) -> None:
        """Tell what the try cost for which ``reserved_usd`` was set aside by ``reserve``."""
        self.spent_usd += cost_usd or 0.0
        self.unreported_usd += unreported_usd
        if isinstance(reserved_usd, Reservation):
            self._say(Settled(token=reserved_usd.token, cost_usd=cost_usd, unreported_usd=unreported_usd))
