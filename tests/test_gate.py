"""The gate: never more inside than there is room for, and everybody comes in, in order."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from grounding.gate import Gate

amounts = st.lists(st.floats(min_value=0.0, max_value=5.0), min_size=1, max_size=20)


@given(capacity=st.floats(min_value=0.5, max_value=4.0), amounts=amounts)
def test_never_more_inside_than_there_is_room_for(capacity: float, amounts: list[float]) -> None:
    inside: list[float] = []
    came: list[int] = []

    async def one(gate: Gate, number: int, amount: float) -> None:
        async with gate.room(amount):
            inside.append(min(amount, capacity))
            came.append(number)
            assert sum(inside) <= capacity + 1e-6
            await asyncio.sleep(0)
            inside.remove(min(amount, capacity))

    async def everybody() -> Gate:
        gate = Gate(capacity)
        await asyncio.gather(*(one(gate, number, amount) for number, amount in enumerate(amounts)))
        return gate

    gate = asyncio.run(everybody())
    assert came == sorted(came)
    assert len(came) == len(amounts)
    assert abs(gate.free - capacity) < 1e-6


def test_whoever_gives_up_waiting_keeps_nobody_out() -> None:
    async def run() -> float:
        gate = Gate(1.0)
        async with gate.room(1.0):
            waiting = asyncio.create_task(_through(gate))
            await asyncio.sleep(0)
            waiting.cancel()
            behind = asyncio.create_task(_through(gate))
            await asyncio.sleep(0)
        await asyncio.wait_for(behind, 5)
        return gate.free

    assert asyncio.run(run()) == 1.0


async def _through(gate: Gate) -> None:
    async with gate.room(1.0):
        pass
