"""Make a folder of the cache hold what an address holds: only what is missing or has changed is fetched."""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from pathlib import Path

from grounding.errors import UserError
from grounding.sources.address import Address
from grounding.sources.archives import fetch_archive
from grounding.sources.filling import Filling
from grounding.sources.kept import SourceFolder
from grounding.sources.kinds import recognised
from grounding.sources.listing import RemoteFile, describe_file, list_files
from grounding.sources.opening import OFFLINE, Opened, failures, is_offline, is_unreachable, open_address, told
from grounding.sources.reading import fetch_file, trying


def sync(address: Address) -> Path:
    """The local folder of an address, holding what the address holds now.

    What was fetched before and has not changed is not fetched again; a fetch that was killed goes on. Two processes
    that want the same address fetch it once. The folder stays as it is while this process lives.

    Raises:
        UserError: it can't be read, or what is there can't be kept here; says what to do.
    """
    folder = SourceFolder(address)
    if is_offline():
        return _as_it_is(folder, why=f"{OFFLINE} is set, so nothing is fetched")
    try:
        opened = open_address(address)
        found = recognised(address, opened)
        # What is there is looked at first: where there is nothing, no folder is made for it.
        if found.archive is None:
            files = list_files(address, opened)
            with folder.alone():
                _fetch_folder(folder, opened, files)
                folder.use()
        else:
            remote = trying(lambda: describe_file(opened, opened.path))
            with folder.alone():
                fetch_archive(folder, found, opened, remote)
                folder.use()
    except failures() as error:
        if not _is_complete(folder):
            raise told(address, error) from error
        if not is_unreachable(error):
            raise UserError(f"{told(address, error)}. With {OFFLINE}=1 the copy from before is used") from error
        why = f"{address.shown}: nobody answers ({type(error).__name__})"
        print(f"grounding: warning: {why}; the copy from before is used", file=sys.stderr, flush=True)
        return _as_it_is(folder, why="nobody answers")
    return folder.data


def _fetch_folder(folder: SourceFolder, opened: Opened, listed: Sequence[RemoteFile]) -> None:
    files = {one.path: one for one in listed}
    filling = Filling(folder, {path: one.mark for path, one in files.items()})
    missing = [files[path] for path in filling.missing]
    sizes = [one.size_bytes for one in missing]
    with filling.going_on(None if None in sizes else sum(size or 0 for size in sizes)) as transfer:

        def fetch(path: str) -> None:
            part = filling.part(path)
            fetch_file(opened, files[path], part, transfer.more)
            filling.put(part, path)

        filling.work((functools.partial(fetch, one.path) for one in missing), at_once=None if opened.is_async else 1)


def _is_complete(folder: SourceFolder) -> bool:
    state = folder.state()
    if state is None or not state.complete:
        return False
    fetched = folder.fetched()
    return len(fetched) == state.files and all(map(folder.is_there, fetched.values()))


def _as_it_is(folder: SourceFolder, why: str) -> Path:
    if not _is_complete(folder):
        raise UserError(f"{folder.address.shown}: {why}, and there is no complete copy from before in {folder.path}")
    folder.use()
    return folder.data
