"""A chat model that stops answering after so many requests, until it is told to go on."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from typing import Any


class HeldModel:
    """Answers ``after`` requests and lets the others wait; for :class:`fakes.chat_server.ChatServer`."""

    def __init__(self, answer: Callable[[dict[str, Any]], dict[str, Any]], after: int) -> None:
        self._answer = answer
        self._after: int | None = after
        self.answered = 0
        self.seen: Counter[str] = Counter()

    async def __call__(self, _request: Any, content: bytes) -> Any:
        from aiohttp import web

        while self._after is not None and self.answered >= self._after:
            await asyncio.sleep(0.005)
        self.answered += 1
        self.seen[content.decode()] += 1
        return web.json_response(self._answer(json.loads(content)))

    def let_go(self) -> None:
        """Answer everything from now on."""
        self._after = None
