"""What an address without a telling end is: a folder, or an archive by what the server or its first bytes say."""

from __future__ import annotations

import msgspec

from grounding.errors import UserError
from grounding.sources.address import Address, ArchiveKind, archive_kind
from grounding.sources.opening import Opened
from grounding.sources.reading import trying

_TYPES: dict[str, ArchiveKind] = {
    **{"application/zip": "zip", "application/x-zip-compressed": "zip", "application/x-tar": "tar"},
    **{"application/gzip": "tar", "application/x-gzip": "tar", "application/x-gtar": "tar"},
}
_PAGES = ("text/html", "application/xhtml+xml")


def recognised(address: Address, opened: Opened) -> Address:
    """The address with the kind of archive that a web server says it is; others are what their names say.

    Download links often end with no file's name: then the type of the answer tells, or its first bytes.

    Raises:
        UserError: it is a single file that is no archive.
    """
    if address.archive is not None or not opened.is_http or opened.path.partition("?")[0].endswith("/"):
        return address
    info = trying(lambda: opened.fs.info(opened.path))
    kind = _TYPES.get(str(info.get("mimetype", ""))) or archive_kind(str(info.get("url", "")).partition("?")[0])
    if kind is None and info.get("mimetype") not in _PAGES:
        kind = _by_first_bytes(opened)
        if kind is None:
            raise UserError(
                f"{address.shown}: one file that is neither zip nor tar: give the address of a folder (with a / at its "
                "end) or of an archive"
            )
    return msgspec.structs.replace(address, archive=kind)


def _by_first_bytes(opened: Opened) -> ArchiveKind | None:
    with opened.fs.open(opened.path, "rb", block_size=0) as file:
        start: bytes = file.read(512)
    if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "zip"
    packed = start.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00"))
    return "tar" if packed or start[257:262] == b"ustar" else None
