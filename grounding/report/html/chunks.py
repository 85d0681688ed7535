"""Steps in files beside a page, which it loads when they are looked at, also where it was opened from a file.

A page from a file may not fetch files, but it may load scripts. So each file is a script of one call, whose arguments
are a key, a name and one text: the steps as JSON, deflated, in base64. What a model or a data set says is thereby never
a part of a script: it is data until the page has inflated and parsed it.
"""

from __future__ import annotations

import re
import secrets
import shutil
from pathlib import Path

import msgspec

from grounding.report.html.content import Shot, StepRow, Told
from grounding.report.html.index import deflated

STEPS = 500
"""Steps in a file, at most."""

_MOST_BYTES = 1_000_000
"""Bytes of a file before it is deflated; a step that has more has a file of its own."""

_FILE = re.compile(r"[0-9]{1,9}-[0-9]{1,9}\.js")
_encoder = msgspec.json.Encoder()


class StepFiles:
    """The folder with the steps of a page's runs. Its name is new each time, so that no page sees half of two.

    Args:
        page: The page's file.
        beside: The folder with what belongs to pages; a folder is made in it.

    Raises:
        OSError: the folder can't be made.
    """

    def __init__(self, page: Path, beside: Path) -> None:
        self.key = secrets.token_hex(8)
        self._page, self._beside = page, beside
        self.folder = beside / f"{page.stem}-{self.key}"
        self.folder.mkdir(parents=True)

    def run(self, number: int) -> StepWriter:
        """What writes the steps of one of the runs."""
        return StepWriter(self.folder, f"{self._beside.name}/{self.folder.name}", self.key, number)

    def file(self, name: str) -> Path | None:
        """One of the files by its name; None where that is none."""
        return self.folder / name if _FILE.fullmatch(name) and (self.folder / name).is_file() else None

    def drop(self) -> None:
        """Take everything away again, as when the page can't be written."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def drop_older(self) -> None:
        """Take the folders away that earlier pages of this name had."""
        drop_all(self._page, self._beside, but=self.folder)


def drop_all(page: Path, beside: Path, but: Path | None = None) -> None:
    """Take the folders with steps away that a page had, all but one."""
    named = re.compile(re.escape(page.stem) + r"-[0-9a-f]{16}\Z")
    for path in beside.iterdir():
        if named.match(path.name) and path != but and path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)


class StepWriter:
    """Writes steps in order, a file as soon as it is full. ``starts`` are the places of the files' first steps."""

    def __init__(self, folder: Path, address: str, key: str, number: int) -> None:
        self.starts: list[int] = []
        self.files = f"{address}/{number}-"
        self._folder, self.key, self._number = folder, key, number
        self._done = 0
        self._empty()

    def _empty(self) -> None:
        self._steps: list[bytes] = []
        self._told: list[bytes] = []
        self._shots: dict[str, int] = {}
        self._shown: list[Shot] = []
        self._bytes = 0

    def shot(self, sha256: str) -> int | None:
        """The number of a screenshot in the file that is being filled; None where it is not there yet."""
        return self._shots.get(sha256)

    def add_shot(self, sha256: str, shot: Shot) -> int:
        """Give a screenshot its number."""
        self._shown.append(shot)
        return self._shots.setdefault(sha256, len(self._shots))

    def add(self, row: StepRow, told: Told | None) -> None:
        """Take the next step.

        Raises:
            OSError: a file can't be written.
        """
        line = _encoder.encode(row)
        self._steps.append(line)
        self._told.append(_encoder.encode(told))
        self._bytes += len(line)
        if len(self._steps) >= STEPS or self._bytes >= _MOST_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what was not written yet.

        Raises:
            OSError: a file can't be written.
        """
        if not self._steps:
            return
        content = b'{"shots":%b,"steps":[%b],"told":[%b]}' % (
            _encoder.encode(self._shown),
            b",".join(self._steps),
            b",".join(self._told),
        )
        name = f"{self._number}-{len(self.starts)}"
        (self._folder / f"{name}.js").write_text(script(self.key, name, content), encoding="ascii")
        self.starts.append(self._done)
        self._done += len(self._steps)
        self._empty()


def script(key: str, name: str, content: bytes) -> str:
    """The text of one file."""
    return f'groundingSteps("{key}","{name}","{deflated(content, level=1)}");\n'
