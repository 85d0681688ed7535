"""One file out of a data set that lies elsewhere, without the rest of it."""

from __future__ import annotations

import threading
from functools import lru_cache
from urllib.parse import quote

from grounding.sources.address import Address, parse_address
from grounding.sources.listing import describe_file
from grounding.sources.opening import Opened, is_offline, open_address
from grounding.sources.reading import NoRanges, Ranges, trying
from grounding.sources.safe_paths import UnsafePath, safe_path
from grounding.sources.zips import Zip, ZipMember

MOST_BYTES = 1 << 28
"""No screenshot is larger."""

_lock = threading.Lock()


def read_one(url: str, relative: str) -> bytes | None:
    """The bytes of a file of a data set; None where single ones can't be read there.

    Out of a folder or a zip a file is read on its own; a tar has to be read from its beginning, and what a URL had of
    secrets only the process knows that it was given to.

    Args:
        url: The data set's address, as it is shown.
        relative: The file's path in the data set.

    Raises:
        UserError: the address can't be opened.
        ValueError: the path leads out of the data set.
        Exception: whatever the file system raises, as where there is no such file.
    """
    try:
        path = safe_path(relative)
    except UnsafePath as error:
        raise ValueError(str(error)) from error
    address = parse_address(url)
    if address is None or address.has_secrets or address.archive == "tar" or is_offline():
        return None
    if address.archive == "zip":
        return _from_zip(address, path)
    opened = _opened(address)
    root = opened.path.partition("?")[0] if opened.is_http else opened.path
    at = f"{root.rstrip('/')}/{quote(path) if opened.is_http else path}"
    content: bytes = trying(lambda: opened.fs.cat_file(at))
    return content


class _OpenZip:
    """A zip whose directory was read."""

    def __init__(self, address: Address) -> None:
        opened = _opened(address)
        remote = describe_file(opened, opened.path)
        if remote.size_bytes is None:
            raise NoRanges("the server doesn't say how long it is")
        self.packed = Zip(address.shown, Ranges(opened, remote.at, remote.size_bytes), remote.size_bytes)
        self.members: dict[str, ZipMember] = {one.path: one for one in self.packed.members(address.inner)}


def _from_zip(address: Address, path: str) -> bytes | None:
    try:
        with _lock:
            archive = _zip(address)
        member = archive.members.get(path)
        if member is None:
            raise FileNotFoundError(f"{path} is not in {address.shown}")
        return archive.packed.read(member, most_bytes=MOST_BYTES)
    except NoRanges:
        return None


@lru_cache(4)
def _zip(address: Address) -> _OpenZip:
    return _OpenZip(address)


@lru_cache(8)
def _opened(address: Address) -> Opened:
    return open_address(address)
