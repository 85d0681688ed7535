"""A forwarding proxy on loopback that all of a browser's traffic goes through, and that decides what may pass.

Every page gets a lane: a port of its own, so that what passes, and what does not, is counted for that page. Plain
requests and tunnels (for https and for web sockets) are checked alike: the name is resolved here, and the connection is
made to the very address that was found to be public, so a name that changes its mind has no second chance.
"""

from __future__ import annotations

import asyncio
import base64
import hmac
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit, urlunsplit

from grounding.webagents.agenticshop.web.heads import (
    MAX_HEAD_BYTES,
    RequestHead,
    ResponseHead,
    read_head,
    read_request,
    read_response,
    write_request,
    write_response,
)
from grounding.webagents.agenticshop.web.policy import WebPolicy
from grounding.webagents.agenticshop.web.resolving import Place, Places, Resolve, ask_system
from grounding.webagents.agenticshop.web.troubles import PageTrouble, Refusal
from grounding.webagents.agenticshop.web.wires import PIECE_BYTES, Pulse, ask_who, first_of, tell, until_closed

_MOST_REFUSALS = 500
_MOST_INTERIM = 8
# Where Chromium goes by itself, for no page: whatever it is told, some of it is tried. Refused, and not counted.
_ERRANDS = frozenset(
    {"accounts.google.com", "clients2.google.com", "clients4.google.com", "clientservices.googleapis.com"}
    | {"content-autofill.googleapis.com", "optimizationguide-pa.googleapis.com", "safebrowsing.googleapis.com"}
    | {"update.googleapis.com", "edgedl.me.gvt1.com", "redirector.gvt1.com", "android.clients.google.com"}
)


class Lane:
    """One page's way to the web. ``refusals`` tell what did not pass.

    ``proxy_url``, ``USER`` and ``secret`` are for the page's browser context: no other program on the machine can use
    the lane.
    """

    USER = "page"

    def __init__(self, policy: WebPolicy, places: Places, max_bytes: int) -> None:
        self.proxy_url = ""
        self.secret = secrets.token_urlsafe(24)
        self.refusals: list[Refusal] = []
        self.refused = 0
        self.requests = 0
        self.received_bytes = 0
        self._policy = policy
        self._places = places
        self._left_bytes = max_bytes
        self._most_bytes = max_bytes
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False
        self._credential = b"Basic " + base64.b64encode(f"{self.USER}:{self.secret}".encode())

    def refusal_of(self, url: str) -> Refusal | None:
        """The last refusal of an address; for https that of its host and port, all that can be seen from outside."""
        wanted = {url.partition("#")[0]}
        with suppress(ValueError):
            parts = urlsplit(url)
            # A browser asks for an address without the name and password that may stand in it.
            bare = parts.netloc.rpartition("@")[2]
            wanted.add(urlunsplit((parts.scheme, bare, parts.path, parts.query, "")))
            if parts.scheme == "https":
                wanted.add(_tunnel_url(parts.hostname or "", parts.port or 443))
        return next((refusal for refusal in reversed(self.refusals) if refusal.url in wanted), None)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection of the browser, from its first byte to its end."""
        task = asyncio.current_task()
        if task is None or self._closing:
            writer.transport.abort()
            return
        self._tasks.add(task)
        url = ""
        try:
            async with asyncio.timeout(self._policy.idle_s):
                head = await read_head(reader)
            if head:
                request = read_request(head)
                if not hmac.compare_digest(request.credential, self._credential):
                    await ask_who(writer)
                    return
                url = request.url or _tunnel_url(request.host, request.port)
                await self._pass(request, url, reader, writer)
        except PageTrouble as trouble:
            self._remember(url, trouble)
            await tell(writer, trouble)
        except (OSError, TimeoutError):
            # One of the two sides has gone, or too much came: a broken connection is what the browser has to see.
            writer.transport.abort()
        except asyncio.CancelledError:
            writer.transport.abort()
            if not self._closing:
                raise
        finally:
            self._tasks.discard(task)
            writer.close()

    async def close(self) -> None:
        """End all connections and wait until they are gone."""
        self._closing = True
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _remember(self, url: str, trouble: PageTrouble) -> None:
        self.refused += urlsplit(url).hostname not in _ERRANDS
        if len(self.refusals) < _MOST_REFUSALS:
            self.refusals.append(Refusal(url=url, trouble=trouble.trouble, message=trouble.message))

    async def _pass(
        self, request: RequestHead, url: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if request.host in _ERRANDS:
            raise PageTrouble("refused", f"{request.host} is where the browser goes for itself")
        self.requests += 1
        if self.requests > self._policy.max_requests:
            raise PageTrouble("refused", f"more than {self._policy.max_requests} requests for one page")
        if len(self._tasks) > self._policy.max_connections:
            raise PageTrouble("refused", f"more than {self._policy.max_connections} connections at a time")
        if self._left_bytes <= 0:
            raise self._too_much()
        place = await self._places.find(request.host, request.port)
        upstream_reader, upstream = await self._connect(request.host, place)
        try:
            if request.method == "CONNECT":
                await self._tunnel(url, reader, writer, upstream_reader, upstream)
            else:
                await self._forward(request, url, reader, writer, upstream_reader, upstream)
        finally:
            upstream.transport.abort()

    async def _connect(self, host: str, place: Place) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        last = "no address"
        for address in place.addresses[:4]:
            try:
                async with asyncio.timeout(self._policy.connect_s):
                    return await asyncio.open_connection(address, place.port, limit=MAX_HEAD_BYTES)
            except TimeoutError:
                last = f"nothing heard for {self._policy.connect_s:g} s"
            except OSError as error:
                last = error.strerror or str(error)
        raise PageTrouble("no-answer", f"no connection to {host}: {last}")

    async def _tunnel(
        self,
        url: str,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        upstream_reader: asyncio.StreamReader,
        upstream: asyncio.StreamWriter,
    ) -> None:
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        pulse = Pulse(self._policy.idle_s)
        await first_of(
            self._copy(url, reader, upstream, pulse, counted=False),
            self._copy(url, upstream_reader, writer, pulse, counted=True),
            pulse.stops(),
        )

    async def _forward(
        self,
        request: RequestHead,
        url: str,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        upstream_reader: asyncio.StreamReader,
        upstream: asyncio.StreamWriter,
    ) -> None:
        if request.body_bytes > self._policy.max_response_bytes:
            raise PageTrouble("too-large", f"a request of {request.body_bytes} bytes")
        upstream.write(write_request(request))
        pulse = Pulse(self._policy.idle_s)
        if request.body_bytes:
            sent = self._copy(url, reader, upstream, pulse, counted=False, length=request.body_bytes)
            await first_of(sent, pulse.stops())
        response = await self._response(request, upstream_reader)
        if response.body_bytes is not None and response.body_bytes > self._policy.max_response_bytes:
            raise self._too_large(f"an answer of {response.body_bytes} bytes")
        if response.leads_off_the_web:
            raise PageTrouble("refused", "the answer leads to an address that is not http:// or https://")
        writer.write(write_response(response))
        pulse.beat()
        # The browser says nothing more on this connection: what ends first is the answer, or its patience.
        await first_of(
            self._copy(url, upstream_reader, writer, pulse, counted=True, length=response.body_bytes),
            until_closed(reader),
            pulse.stops(),
        )

    async def _response(self, request: RequestHead, upstream_reader: asyncio.StreamReader) -> ResponseHead:
        for _ in range(_MOST_INTERIM):
            try:
                async with asyncio.timeout(self._policy.idle_s):
                    head = await read_head(upstream_reader)
            except TimeoutError:
                raise PageTrouble("too-slow", f"{request.host} said nothing for {self._policy.idle_s:g} s") from None
            except OSError as error:
                raise PageTrouble("no-answer", f"{request.host} broke off: {error.strerror}") from None
            if not head:
                raise PageTrouble("no-answer", f"{request.host} closed the connection without an answer")
            response = read_response(head, request.method)
            if response.status >= 200:
                return response
        raise PageTrouble("no-answer", f"{request.host} gave interim answers only")

    async def _copy(
        self,
        url: str,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        pulse: Pulse,
        *,
        counted: bool,
        length: int | None = None,
    ) -> None:
        """Pass on bytes up to a length, or to the end of the stream; only those that come to the browser count."""
        passed = 0
        while length is None or passed < length:
            wanted = PIECE_BYTES if length is None else min(PIECE_BYTES, length - passed)
            piece = await reader.read(wanted)
            if not piece:
                break
            passed += len(piece)
            if counted:
                self._count(url, len(piece), passed)
            pulse.beat()
            writer.write(piece)
            await writer.drain()

    def _count(self, url: str, piece: int, passed: int) -> None:
        """Break off what is too large: nobody waits for an answer any more, so it is remembered here."""
        self.received_bytes += piece
        self._left_bytes -= piece
        trouble = None
        if passed > self._policy.max_response_bytes:
            trouble = self._too_large(f"an answer of more than {self._policy.max_response_bytes} bytes")
        elif self._left_bytes < 0:
            trouble = self._too_much()
        if trouble is not None:
            self._remember(url, trouble)
            raise ConnectionAbortedError(trouble.message)

    def _too_large(self, what: str) -> PageTrouble:
        return PageTrouble("too-large", f"{what}, where {self._policy.max_response_bytes} are allowed")

    def _too_much(self) -> PageTrouble:
        return PageTrouble("too-large", f"the page loads more than {self._most_bytes} bytes in all")


class Guard:
    """The lanes of one browser, and what they share: the rules, and the addresses that were looked up."""

    def __init__(self, policy: WebPolicy, resolve: Resolve = ask_system) -> None:
        self._policy = policy
        self._places = Places(policy, resolve)

    @asynccontextmanager
    async def lane(self, max_bytes: int) -> AsyncIterator[Lane]:
        """A lane that is open within the block. ``max_bytes`` is for all that comes over it."""
        lane = Lane(self._policy, self._places, max_bytes)
        server = await asyncio.start_server(lane.serve, "127.0.0.1", 0, limit=MAX_HEAD_BYTES)
        host, port = server.sockets[0].getsockname()[:2]
        lane.proxy_url = f"http://{host}:{port}"
        try:
            yield lane
        finally:
            server.close()
            await lane.close()


def _tunnel_url(host: str, port: int) -> str:
    return f"https://{host}:{port}"
