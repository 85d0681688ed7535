"""Servers on loopback for pages that mean no good, and canaries that must never hear anything."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

Answer = Callable[[asyncio.StreamWriter, bytes], Awaitable[None]]
"""Writes an answer to a request, whose head is given as it came."""


def http(body: str | bytes, *fields: str, status: str = "200 OK", kind: str = "text/html; charset=utf-8") -> Answer:
    """An ordinary answer."""
    content = body.encode() if isinstance(body, str) else body

    async def answer(writer: asyncio.StreamWriter, _head: bytes) -> None:
        lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(content)}", *fields]
        writer.write("\r\n".join((*lines, "Connection: close", "", "")).encode() + content)

    return answer


def redirect(target: str) -> Answer:
    return http("", f"Location: {target}", status="302 Found")


class Site:
    """A server with answers by path. ``asked`` are the first lines and whole heads of all requests."""

    def __init__(self, pages: dict[str, Answer]) -> None:
        self.pages = pages
        self.asked: list[str] = []
        self.heads: list[bytes] = []
        self.connections = 0
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            self.heads.append(head)
            path = head.split(b" ")[1].decode()
            self.asked.append(path)
            await self.pages.get(path.partition("?")[0], http("no such page", status="404 Not Found"))(writer, head)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            with suppress(OSError):
                writer.close()


@asynccontextmanager
async def serving(pages: dict[str, Answer] | None = None) -> AsyncIterator[Site]:
    site = Site(pages or {})
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0)
    site.port = server.sockets[0].getsockname()[1]
    tasks = asyncio.all_tasks()
    try:
        yield site
    finally:
        server.close()
        for task in asyncio.all_tasks() - tasks - {asyncio.current_task()}:
            if "Site.serve" in repr(task.get_coro()):
                task.cancel()


class UdpCanary(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self.heard = 0

    def datagram_received(self, *_: object) -> None:
        self.heard += 1


@asynccontextmanager
async def udp_canary() -> AsyncIterator[tuple[UdpCanary, int]]:
    loop = asyncio.get_running_loop()
    transport, canary = await loop.create_datagram_endpoint(UdpCanary, local_addr=("127.0.0.1", 0))
    try:
        yield canary, transport.get_extra_info("sockname")[1]
    finally:
        transport.close()
