"""Where the files of a release lie: participants' folders, annotation files, and the pictures that they name."""

import os
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path, PurePosixPath

from grounding.cards.identity import hub_repository
from grounding.data.fields import Fields, Problem, shorten
from grounding.data.images import ImageFault
from grounding.errors import UserError
from grounding.records import Record

_LISTED_NAMES, _DEEPEST = 12, 3


class ParticipantFolder(Record, frozen=True, kw_only=True):
    participant: str
    path: Path
    questions: str
    files: tuple[str, ...]


def find_participants(
    data_dir: Path, questions: str, participants: Collection[str], problems: list[Problem]
) -> list[ParticipantFolder]:
    """The participants' folders (all, or those named) in natural order; every problem found is added.

    ``data_dir`` holds them, or holds the one folder that holds them, or is one itself; its name is the participant's
    then. A folder is a participant's when it has the questions file, in upper or lower case. One that has ``images/``,
    another file called ``questions*.json`` or a number for a name should have it; any other folder is passed over.
    """
    if not data_dir.is_dir():
        what = "is not a folder" if data_dir.exists() else "does not exist"
        problems.append(Problem(file=str(data_dir), what=what, fix="give the folder that holds the participants"))
        return []
    folders = _participant_folders(data_dir, questions, problems)
    by_name = {Path(os.path.abspath(folder)).name: folder for folder in folders}  # noqa: PTH100 - keeps symlinks' names
    names = sorted(by_name, key=natural_key)
    for name in sorted(set(participants) - set(names) if names else (), key=natural_key):
        what, fix = "there is no such participant", f"choose from {', '.join(names)}"
        problems.append(Problem(file=str(data_dir), field="participants", value=shorten(name), what=what, fix=fix))
    found = []
    for name in names if not participants else (each for each in names if each in participants):
        content = _content(by_name[name])
        file = match_name(questions, content)
        if file is None:
            what = f"has no {questions} ({describe(content)})"
            fix = "add the file, choose another questions file, or choose participants that have it"
            problems.append(Problem(file=str(by_name[name]), what=what, fix=fix))
            continue
        files = tuple(one for one in content if not one.endswith("/"))
        found.append(ParticipantFolder(participant=name, path=by_name[name], questions=file, files=files))
    return found


def natural_key(name: str) -> tuple[tuple[tuple[int, int, str], ...], str]:
    parts = re.split(r"(\d+)", name)
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part.casefold()) for part in parts if part), name


def match_name(wanted: str, names: Iterable[str]) -> str | None:
    """The name that is ``wanted``, or else the first one that differs from it in upper and lower case only. The
    release's own README and code disagree about the case of file names.
    """
    matching = sorted(name for name in names if name.casefold() == wanted.casefold())
    return wanted if wanted in matching else next(iter(matching), None)


def describe(names: Sequence[str]) -> str:
    # A name that is not UTF-8 could not be printed.
    ordered = [name.encode("utf-8", "replace").decode("utf-8") for name in sorted(names, key=natural_key)]
    more = f" and {len(ordered) - _LISTED_NAMES} more" if len(ordered) > _LISTED_NAMES else ""
    return f"it holds {', '.join(ordered[:_LISTED_NAMES])}{more}" if ordered else "it is empty"


def _participant_folders(data_dir: Path, questions: str, problems: list[Problem]) -> list[Path]:
    def has_questions(folder: Path) -> bool:
        return match_name(questions, _content(folder)) is not None

    def looks_like_one(folder: Path) -> bool:
        content = [name.casefold() for name in _content(folder)]
        sheets = any(name.startswith("questions") and name.endswith(".json") for name in content)
        return folder.name.isdecimal() or "images/" in content or sheets or has_questions(folder)

    def holders(is_one: Callable[[Path], bool]) -> list[Path]:
        places = [data_dir] if any(map(is_one, _subfolders(data_dir))) else _subfolders(data_dir)
        return [place for place in places if any(map(is_one, _subfolders(place)))]

    if has_questions(data_dir):
        return [data_dir]
    for is_one in (has_questions, looks_like_one):
        bases = holders(is_one)
        if len(bases) > 1:
            what = f"holds several data sets ({', '.join(base.name for base in bases)})"
            problems.append(Problem(file=str(data_dir), what=what, fix=f"give one of them, such as {bases[0]}"))
            return []
        if bases:
            return [one for one in _subfolders(bases[0]) if looks_like_one(one)]
    if looks_like_one(data_dir):
        return [data_dir]
    what = f"has no participants' folders ({describe(_content(data_dir))})"
    fix = f"give the folder in which 1/{questions} and 1/images/ lie"
    problems.append(Problem(file=str(data_dir), what=what, fix=fix))
    return []


def _subfolders(folder: Path) -> list[Path]:
    names = (name.removesuffix("/") for name in _content(folder) if name.endswith("/"))
    # Downloads and archives leave folders such as .cache and __MACOSX, which repeat the layout with other content.
    return [folder / name for name in sorted(names) if not name.startswith((".", "__"))]


def _content(folder: Path) -> list[str]:
    """Names in a folder, those of folders with ``/`` behind; a folder that may not be read has none."""
    try:
        with os.scandir(folder) as entries:
            return [entry.name + ("/" if entry.is_dir() else "") for entry in entries]
    except OSError:
        return []


class ImageLocator:
    """Finds the files that the annotations in one folder of a data set name. Remembers where folders really lie."""

    def __init__(self, folder: Path, data_dir: Path) -> None:
        self._folder = folder
        caches = [hub_repository(folder), hub_repository(data_dir)]
        # Not resolved: a cache whose blobs are a link to somewhere else is no cache of a hub's client.
        blobs = [cache / "blobs" for cache in caches if cache is not None]
        self._roots = (folder.resolve(), data_dir.resolve(), *blobs)
        self._real: dict[Path, Path] = {}

    def locate(self, written: str) -> Path | ImageFault:
        """The file that ``written``, a path with ``/`` inside the folder, names; whether it exists is not looked at.

        A path that is absolute or climbs with ``..`` is refused, and so is one that a symbolic link takes out of the
        folder and the data set's: annotations come from elsewhere, and what they name is sent to models. Those two
        folders may be symbolic links themselves, as people keep large data on other disks. In the cache of a hub's
        client every file of a snapshot is a link into the repository's ``blobs``, which is followed.
        """
        if "\0" in written or "\\" in written:
            return ImageFault(what="must be a path written with /", fix="write it like images/12.png")
        path = PurePosixPath(written)
        if path.is_absolute() or ".." in path.parts or not path.name:
            return ImageFault(
                what="must be a path inside the participant's folder",
                fix="write it like images/12.png, without .. and without / at the start",
            )
        file = self._folder / path
        if file.parent not in self._real:
            self._real[file.parent] = file.parent.resolve()
        real = file.resolve() if file.is_symlink() else self._real[file.parent] / file.name
        if any(real.is_relative_to(root) for root in self._roots):
            return file
        fix = "put the file itself there instead of a symbolic link"
        return ImageFault(what=f"leads out of the data set, to {real}", fix=fix)

    def named_by(self, fields: Fields, field: str, fix: str = "name the screenshot") -> Path | None:
        if fields.picture is not None:
            return fields.picture
        written = fields.text(field, fix)
        found = self.locate(written) if written.strip() else None
        if isinstance(found, ImageFault):
            fields.report(field, found.what, found.fix, written)
            return None
        return found


def find_files(data_dir: Path, patterns: Sequence[str], *, what: str) -> list[Path]:
    """The files below a folder whose names match, of the highest folder that has any, at most three deep; sorted.
    Raises UserError: there is no such folder, or no such file in it; ``what`` is missing.
    """
    if not data_dir.is_dir():
        raise UserError(
            f"--data-dir {data_dir}: there is no such folder; give the one that the data set was unpacked to"
        )
    level = [data_dir]
    for _ in range(_DEEPEST + 1):
        for folder in level:
            found = sorted({file for pattern in patterns for file in folder.glob(pattern) if file.is_file()})
            if found:
                return found
        level = sorted(child for folder in level for child in folder.iterdir() if child.is_dir())
    raise UserError(
        f"--data-dir {data_dir}: expected {what} ({', '.join(patterns)}) in there or in its folders; found none"
    )


def image_folder(data_dir: Path, annotations: Path, names: Sequence[str]) -> Path:
    """The folder of screenshots, called one of these names, in or beside the annotations' folder or in ``data_dir``.

    In a folder of ``data_dir`` is right, too: archives often hold one that is called as they are. Raises UserError:
    None of them is there.
    """
    for parent in (annotations, annotations.parent, data_dir, *sorted(data_dir.glob("*/"))):
        for name in names:
            if (parent / name).is_dir():
                return parent / name
    raise UserError(
        f"--data-dir {data_dir}: the folder of screenshots ({' or '.join(names)}) is not in there; unpack the pictures "
        "beside the annotations"
    )
