"""Heads of HTTP/1 messages: read strictly, and written anew for the next machine on the way."""

from __future__ import annotations

import asyncio
import re
from urllib.parse import urlsplit

from grounding.records import Record
from grounding.webagents.agenticshop.web.addresses import read_host
from grounding.webagents.agenticshop.web.troubles import PageTrouble

MAX_HEAD_BYTES = 64 << 10
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*")
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-5][0-9][0-9])( .*)?")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_NOT_PASSED_ON = frozenset(
    {b"connection", b"keep-alive", b"te", b"upgrade"}
    | {b"proxy-connection", b"proxy-authorization", b"proxy-authenticate"}
)

Fields = tuple[tuple[bytes, bytes], ...]
"""Names as they came, and values; one line each, in order."""


class RequestHead(Record, frozen=True, kw_only=True):
    """What the browser asks for. ``url`` is "" for a tunnel, ``target`` the path that the server is asked for."""

    method: str
    host: str
    port: int
    url: str
    target: str
    authority: str
    fields: Fields
    body_bytes: int

    @property
    def credential(self) -> bytes:
        """What the client says to prove that the proxy is for it."""
        return b"".join(_values(self.fields, b"proxy-authorization"))


class ResponseHead(Record, frozen=True, kw_only=True):
    """What a server says before the content. ``body_bytes`` is None where only the end of the stream tells."""

    status: int
    line: bytes
    fields: Fields
    body_bytes: int | None
    content_type: str

    @property
    def leads_off_the_web(self) -> bool:
        """Whether it sends the browser on to an address of another scheme than http(s)."""
        places = [value.decode("latin-1").strip() for value in _values(self.fields, b"location")]
        return 300 <= self.status < 400 and any(leads_off_the_web(place) for place in places)


def leads_off_the_web(location: str) -> bool:
    """Whether the target of a redirect names a scheme, and that is not http(s)."""
    return _SCHEME.match(location) is not None and not location.lower().startswith(("http:", "https:"))


async def read_head(reader: asyncio.StreamReader) -> bytes:
    """The bytes of a head with its last empty line; b"" where the stream ended before anything came.

    Raises:
        PageTrouble: no-answer: the stream ended within the head, or the head is too long.
    """
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if not error.partial:
            return b""
        raise PageTrouble("no-answer", "the connection ended within the head of a message") from None
    except asyncio.LimitOverrunError:
        raise PageTrouble("no-answer", f"the head of a message is longer than {MAX_HEAD_BYTES} bytes") from None


def read_request(head: bytes) -> RequestHead:
    """What a browser asks its proxy for.

    Raises:
        PageTrouble: refused: not a request to a proxy for http, nor for a tunnel.
    """
    first, fields = _lines(head)
    words = first.split(b" ")
    if len(words) != 3 or words[2] not in (b"HTTP/1.1", b"HTTP/1.0") or not re.fullmatch(rb"[!-~]+", words[1]):
        raise PageTrouble("refused", "not a request of HTTP/1")
    method, target = words[0].decode("ascii", "replace"), words[1].decode("ascii")
    if method == "CONNECT":
        return _tunnel(target, fields)
    if method not in _METHODS:
        raise PageTrouble("refused", f"the method {method[:20]!r}")
    try:
        parts = urlsplit(target)
        port = 80 if parts.port is None else parts.port
    except ValueError:
        raise PageTrouble("refused", "not a whole address") from None
    if parts.scheme != "http" or not parts.hostname or parts.username is not None or parts.password is not None:
        raise PageTrouble("refused", "not a whole address of http")
    if _values(fields, b"transfer-encoding"):
        raise PageTrouble("refused", "a request whose length is not said")
    return RequestHead(
        method=method,
        host=read_host(parts.hostname),
        port=port,
        url=target.partition("#")[0],
        target=(parts.path or "/") + (f"?{parts.query}" if "?" in target.partition("#")[0] else ""),
        authority=parts.netloc,
        fields=fields,
        body_bytes=_length(fields) or 0,
    )


def _tunnel(target: str, fields: Fields) -> RequestHead:
    host, _, port = target.rpartition(":")
    if not host or not re.fullmatch(r"[0-9]{1,5}", port):
        raise PageTrouble("refused", "a tunnel to no host and port")
    return RequestHead(
        method="CONNECT", host=read_host(host), port=int(port), url="", target="", authority=target, fields=fields,
        body_bytes=0,
    )  # fmt: skip


def read_response(head: bytes, method: str) -> ResponseHead:
    """What a server answers to a request of that method.

    Raises:
        PageTrouble: no-answer: not HTTP/1, or two lengths.
    """
    first, fields = _lines(head)
    match = _STATUS.fullmatch(first)
    if match is None:
        raise PageTrouble("no-answer", "the answer is not HTTP/1")
    status = int(match[1])
    empty = method == "HEAD" or status < 200 or status in (204, 304)
    chunked = bool(_values(fields, b"transfer-encoding"))
    types = _values(fields, b"content-type")
    return ResponseHead(
        status=status,
        line=first,
        fields=fields,
        body_bytes=0 if empty else None if chunked else _length(fields),
        content_type=types[0].decode("latin-1").partition(";")[0].strip().lower() if types else "",
    )


def write_request(request: RequestHead) -> bytes:
    """The request as the server gets it: on a connection of its own, with the host that was checked."""
    lines = [f"{request.method} {request.target} HTTP/1.1".encode("ascii"), b"Host: " + request.authority.encode()]
    lines += _passed_on(request.fields, without=b"host")
    return b"\r\n".join((*lines, b"Connection: close", b"", b""))


def write_response(response: ResponseHead) -> bytes:
    """The response as the browser gets it: the connection ends with it."""
    return b"\r\n".join((response.line, *_passed_on(response.fields), b"Connection: close", b"", b""))


def _passed_on(fields: Fields, without: bytes = b"") -> list[bytes]:
    named = {word.strip().lower() for value in _values(fields, b"connection") for word in value.split(b",")}
    left_out = _NOT_PASSED_ON | named - {b"content-length", b"transfer-encoding", b"host"} | {without}
    return [name + b": " + value for name, value in fields if name.lower() not in left_out]


def _lines(head: bytes) -> tuple[bytes, Fields]:
    first, *rest = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    fields = []
    for line in rest:
        match = _FIELD.fullmatch(line)
        # A bare line feed or a folded line is read differently by different programs.
        if match is None or b"\n" in line or b"\r" in line or b"\0" in line:
            raise PageTrouble("no-answer", "a line of the head of a message is not a field")
        fields.append((match[1], match[2]))
    return first, tuple(fields)


def _values(fields: Fields, name: bytes) -> list[bytes]:
    return [value for found, value in fields if found.lower() == name]


def _length(fields: Fields) -> int | None:
    lengths = set(_values(fields, b"content-length"))
    if not lengths:
        return None
    text = lengths.pop()
    if lengths or not re.fullmatch(rb"[0-9]{1,18}", text):
        raise PageTrouble("no-answer", "the length of a message is not one number")
    return int(text)
