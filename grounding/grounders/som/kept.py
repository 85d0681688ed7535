"""What the model was shown, kept in the run folder: one picture and one list of marks for each step."""

from __future__ import annotations

import hashlib
from pathlib import Path
from urllib.parse import quote

import msgspec

from grounding.marks.regions import Mark
from grounding.records import Query, Record, Size

FOLDER = "marks"
MAX_NAME = 150


class KeptMarks(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The list beside a picture: which number means which box and which point, in pixels of the original."""

    step_id: str
    screenshot_sha256: str
    original: Size
    marked: Size
    proposer: str
    marks: tuple[Mark, ...]


def file_stem(step_id: str) -> str:
    """``<participant>_<image>`` for a step's id, safe in any file system and different for different steps.

    The first ``_`` is the one between the two: in a participant's name it is written %5F.
    """
    participant, _, image = step_id.partition("/")
    name = f"{quote(participant, safe='').replace('_', '%5F')}_{quote(image, safe='#')}"
    if len(name) <= MAX_NAME:
        return name
    return f"{name[: MAX_NAME - 17]}~{hashlib.sha256(step_id.encode()).hexdigest()[:16]}"


def keep(run_folder: Path, query: Query, png: bytes, kept: KeptMarks) -> None:
    """Write both files of a step, each at once or not at all.

    Raises:
        OSError: they can't be written.
    """
    folder = run_folder / FOLDER
    folder.mkdir(exist_ok=True)
    stem = file_stem(query.step_id)
    _write(folder / f"{stem}.png", png)
    _write(folder / f"{stem}.json", msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n")


def read_kept(path: Path) -> KeptMarks:
    """The list of a step, so that its reply can be scored again.

    Raises:
        OSError: the file can't be read.
        msgspec.DecodeError: it is no such list.
    """
    return msgspec.json.decode(path.read_bytes(), type=KeptMarks)


def _write(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_bytes(content)
    temporary.replace(path)
