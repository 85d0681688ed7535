"""Make a folder of the cache hold what an address holds: fetched once, found again, whole or not there at all.

Each address has a folder ``data/<name>-<key>`` in the cache. In it ``files`` holds the data and ``source.json``, which
says what they are; ``partial`` the same while they come; ``parts`` single files on their way. ``partial`` becomes
``files`` in one step once everything is there, so a fetch that was killed goes on and nobody ever reads half of it. Of
the hub's data sets ``files`` holds a link into the cache of huggingface_hub, which fetches them. Everything else is
read through fsspec; archives come whole and are unpacked by safe paths, bounded in number and size, without links.
"""

import contextlib
import fcntl
import functools
import hashlib
import html
import os
import shutil
import stat
import sys
import tarfile
import threading
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from lzma import LZMAError
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast
from urllib.parse import unquote, urljoin

import msgspec

from grounding.atomic import atomic_write
from grounding.cards.places import cache_dir
from grounding.data.address import Address, UnsafePath, safe_path
from grounding.data.filesystems import (
    OFFLINE,
    again,
    failures,
    file_system,
    hub_path,
    is_http,
    is_set,
    is_unreachable,
    told,
)
from grounding.errors import UserError
from grounding.records import Record

CHUNK_BYTES = 16 << 20
"""What one request asks for, of larger files; a transfer that breaks off goes on behind the last whole chunk."""
HARMLESS_BYTES, MOST_RATIO = 1 << 30, 200
"""What any archive may hold, however small it is packed, and how many times its own length a larger one may hold: text
packs tenfold, deflate's most is 1032."""
_SPARE_BYTES = 64 << 20
_AT_ONCE = 8
_MOST_FOLDERS, _MOST_MEMBERS, _MOST_HEADER_BYTES = 100_000, 5_000_000, 1 << 20
_MARKS = ("ETag", "etag", "md5Hash", "md5", "checksum", "sha256", "Content-MD5", "generation")
_TIMES = ("LastModified", "Last-Modified", "updated", "mtime", "last_modified", "modified", "created")
_DAMAGE = (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, LZMAError, RuntimeError, ValueError)
_Moved = Callable[[int], None]


class File(Record, frozen=True, kw_only=True):
    """A file to fetch: its path in the data set, its name where it comes from, and a mark that changes when it does.
    ``size_bytes`` is None where nobody says.
    """

    path: str
    at: str
    size_bytes: int | None
    mark: str


class _State(Record, frozen=True, kw_only=True):
    """What lies beside the data: where they are from, what they were there, and the mark of every file."""

    address: str
    mark: str
    files: dict[str, str] = msgspec.field(default_factory=dict)


class _Source(Record, frozen=True, kw_only=True):
    """What an address holds now; ``mark`` changes when that does. ``files`` are to be fetched from ``fs``; ``link`` is
    the folder where they are already, ``archive`` the file on this machine that they are packed in.
    """

    mark: str
    files: tuple[File, ...] = ()
    fs: Any = None
    link: Path | None = None
    archive: Path | None = None


class _Stopped(Exception):
    """Another transfer failed, or the user broke off."""


def fetch(address: Address) -> None:
    """Make ``address.data`` hold what the address holds now.

    What was fetched before and has not changed is not fetched again. Two processes that want the same address fetch it
    once. Where nobody answers, the copy from before is used, and that is said. Raises UserError: it can't be read, or
    what is there can't be kept here; says what to do.
    """
    if is_set(OFFLINE) and address.data.is_dir():
        return
    if is_set(OFFLINE) and address.kind != "hub":
        raise UserError(f"{address.shown}: {OFFLINE} is set, and there is no copy from before in {address.home}")
    try:
        source = _look(address)  # Where there is nothing, no folder is made for it.
        with _alone(address):
            _fill(address, source)
            os.utime(address.home)  # `grounding cache` tells how long ago it was last used.
    except failures() as error:
        if not (address.data.is_dir() and is_unreachable(error)):
            copy = f". With {OFFLINE}=1 the copy from before is used" if address.data.is_dir() else ""
            raise UserError(f"{told(address, error)}{copy}") from error
        print(f"grounding: warning: {told(address, error)}; the copy from before is used", file=sys.stderr)


# --- what an address holds ------------------------------------------------------------------------------------------


def _look(address: Address) -> _Source:
    if address.kind == "hub":
        snapshot = hub_path(address)
        return _Source(mark=str(snapshot), link=snapshot)
    if address.kind == "folder":
        fs, path = file_system(address)
        files = _listed(address, fs, path)
        return _Source(mark=_hash("\n".join(f"{one.path}\n{one.mark}" for one in files)), files=files, fs=fs)
    is_hub = address.url.startswith("hf://")
    if is_hub or address.url.startswith("/"):
        local = hub_path(address) if is_hub else Path(address.url)
        if not local.is_file():
            raise UserError(f"{address.shown}: there is no such file")
        status = local.stat()
        return _Source(mark=f"{local.name} time={status.st_mtime_ns} size={status.st_size}", archive=local)
    fs, path = file_system(address)
    info = again(lambda: fs.info(path)) if is_http(fs) else fs.info(path)
    packed = File(path=address.name, at=path, size_bytes=info.get("size"), mark=_mark(info))
    return _Source(mark=packed.mark, files=(packed,), fs=fs)


def _listed(address: Address, fs: Any, root: str) -> tuple[File, ...]:
    is_web = is_http(fs)
    found = _crawled(fs, root) if is_web else fs.find(root, detail=True)
    base = (root.partition("?")[0] if is_web else root).rstrip("/") + "/"
    files = []
    try:
        for at, info in found.items():
            # An object "folder/" of no bytes is how some tools draw a folder in a bucket.
            if info.get("type") == "directory" or at.endswith("/"):
                continue
            if at.rstrip("/") + "/" == base:
                raise UserError(f"{address.shown}: one file and no folder: give its folder, or zip::URL or tar::URL")
            relative = at.removeprefix(base)
            path = safe_path(unquote(relative) if is_web else relative)
            files.append(File(path=path, at=at, size_bytes=info.get("size"), mark=_mark(info)))
        folders = {str(above) for one in files for above in PurePosixPath(one.path).parents}
        if twice := next((one.path for one in files if one.path in folders), ""):
            raise UnsafePath(f"{twice!r} is a file and a folder at once")
    except UnsafePath as error:
        raise UserError(f"{address.shown}: not a folder of data: {error}") from error
    if not files:
        raise FileNotFoundError(address.shown)
    return tuple(sorted(files, key=lambda one: one.path))


def _crawled(fs: Any, root: str) -> Mapping[str, Mapping[str, Any]]:
    """What the pages that web servers make of folders link to below themselves; links that only sort are left alone."""
    info = again(lambda: fs.info(root))
    if info.get("mimetype", "text/html") != "text/html":
        return {root: info}
    pages, files = [root.partition("?")[0].rstrip("/") + "/"], dict[str, None]()
    for page in pages:
        for link in again(functools.partial(fs.ls, page, detail=False)):
            at = urljoin(page, html.unescape(str(link)))
            below = at.removeprefix(page)
            if not below or below == at or {"?", "#"} & set(below) or ".." in below.split("/") or at in pages:
                continue
            if at.endswith("/"):
                pages.append(at)
            else:
                files[at] = None
        if len(pages) > _MOST_FOLDERS:
            raise OSError(f"more than {_MOST_FOLDERS:,} folders: give an archive instead of a listing")
    with ThreadPoolExecutor(2 * _AT_ONCE) as pool:
        return dict(zip(files, pool.map(lambda at: again(lambda: fs.info(at)), files), strict=True))


def _mark(info: Mapping[str, Any]) -> str:
    """What tells a file from a changed one: ETag or hash and size; its time where the server names no ETag or hash."""
    named = [f"{name}={info[name]}" for name in _MARKS if info.get(name)]
    named = named or [f"{name}={info[name]}" for name in _TIMES if info.get(name)]
    return " ".join([*named, f"size={info.get('size')}"])


# --- into the cache -------------------------------------------------------------------------------------------------


def _fill(address: Address, source: _Source) -> None:
    home, data, partial = address.home, address.data, address.home / "partial" / address.name
    kept, begun = _read_state(home / "files"), _read_state(home / "partial")
    if kept is not None and kept.mark == source.mark and data.is_dir():
        return
    is_packed = address.kind in ("zip", "tar")
    state = _State(address=address.shown, mark=source.mark, files={one.path: one.mark for one in source.files})
    if begun is None or begun.mark != source.mark or is_packed or source.link is not None:
        shutil.rmtree(partial.parent, ignore_errors=True)
        partial.parent.mkdir(parents=True)
        if source.link is not None:
            partial.symlink_to(source.link, target_is_directory=True)
        for one in () if kept is None or is_packed else source.files:
            if kept is not None and kept.files.get(one.path) == one.mark:
                (partial / one.path).parent.mkdir(parents=True, exist_ok=True)
                with contextlib.suppress(OSError):
                    os.link(data / one.path, partial / one.path)
        atomic_write(partial.parent / "source.json", msgspec.json.encode(state))
    if is_packed:
        archive = source.archive
        if archive is None:
            _transfer(address, source, source.files, home / "parts")
            archive = home / "parts" / source.files[0].path
        _check_room(address, archive.stat().st_size)
        _unpack(address, archive, partial)
    elif missing := [one for one in source.files if not (partial / one.path).exists()]:
        _transfer(address, source, missing, partial)
    os.sync()
    old = home / "old"
    shutil.rmtree(old, ignore_errors=True)
    with contextlib.suppress(FileNotFoundError):
        (home / "files").rename(old)
    partial.parent.rename(home / "files")
    for done in (old, home / "parts"):
        shutil.rmtree(done, ignore_errors=True)


def _transfer(address: Address, source: _Source, files: Sequence[File], into: Path) -> None:
    stop, sizes = threading.Event(), [one.size_bytes for one in files]
    total = None if None in sizes else sum(size or 0 for size in sizes)
    _check_room(address, total or 0)

    def fetch_one(file: File) -> None:
        part = address.home / "parts" / _hash(f"{file.path}\n{file.mark}")
        _download(source.fs, file, part, moved)
        (into / file.path).parent.mkdir(parents=True, exist_ok=True)
        part.replace(into / file.path)
        moved(0, 1)

    with _progress(address.shown, total, len(files), stop) as moved:
        with ThreadPoolExecutor(_AT_ONCE if getattr(source.fs, "async_impl", False) else 1) as pool:
            jobs = [pool.submit(fetch_one, file) for file in files]
            try:
                wait(jobs, return_when=FIRST_EXCEPTION)
            finally:
                stop.set()
                pool.shutdown(cancel_futures=True)
        errors = [error for job in jobs if not job.cancelled() and (error := job.exception()) is not None]
        for error in sorted(errors, key=lambda error: isinstance(error, _Stopped)):
            raise error


def _download(fs: Any, file: File, part: Path, moved: _Moved) -> None:
    """Read a remote file into ``part``, whose name hangs on its mark; a large one goes on where it was broken off.
    Raises OSError: the file's length is not what was said; or whatever the file system raises.
    """
    size = file.size_bytes
    if size is None or size <= CHUNK_BYTES or not _in_chunks(fs, file.at, size, part, moved):
        again(lambda: fs.get_file(file.at, str(part)))
        moved(part.stat().st_size)
    found = part.stat().st_size
    if size is not None and found != size:
        part.unlink()
        raise OSError(f"{file.path} has {found:,} bytes and the server said {size:,}")


def _in_chunks(fs: Any, at: str, size: int, part: Path, moved: _Moved) -> bool:
    try:
        # A file that keeps nothing notices an answer that is the whole file before it is in memory.
        with fs.open(at, "rb", cache_type="none") as source, part.open("ab") as target:
            moved(target.tell())
            while (start := target.tell()) < size:

                def chunk(start: int = start) -> bytes:
                    source.seek(start)
                    content: bytes = source.read(min(CHUNK_BYTES, size - start))
                    return content

                target.write(again(chunk))
                target.flush()
                moved(target.tell() - start)
                if target.tell() == start:
                    break
    except ValueError:
        part.unlink(missing_ok=True)
        return False
    return True


@contextmanager
def _progress(shown: str, total: int | None, count: int, stop: threading.Event) -> Iterator[Callable[..., None]]:
    """Show how far it is, and say at the end what came. Gives a function that is told of bytes and of whole files."""
    from rich.console import Console
    from rich.filesize import decimal
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    started, lock, came = time.monotonic(), threading.Lock(), [0, 0]
    columns = (BarColumn(), DownloadColumn(), TimeRemainingColumn(), TextColumn("{task.fields[words]}"))
    terminal = sys.stderr.isatty()
    if not terminal:
        size = "" if total is None else f", {decimal(total)}"
        print(f"grounding: {shown}: fetching {count:,} files{size}", file=sys.stderr, flush=True)
    with Progress("fetching", *columns, console=Console(stderr=True), transient=True, disable=not terminal) as bar:
        task = bar.add_task("", total=total, words="")

        def moved(size_bytes: int, files: int = 0) -> None:
            if stop.is_set():
                raise _Stopped
            with lock:
                came[0], came[1] = came[0] + size_bytes, came[1] + files
            bar.update(task, advance=size_bytes, words=f"{came[1]:,} of {count:,} files")

        yield moved
    seconds = time.monotonic() - started
    print(f"grounding: {shown}: {came[1]:,} files, {decimal(came[0])} in {seconds:.1f} s", file=sys.stderr, flush=True)


class _TarInfo(tarfile.TarInfo):
    def _proc_member(self, tar: tarfile.TarFile) -> tarfile.TarInfo:
        # What says names is read into memory, however long it claims to be.
        if not self.isreg() and self.size > _MOST_HEADER_BYTES:
            raise tarfile.ReadError(f"a header of {self.size:,} bytes")
        return super()._proc_member(tar)  # type: ignore[misc,no-any-return]


_Member = tuple[str, int, Callable[[], IO[bytes]]]


def _members(packed: zipfile.ZipFile | tarfile.TarFile) -> Iterator[_Member]:
    if isinstance(packed, zipfile.ZipFile):
        for one in packed.infolist():
            if stat.S_IFMT(one.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise UnsafePath(f"{one.filename!r} is a link or a device")
            if one.flag_bits & 1:
                raise UnsafePath(f"{one.filename!r} is encrypted")
            if not one.is_dir():
                yield one.filename, one.file_size, functools.partial(packed.open, one)
        return
    for info in packed:
        if not info.isreg() and not info.isdir():
            raise UnsafePath(f"{info.name!r} is a link or a device")
        if info.isreg():
            yield info.name, info.size, cast("Any", functools.partial(packed.extractfile, info))


def _unpack(address: Address, archive: Path, into: Path) -> None:
    """Write the files of an archive from anybody, or those of the folder in it that is wanted."""
    from rich.filesize import decimal

    size, total, written, prefix = archive.stat().st_size, 0, 0, f"{address.inner}/" if address.inner else ""
    try:
        with zipfile.ZipFile(archive) if address.kind == "zip" else tarfile.open(archive, tarinfo=_TarInfo) as packed:
            for number, (name, size_bytes, opened) in enumerate(_members(packed), start=1):
                total += size_bytes
                if number > _MOST_MEMBERS or total > max(HARMLESS_BYTES, MOST_RATIO * size):
                    raise UserError(
                        f"{address.shown}: not unpacked: {decimal(size)} hold {number:,} files and {decimal(total)} "
                        "or more, as archives do that are made to fill a disk. If you trust it, unpack it yourself and "
                        "give the folder"
                    )
                path = safe_path(name)
                # What macOS puts into archives beside the files.
                if path.startswith("__MACOSX/") or path.split("/")[-1].startswith("._") or not path.startswith(prefix):
                    continue
                target = into / path.removeprefix(prefix)
                try:
                    target.parent.mkdir(parents=True, exist_ok=True)
                    out = target.open("xb")
                except (FileExistsError, NotADirectoryError) as error:
                    raise UnsafePath(f"{path!r} is there twice, or a file and a folder at once") from error
                with opened() as content, out:
                    shutil.copyfileobj(content, out, 1 << 20)
                if target.stat().st_size != size_bytes:
                    raise tarfile.ReadError(f"{path} is shorter than the archive says")
                written += 1
    except UnsafePath as error:
        raise UserError(f"{address.shown}: not unpacked: {error}; unpack it yourself and give the folder") from error
    except _DAMAGE as error:
        raise UserError(f"{address.shown}: not a whole {address.kind} file: {error}") from error
    if not written:
        raise UserError(f"{address.shown}: there is no file in {f'its folder {address.inner}' if prefix else 'it'}")


def _check_room(address: Address, needed_bytes: int) -> None:
    from rich.filesize import decimal

    free = shutil.disk_usage(address.home).free
    if needed_bytes + _SPARE_BYTES > free:
        raise UserError(
            f"{address.shown}: {decimal(needed_bytes)} are to come and {address.home} has room for {decimal(free)}: "
            "make room (`grounding cache` shows what is kept), or set XDG_CACHE_HOME to a folder on another disk"
        )


@contextmanager
def _alone(address: Address) -> Iterator[None]:
    """Keep every other process from fetching into this folder; waits for one that does."""
    try:
        (address.home / "parts").mkdir(parents=True, exist_ok=True)
        lock = (address.home / "fetching.lock").open("ab")
    except OSError as error:
        raise UserError(f"{address.home}: can't be made: {error.strerror} (see XDG_CACHE_HOME)") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"grounding: another process is fetching {address.shown}: waiting for it", file=sys.stderr)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _read_state(folder: Path) -> _State | None:
    try:
        return msgspec.json.decode((folder / "source.json").read_bytes(), type=_State)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


class CachedSource(Record, frozen=True, kw_only=True):
    """What the cache holds of one address, for ``grounding cache``."""

    shown: str
    folder: Path
    files: tuple[Path, ...]
    size_bytes: int


def cached_sources(before: float | None = None) -> tuple[CachedSource, ...]:
    """What the cache holds of every address; only what was last used before a time (in seconds since 1970)."""
    cache, found = cache_dir(), []
    for path in (cache / "data").glob("*") if cache is not None else ():
        if path.is_dir() and (before is None or path.stat().st_mtime < before):
            whole, begun = _read_state(path / "files"), _read_state(path / "partial")
            shown = whole.address if whole else f"{begun.address if begun else path.name} (not all of it)"
            files = tuple(one for one in path.rglob("*") if one.is_symlink() or one.is_file())
            size = sum(one.lstat().st_size for one in files)
            found.append(CachedSource(shown=shown, folder=path, files=files, size_bytes=size))
    return tuple(sorted(found, key=lambda one: one.shown))


def forget(kept: CachedSource) -> None:
    """Delete what the cache holds of an address; the cache of huggingface_hub is left alone. Raises UserError: it can't
    be deleted.
    """
    aside = kept.folder.with_name(f".{kept.folder.name}.{os.getpid()}")
    try:
        # Whoever looks meanwhile finds all of the folder or none of it.
        kept.folder.rename(aside)
        shutil.rmtree(aside)
    except OSError as error:
        raise UserError(f"{kept.folder}: can't be deleted: {error.strerror}") from error


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32]
