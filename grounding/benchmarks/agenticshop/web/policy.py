"""What a page may reach and how much of everything it may take: pure rules over addresses, and the reasons for a no."""

import ipaddress
import re
from contextlib import suppress
from typing import Literal
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
        ours = trouble in ("no-network", "browser-crashed")
        self.failure = Failure(kind="error" if ours else "missing", message=f"{trouble}: {message}")


class PageLost(Exception):
    """The page has crashed, hangs, or its browser is gone: another try may help."""


MAX_URL_CHARS = 4096
DEFAULT_PORTS = {"http": 80, "https": 443}

# IANA's registries of special-purpose addresses, with those for several receivers, those kept for later, and those
# that carry old addresses inside. 168.63.129.16 is public by its number only: the host of a virtual machine in a cloud.
_SPECIAL = """
0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24
203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20
"""
_FORBIDDEN = tuple(map(ipaddress.ip_network, _SPECIAL.split()))
# Only this eighth of the new addresses is given to anybody: the mapped, translated and local forms are outside of it.
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
        # The old rules of writing names of other alphabets in ASCII; the browser has the newer ones, and asks itself.
        host = host if host.isascii() else read_host(host.encode("idna").decode("ascii"))
    check_host(host, DEFAULT_PORTS[parts.scheme] if port is None else port, policy)


def check_host(host: str, port: int, policy: WebPolicy) -> None:
    if port not in policy.ports:
        allowed = ", ".join(map(str, policy.ports))
        raise PageTrouble("refused", f"port {port} of {host}: only {allowed} may be asked for")
    if reason := refused_host(host, policy):
        raise PageTrouble("refused", reason)
