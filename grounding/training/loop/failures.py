"""What can go wrong while a model trains, said in one sentence with what to do about it."""

from __future__ import annotations

import errno
import shutil
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from grounding.errors import UserError
from grounding.training.loop.quiet import LOG

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FULL_WORDS = ("no space left", "disk quota", "file too large", "pytorchstreamwriter failed", "os error 28")
_MEMORY_WORDS = ("out of memory", "can't allocate memory", "defaultcpuallocator", "cannot allocate memory")


def is_full_disk(error: BaseException) -> bool:
    """Whether an error of any library says that a file can't grow."""
    if isinstance(error, OSError) and error.errno in _FULL:
        return True
    text = str(error).lower()
    return any(words in text for words in _FULL_WORDS)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error of any library says that there is no memory left."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    text = str(error).lower()
    return isinstance(error, RuntimeError) and any(words in text for words in _MEMORY_WORDS)


@contextmanager
def failures_of(stage: str, folder: Path, *, doing: str) -> Iterator[None]:
    """Turn whatever goes wrong inside the block into a sentence; the traceback goes into the stage's log.

    Args:
        stage: The stage's name.
        folder: Its folder.
        doing: What is being done, such as "training".

    Raises:
        UserError: for every error that is none already. An interrupt passes.
    """
    try:
        yield
    except UserError:
        raise
    except Exception as error:  # Libraries raise anything; all of it is told and logged.
        log = _log(folder)
        raise UserError(_sentence(error, stage, folder, doing, log)) from error


def _sentence(error: Exception, stage: str, folder: Path, doing: str, log: str) -> str:
    kept = "What was saved is kept: the same command goes on from the last checkpoint."
    if is_out_of_memory(error):
        return (
            f"stage {stage}: memory ran out while {doing} ({_first_line(error)}). A smaller optimisation.batch with "
            "more optimisation.accumulation needs less for the same step; so do precision.gradient_checkpointing, "
            f"fewer generations, or LoRA of a lower rank. {kept}"
        )
    if is_full_disk(error):
        free = shutil.disk_usage(folder).free / 2**30
        return (
            f"stage {stage}: the disk is full ({folder}, {free:.1f} GiB free): {_first_line(error)}. Make room, or "
            f"keep fewer checkpoints (saving.keep). {kept}"
        )
    return f"stage {stage} failed while {doing}: {type(error).__name__}: {_first_line(error)} (details: {log}). {kept}"


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else "no message")[:500]


def _log(folder: Path) -> str:
    path = folder / LOG
    try:
        with path.open("a", encoding="utf-8") as log:
            log.write(traceback.format_exc())
    except OSError as error:
        return f"none, since {path} can't be written: {error.strerror}"
    return str(path)
