"""When a page has stopped loading."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Request

_ENDLESS = frozenset({"websocket", "eventsource", "media", "ping", "manifest"})
_TICK_S = 0.025


class Traffic:
    """The requests of a browser context that are under way, by the browser's own account."""

    def __init__(self, context: BrowserContext) -> None:
        self._open: set[Request] = set()
        self._changed = time.monotonic()
        context.on("request", self._begins)
        context.on("requestfinished", self._ends)
        context.on("requestfailed", self._ends)

    def _begins(self, request: Request) -> None:
        if request.resource_type not in _ENDLESS:
            self._open.add(request)
            self._changed = time.monotonic()

    def _ends(self, request: Request) -> None:
        self._open.discard(request)
        self._changed = time.monotonic()

    def stirred(self) -> None:
        """Something was done that may cause requests: quiet counts from here."""
        self._changed = time.monotonic()

    def forget(self) -> None:
        """Another document is here: what the last one was waiting for is of no interest."""
        self._open = {request for request in self._open if request.is_navigation_request()}
        self._changed = time.monotonic()

    async def quiet(self, for_s: float, at_most_s: float) -> bool:
        """Wait until nothing was under way for a time; False where that did not come to pass within the limit."""
        end = time.monotonic() + at_most_s
        while True:
            now = time.monotonic()
            if not self._open and now - self._changed >= for_s:
                return True
            if now >= end:
                return False
            await asyncio.sleep(_TICK_S)
