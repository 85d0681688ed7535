"""What lies at an address: every file with its size and a mark that changes when the file does."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import unquote, urljoin

from grounding.errors import UserError
from grounding.records import Record
from grounding.sources.address import Address
from grounding.sources.opening import Opened
from grounding.sources.safe_paths import UnsafePath, check_together, safe_path

AT_ONCE = 16
"""How many questions about single files are open at once."""

_DEEPEST = 12
_MOST_FILES = 5_000_000
_MARKS = ("ETag", "etag", "md5Hash", "md5", "checksum", "sha256", "Content-MD5", "generation", "CRC")
_TIMES = ("LastModified", "Last-Modified", "updated", "mtime", "last_modified", "modified", "created", "date_time")


class RemoteFile(Record, frozen=True, kw_only=True):
    """A file at an address.

    ``path`` is relative to the data's folder, ``at`` what the file system calls it. ``size_bytes`` is None where the
    server doesn't say; ``mark`` is made of its ETag or hash, size and time, as far as there are any.
    """

    path: str
    at: str
    size_bytes: int | None
    mark: str


def list_files(address: Address, opened: Opened) -> tuple[RemoteFile, ...]:
    """Every file below a folder's address, by path.

    Raises:
        UserError: there are none, or one's name can't be a file's here.
        FileNotFoundError: there is no such place; or whatever else the file system raises.
    """
    found = _crawl(opened) if opened.is_http else _find(opened)
    files = []
    try:
        for relative, at, info in found:
            files.append(_remote(safe_path(relative), at, info))
        check_together(one.path for one in files)
    except UnsafePath as error:
        raise UserError(f"{address.shown}: not a folder of data: {error}") from error
    if not files:
        raise FileNotFoundError(address.shown)
    return tuple(sorted(files, key=lambda one: one.path))


def describe_file(opened: Opened, path: str) -> RemoteFile:
    """One file, such as an archive. Raises what the file system raises where there is none."""
    return _remote(path.rstrip("/").rpartition("/")[2] or "data", path, opened.fs.info(path))


def _remote(path: str, at: str, info: Mapping[str, Any]) -> RemoteFile:
    size = info.get("size")
    return RemoteFile(path=path, at=at, size_bytes=size if isinstance(size, int) else None, mark=mark_of(info))


def mark_of(info: Mapping[str, Any]) -> str:
    """What tells a file from a changed one: ETag or hash and size; its time where the server names no ETag or hash."""
    named = [f"{name}={info[name]}" for name in _MARKS if info.get(name) not in (None, "")]
    if not named:
        named = [f"{name}={info[name]}" for name in _TIMES if info.get(name) not in (None, "")]
    return " ".join([*named, f"size={info.get('size')}"])


def _find(opened: Opened) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    root = opened.path.rstrip("/")
    for at, info in opened.fs.find(opened.path, detail=True).items():
        # An object "folder/" of no bytes is how some tools draw a folder in a bucket.
        if info.get("type") == "directory" or at.endswith("/"):
            continue
        if at.rstrip("/") == root.rstrip("/"):
            raise UserError(f"{at}: one file and no folder: give its folder, or an archive (.zip, .tar.gz)")
        yield at.removeprefix(root).lstrip("/") if root else at, at, info


def _crawl(opened: Opened) -> list[tuple[str, str, Mapping[str, Any]]]:
    """Walk the pages that servers make of folders: links to what lies below are files, and with a / at the end folders.

    Links that lead elsewhere, and those that only sort the page, are left alone.
    """
    from yarl import URL

    root = str(URL(opened.path).with_query(None).with_fragment(None)).rstrip("/") + "/"
    level, seen, files = [root], {root}, dict[str, str]()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for _ in range(_DEEPEST):
            deeper: list[str] = []
            for page, links in zip(level, pool.map(_links(opened), level), strict=True):
                for link in links:
                    at = urljoin(page, link)
                    below = at.removeprefix(page)
                    if not at.startswith(page) or at in seen or not below or ".." in below.split("/"):
                        continue
                    seen.add(at)
                    if at.endswith("/"):
                        deeper.append(at)
                    else:
                        files[at] = unquote(at.removeprefix(root))
            if len(seen) > _MOST_FILES:
                raise UserError(f"{root}: more than {_MOST_FILES:,} files: give an archive instead of a listing")
            level = deeper
            if not level:
                break
        infos = pool.map(opened.fs.info, files)
        return [(relative, at, info) for (at, relative), info in zip(files.items(), infos, strict=True)]


def _links(opened: Opened) -> Callable[[str], list[str]]:
    def links(page: str) -> list[str]:
        found = []
        for one in opened.fs.ls(page, detail=False):
            link = html.unescape(str(one))
            if "?" not in link and "#" not in link:
                found.append(link)
        return found

    return links
