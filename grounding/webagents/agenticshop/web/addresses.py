"""Which addresses a page may be at: a pure rule over texts, with no look at the network."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import SplitResult, urlsplit

from grounding.records import Record
from grounding.webagents.agenticshop.web.policy import WebPolicy
from grounding.webagents.agenticshop.web.troubles import PageTrouble

MAX_URL_CHARS = 4096
DEFAULT_PORTS = {"http": 80, "https": 443}

# IANA's registries of special-purpose addresses, with the ones for several receivers and the ones kept for later.
# 168.63.129.16 is public by its number only: it is the host of a virtual machine in one large cloud.
_FORBIDDEN_4 = tuple(
    ipaddress.IPv4Network(text)
    for text in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "168.63.129.16/32", "169.254.0.0/16",
        "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24",
        "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4",
        "240.0.0.0/4",
    )
)  # fmt: skip
# Only this sixteenth of the new addresses is given to anybody; the rest of the list carries old addresses inside
# (Teredo, 6to4), is for documents, or is not for the web. The mapped, translated and local forms are outside of it.
_GIVEN_6 = ipaddress.IPv6Network("2000::/3")
_FORBIDDEN_6 = tuple(
    ipaddress.IPv6Network(text)
    for text in ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
)
_ISATAP = (0x00005EFE, 0x02005EFE)
_NAME = re.compile(r"(?=.{1,253}\Z)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z0-9-]{1,63}")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_OWN_ENDINGS = (
    "localhost", "local", "internal", "lan", "home", "corp", "intranet", "home.arpa", "localdomain", "onion",
)  # fmt: skip


class Origin(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Where an address points: ``host`` in lower case, without brackets and without a dot at its end."""

    scheme: str
    host: str
    port: int


def refused_address(text: str) -> str:
    """Why no connection may be made to an IP address; "" where it is a public one.

    Loopback, private, shared, link-local, reserved, multicast and unspecified addresses are refused, and all forms
    that carry another address inside: mapped, compatible, translated (NAT64), 6to4, Teredo and ISATAP.
    """
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return f"{text} is no IP address"
    if isinstance(address, ipaddress.IPv4Address):
        public = not any(address in network for network in _FORBIDDEN_4) and address.is_global
    else:
        plain = address.scope_id is None and (int(address) >> 32) & 0xFFFFFFFF not in _ISATAP
        given = address in _GIVEN_6 and not any(address in network for network in _FORBIDDEN_6)
        public = plain and given and address.is_global
    return "" if public else f"{text} is not a public address"


def refused_host(host: str, policy: WebPolicy) -> str:
    """Why a host may not be asked for, by its spelling alone; "" where it may.

    Args:
        host: In lower case, without brackets and without a dot at its end.
        policy: The rules: a host that they map is always right.
    """
    if host in policy.hosts:
        return ""
    if not policy.open_web:
        return f"{host} is none of the data set's own shops, and nothing else may be reached"
    if ":" in host:
        return refused_address(host)
    if _NUMBER.fullmatch(host.rpartition(".")[2]):
        # 2130706433, 0x7f.1 and 0177.0.0.1 all mean 127.0.0.1 to some programs: only the plain form is read.
        return refused_address(host)
    if "." not in host or host.endswith(tuple(f".{ending}" for ending in _OWN_ENDINGS)):
        return f"{host} is a name of this machine or its own network"
    return "" if _NAME.fullmatch(host) else f"{host!r} is no host name"


def read_host(text: str) -> str:
    """The one spelling of a host: lower case, no brackets, no dot at the end."""
    host = text.strip("[]") if text.startswith("[") else text
    return host.lower().removesuffix(".")


def read_url(url: str, policy: WebPolicy) -> Origin:
    """Where an address points, if it may be asked for at all.

    Raises:
        PageTrouble: refused: not http(s), with a user name, too long, a forbidden port or host. Names are not resolved
            here: what they lead to is the guard's to check.
    """
    if len(url) > MAX_URL_CHARS:
        raise PageTrouble("refused", f"the address has {len(url)} characters, more than {MAX_URL_CHARS}")
    if url != url.strip() or any(ord(character) < 0x21 or character == "\\" for character in url):
        raise PageTrouble("refused", f"{url[:200]!r} has a blank, a backslash or a control character in it")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise PageTrouble("refused", f"{url[:200]!r} is no address: {error}") from None
    return _origin(url, parts, port, policy)


def _origin(url: str, parts: SplitResult, port: int | None, policy: WebPolicy) -> Origin:
    if parts.scheme not in DEFAULT_PORTS:
        raise PageTrouble("refused", f"{url[:200]!r} is not an address of the web: expected http:// or https://")
    if parts.username is not None or parts.password is not None:
        raise PageTrouble("refused", f"{url[:200]!r} carries a user name")
    host = _ascii_host(parts.hostname or "")
    if not host:
        raise PageTrouble("refused", f"{url[:200]!r} names no host")
    port = DEFAULT_PORTS[parts.scheme] if port is None else port
    check_host(host, port, policy)
    return Origin(scheme=parts.scheme, host=host, port=port)


def check_host(host: str, port: int, policy: WebPolicy) -> None:
    """Refuse a host or a port by the rules.

    Raises:
        PageTrouble: refused.
    """
    if port not in policy.ports:
        allowed = ", ".join(map(str, policy.ports))
        raise PageTrouble("refused", f"port {port} of {host}: only {allowed} may be asked for")
    reason = refused_host(host, policy)
    if reason:
        raise PageTrouble("refused", reason)


def _ascii_host(name: str) -> str:
    host = read_host(name)
    if host.isascii():
        return host
    try:
        # The old rules of writing names of other alphabets in ASCII; the browser has the newer ones, and asks itself.
        return host.encode("idna").decode("ascii").lower().removesuffix(".")
    except UnicodeError:
        return ""
