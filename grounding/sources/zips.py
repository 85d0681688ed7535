"""Members of a zip file, read where they are wanted: the file itself may lie on a server, and only its parts come."""

from __future__ import annotations

import copy
import shutil
import stat
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, cast

from grounding.errors import UserError
from grounding.records import Record
from grounding.sources.bounds import check_size
from grounding.sources.reading import RangedFile
from grounding.sources.safe_paths import UnsafePath, check_together, safe_path

_GROUP_BYTES = 8 << 20
_GAP_BYTES = 64 << 10
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
_NO_DATA = ("__MACOSX",)
"""What macOS puts into archives beside the files."""


class ZipMember(Record, frozen=True, kw_only=True):
    """A file in a zip. ``mark`` is of its content; ``start`` and ``end`` are where the zip has it, in bytes."""

    path: str
    name: str
    size_bytes: int
    mark: str
    start: int
    end: int


class Zip:
    """A zip file that can be read in ranges.

    Args:
        shown: What the user knows it as.
        read: Reads a range of it.
        size: Its length in bytes.
    """

    def __init__(self, shown: str, read: Callable[[int, int], bytes], size: int) -> None:
        self._shown, self._read, self.size = shown, read, size
        try:
            self._zip = zipfile.ZipFile(cast("IO[bytes]", RangedFile(read, size)))
        except zipfile.BadZipFile as error:
            raise UserError(f"{shown}: not a whole zip file: {error}") from error
        self._by_start = {one.header_offset: one for one in self._zip.infolist()}

    def members(self, inner: str = "") -> tuple[ZipMember, ...]:
        """Every file, or every one in a folder of the zip with its path from there.

        Raises:
            UserError: one has a path that leads out of the folder, is a link or encrypted, or all together are more
                than such a file can honestly hold.
        """
        infos = [one for one in self._zip.infolist() if not one.is_dir()]
        starts = sorted({one.header_offset for one in infos} | {self._zip.start_dir})
        ends = dict(zip(starts, [*starts[1:], self.size], strict=True))
        found = []
        try:
            for one in infos:
                path = safe_path(one.filename)
                if path.split("/")[0] in _NO_DATA:
                    continue
                if inner:
                    if not path.startswith(f"{inner}/"):
                        continue
                    path = path.removeprefix(f"{inner}/")
                self._check(one)
                found.append(
                    ZipMember(
                        path=path,
                        name=one.filename,
                        size_bytes=one.file_size,
                        mark=f"crc={one.CRC:08x} size={one.file_size}",
                        start=one.header_offset,
                        end=ends[one.header_offset],
                    )
                )
            check_together(one.path for one in found)
        except UnsafePath as error:
            raise UserError(f"{self._shown}: not unpacked: {error}") from error
        if not found:
            raise UserError(f"{self._shown}: there is no file in {f'its folder {inner}' if inner else 'it'}")
        check_size(self._shown, sum(one.size_bytes for one in found), self.size)
        return tuple(found)

    def _check(self, info: zipfile.ZipInfo) -> None:
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind not in (0, stat.S_IFREG):
            raise UnsafePath(f"{info.filename!r} is a link or no file; unpack it yourself and give the folder")
        if info.flag_bits & 1:
            raise UnsafePath(f"{info.filename!r} is encrypted; unpack it yourself and give the folder")

    def read(self, member: ZipMember, *, most_bytes: int) -> bytes:
        """One member's bytes; its checksum was right.

        Raises:
            UserError: it is larger than ``most_bytes``, or damaged.
        """
        if member.size_bytes > most_bytes:
            raise UserError(f"{self._shown}: {member.path} has more than {most_bytes:,} bytes")
        try:
            with self._window((member,)).open(self._by_start[member.start]) as source:
                return source.read()
        except _DAMAGE as error:
            raise UserError(f"{self._shown}: {member.path}: can't be unpacked: {error}") from error

    def unpack(
        self,
        members: Sequence[ZipMember],
        part: Path,
        put: Callable[[ZipMember], None],
        moved: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Write members to ``part``, one after the other, and call ``put`` when one is whole; its checksum was right.

        Members that lie behind each other come in one request. Several threads may unpack at once.

        Raises:
            UserError: the zip is damaged.
        """
        members = sorted(members, key=lambda one: one.start)
        mine = self._window(members, moved)
        for member in members:
            try:
                with mine.open(self._by_start[member.start]) as source, part.open("wb") as target:
                    shutil.copyfileobj(source, target, 1 << 20)
            except _DAMAGE as error:
                raise UserError(f"{self._shown}: {member.path}: can't be unpacked: {error}") from error
            if part.stat().st_size != member.size_bytes:
                raise UserError(f"{self._shown}: {member.path}: shorter than the zip says")
            put(member)

    def _window(self, members: Sequence[ZipMember], moved: Callable[[int], None] = lambda _: None) -> zipfile.ZipFile:
        """The zip once more, its directory not read again, read through a window that ends with these members."""
        mine = copy.copy(self._zip)
        vars(mine)["_lock"] = (
            threading.RLock()
        )  # Its own: under a common one threads would wait for each other's reads.
        until = max(one.end for one in members)
        mine.fp = cast("IO[bytes]", RangedFile(self._read, self.size, until=until, moved=moved))
        return mine


def grouped(members: Sequence[ZipMember]) -> Iterator[tuple[ZipMember, ...]]:
    """Members by neighbourhood: what lies behind each other in the zip, up to some megabytes."""
    group: list[ZipMember] = []
    for member in sorted(members, key=lambda one: one.start):
        if group and (member.start - group[-1].end > _GAP_BYTES or member.end - group[0].start > _GROUP_BYTES):
            yield tuple(group)
            group = []
        group.append(member)
    if group:
        yield tuple(group)
