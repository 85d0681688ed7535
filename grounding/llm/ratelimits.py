"""How fast one model may be asked: requests and tokens per minute, and the pauses that its provider asks for.

One limiter serves all requests of a model, whoever sends them, so that a refusal stops all of them and not only the
one that was refused. Requests go out in the order in which they came.
"""

import asyncio
import time
import weakref
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from grounding.cards import ChatCard
from grounding.llm.endpoint import Endpoint

WINDOW_S = 61.0  # A minute, and a second because requests don't arrive exactly as far apart as they were sent.


@dataclass(slots=True)
class Admission:
    """One request that was let through, and the tokens that it is taken to use, or used. ``counted`` while it lies in
    the last minute.
    """

    at_s: float
    tokens: int
    counted: bool = False


class RateLimiter:
    """Lets requests through so that no minute holds more of them, or more tokens, than allowed. The window slides: a
    request goes as soon as those of the last minute leave room for it. One that alone needs more tokens than a minute
    has goes when nothing else is in the window. Nothing is polled: every wait is one sleep.
    """

    def __init__(
        self,
        *,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._most_requests = requests_per_minute
        self._most_tokens = tokens_per_minute
        self._clock = clock
        self._sleep = sleep
        self._window: deque[Admission] = deque()
        self._tokens = 0
        self._paused_until_s = float("-inf")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turn = asyncio.Lock()

    async def acquire(self, tokens: int = 0) -> Admission:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:  # A lock belongs to one event loop; a limiter may outlive it.
            self._loop, self._turn = loop, asyncio.Lock()
        async with self._turn:
            while (wait_s := self._wait_s(tokens)) > 0:
                await self._sleep(wait_s)
            admission = Admission(at_s=self._clock(), tokens=tokens)
            if self._most_requests is not None or self._most_tokens is not None:
                admission.counted = True
                self._window.append(admission)
                self._tokens += tokens
            return admission

    def settle(self, admission: Admission, tokens: int) -> None:
        """Put what a request really used in the place of what it was taken to use."""
        if admission.counted:
            self._tokens += tokens - admission.tokens
        admission.tokens = tokens

    def pause(self, seconds: float) -> bool:
        """Let nothing through for so long; whether that is longer than what was known before."""
        until_s = self._clock() + seconds
        longer = until_s > self._paused_until_s
        self._paused_until_s = max(self._paused_until_s, until_s)
        return longer

    def _wait_s(self, tokens: int) -> float:
        now_s = self._clock()
        while self._window and self._window[0].at_s <= now_s - WINDOW_S:
            gone = self._window.popleft()
            gone.counted = False
            self._tokens -= gone.tokens
        wait_s = self._paused_until_s - now_s
        return max(wait_s, self._room_s(tokens, now_s))

    def _room_s(self, tokens: int, now_s: float) -> float:
        requests, used, wait_s = len(self._window), self._tokens, 0.0
        for admission in self._window:
            full = self._most_requests is not None and requests >= self._most_requests
            if not full and (self._most_tokens is None or used + tokens <= self._most_tokens):
                break
            requests -= 1
            used -= admission.tokens
            wait_s = admission.at_s + WINDOW_S - now_s
        return wait_s


_SHARED: weakref.WeakValueDictionary[tuple[str, ...], RateLimiter] = weakref.WeakValueDictionary()


def shared_limiter(card: ChatCard, endpoint: Endpoint) -> RateLimiter:
    """The limiter of a model at an address: one for all clients of it in this process, as long as there is one."""
    key = (
        endpoint.base_url,
        endpoint.key_variable or "",
        card.model,
        str(card.requests_per_minute),
        str(card.tokens_per_minute),
    )
    limiter = _SHARED.get(key)
    if limiter is None:
        limiter = RateLimiter(requests_per_minute=card.requests_per_minute, tokens_per_minute=card.tokens_per_minute)
        _SHARED[key] = limiter
    return limiter
