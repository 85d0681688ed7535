"""Files that are replaced whole or not at all: whatever breaks off, the old content or the new one is there.

What is written anew lies in a draft beside the file, is flushed to the disk and takes the file's place in one step.
Then the folder is flushed, so that a power cut leaves no empty file under the name either.
"""

import contextlib
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path

_BUFFER = 1 << 20


def atomic_write(
    path: Path, content: bytes | Iterable[bytes], *, mode: int = 0o666, shared: bool = False, flush: bool = True
) -> None:
    """Replace a file, or make it.

    Args:
        path: The file; its folder must be there.
        content: What it is to hold, at once or in pieces.
        mode: Permissions before the umask.
        shared: Several processes or threads may write it at once: the last one's content stays.
        flush: False for what can be made again, where flushing thousands of files would take long.

    Raises:
        OSError: it can't be written; the old content is still there, and no draft.
    """
    with draft_of(path, shared=shared, flush=flush) as draft:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
        with os.fdopen(handle, "wb", buffering=_BUFFER) as file:
            file.writelines((content,) if isinstance(content, bytes) else content)


@contextlib.contextmanager
def draft_of(path: Path, *, shared: bool = False, flush: bool = True) -> Iterator[Path]:
    """Where to write what is to take a file's place at the end of the block; it doesn't where the block fails. Raises
    OSError: as for :func:`atomic_write`.
    """
    # One name where one process writes, so that a killed one leaves a single draft at most.
    draft = path.with_name(f".{path.name}.{f'{secrets.token_hex(4)}.' if shared else ''}new")
    try:
        yield draft
        if flush:
            flush_to_disk(draft)
        draft.replace(path)
        if flush:
            with contextlib.suppress(OSError):  # Some file systems don't know it of folders.
                flush_to_disk(path.parent)
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)


def flush_to_disk(path: Path) -> None:
    """Have a file, or the entries of a folder, written to the disk before this returns. Raises OSError: the disk is
    full or failing.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def flush_tree(folder: Path) -> None:
    """The same for a folder with everything in it, which is to take another's place. Raises OSError: the disk is full
    or failing.
    """
    for path in (*folder.rglob("*"), folder):
        flush_to_disk(path)
