"""The folders of a release with one folder per participant: a path in; the participants' folders out, or problems."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

from grounding.loaders.problems import Problem, shorten
from grounding.records import Record

_LISTED_NAMES = 12
_FOLDER_MARK = "/"


class ParticipantFolder(Record, frozen=True, kw_only=True):
    """One participant's folder, the questions file to read in it, and the names of all its files."""

    participant: str
    path: Path
    questions: str
    files: tuple[str, ...]


def find_participants(
    data_dir: Path, questions: str, participants: Collection[str], problems: list[Problem]
) -> list[ParticipantFolder]:
    """The participants' folders in natural order (1, 2, … 10).

    ``data_dir`` holds them, or holds the one folder that holds them, or is one itself; its name is the participant's
    then. A folder is a participant's when it has the questions file. One that has ``images/``, another file called
    ``questions*.json`` or a number for a name should have it, and is a problem; any other folder is passed over.

    Args:
        data_dir: Where the data set lies.
        questions: Name of the questions file, in upper or lower case.
        participants: Names of the participants to take; empty for all.
        problems: Every problem found is added here.
    """
    if not data_dir.is_dir():
        what = "is not a folder" if data_dir.exists() else "does not exist"
        problems.append(Problem(file=str(data_dir), what=what, fix="give the folder that holds the participants"))
        return []
    folders = _participant_folders(data_dir, questions, problems)
    by_name = {Path(os.path.abspath(folder)).name: folder for folder in folders}  # noqa: PTH100 - keeps symlinks' names
    names = sorted(by_name, key=natural_key)
    for name in sorted(set(participants) - set(names) if names else (), key=natural_key):
        problems.append(
            Problem(
                file=str(data_dir),
                field="participants",
                value=shorten(name),
                what="there is no such participant",
                fix=f"choose from {', '.join(names)}",
            )
        )
    chosen = [name for name in names if not participants or name in participants]
    found = [_open(name, by_name[name], questions, problems) for name in chosen]
    return [folder for folder in found if folder is not None]


def natural_key(name: str) -> tuple[tuple[tuple[int, int, str], ...], str]:
    """Sort key that puts 2 before 10."""
    parts = re.split(r"(\d+)", name)
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part.casefold()) for part in parts if part), name


def match_name(wanted: str, names: Iterable[str]) -> str | None:
    """The name that is ``wanted``, or else the first one that differs from it in upper and lower case only.

    The release's own README and code disagree about the case of file names.
    """
    matching = sorted(name for name in names if name.casefold() == wanted.casefold())
    return wanted if wanted in matching else next(iter(matching), None)


def describe(names: Sequence[str]) -> str:
    """The names of a folder's content for a message, the first twelve in natural order."""
    # A name that is not UTF-8 could not be printed.
    ordered = [name.encode("utf-8", "replace").decode("utf-8") for name in sorted(names, key=natural_key)]
    more = f" and {len(ordered) - _LISTED_NAMES} more" if len(ordered) > _LISTED_NAMES else ""
    return f"it holds {', '.join(ordered[:_LISTED_NAMES])}{more}" if ordered else "it is empty"


def _open(name: str, folder: Path, questions: str, problems: list[Problem]) -> ParticipantFolder | None:
    content = _content(folder)
    found = match_name(questions, content)
    if found is None:
        problems.append(
            Problem(
                file=str(folder),
                what=f"has no {questions} ({describe(content)})",
                fix="add the file, choose another questions file, or choose participants that have it",
            )
        )
        return None
    files = tuple(one for one in content if not one.endswith(_FOLDER_MARK))
    return ParticipantFolder(participant=name, path=folder, questions=found, files=files)


def _participant_folders(data_dir: Path, questions: str, problems: list[Problem]) -> list[Path]:
    if _has_questions(data_dir, questions):
        return [data_dir]
    for is_participant in (_has_questions, _looks_like_participant):
        bases = _holders(data_dir, questions, is_participant)
        if len(bases) > 1:
            names = ", ".join(base.name for base in bases)
            what = f"holds several data sets ({names})"
            problems.append(Problem(file=str(data_dir), what=what, fix=f"give one of them, such as {bases[0]}"))
            return []
        if bases:
            return [one for one in _subfolders(bases[0]) if _looks_like_participant(one, questions)]
    if _looks_like_participant(data_dir, questions):
        return [data_dir]
    problems.append(
        Problem(
            file=str(data_dir),
            what=f"has no participants' folders ({describe(_content(data_dir))})",
            fix=f"give the folder in which 1/{questions} and 1/images/ lie",
        )
    )
    return []


def _holders(data_dir: Path, questions: str, is_participant: Callable[[Path, str], bool]) -> list[Path]:
    """The folders that hold participants: ``data_dir`` alone where it does, otherwise those in it that do."""
    if any(is_participant(one, questions) for one in _subfolders(data_dir)):
        return [data_dir]
    return [
        place for place in _subfolders(data_dir) if any(is_participant(one, questions) for one in _subfolders(place))
    ]


def _has_questions(folder: Path, questions: str) -> bool:
    return match_name(questions, _content(folder)) is not None


def _looks_like_participant(folder: Path, questions: str) -> bool:
    content = _content(folder)
    return (
        folder.name.isdecimal()
        or "images/" in content
        or any(name.casefold().startswith("questions") and name.casefold().endswith(".json") for name in content)
        or match_name(questions, content) is not None
    )


def _subfolders(folder: Path) -> list[Path]:
    names = (name.removesuffix(_FOLDER_MARK) for name in _content(folder) if name.endswith(_FOLDER_MARK))
    # Downloads and archives leave folders such as .cache and __MACOSX, which repeat the layout with other content.
    return [folder / name for name in sorted(names) if not name.startswith((".", "__"))]


def _content(folder: Path) -> list[str]:
    """Names in a folder, those of folders with ``/`` behind; a folder that may not be read has none."""
    try:
        with os.scandir(folder) as entries:
            return [entry.name + (_FOLDER_MARK if entry.is_dir() else "") for entry in entries]
    except OSError:
        return []
