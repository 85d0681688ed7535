"""Connections of the guard: how long they may be silent, which of two ends first, and what is said on them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from contextlib import suppress

from grounding.webagents.agenticshop.web.troubles import PageTrouble, Trouble

PIECE_BYTES = 64 << 10
_STATUS_OF: dict[Trouble, str] = {"refused": "403 Forbidden", "too-large": "403 Forbidden"}


class Pulse:
    """Whether anything still passes on a connection, in either direction."""

    def __init__(self, idle_s: float) -> None:
        self._idle_s = idle_s
        self.beat()

    def beat(self) -> None:
        """Something passed."""
        self._last = time.monotonic()

    async def stops(self) -> None:
        """Wait until nothing has passed for too long.

        Raises:
            TimeoutError: That is now so.
        """
        while (left := self._last + self._idle_s - time.monotonic()) > 0:
            await asyncio.sleep(left)
        raise TimeoutError


async def first_of(*works: Coroutine[None, None, None]) -> None:
    """Until one has ended; then none is left, and its error, if it had one, is raised."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in tasks:
        if not task.cancelled():
            task.result()


async def until_closed(reader: asyncio.StreamReader) -> None:
    """Until the other side has nothing more to say; what it says is thrown away."""
    while await reader.read(PIECE_BYTES):
        pass


async def ask_who(writer: asyncio.StreamWriter) -> None:
    """Answer that the lane is for one browser only."""
    writer.write(
        b'HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="guard"\r\n'
        b"Content-Length: 0\r\nConnection: close\r\n\r\n"
    )
    await writer.drain()


async def tell(writer: asyncio.StreamWriter, trouble: PageTrouble) -> None:
    """Answer with a page of words. Where an answer has begun already, the browser takes it for the answer's end."""
    text = f"{trouble.trouble}: {trouble.message}\n".encode("utf-8", "replace")
    status = _STATUS_OF.get(trouble.trouble, "502 Bad Gateway")
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(text)}\r\n"
        "Cache-Control: no-store\r\nConnection: close\r\n\r\n"
    )
    with suppress(OSError, TimeoutError):
        writer.write(head.encode("ascii") + text)
        async with asyncio.timeout(5):
            await writer.drain()
