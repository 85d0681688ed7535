"""What a user wrote after ``--data-dir``: a folder of this machine, or where to read one from. Pure text.

Credentials come with URLs: a user and password before the host, a signature in the query. What is shown or stored is
``Address.shown`` and ``Address.key``, neither of which holds them.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from grounding.errors import UserError
from grounding.records import Record
from grounding.sources.safe_paths import UnsafePath, safe_path

ArchiveKind = Literal["zip", "tar"]

HIDDEN = "…"
"""Stands in a shown URL for what is not shown."""

_ARCHIVES: dict[str, ArchiveKind] = {
    **{".zip": "zip", ".tar": "tar", ".tar.gz": "tar", ".tgz": "tar", ".tar.bz2": "tar", ".tbz2": "tar"},
    **{".tar.xz": "tar", ".txz": "tar"},
}
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(://|::)")
_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://")
_UNSAFE_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_SIGNATURE = re.compile(
    r"x-(amz|goog)-.*|awsaccesskeyid|googleaccessid|signature|expires|policy|key-pair-id|token|access_token"
    r"|auth|auth_?token|api_?key|s(ig|e|p|v|r|s|t|ip|pr|rt|koid|ktid)",
    re.IGNORECASE,
)
"""Parameters of a query that sign it, of S3, Google, CloudFront and Azure: the same file has others tomorrow."""


class Address(Record, frozen=True, kw_only=True):
    """Where data is read from.

    ``url`` is what fsspec opens, with whatever credentials it holds; for an archive, the archive's own. ``inner`` is
    the folder in the archive that is wanted, "" for all of it. ``shown`` is for people, for files and for other
    machines, ``key`` the hash of what the data are. ``name`` is the last part of the path, which the local folder gets
    as its name, too: some data sets take names of participants from it.
    """

    url: str
    archive: ArchiveKind | None
    inner: str = ""
    shown: str
    key: str
    name: str

    @property
    def has_secrets(self) -> bool:
        """Whether ``shown`` is less than what is needed to read the data."""
        return HIDDEN in self.shown

    @property
    def folder_name(self) -> str:
        """The name of this address' own folder in the cache."""
        plain = _UNSAFE_NAME.sub("-", self.name).strip(".-")[:60] or "data"
        return f"{plain}-{self.key}"


def parse_address(text: str) -> Address | None:
    """The address that a text is; None for a path of this machine that is no archive.

    Raises:
        UserError: it is a URL that data can't be read from.
    """
    if _URL.match(text):
        return _from_url(text)
    kind = archive_kind(text)
    if kind is None or Path(text).is_dir():
        return None
    path = Path(text).absolute()
    return _address(str(path), archive=kind, shown=str(path), keyed=f"file://{path}")


def archive_kind(path: str) -> ArchiveKind | None:
    """What kind of archive a path's ending names; None for another."""
    lower = path.lower()
    return next((kind for ending, kind in _ARCHIVES.items() if lower.endswith(ending)), None)


def _from_url(text: str) -> Address:
    links = text.split("::")
    for link in links:
        _check_link(link)
    shown = "::".join(map(_shown, links))
    keyed = "::".join(map(_keyed, links))
    first, rest = links[0], "::".join(links[1:])
    kind, inner = _opens_archive(first)
    if kind is not None and rest:
        return _address(rest, archive=kind, inner=inner, shown=shown, keyed=keyed)
    archive = None if rest else archive_kind(_path_of(text))
    return _address(text, archive=archive, shown=shown, keyed=keyed)


def _address(url: str, *, archive: ArchiveKind | None, shown: str, keyed: str, inner: str = "") -> Address:
    path = inner or unquote(_path_of(url.split("::")[-1] if "::" in url else url))
    name = path.rstrip("/").rpartition("/")[2]
    if not inner and archive is not None:
        ending = max((one for one in _ARCHIVES if name.lower().endswith(one)), key=len, default="")
        name = name.removesuffix(name[len(name) - len(ending) :]) if ending else name
    try:
        name = safe_path(name)
    except UnsafePath:
        name = "data"
    return Address(
        url=url,
        archive=archive,
        inner=inner,
        shown=shown,
        key=hashlib.sha256(keyed.encode("utf-8", "surrogateescape")).hexdigest()[:16],
        name=name,
    )


def _opens_archive(link: str) -> tuple[ArchiveKind | None, str]:
    """For the first link of a chain such as ``zip://inner/folder``: the kind, and the folder in the archive."""
    scheme, _, inner = link.partition("://")
    kind: ArchiveKind | None = "zip" if scheme.lower() == "zip" else "tar" if scheme.lower() == "tar" else None
    return kind, inner.strip("/") if kind else ""


def _path_of(url: str) -> str:
    """The path of a URL without query, the bucket or host with it; of a path, itself."""
    found = _SCHEME.match(url)
    if found is None:
        return url
    rest = url[found.end() :]
    if found["scheme"].lower() in ("http", "https"):
        parts = urlsplit(url)
        return parts.path.rstrip("/") or parts.netloc.rpartition("@")[2]
    return rest


def _check_link(link: str) -> None:
    found = _SCHEME.match(link)
    if found is None:
        if not link or "/" in link:
            return
        if re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", link) is None:
            raise UserError(f"--data-dir: {link!r} in a chain of URLs is no file system, such as zip in zip::s3://…")
        return
    if found["scheme"].lower() in ("http", "https"):
        try:
            host = urlsplit(link).hostname
        except ValueError as error:
            raise UserError(f"--data-dir {_shown(link)}: {error}") from error
        if not host:
            raise UserError(f"--data-dir {_shown(link)}: there is no host in it")
        if found["scheme"].lower() == "http" and not is_loopback(host):
            raise UserError(
                f"--data-dir {_shown(link)}: plain http can be read and changed on its way, and results would hang on "
                "what came; use https (http is taken from this machine itself only)"
            )


def is_loopback(host: str) -> bool:
    """Whether a host is this machine by its very name."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _shown(link: str) -> str:
    """A link without user, password, query and fragment."""
    found = _SCHEME.match(link)
    if found is None:
        return link
    if found["scheme"].lower() in ("http", "https"):
        rest, mark, _ = link[found.end() :].partition("?")
        rest = rest.partition("#")[0]
        host, slash, path = rest.partition("/")
        host = f"{HIDDEN}@{host.rpartition('@')[2]}" if "@" in host else host
        return f"{found['scheme']}://{host}{slash}{path}{mark and f'?{HIDDEN}'}"
    # A key of S3 may hold @, ? and #; a password stands before an @ and behind a colon.
    first, slash, path = link[found.end() :].partition("/")
    who, at, host = first.rpartition("@")
    return f"{found['scheme']}://{HIDDEN}@{host}{slash}{path}" if at and ":" in who else link


def _keyed(link: str) -> str:
    """What of a link says which data it is: without user, password and the signature of the query."""
    found = _SCHEME.match(link)
    if found is None:
        return link
    if found["scheme"].lower() not in ("http", "https"):
        return _shown(link)
    parts = urlsplit(link)
    query = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if not _SIGNATURE.fullmatch(pair[0])]
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, urlencode(sorted(query)), ""))
