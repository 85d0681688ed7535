"""Several servers of one model behind one client: which one gets the next request, and when one counts as gone."""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

GONE_AFTER = 4
"""Failed connections one after the other, each begun after the last had failed, that make a server count as gone."""
_REST_S = 0.5


def proxy_for(base_url: str) -> str | None:
    """The proxy that the environment names for an address.

    Looked up here because aiohttp's ``trust_env`` would also read ~/.netrc, and refuse to send a key beside an entry.
    """
    parts = urlsplit(base_url)
    if urllib.request.proxy_bypass(parts.netloc):
        return None
    return urllib.request.getproxies().get(parts.scheme)


class Address:
    """One server: how busy it is, and how its last connections went."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url
        self.proxy = proxy_for(base_url)
        self.open = 0
        self.taken = 0
        self.failures = 0
        self.failed_at = float("-inf")
        self.rests_until = float("-inf")


class Addresses:
    """The servers of one model that are still there. The last one is never given up."""

    def __init__(self, base_urls: Sequence[str], on_gone: Callable[[str, int], None]) -> None:
        """``on_gone`` is told the address of a server that is given up, and how many are left."""
        self.all = tuple(Address(base_url) for base_url in base_urls)
        self._there = list(self.all)
        self._on_gone = on_gone

    def take(self) -> Address:
        """The least busy one; one that just failed rests a little while others are well. To be given back."""
        now = time.monotonic()
        rested = [address for address in self._there if address.rests_until <= now]
        if rested:
            chosen = min(rested, key=lambda address: (address.open, address.taken))
        else:
            chosen = min(self._there, key=lambda address: address.rests_until)
        chosen.open += 1
        chosen.taken += 1
        return chosen

    def give_back(self, address: Address) -> None:
        """The request is over, in whatever way."""
        address.open -= 1

    def answered(self, address: Address) -> None:
        """A response came, whatever it says."""
        address.failures = 0
        address.rests_until = float("-inf")

    def failed(self, address: Address, began: float) -> None:
        """No connection, or a broken one, on a request that began at that time (``time.monotonic``).

        Requests that were open together break together and count once.
        """
        if began < address.failed_at or address not in self._there:
            return
        now = time.monotonic()
        address.failures += 1
        address.failed_at = now
        address.rests_until = now + _REST_S * 2 ** (address.failures - 1)
        if address.failures >= GONE_AFTER and len(self._there) > 1:
            self._there.remove(address)
            self._on_gone(address.base_url, len(self._there))

    def leave_out(self, base_url: str) -> None:
        """Give no more requests to this address, unless it is the last one."""
        left = [address for address in self._there if address.base_url != base_url]
        self._there = left or self._there
