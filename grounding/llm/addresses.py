"""Several servers of one model behind one client: which one gets the next request."""

from __future__ import annotations

import urllib.request
from collections.abc import Sequence
from urllib.parse import urlsplit

AWAITED: dict[str, float] = {}
"""Since when (``time.monotonic``) somebody in this process waits for an address, for those who show progress."""
ENDED: set[str] = set()
"""Addresses of servers that this process had started and that have ended for good: nobody need wait for them."""


def proxy_for(base_url: str) -> str | None:
    """The proxy that the environment names for an address. Looked up here because aiohttp's ``trust_env`` would also
    read ~/.netrc, and refuse to send a key beside an entry.
    """
    parts = urlsplit(base_url)
    if parts.hostname in ("127.0.0.1", "localhost", "::1"):  # This machine, which no proxy reaches.
        return None
    if urllib.request.proxy_bypass(parts.netloc):
        return None
    return urllib.request.getproxies().get(parts.scheme)


class ServerAddress:
    def __init__(self, base_url: str) -> None:
        self.base_url = base_url
        self.proxy = proxy_for(base_url)
        self.open = self.taken = 0
        self.away = False


class Addresses:
    def __init__(self, base_urls: Sequence[str]) -> None:
        self.all = tuple(map(ServerAddress, base_urls))

    def take(self) -> ServerAddress:
        """The least busy one that is there; its ``open`` is to be counted down when the request is over."""
        chosen = min(self.all, key=lambda address: (address.away, address.open, address.taken))
        chosen.open += 1
        chosen.taken += 1
        return chosen

    @property
    def there(self) -> int:
        return sum(not address.away for address in self.all)
