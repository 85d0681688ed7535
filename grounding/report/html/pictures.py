"""Small screenshots for a page: made once for each screenshot, several at a time, never a reason to stop or to wait."""

import base64
import contextlib
import os
import time
import zlib
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from grounding.atomic import atomic_write
from grounding.cards.places import cache_dir
from grounding.records import HistoryEntry, Screenshot
from grounding.report.html.content import Shot, StepRow, TaskRow

# Steps of a run that its page shows: a browser opens it in a few seconds and holds it in less than a gigabyte.
MOST_STEPS = 50_000
MOST_LETTERS = 200_000_000  # The same in letters of their texts.
LARGE_STEPS, LARGE_LETTERS = 10_000, 10_000_000  # Of a run with more the steps are deflated.
Addresses = Callable[[Screenshot], tuple[str, str]]
"""Where a screenshot's small picture is, "" where there is none, and where the screenshot itself is."""


class PackedSteps:
    """Takes the steps of one run in order, the first ones of a run with more than a page can hold."""

    def __init__(self, addresses: Addresses) -> None:
        self._addresses = addresses
        self._shots: dict[str, int] = {}
        self._shown: list[Shot] = []
        self._tasks: list[tuple[str, str, list[int]]] = []
        self._rows: list[StepRow] = []
        self._told: list[HistoryEntry | None] = []
        self._letters = self._left_out = 0

    @property
    def is_full(self) -> bool:
        return len(self._rows) >= MOST_STEPS or self._letters >= MOST_LETTERS

    @property
    def notes(self) -> tuple[str, ...]:
        if not self._left_out:
            return ()
        every = len(self._rows) + self._left_out
        return (f"the first {len(self._rows):,} of {every:,} steps are listed here; run.frame() and export have all",)

    def shot(self, shot: Screenshot) -> int:
        if shot.sha256 not in self._shots:
            if self.is_full:
                return -1
            self._shots[shot.sha256] = len(self._shown)
            thumb, full = self._addresses(shot)
            size = shot.size
            self._shown.append(Shot(width=size.width, height=size.height, path=shot.path, thumb=thumb, full=full))
        return self._shots[shot.sha256]

    def task(self, participant: str, name: str) -> int:
        self._tasks.append((participant, name, []))
        return len(self._tasks) - 1

    def add(self, row: StepRow, told: HistoryEntry | None = None) -> None:
        if self.is_full:
            self._left_out += 1
            return
        self._tasks[row.task][2].append(len(self._rows))
        self._rows.append(row)
        self._told.append(told)
        self._letters += sum(map(len, (row.instruction, row.plan, row.planner_raw, row.raw, row.reason)))
        self._letters += sum(len(note.text) for note in row.notes)

    def fields(self) -> dict[str, Any]:
        tasks = tuple(
            TaskRow(participant=who, name=name, steps=tuple(steps)) for who, name, steps in self._tasks if steps
        )
        found = {"shots": tuple(self._shown), "tasks": tasks, "steps": tuple(self._rows), "told": tuple(self._told)}
        if len(self._rows) <= LARGE_STEPS and self._letters <= LARGE_LETTERS:
            return found
        # zlib's format in base64: nothing but letters, digits, +, / and =.
        return {"packed": base64.b64encode(zlib.compress(msgspec.json.encode(found), 6)).decode("ascii")}


FILES = "report_files"  # The folder beside a page that holds its pictures.
WIDEST_PX = 640  # Width of a small screenshot; taller ones are bounded as well, so that no side is longer.
_QUALITY = 55
MOST_S = 4.0  # A page waits no longer for new small pictures; without one, a screenshot is shown from where it lies.
_MOST_PIXELS = 200_000_000  # A picture that claims more is not opened.


def thumbnail_name(sha256: str) -> str:
    """The file of a screenshot's small picture; the hash comes from a file, so only its letters and digits count."""
    return f"{''.join(filter(str.isalnum, sha256))[:64]}.webp"


def small_pictures(shots: Iterable[Screenshot], page: Path) -> tuple[Addresses, int, tuple[str, ...]]:
    """Make the small pictures of a page that are not there yet, as many as there is time for.

    Returns where pictures are, how many have a small one, and what was wrong with others. Raises OSError: the folder
    beside the page can't be made.
    """
    wanted = {shot.sha256: shot for shot in shots}
    folder = page.parent / FILES
    folder.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + MOST_S

    def bring(shot: Screenshot) -> str | None:
        """What was wrong with a picture, "" for nothing; None where there is no time left to make it."""
        target = folder / thumbnail_name(shot.sha256)
        if target.exists():
            return ""
        kept = _kept(target.name)
        if time.monotonic() > end and (kept is None or not kept.exists()):
            return None
        try:
            atomic_write(target, thumbnail(shot), shared=True, flush=False)
        except UNREADABLE as error:
            return f"{shot.path}: no picture of it on the page ({getattr(error, 'strerror', None) or error})"
        return ""

    with ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
        problems = dict(zip(wanted, pool.map(bring, wanted.values()), strict=True))

    def addresses(shot: Screenshot) -> tuple[str, str]:
        at = Path(shot.path)
        thumb = f"{FILES}/{thumbnail_name(shot.sha256)}" if problems.get(shot.sha256) == "" else ""
        return thumb, f"{_folder_address(at.parent)}/{quote(os.fsencode(at.name), safe='')}"

    found = list(problems.values())
    return addresses, found.count(""), tuple(problem for problem in found if problem)


def _kept(name: str) -> Path | None:
    """Where a small picture is kept for pages of other runs; None to keep none."""
    cache = cache_dir()
    return None if cache is None else cache / "thumbnails" / name


@lru_cache(maxsize=4_096)
def _folder_address(folder: Path) -> str:
    """A million screenshots lie in few folders, which are looked up on the disk once."""
    return folder.resolve().as_uri().rstrip("/")


UNREADABLE = (OSError, ValueError, SyntaxError, EOFError)
"""What Pillow says of broken pictures: SyntaxError of PNG files, ValueError of what it can't convert."""


def thumbnail(shot: Screenshot) -> bytes:
    """A screenshot as a small WebP picture, which is made once; raises one of :data:`UNREADABLE`."""
    import io

    from PIL import Image

    kept = _kept(thumbnail_name(shot.sha256))
    if kept is not None and kept.exists():
        return kept.read_bytes()
    with Image.open(shot.path) as image:
        if image.width * image.height > _MOST_PIXELS:
            raise ValueError(f"{image.width} x {image.height} pixels are too many")
        image.draft("RGB", (WIDEST_PX, WIDEST_PX))
        small = image.convert("RGB")
    # Reducing by a whole number first is several times faster and looks the same.
    small.thumbnail((WIDEST_PX, WIDEST_PX), Image.Resampling.BILINEAR, reducing_gap=1.0)
    out = io.BytesIO()
    small.save(out, "WEBP", quality=_QUALITY, method=0)
    if kept is not None:
        # Without a cache it is made again for the next page.
        with contextlib.suppress(OSError):
            kept.parent.mkdir(parents=True, exist_ok=True)
            atomic_write(kept, out.getvalue(), shared=True, flush=False)
    return out.getvalue()
