"""Lets so much work begin as there is room for, in the order in which it came."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_ROUNDING = 1e-9
"""Thirds of a processor don't add up to one."""


class Gate:
    """A capacity that is taken in amounts. What needs more than there is at all takes everything.

    >>> async def free_inside() -> float:
    ...     gate = Gate(2.0)
    ...     async with gate.room(1.0), gate.room(0.5):
    ...         return gate.free
    >>> asyncio.run(free_inside())
    0.5
    """

    def __init__(self, capacity: float) -> None:
        self.free = self._capacity = capacity
        self._door = asyncio.Lock()
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def room(self, amount: float) -> AsyncIterator[None]:
        """Wait for one's turn and for room; the amount is held inside the block."""
        amount = min(amount, self._capacity)
        async with self._door:
            while self.free + _ROUNDING < amount:
                self._changed.clear()
                await self._changed.wait()
            self.free -= amount
        try:
            yield
        finally:
            self.free += amount
            self._changed.set()
