"""The limiter on a clock of its own: nothing here waits for real."""

from __future__ import annotations

import asyncio
import heapq
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from grounding.llm.ratelimits import WINDOW_S, RateLimiter


@dataclass
class Clock:
    """Time that goes on only when everybody sleeps."""

    now: float = 1000.0
    sleeps: int = 0
    _waiting: list[tuple[float, int, asyncio.Future[None]]] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.sleeps += 1
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (self.now + seconds, self.sleeps, woken))
        await woken

    async def run(self, *tasks: asyncio.Task[None]) -> None:
        while not all(task.done() for task in tasks):
            for _ in range(20):
                await asyncio.sleep(0)
            if self._waiting and not all(task.done() for task in tasks):
                self.now, _, woken = heapq.heappop(self._waiting)
                if not woken.done():
                    woken.set_result(None)
        for task in tasks:
            task.result()


def limiter(clock: Clock, requests: int | None = None, tokens: int | None = None) -> RateLimiter:
    return RateLimiter(
        requests_per_minute=requests,
        tokens_per_minute=tokens,
        clock=lambda: clock.now,
        sleep=clock.sleep,
    )


@dataclass(frozen=True)
class Sent:
    at_s: float
    tokens: int


def play(
    clock: Clock,
    limit: RateLimiter,
    requests: list[tuple[int, int]],
    workers: int,
    takes_s: float = 1.0,
) -> list[Sent]:
    """Send requests (tokens expected, tokens used) with so many workers."""
    sent: list[Sent] = []
    waiting = requests[::-1]

    async def worker() -> None:
        while waiting:
            expected, used = waiting.pop()
            admission = await limit.acquire(expected)
            sent.append(Sent(clock.now, used))
            await clock.sleep(takes_s)
            limit.settle(admission, used)

    async def run() -> None:
        await clock.run(*(asyncio.create_task(worker()) for _ in range(workers)))

    asyncio.run(run())
    return sent


def most_in_a_minute(sent: list[Sent]) -> tuple[int, int]:
    """The most requests and tokens in any 60 s."""
    windows = [[other for other in sent if one.at_s <= other.at_s < one.at_s + 60] for one in sent]
    return max(map(len, windows)), max(sum(each.tokens for each in window) for window in windows)


@settings(max_examples=60)
@given(
    per_minute=st.integers(1, 30),
    count=st.integers(1, 80),
    workers=st.integers(1, 12),
    takes_s=st.floats(0.01, 90),
)
def test_no_minute_holds_more_requests_than_allowed(per_minute: int, count: int, workers: int, takes_s: float) -> None:
    clock = Clock()
    sent = play(clock, limiter(clock, requests=per_minute), [(0, 0)] * count, workers, takes_s)
    assert len(sent) == count
    assert most_in_a_minute(sent)[0] <= per_minute
    # Nobody waits that need not: as fast as the workers or the windows let them.
    rounds = -(-count // workers) * takes_s
    assert sent[-1].at_s - 1000 <= (count - 1) // per_minute * WINDOW_S + rounds + 1e-6


@settings(max_examples=60)
@given(
    per_minute=st.integers(100, 1000),
    used=st.lists(st.integers(1, 100), min_size=1, max_size=60),
    workers=st.integers(1, 8),
)
def test_no_minute_holds_more_tokens_than_allowed(per_minute: int, used: list[int], workers: int) -> None:
    clock = Clock()
    sent = play(clock, limiter(clock, tokens=per_minute), [(tokens, tokens) for tokens in used], workers)
    assert len(sent) == len(used)
    assert most_in_a_minute(sent)[1] <= per_minute


def test_a_pause_stops_everybody_once() -> None:
    clock = Clock()
    ours = limiter(clock)
    assert ours.pause(20)
    assert not ours.pause(5)  # a shorter one changes nothing
    sent = play(clock, ours, [(1, 1)] * 16, workers=16)
    assert {each.at_s for each in sent} == {1020.0}
    assert clock.sleeps == 1 + 16  # one waited for all; each reply took its time
