"""A screenshot where a worker is: at its path, from where the data came, or from the process that writes the run.

What comes from elsewhere is kept by the hash of its bytes in ``pictures`` in this machine's cache folder, which all
workers on it share. That folder is kept below ``MOST_BYTES``: what was not used for longest goes first, and nothing
that was used within the last hour, as somebody may be about to read it.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import tempfile
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import msgspec

from grounding.errors import UserError
from grounding.places import cache_dir
from grounding.records import Record, Screenshot
from grounding.sources.picture_store import PictureStore

if TYPE_CHECKING:
    from grounding.executors.recipe import DataPlace

MOST_REMEMBERED = 200_000
"""So many files are known to be right without being read again; about 100 MB of memory."""

MOST_BYTES = 50_000_000_000


class _Checked(Record, frozen=True, kw_only=True):
    """A file whose hash was right when it had this size and time."""

    sha256: str
    size_bytes: int
    mtime_ns: int
    found: Screenshot


_checked: dict[str, _Checked] = {}
_under_way: dict[tuple[int, str, str], asyncio.Task[Screenshot]] = {}


async def located(
    screenshot: Screenshot,
    place: DataPlace | None,
    want: Callable[[Screenshot], Awaitable[bytes | None]],
) -> Screenshot:
    """The same screenshot with a path that can be read on this machine; its bytes have the screenshot's hash.

    A file is read for its hash once in a process, and again when its size or time has changed. Requests for one
    screenshot at the same time are one.

    Args:
        screenshot: As the process that writes the run knows it.
        place: Where the data set's files were read from; None where nobody knows.
        want: Asks the process that writes the run for the bytes; None where it can't read them either.

    Raises:
        OSError: it can be read nowhere; says what was tried.
    """
    known = _checked.get(screenshot.path)
    if known is not None and known.sha256 == screenshot.sha256:
        try:
            status = os.stat(known.found.path)  # noqa: PTH116 - a Path is most of the time this takes
        except OSError:
            status = None
        if status is not None and status.st_size == known.size_bytes and status.st_mtime_ns == known.mtime_ns:
            return known.found if known.found.size == screenshot.size else _at(screenshot, Path(known.found.path))
    key = (id(asyncio.get_running_loop()), screenshot.path, screenshot.sha256)
    task = _under_way.get(key)
    if task is None:
        # A task of its own: whoever asked first may be cancelled while others wait.
        task = _under_way[key] = asyncio.get_running_loop().create_task(_find(screenshot, place, want))
        task.add_done_callback(lambda done: _ended(key, done))
    return await asyncio.shield(task)


def _ended(key: tuple[int, str, str], task: asyncio.Task[Screenshot]) -> None:
    _under_way.pop(key, None)
    if not task.cancelled():
        task.exception()  # Looked at: an error that nobody waits for any more is nobody's.


async def _find(
    screenshot: Screenshot, place: DataPlace | None, want: Callable[[Screenshot], Awaitable[bytes | None]]
) -> Screenshot:
    tried: list[str] = []
    if await asyncio.to_thread(_is_right, Path(screenshot.path), screenshot, tried):
        return _remember(screenshot, screenshot)
    store = _store()
    kept = await asyncio.to_thread(store.get, screenshot.sha256)
    if kept is not None:
        return _remember(screenshot, _at(screenshot, kept))
    content = None if place is None else await asyncio.to_thread(_read_at, place, screenshot, tried)
    if content is None:
        content = await want(screenshot)
        if content is None:
            tried.append("the process that writes the run can't read it either")
        elif hashlib.sha256(content).hexdigest() != screenshot.sha256:
            tried.append("the process that writes the run has another picture there by now")
            content = None
    if content is None:
        raise OSError(f"the screenshot {screenshot.path} can't be read on this machine: {'; '.join(tried)}")
    ending = PurePath(screenshot.path).suffix
    return _remember(
        screenshot, _at(screenshot, await asyncio.to_thread(store.put, screenshot.sha256, content, ending))
    )


def _at(screenshot: Screenshot, path: Path) -> Screenshot:
    return msgspec.structs.replace(screenshot, path=str(path))


def _remember(asked: Screenshot, found: Screenshot) -> Screenshot:
    status = Path(found.path).stat()
    while len(_checked) >= MOST_REMEMBERED:
        del _checked[next(iter(_checked))]
    _checked[asked.path] = _Checked(
        sha256=asked.sha256, size_bytes=status.st_size, mtime_ns=status.st_mtime_ns, found=found
    )
    return found


def _is_right(path: Path, screenshot: Screenshot, tried: list[str]) -> bool:
    """Whether the file at a path is the one that is meant: another machine may have another under its name."""
    try:
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() == screenshot.sha256:
                return True
        tried.append("the file at this path is another one here")
    except OSError as error:
        tried.append(f"not at this path ({error.strerror})")
    return False


def _read_at(place: DataPlace, screenshot: Screenshot, tried: list[str]) -> bytes | None:
    """The bytes from where the data set was read; None where they can't be had there."""
    if not place.url:
        return None
    from grounding.sources.opening import failures
    from grounding.sources.single import read_one

    try:
        relative = PurePath(screenshot.path).relative_to(place.root).as_posix()
    except ValueError:
        tried.append(f"not one of the files of {place.url}")
        return None
    expected: tuple[type[Exception], ...] = (UserError, ValueError, OSError)
    try:
        content = read_one(place.url, relative)
    except (*expected, *failures()) as error:
        tried.append(f"not from {place.url} ({' '.join(str(error).split())[:300] or type(error).__name__})")
        return None
    if content is None:
        tried.append(f"single files of {place.url} can't be read")
    elif hashlib.sha256(content).hexdigest() != screenshot.sha256:
        tried.append(f"another picture by now at {place.url}")
        return None
    return content


@cache
def _store() -> PictureStore:
    folder = cache_dir()
    # Without a cache folder pictures are kept as long as this machine keeps its temporary files.
    place = Path(tempfile.mkdtemp(prefix="grounding-pictures-")) if folder is None else folder / "pictures"
    return PictureStore(place, most_bytes=MOST_BYTES)
