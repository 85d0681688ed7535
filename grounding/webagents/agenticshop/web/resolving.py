"""Names made into addresses, once each, and only into public ones."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import time
from collections.abc import Awaitable, Callable

from grounding.records import Record
from grounding.webagents.agenticshop.web.addresses import check_host, refused_address
from grounding.webagents.agenticshop.web.policy import WebPolicy
from grounding.webagents.agenticshop.web.troubles import PageTrouble

Resolve = Callable[[str], Awaitable[tuple[str, ...]]]
"""All IP addresses of a host name, as the system's resolver orders them."""

_KEPT_S = 600.0
_MOST_KEPT = 10_000
_NO_SUCH_HOST = {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}


class Place(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Where to connect to: IP addresses that were checked, in the order in which to try them."""

    addresses: tuple[str, ...]
    port: int


async def ask_system(host: str) -> tuple[str, ...]:
    """The addresses that the machine's own resolver gives.

    Raises:
        PageTrouble: no-such-host, or no-network where the resolver itself gave no answer.
    """
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        if error.errno in _NO_SUCH_HOST:
            raise PageTrouble("no-such-host", f"no machine is called {host}") from None
        raise PageTrouble("no-network", f"{host} could not be looked up: {error}") from None
    except UnicodeError:
        raise PageTrouble("refused", f"{host!r} is no host name") from None
    return tuple(dict.fromkeys(str(address[0]) for _, _, _, _, address in found))


class Places:
    """Hosts and where they are. What was checked is what is connected to: no name is asked for a second time."""

    def __init__(self, policy: WebPolicy, resolve: Resolve = ask_system) -> None:
        self._policy = policy
        self._resolve = resolve
        self._known: dict[str, tuple[float, tuple[str, ...]]] = {}

    async def find(self, host: str, port: int) -> Place:
        """Where a host is.

        Raises:
            PageTrouble: refused by the rules, also for what the name resolves to; no-such-host; no-network; no-answer
                where the resolver took too long.
        """
        check_host(host, port, self._policy)
        if host in self._policy.hosts:
            address, mapped = self._policy.hosts[host]
            return Place(addresses=(address,), port=mapped)
        return Place(addresses=await self._public_addresses(host), port=port)

    async def _public_addresses(self, host: str) -> tuple[str, ...]:
        try:
            return (str(ipaddress.ip_address(host)),)  # Found public with its spelling.
        except ValueError:
            pass
        now = time.monotonic()
        if host in self._known and self._known[host][0] > now:
            return self._known[host][1]
        try:
            async with asyncio.timeout(self._policy.connect_s):
                addresses = await self._resolve(host)
        except TimeoutError:
            raise PageTrouble("no-answer", f"{host} was not looked up in {self._policy.connect_s:g} s") from None
        # One address of the own network among public ones is how a name is turned against its reader.
        for address in addresses:
            reason = refused_address(address)
            if reason:
                raise PageTrouble("refused", f"{host} resolves to {reason.removeprefix(address).strip()}: {address}")
        if not addresses:
            raise PageTrouble("no-such-host", f"{host} has no address")
        if len(self._known) >= _MOST_KEPT:
            self._known.clear()
        self._known[host] = (now + _KEPT_S, addresses)
        return addresses
