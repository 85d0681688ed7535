"""Members of a tar file on this machine's disk, compressed or not, read from front to back."""

from __future__ import annotations

import shutil
import tarfile
import zlib
from collections.abc import Callable
from lzma import LZMAError
from pathlib import Path
from typing import IO

from grounding.errors import UserError
from grounding.records import Record
from grounding.sources.bounds import check_size
from grounding.sources.safe_paths import UnsafePath, check_together, safe_path

_MOST_MEMBERS = 5_000_000


class TarMember(Record, frozen=True, kw_only=True):
    """A file in a tar, by its path in the folder that it goes to."""

    path: str
    size_bytes: int


def unpack_tar(
    archive: Path,
    shown: str,
    part: Path,
    *,
    inner: str,
    wanted: Callable[[TarMember], bool],
    put: Callable[[TarMember], None],
    moved: Callable[[int], None] = lambda _: None,
) -> tuple[TarMember, ...]:
    """Write the files that are wanted to ``part``, one after the other, and call ``put`` when one is whole.

    Everything is looked at as it comes by, so that a bomb is noticed before it is written.

    Args:
        archive: The tar on this machine.
        shown: What the user knows it as.
        part: Where each file is written first.
        inner: The folder in the archive that is wanted, "" for all.
        wanted: Whether a file is to be written.
        put: Called with each that was.
        moved: Told of the bytes that were written.

    Returns:
        Every file in it, or in the folder.

    Raises:
        UserError: a path leads out of the folder, there is a link, it holds more than it honestly can, or is damaged.
    """
    packed_bytes, total, found = archive.stat().st_size, 0, []
    try:
        with tarfile.open(archive, "r|*") as tar:
            for number, info in enumerate(tar):
                if number > _MOST_MEMBERS:
                    raise UserError(f"{shown}: more than {_MOST_MEMBERS:,} files: unpack it yourself")
                total += info.size
                check_size(shown, total, packed_bytes)
                member = _member(info, inner)
                if member is None:
                    continue
                found.append(member)
                if wanted(member):
                    source = tar.extractfile(info)
                    if source is None:
                        raise UnsafePath(f"{info.name!r} is no file")
                    _write(source, part, member, shown)
                    moved(member.size_bytes)
                    put(member)
        check_together(one.path for one in found)
    except UnsafePath as error:
        raise UserError(f"{shown}: not unpacked: {error}") from error
    except (tarfile.TarError, zlib.error, EOFError, LZMAError) as error:
        raise UserError(f"{shown}: not a whole tar file: {error}") from error
    if not found:
        raise UserError(f"{shown}: there is no file in {f'its folder {inner}' if inner else 'it'}")
    return tuple(found)


def _member(info: tarfile.TarInfo, inner: str) -> TarMember | None:
    """A file of the tar; None for a folder, and for what is not in the wanted one."""
    if info.isdir():
        return None
    path = safe_path(info.name)
    if not info.isreg():
        raise UnsafePath(f"{info.name!r} is a link or a device; unpack it yourself and give the folder")
    # macOS' tar puts what it knows besides a file into one of this name.
    if path.split("/")[-1].startswith("._"):
        return None
    if inner:
        if not path.startswith(f"{inner}/"):
            return None
        path = path.removeprefix(f"{inner}/")
    return TarMember(path=path, size_bytes=info.size)


def _write(source: IO[bytes], part: Path, member: TarMember, shown: str) -> None:
    with part.open("wb") as target:
        shutil.copyfileobj(source, target, 1 << 20)
    if part.stat().st_size != member.size_bytes:
        raise UserError(f"{shown}: {member.path}: shorter than the tar says")
