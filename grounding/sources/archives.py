"""Fill a folder of the cache from an archive: a zip by its parts where the server sends parts, others as a whole."""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Callable
from pathlib import Path

from grounding.sources.address import Address
from grounding.sources.bounds import check_room
from grounding.sources.filling import Filling
from grounding.sources.kept import SourceFolder
from grounding.sources.listing import RemoteFile
from grounding.sources.opening import Opened
from grounding.sources.reading import NoRanges, Ranges, fetch_file
from grounding.sources.tars import TarMember, unpack_tar
from grounding.sources.working import Transfer
from grounding.sources.zips import Zip, ZipMember, grouped


def fetch_archive(folder: SourceFolder, address: Address, opened: Opened, remote: RemoteFile) -> None:
    """Make the folder hold what the archive holds.

    Args:
        folder: The folder, which nobody else fetches into now.
        address: The archive's, whose kind is known.
        opened: Its file system.
        remote: The archive as the file system describes it.

    Raises:
        UserError: the archive is damaged, or holds what is not unpacked.
        Exception: whatever the file system raises.
    """
    state = folder.state()
    if state is not None and state.complete and state.archive_mark == remote.mark:
        # The archive is the same: the record of its files says what there should be.
        fetched = folder.fetched()
        filling = Filling(folder, {path: one.mark for path, one in fetched.items()})
        if len(fetched) == state.files and filling.is_done:
            return
    if address.archive == "zip":
        _fetch_zip(folder, address, opened, remote)
    else:
        _fetch_tar(folder, address, opened, remote)


def _fetch_zip(folder: SourceFolder, address: Address, opened: Opened, remote: RemoteFile) -> None:
    if remote.size_bytes is not None:
        try:
            _unzip(folder, address, Ranges(opened, remote.at, remote.size_bytes), remote.size_bytes, remote.mark)
        except NoRanges:
            print(
                f"grounding: {address.shown}: the server sends no parts of files: the whole archive is fetched",
                file=sys.stderr,
                flush=True,
            )
        else:
            return
    archive = _fetch_whole(folder, address, opened, remote)
    _unzip(folder, address, functools.partial(_range_of, archive), archive.stat().st_size, remote.mark)


def _unzip(
    folder: SourceFolder, address: Address, read: Callable[[int, int], bytes], size: int, archive_mark: str
) -> None:
    packed = Zip(address.shown, read, size)
    members = {one.path: one for one in packed.members(address.inner)}
    filling = Filling(folder, {path: one.mark for path, one in members.items()})
    missing = [members[path] for path in filling.missing]
    with filling.going_on(sum(one.size_bytes for one in missing), archive_mark) as transfer:

        def unpack(group: tuple[ZipMember, ...]) -> None:
            part = filling.part(group[0].path)

            def put(member: ZipMember) -> None:
                transfer.more(member.size_bytes)
                filling.put(part, member.path)

            packed.unpack(group, part, put)

        filling.work(functools.partial(unpack, group) for group in grouped(missing))


def _fetch_tar(folder: SourceFolder, address: Address, opened: Opened, remote: RemoteFile) -> None:
    archive = _fetch_whole(folder, address, opened, remote)
    packed = hashlib.sha256(remote.mark.encode()).hexdigest()[:16]

    def mark(member: TarMember) -> str:
        return f"in={packed} size={member.size_bytes}"

    # Before anything is written all of it is looked at: what is not wanted is not written.
    members = unpack_tar(
        archive, address.shown, folder.parts / "none", inner=address.inner, wanted=lambda _: False, put=lambda _: None
    )
    filling = Filling(folder, {one.path: mark(one) for one in members})
    missing = frozenset(filling.missing)
    needed = sum(one.size_bytes for one in members if one.path in missing)
    with filling.going_on(needed, remote.mark) as transfer:
        part = folder.parts / "member"
        unpack_tar(
            archive,
            address.shown,
            part,
            inner=address.inner,
            wanted=lambda member: member.path in missing,
            put=lambda member: filling.put(part, member.path),
            moved=transfer.more,
        )


def _fetch_whole(folder: SourceFolder, address: Address, opened: Opened, remote: RemoteFile) -> Path:
    """The archive as a file of this machine; it is deleted when everything in it lies in its place."""
    if not opened.is_async and opened.fs.protocol in ("file", ("file", "local")):
        return Path(opened.path)
    size = remote.size_bytes
    check_room(folder.path, size or 0, address.shown)
    whole = folder.parts / f"whole-{hashlib.sha256(remote.mark.encode()).hexdigest()[:24]}"
    if not (size is not None and whole.exists() and whole.stat().st_size == size):
        transfer = Transfer(address.shown, size, 1)
        with transfer.shown():
            fetch_file(opened, remote, whole, transfer.more)
            transfer.one_done()
    return whole


def _range_of(path: Path, start: int, end: int) -> bytes:
    with path.open("rb") as file:
        file.seek(start)
        return file.read(end - start)
