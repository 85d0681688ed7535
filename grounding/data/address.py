"""What a user wrote after ``--data-dir``: a folder, an archive, the URL of either, a data set on the Hugging Face hub.

Pure text. Credentials come with URLs: a user and password before the host, a signature in the query. What is shown or
stored is ``Address.shown`` and ``Address.key``, neither of which holds them.
"""

import hashlib
import ipaddress
import re
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from grounding.cards.places import cache_dir
from grounding.errors import UserError
from grounding.records import Record

HIDDEN = "…"  # Stands in a shown URL for what is not shown.
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(://|::)")
_LINK = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<rest>.*)", re.DOTALL)
_ENDING = re.compile(r"\.(?:(zip)|tar|tgz|tbz2|txz|tar\.gz|tar\.bz2|tar\.xz)$", re.IGNORECASE)
_REPOSITORY = r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*"
_BARE = re.compile(rf"{_REPOSITORY}(@[\w./-]+)?", re.ASCII)
HUB = re.compile(
    rf"hf://datasets/(?P<repository>{_REPOSITORY})(@(?P<revision>refs/(convert|pr)/[^/]+|[^/]+))?(/(?P<inner>.*))?",
    re.ASCII,
)
_SIGNATURE = re.compile(
    r"x-(amz|goog)-.*|awsaccesskeyid|googleaccessid|signature|expires|policy|key-pair-id|token|access_token"
    r"|auth|auth_?token|api_?key|s(ig|e|p|v|r|s|t|ip|pr|rt|koid|ktid)",
    re.IGNORECASE,
)  # Parameters of a query that sign it, of S3, Google, CloudFront and Azure: the same file has others tomorrow.
_CONTROL = re.compile(r"[\x00-\x1f\x7f\\]")
_MOST_NAME_BYTES, _MOST_PATH_BYTES = 255, 3000  # Linux takes 255 and 4096, the cache folder's own path included.


class UnsafePath(ValueError):
    """A name that is no path inside a folder; says why."""


def safe_path(written: str) -> str:
    """The path with ``/`` that a name stands for, relative to the folder that everything goes into.

    ``./`` is left out, as tar writes it. Nothing else is mended: a name that is absolute, climbs, or holds what no name
    should is refused. Raises UnsafePath: it is no path inside the folder.
    """
    parts = [part for part in written.split("/") if part != "."]
    if _CONTROL.search(written):
        raise UnsafePath(f"{written!r} holds a backslash or a control character")
    if written.startswith("/") or re.match(r"[A-Za-z]:", "/".join(parts)):
        raise UnsafePath(f"{written!r} is an absolute path")
    if ".." in parts:
        raise UnsafePath(f"{written!r} leads out of its folder")
    if not parts or "" in parts:
        raise UnsafePath(f"{written!r} has a file or folder without a name")
    try:
        longest = max(len(part.encode()) for part in parts)
    except UnicodeEncodeError as error:
        raise UnsafePath(f"{written!r} is no text") from error
    if longest > _MOST_NAME_BYTES or len(written.encode()) > _MOST_PATH_BYTES:
        raise UnsafePath(f"{written[:60]!r}… is too long for a file's name")
    return "/".join(parts)


class Address(Record, frozen=True, kw_only=True):
    """Where data is read from.

    ``url`` is what fsspec opens, with whatever credentials it holds; for an archive, the archive's own, or its path on
    this machine. ``inner`` is the folder in the archive that is wanted, "" for all of it. ``shown`` is for people, for
    files and for other machines, ``key`` the hash of what the data are. ``name`` is the last part of the path, which
    the local folder gets as its name, too: some data sets take names of participants from it. ``is_bare`` is a
    repository of the hub that was written like a path, and ``wanted`` a pattern of the files in it that are needed.
    """

    url: str
    kind: Literal["folder", "zip", "tar", "hub"]
    inner: str = ""
    shown: str
    key: str
    name: str
    is_bare: bool = False
    wanted: str = ""

    @property
    def has_secrets(self) -> bool:
        return HIDDEN in self.shown

    @property
    def home(self) -> Path:
        """The folder in the cache that is this address' own. Raises UserError: there is no cache folder."""
        cache = cache_dir()
        if cache is None:
            raise UserError(
                "--data-dir: data from elsewhere, or in an archive, are kept in the cache folder, and there is none: "
                "unset GROUNDING_NO_CACHE, or set XDG_CACHE_HOME to a folder with room"
            )
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", self.name).strip(".-")[:60] or "data"
        return cache / "data" / f"{plain}-{self.key}"

    @property
    def data(self) -> Path:
        return self.home / "files" / self.name


def parse_address(text: str | Path) -> Address | None:
    """The address that a text is; None for a folder of this machine. A ``Path`` is never a repository of the hub.

    ``owner/name`` is a repository where there is neither such a file nor a folder ``owner``. Raises UserError: it is a
    URL that data can't be read from.
    """
    written, path = str(text), Path(text)
    if _URL.match(written):
        return _from_url(written)
    if path.is_dir():
        return None
    if _ENDING.search(written):
        return _from_url(str(path.absolute()))
    if isinstance(text, str) and _BARE.fullmatch(text) and not path.exists() and not path.parent.is_dir():
        return _from_url(f"hf://datasets/{text}", is_bare=True)
    return None


def _from_url(text: str, *, is_bare: bool = False) -> Address:
    links = text.split("::")
    if len(links) == 2 and "://" not in links[1]:
        links[1] = str(Path(links[1]).absolute())
    for link in links:
        _check(link)
    kind: Literal["folder", "zip", "tar", "hub"] = "folder"
    url, inner = "::".join(links), ""
    opens = re.fullmatch(r"(zip|tar)(?:://(.*))?", links[0], re.DOTALL)
    if opens and len(links) > 1:
        kind, inner, url = "zip" if opens[1] == "zip" else "tar", (opens[2] or "").strip("/"), "::".join(links[1:])
    elif len(links) == 1 and (ending := _ENDING.search(_path(url))):
        kind = "zip" if ending[1] else "tar"
    elif len(links) == 1 and HUB.fullmatch(url):
        kind = "hub"
    name = unquote(inner or _path(links[-1])).rstrip("/").rpartition("/")[2]
    if kind in ("zip", "tar") and not inner:
        name = _ENDING.sub("", name)
    try:
        name = safe_path(name)
    except UnsafePath:
        name = "data"
    key = hashlib.sha256("::".join(map(_keyed, links)).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    shown = "::".join(map(_shown, links))
    return Address(url=url, kind=kind, inner=inner, shown=shown, key=key, name=name, is_bare=is_bare)


def _path(link: str) -> str:
    found = _LINK.fullmatch(link)
    if found is None:
        return link
    if hub := HUB.fullmatch(link):
        return f"{hub['repository']}/{hub['inner'] or ''}".rstrip("/")
    if _is_http(link):
        parts = urlsplit(link)
        return parts.path.rstrip("/") or parts.netloc.rpartition("@")[2]
    return found["rest"]


def _is_http(link: str) -> bool:
    return link.lower().startswith(("http://", "https://"))


def _check(link: str) -> None:
    if "://" not in link and not re.fullmatch(r"/.*|[A-Za-z][A-Za-z0-9+.-]*", link, re.DOTALL):
        raise UserError(f"--data-dir: {link!r} in a chain of URLs is no file system, such as zip in zip::s3://…")
    if link.startswith("hf://") and not HUB.fullmatch(link):
        raise UserError(
            f"--data-dir {link}: expected hf://datasets/OWNER/NAME, with @REVISION and /FOLDER behind it where wanted"
        )
    if _is_http(link):
        try:
            host = urlsplit(link).hostname
        except ValueError as error:
            raise UserError(f"--data-dir {_shown(link)}: {error}") from error
        if not host:
            raise UserError(f"--data-dir {_shown(link)}: there is no host in it")
        if link[:5].lower() == "http:" and not is_loopback(host):
            raise UserError(
                f"--data-dir {_shown(link)}: plain http can be read and changed on its way, and results would hang on "
                "what came; use https (http is taken from this machine itself only)"
            )


def is_loopback(host: str) -> bool:
    try:
        return host.lower() == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _shown(link: str) -> str:
    found = _LINK.fullmatch(link)
    if found is None:
        return link
    first, slash, path = found["rest"].partition("/")
    if _is_http(link):
        rest, mark, _ = found["rest"].partition("?")
        host, slash, path = rest.partition("#")[0].partition("/")
        hidden = f"{HIDDEN}@" if "@" in host else ""
        return f"{found['scheme']}://{hidden}{host.rpartition('@')[2]}{slash}{path}{mark and f'?{HIDDEN}'}"
    # A key of S3 may hold @, ? and #; a password stands before an @ and behind a colon.
    who, at, host = first.rpartition("@")
    return f"{found['scheme']}://{HIDDEN}@{host}{slash}{path}" if at and ":" in who else link


def _keyed(link: str) -> str:
    """What of a link says which data it is: without user, password and the signature of the query."""
    if not _is_http(link):
        return _shown(link) if "://" in link else f"file://{link}" if link.startswith("/") else link
    parts = urlsplit(link)
    query = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if not _SIGNATURE.fullmatch(pair[0])]
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, urlencode(sorted(query)), ""))
