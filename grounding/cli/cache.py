"""``grounding cache``: where things are kept between runs, how much there is, and how to be rid of it."""

from __future__ import annotations

import contextlib
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from grounding.cache import cached_files
from grounding.cards.places import cache_dir
from grounding.data.fetch import CachedSource, cached_sources, forget
from grounding.errors import UserError
from grounding.records import Record

CACHE_EXAMPLES = """
Examples:

```
# Where plans and readings are kept, and how much there is
grounding cache

# Forget the readings of screens; they are made again without cost
grounding cache clear --ocr

# Forget the plans that are older than three months
grounding cache clear --plans --older-than 90

# Make room: data sets that were fetched from elsewhere
grounding cache clear --data
```
"""

_DAY_S = 86_400.0
_Flag = Parameter(negative="", show_default=False)

cache_app = App(name="cache", help_epilogue=CACHE_EXAMPLES)


class CacheEntry(Record, frozen=True, kw_only=True):
    """One row of what is kept: which store, of which model, engine or address, and its files.

    ``source`` is a data set from elsewhere, which goes as a whole.
    """

    store: str
    what: str
    files: tuple[Path, ...]
    size_bytes: int
    source: CachedSource | None = None


@cache_app.default
def show_cache(*, plan_store: Path | None = None) -> int:
    """Show where plans, readings of screens, transcripts of speech and fetched data are kept, and how much there is.

    Args:
        plan_store: A store of plans other than the usual one.
    """
    from rich.table import Column, Table

    from grounding.console import wide_console

    folders = _folders(plan_store)
    rows = [*(row for store, folder in folders.items() for row in _kept(store, folder, None)), *_data(None)]
    console = wide_console(markup=False, emoji=False, highlight=False)
    if rows:
        table = Table("kept", "by what", Column("entries", justify="right"), Column("size", justify="right"))
        for row in rows:
            table.add_row(row.store, row.what, f"{len(row.files):,}", _size(row.size_bytes))
        console.print(table)
    data = None if (kept_in := cache_dir()) is None else kept_in / "data"
    for name, folder in {**folders, "data": data}.items():
        state = "" if folder is None or folder.is_dir() else " (nothing there yet)"
        where = "nowhere: GROUNDING_NO_CACHE is set" if folder is None else f"{folder}{state}"
        console.print(f"{name:<11} {where}", soft_wrap=True)
    return 0


@cache_app.command
def clear(
    *,
    plans: Annotated[bool, _Flag] = False,
    ocr: Annotated[bool, _Flag] = False,
    transcripts: Annotated[bool, _Flag] = False,
    data: Annotated[bool, _Flag] = False,
    older_than: float | None = None,
    plan_store: Path | None = None,
    yes: Annotated[bool, Parameter(name=["--yes", "-y"], negative="", show_default=False)] = False,
) -> int:
    """Delete stored plans, readings of screens, transcripts and fetched data; all where none is named.

    Run folders are left alone. Plans of chat models cost money to make again, as transcripts of an endpoint may, the
    others only time.

    Args:
        plans: Only plans.
        ocr: Only readings.
        transcripts: Only transcripts.
        data: Only data sets, and single screenshots, that were fetched from elsewhere.
        older_than: Only what was written more than so many days ago; data, what was last used then.
        plan_store: A store of plans other than the usual one.
        yes: Don't ask first.
    """
    if older_than is not None and not older_than >= 0:
        raise UserError(f"--older-than {older_than}: expected days, 0 or more")
    before = None if older_than is None else time.time() - older_than * _DAY_S
    chosen = {"plans": plans, "readings": ocr, "transcripts": transcripts}
    everything = not any((*chosen.values(), data))
    stores = ((store, folder) for store, folder in _folders(plan_store).items() if chosen[store] or everything)
    rows = [row for store, folder in stores for row in _kept(store, folder, before)]
    rows += _data(before) if data or everything else ()
    if not rows:
        print("nothing to delete")
        return 0
    counts: Counter[str] = Counter()
    for row in rows:
        counts[row.store] += len(row.files) if row.source is None else 1
    what = " and ".join(f"{count:,} {store}" for store, count in counts.items())
    if not yes and not _confirmed(f"delete {what} ({_size(sum(row.size_bytes for row in rows))})?"):
        print("nothing was deleted")
        return 0
    for row in rows:
        if row.source is not None:
            forget(row.source)
            continue
        for path in row.files:
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise UserError(f"{path}: can't be deleted: {error.strerror}") from error
    print(f"deleted {what}")
    return 0


def _folders(plan_store: Path | None) -> dict[str, Path | None]:
    from grounding.asr.transcribe import transcript_store_dir
    from grounding.grounders.ocr.reader import ocr_cache_dir
    from grounding.planners.store import plan_store_dir

    plans = plan_store_dir(plan_store, off=False)
    return {"plans": plans, "readings": ocr_cache_dir(), "transcripts": transcript_store_dir()}


def _kept(store: str, folder: Path | None, before: float | None) -> list[CacheEntry]:
    found = {} if folder is None else cached_files(folder, before=before)
    return [CacheEntry(store=store, what=who, files=files, size_bytes=size) for who, (files, size) in found.items()]


def _data(before: float | None) -> list[CacheEntry]:
    found = [
        CacheEntry(store="data sets", what=one.shown, files=one.files, size_bytes=one.size_bytes, source=one)
        for one in cached_sources(before)
    ]
    folder = cache_dir()
    pictures: dict[Path, int] = {}
    for path in () if folder is None else sorted((folder / "pictures").glob("*/*")):
        with contextlib.suppress(OSError):  # Another process was faster to delete it.
            about = path.lstat()
            if before is None or about.st_mtime < before:
                pictures[path] = about.st_size
    if pictures:
        what, size = "single screenshots, for workers", sum(pictures.values())
        found.append(CacheEntry(store="pictures", what=what, files=tuple(pictures), size_bytes=size))
    return found


def _confirmed(question: str) -> bool:
    if not sys.stdin.isatty():
        raise UserError(f"{question} There is no terminal to ask at: give --yes to delete without asking")
    print(f"{question} [y/N] ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _size(size_bytes: float) -> str:
    for unit in ("B", "kB", "MB"):
        if size_bytes < 1000:
            return f"{size_bytes:.0f} {unit}" if unit == "B" else f"{size_bytes:.1f} {unit}"
        size_bytes /= 1000
    return f"{size_bytes:.1f} GB"
