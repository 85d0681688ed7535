"""What a page may reach and how much of everything it may take, and the proxy that holds it to that.

The rules are pure functions over addresses. A SOCKS5 server on loopback (RFC 1928), through which all of a browser's
traffic goes, decides by them what may pass. Every page gets a proxy, a port of its own, on which its traffic is
counted. The name of each connection is resolved here, and the connection is made to the very address that was found to
be public.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
import time
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from grounding.records import Failure, Record, Size

MIB = 1 << 20
VIEWPORT = Size(width=1280, height=720)  # What the release's collector had, in CSS pixels.


class WebPolicy(Record, frozen=True, kw_only=True):
    """The rules of one run. All sizes are in bytes, all times in seconds of the wall clock.

    ``hosts`` maps names of a data set's own shops to the loopback address and port that serves them; without
    ``open_web`` they are all that can be reached, else names that resolve to public addresses only.
    ``max_document_bytes`` bounds a page as it unpacks, ``max_page_bytes`` all that comes for it, ``max_redirects`` all
    changes of its address. ``navigation_s`` is for the document to come, ``quiet_s`` for all that it asks for then,
    ``script_s`` for the page to answer one question of ours, ``max_total_s`` for one page with everything.
    """

    hosts: dict[str, tuple[str, int]] = msgspec.field(default_factory=dict)
    open_web: bool = True
    ports: tuple[int, ...] = (80, 443)
    max_document_bytes: int = 10 * MIB
    max_page_bytes: int = 80 * MIB
    max_session_bytes: int = 800 * MIB
    max_connections: int = 3000
    max_redirects: int = 10
    connect_s: float = 10.0
    idle_s: float = 20.0
    navigation_s: float = 20.0
    quiet_s: float = 5.0
    script_s: float = 10.0
    max_total_s: float = 60.0
    max_segments: int = 12
    max_scrolls: int = 24
    max_text_chars: int = 200_000
    max_html_bytes: int = 8 * MIB


Trouble = Literal[
    "refused", "no-such-host", "no-answer", "too-many-redirects", "too-large", "too-slow", "not-a-page", "page-crashed",
    "no-network", "browser-crashed",
]  # fmt: skip
"""The last two are of this machine, not of the page: asking again may help."""


class PageTrouble(Exception):
    """There is no page; its ``failure`` is an ``error`` where the infrastructure is to blame, else ``missing``."""

    def __init__(self, trouble: Trouble, message: str) -> None:
        super().__init__(message)
        self.trouble, self.message = trouble, message
        self.place = "", 0  # The host and the port of a connection that did not pass, or was broken off.
        ours = trouble in ("no-network", "browser-crashed")
        self.failure = Failure(kind="error" if ours else "missing", message=f"{trouble}: {message}")


class PageLost(Exception):
    """The page has crashed, hangs, or its browser is gone: another try may help."""


@asynccontextmanager
async def within(limit_s: float, what: str, trouble: Trouble = "too-slow") -> AsyncIterator[None]:
    """Break the block off where it takes longer, with a PageTrouble that says ``what`` did not happen in time."""
    try:
        async with asyncio.timeout(limit_s):
            yield
    except TimeoutError:
        raise PageTrouble(trouble, f"{what} within {limit_s:.3g} s") from None


async def first_of(*works: Awaitable[Any]) -> Any:
    """What the first to end returns or raises (of several at once, the one named first); the others are broken off."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return next(task for task in tasks if task.done()).result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


MAX_URL_CHARS = 4096
DEFAULT_PORTS = {"http": 80, "https": 443}

# IANA's registries of special-purpose addresses, with multicast, those kept for later, and those that carry IPv4
# addresses inside. 168.63.129.16 is public by its number only: the host of a virtual machine in a cloud.
_SPECIAL = """
0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24
203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20
"""
_FORBIDDEN = tuple(map(ipaddress.ip_network, _SPECIAL.split()))
# Only this eighth of IPv6 is given to anybody: the mapped, translated and local forms are outside of it.
_GIVEN_6 = ipaddress.IPv6Network("2000::/3")
_ISATAP = (0x00005EFE, 0x02005EFE)
_NAME = re.compile(r"(?=.{1,253}\Z)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z0-9-]{1,63}")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_OWN = "localhost local internal lan home corp intranet home.arpa localdomain onion"
_OWN_ENDINGS = tuple(f".{ending}" for ending in _OWN.split())


def refused_address(text: str) -> str:
    """Why no connection may be made to an IP address; "" where it is a public one that carries no other inside."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return f"{text} is no IP address"
    public = address.is_global and not any(address in network for network in _FORBIDDEN)
    if isinstance(address, ipaddress.IPv6Address):
        plain = address.scope_id is None and (int(address) >> 32) & 0xFFFFFFFF not in _ISATAP
        public = public and plain and address in _GIVEN_6
    return "" if public else f"{text} is not a public address"


def is_near(address: str) -> bool:
    """Whether a public address is this machine's own, which no firewall keeps from itself, or in its IPv6 network."""
    family, shift = (socket.AF_INET6, 64) if ":" in address else (socket.AF_INET, 0)
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((address, 9))  # Nothing is sent; without a way to it there is an error.
        source = ipaddress.ip_address(probe.getsockname()[0])
        return int(source) >> shift == int(ipaddress.ip_address(address)) >> shift
    return False


def refused_host(host: str, policy: WebPolicy) -> str:
    """Why a host may not be asked for, by its spelling alone; "" where it may."""
    if host in policy.hosts:
        return ""
    if not policy.open_web:
        return f"{host} is none of the data set's own shops, and nothing else may be reached"
    # 2130706433, 0x7f.1 and 0177.0.0.1 all mean 127.0.0.1 to some programs: only the plain form is read.
    if ":" in host or _NUMBER.fullmatch(host.rpartition(".")[2]):
        return refused_address(host)
    if "." not in host or host.endswith(_OWN_ENDINGS):
        return f"{host} is a name of this machine or its own network"
    return "" if _NAME.fullmatch(host) else f"{host!r} is no host name"


def read_host(text: str) -> str:
    """The one spelling of a host: lower case, no brackets, no dot at the end."""
    host = text.strip("[]") if text.startswith("[") else text
    return host.lower().removesuffix(".")


def check_url(url: str, policy: WebPolicy) -> None:
    """Raise a PageTrouble about an address that may not be asked for. What a name leads to is the guard's to check."""
    told = f"the address {url[:200]!r}"
    if len(url) > MAX_URL_CHARS or any(ord(character) < 0x21 or character == "\\" for character in url):
        raise PageTrouble("refused", f"{told} is too long, or has a blank, a backslash or a control character in it")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise PageTrouble("refused", f"{told} can't be read: {error}") from None
    if parts.scheme not in DEFAULT_PORTS or parts.username is not None or parts.password is not None:
        raise PageTrouble("refused", f"{told} is not one of the web, without a user: expected http:// or https://")
    host = read_host(parts.hostname or "")
    with suppress(UnicodeError):
        # IDNA 2003, as Python has it; the browser has the newer rules, and what it then asks for is checked as well.
        host = host if host.isascii() else read_host(host.encode("idna").decode("ascii"))
    check_host(host, DEFAULT_PORTS[parts.scheme] if port is None else port, policy)


def check_host(host: str, port: int, policy: WebPolicy) -> None:
    if port not in policy.ports:
        allowed = ", ".join(map(str, policy.ports))
        raise PageTrouble("refused", f"port {port} of {host}: only {allowed} may be asked for")
    if reason := refused_host(host, policy):
        raise PageTrouble("refused", reason)


Resolve = Callable[[str], Awaitable[tuple[str, ...]]]

_PIECE_BYTES, _KEPT_S, _MOST_REFUSALS = 64 << 10, 600.0, 500
_DONE, _REFUSED, _UNREACHABLE = 0, 2, 4
_NO_SUCH_HOST = {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}
# Where Chromium goes by itself, for no page: whatever it is told, some of it is tried. Refused, and not counted.
_ERRANDS = frozenset({
    "accounts.google.com", "clients2.google.com", "clients4.google.com", "clientservices.googleapis.com",
    "update.googleapis.com", "content-autofill.googleapis.com", "optimizationguide-pa.googleapis.com",
    "safebrowsing.googleapis.com", "edgedl.me.gvt1.com", "redirector.gvt1.com", "android.clients.google.com",
})  # fmt: skip


# Threads of their own: names that nobody answers for would keep all other work of a run waiting.
_LOOK_UPS = ThreadPoolExecutor(128, "look-up")


async def ask_system(host: str) -> tuple[str, ...]:
    """The addresses that the machine's own resolver gives; raises a PageTrouble where it gives none."""
    try:
        asking = partial(socket.getaddrinfo, host, None, type=socket.SOCK_STREAM)
        found = await asyncio.get_running_loop().run_in_executor(_LOOK_UPS, asking)
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
            for task in proxy.tasks:
                task.cancel()
            await asyncio.gather(*proxy.tasks, return_exceptions=True)

    async def connect(self, host: str, port: int) -> tuple[StreamReader, StreamWriter]:
        """A connection to a host, or a PageTrouble: what was checked is what is connected to."""
        check_host(host, port, self.policy)
        own, limit_s = self.policy.hosts.get(host), self.policy.connect_s
        addresses = (own[0],) if own else await self._find(host)
        if not own and any(map(is_near, addresses)):
            raise PageTrouble("refused", f"{host} is this machine or a neighbour of it: {', '.join(addresses)}")
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
        async with within(self.policy.connect_s, f"{host} was not looked up", "no-answer"):
            addresses = await self._resolve(host)
        # One address of the own network among public ones is how a name is turned against its reader.
        for address in addresses:
            if reason := refused_address(address):
                raise PageTrouble("refused", f"{host} resolves to {reason.removeprefix(address).strip()}: {address}")
        if not addresses:
            raise PageTrouble("no-such-host", f"{host} has no address")
        self._known[host] = (time.monotonic() + _KEPT_S, addresses)
        return addresses


class PageProxy:
    """One page's way to the web. ``refusals`` tell what did not pass or was broken off, ``refused`` counts it."""

    def __init__(self, guard: Guard, max_bytes: int) -> None:
        self.url = ""
        self.renew()
        self._guard, self._policy, self._most_bytes = guard, guard.policy, max_bytes
        self.tasks: set[asyncio.Task[None]] = set()

    def renew(self) -> None:
        self.refusals: list[PageTrouble] = []
        self.refused = self.connections = self.received_bytes = 0

    def refusal_of(self, url: str) -> PageTrouble | None:
        """Why an address's host and port were refused last."""
        with suppress(ValueError):
            parts = urlsplit(url)
            wanted = read_host(parts.hostname or ""), parts.port or DEFAULT_PORTS.get(parts.scheme)
            return next((one for one in reversed(self.refusals) if one.place == wanted), None)
        return None

    async def serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Answer one request for a connection, and pass on what both sides say until one of them ends."""
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        host, port, upstream = "", 0, None
        try:
            async with asyncio.timeout(self._policy.idle_s):
                host, port = await _asked(reader, writer)
            if host in _ERRANDS:
                raise PageTrouble("refused", f"{host} is where the browser goes for itself")
            self.connections += 1
            if self.connections > self._policy.max_connections:
                raise PageTrouble("refused", f"more than {self._policy.max_connections} connections for one page")
            self._check_size()
            upstream_reader, upstream = await self._guard.connect(host, port)
            writer.write(_reply(_DONE))
            async with asyncio.timeout(self._policy.idle_s) as patience:

                async def copy(source: StreamReader, target: StreamWriter, counted: int) -> None:
                    with suppress(OSError):
                        while piece := await source.read(_PIECE_BYTES):
                            patience.reschedule(asyncio.get_running_loop().time() + self._policy.idle_s)
                            self.received_bytes += counted * len(piece)
                            self._check_size()
                            target.write(piece)
                            await target.drain()

                await first_of(copy(upstream_reader, writer, 1), copy(reader, upstream, 0))
        except PageTrouble as trouble:
            trouble.place = host, port
            self.refused += host not in _ERRANDS
            self.refusals += [trouble] if len(self.refusals) < _MOST_REFUSALS else []
            if upstream is None:
                writer.write(_reply(_REFUSED if trouble.trouble == "refused" else _UNREACHABLE))
            else:  # Nobody waits for an answer any more.
                writer.transport.abort()
        except (OSError, EOFError, TimeoutError, asyncio.CancelledError):
            # One of the two sides has gone, or the proxy ends; asyncio would print a traceback of it.
            writer.transport.abort()
        finally:
            self.tasks.discard(task)
            writer.close()
            if upstream is not None:
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
