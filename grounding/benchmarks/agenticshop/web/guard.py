"""A SOCKS5 server on loopback that all of a browser's traffic goes through, and that decides what may pass (RFC 1928).

Every page gets a proxy, a port of its own, on which its traffic is counted. The name of each connection is resolved
here, and the connection is made to the very address that was found to be public.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import time
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple
from urllib.parse import urlsplit

from grounding.benchmarks.agenticshop.web.policy import (
    DEFAULT_PORTS,
    PageTrouble,
    WebPolicy,
    check_host,
    read_host,
    refused_address,
)

Resolve = Callable[[str], Awaitable[tuple[str, ...]]]

PIECE_BYTES = 64 << 10
_KEPT_S = 600.0
_MOST_REFUSALS = 500
_DONE, _REFUSED, _UNREACHABLE = 0, 2, 4
_NO_SUCH_HOST = {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}
# Where Chromium goes by itself, for no page: whatever it is told, some of it is tried. Refused, and not counted.
_ERRANDS = """
accounts.google.com clients2.google.com clients4.google.com clientservices.googleapis.com update.googleapis.com
content-autofill.googleapis.com optimizationguide-pa.googleapis.com safebrowsing.googleapis.com edgedl.me.gvt1.com
redirector.gvt1.com android.clients.google.com
"""
ERRANDS = frozenset(_ERRANDS.split())


async def ask_system(host: str) -> tuple[str, ...]:
    """The addresses that the machine's own resolver gives; raises a PageTrouble where it gives none."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        if error.errno in _NO_SUCH_HOST:
            raise PageTrouble("no-such-host", f"no machine is called {host}") from None
        raise PageTrouble("no-network", f"{host} could not be looked up: {error}") from None
    except UnicodeError:
        raise PageTrouble("refused", f"{host!r} is no host name") from None
    return tuple(dict.fromkeys(str(address[0]) for _, _, _, _, address in found))


class Guard:
    """What the proxies of one browser share: the rules, and the addresses that were looked up."""

    def __init__(self, policy: WebPolicy, resolve: Resolve = ask_system) -> None:
        self.policy = policy
        self._resolve = resolve
        self._known: dict[str, tuple[float, tuple[str, ...]]] = {}

    @asynccontextmanager
    async def proxy(self, max_bytes: int) -> AsyncIterator[PageProxy]:
        proxy = PageProxy(self, max_bytes)
        server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
        proxy.url = f"socks5://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield proxy
        finally:
            server.close()
            tasks = tuple(proxy.tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def connect(self, host: str, port: int) -> tuple[StreamReader, StreamWriter]:
        """A connection to a host, or a PageTrouble: what was checked is what is connected to."""
        check_host(host, port, self.policy)
        own, limit_s = self.policy.hosts.get(host), self.policy.connect_s
        addresses = (own[0],) if own else await self._find(host)
        port, last = own[1] if own else port, "no address"
        for address in addresses[:4]:
            try:
                async with asyncio.timeout(limit_s):
                    return await asyncio.open_connection(address, port)
            except TimeoutError:
                last = f"nothing heard for {limit_s:g} s"
            except OSError as error:
                last = error.strerror or str(error)
        raise PageTrouble("no-answer", f"no connection to {host}: {last}")

    async def _find(self, host: str) -> tuple[str, ...]:
        with suppress(ValueError):
            return (str(ipaddress.ip_address(host)),)  # Found public with its spelling.
        until, addresses = self._known.get(host, (0.0, ()))
        if until > time.monotonic():
            return addresses
        try:
            async with asyncio.timeout(self.policy.connect_s):
                addresses = await self._resolve(host)
        except TimeoutError:
            raise PageTrouble("no-answer", f"{host} was not looked up in {self.policy.connect_s:g} s") from None
        # One address of the own network among public ones is how a name is turned against its reader.
        for address in addresses:
            if reason := refused_address(address):
                raise PageTrouble("refused", f"{host} resolves to {reason.removeprefix(address).strip()}: {address}")
        if not addresses:
            raise PageTrouble("no-such-host", f"{host} has no address")
        self._known[host] = (time.monotonic() + _KEPT_S, addresses)
        return addresses


class Refusal(NamedTuple):
    host: str
    port: int
    trouble: PageTrouble


class PageProxy:
    """One page's way to the web. ``refusals`` tell what did not pass or was broken off, ``refused`` counts it."""

    def __init__(self, guard: Guard, max_bytes: int) -> None:
        self.url = ""
        self.renew()
        self._guard, self._policy, self._most_bytes = guard, guard.policy, max_bytes
        self.tasks: set[asyncio.Task[None]] = set()

    def renew(self) -> None:
        self.refusals: list[Refusal] = []
        self.refused = self.connections = self.received_bytes = 0

    def refusal_of(self, url: str) -> PageTrouble | None:
        """Why an address's host and port were refused last."""
        with suppress(ValueError):
            parts = urlsplit(url)
            wanted = read_host(parts.hostname or ""), parts.port or DEFAULT_PORTS.get(parts.scheme)
            return next((one.trouble for one in reversed(self.refusals) if one[:2] == wanted), None)
        return None

    async def serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        host, port = "", 0
        try:
            async with asyncio.timeout(self._policy.idle_s):
                host, port = await _asked(reader, writer)
            await self._pass(host, port, reader, writer)
        except PageTrouble as trouble:
            self._remember(host, port, trouble)
            writer.write(_reply(_REFUSED if trouble.trouble == "refused" else _UNREACHABLE))
        except (OSError, EOFError, TimeoutError, asyncio.CancelledError):
            # One of the two sides has gone, too much came, or the proxy ends, of which asyncio would print a traceback.
            writer.transport.abort()
        finally:
            self.tasks.discard(task)
            writer.close()

    def _remember(self, host: str, port: int, trouble: PageTrouble) -> None:
        self.refused += host not in ERRANDS
        if len(self.refusals) < _MOST_REFUSALS:
            self.refusals.append(Refusal(host, port, trouble))

    async def _pass(self, host: str, port: int, reader: StreamReader, writer: StreamWriter) -> None:
        policy = self._policy
        if host in ERRANDS:
            raise PageTrouble("refused", f"{host} is where the browser goes for itself")
        self.connections += 1
        if self.connections > policy.max_connections:
            raise PageTrouble("refused", f"more than {policy.max_connections} connections for one page")
        self._check_size()
        upstream_reader, upstream = await self._guard.connect(host, port)
        try:
            writer.write(_reply(_DONE))
            async with asyncio.timeout(policy.idle_s) as patience:

                async def copy(source: StreamReader, target: StreamWriter, *, counts: bool) -> None:
                    while piece := await source.read(PIECE_BYTES):
                        patience.reschedule(asyncio.get_running_loop().time() + policy.idle_s)
                        self.received_bytes += len(piece) if counts else 0
                        self._check_size()
                        target.write(piece)
                        await target.drain()

                there, back = copy(reader, upstream, counts=False), copy(upstream_reader, writer, counts=True)
                both = [asyncio.ensure_future(there), asyncio.ensure_future(back)]
                try:
                    await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    for one in both:
                        one.cancel()
                    ends = await asyncio.gather(*both, return_exceptions=True)
                for end in ends:
                    if isinstance(end, PageTrouble):  # Nobody waits for an answer any more.
                        self._remember(host, port, end)
                        raise ConnectionAbortedError(end.message)
        finally:
            upstream.transport.abort()

    def _check_size(self) -> None:
        if self.received_bytes > self._most_bytes:
            raise PageTrouble("too-large", f"the page loads more than {self._most_bytes} bytes in all")


async def _asked(reader: StreamReader, writer: StreamWriter) -> tuple[str, int]:
    """The host and the port that the browser wants to be connected to; raises an EOFError where it left."""
    version, methods = await reader.readexactly(2)
    if version != 5 or 0 not in await reader.readexactly(methods):
        raise PageTrouble("refused", "not a request of SOCKS5 without a password")
    writer.write(b"\x05\x00")
    _, command, _, kind = await reader.readexactly(4)
    if kind == 3:
        name = await reader.readexactly((await reader.readexactly(1))[0])
        host = read_host(name.decode("ascii", "replace"))
    elif kind in (1, 4):
        host = str(ipaddress.ip_address(await reader.readexactly(4 if kind == 1 else 16)))
    else:
        raise PageTrouble("refused", "no kind of address")
    port = int.from_bytes(await reader.readexactly(2))
    if command != 1:
        raise PageTrouble("refused", f"{host}: only connections are made")
    return host, port


def _reply(code: int) -> bytes:
    return bytes((5, code, 0, 1)) + bytes(6)
