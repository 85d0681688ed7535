"""Which files of a folder of logs belong to which task.

The id that a task was given when the other program ran is the user's id, ``SCENARIO__USER`` (a file's name can hold no
``/``), or the user's id in a folder that is named after the scenario; a scenario may have any of its names. The
programs put words of their own in front, which their adapters know.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from grounding.errors import UserError
from grounding.records import Record
from grounding.webagents.agenticshop.agents.recorded import Owner, RecordedAnswer, hash_of
from grounding.webagents.agenticshop.records import Scenario
from grounding.webagents.agenticshop.scenarios import scenario_named

DEPTH = 6
MAX_FILES = 200_000
MAX_FILE_BYTES = 512 << 20
"""A history of Browser Use with its pictures in it has a few megabytes a step."""

BETWEEN = "__"

NAMELESS = frozenset({"history", "agent_history", "agenthistory", "agenthistorylist", "result", "results", "output"})
"""Names of files that say nothing of a task: then their folder's does."""


class LogPlace(Record, frozen=True, kw_only=True):
    """The files of one task, in order of their names."""

    owner: Owner
    files: tuple[Path, ...]

    def read(self, pattern: str) -> list[tuple[str, bytes]]:
        """Name and content of the files whose names match a regular expression.

        Raises:
            UserError: A file can't be read, or is too large.
        """
        return [(file.name, read_bytes(file)) for file in self.files if re.fullmatch(pattern, file.name)]


def read_bytes(path: Path) -> bytes:
    """The content of a log.

    Raises:
        UserError: It can't be read, or is too large.
    """
    try:
        if (size := path.stat().st_size) > MAX_FILE_BYTES:
            raise UserError(f"--curations: {path} has {size:,} bytes; at most {MAX_FILE_BYTES:,}")
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"--curations: {path} can't be read: {error.strerror}") from error


def find_places(
    root: Path, names: str, *, prefix: str = "", by_file: bool = False, id_in_file: str = ""
) -> tuple[LogPlace, ...]:
    """The tasks of a folder of logs.

    Args:
        root: The folder, or a single file.
        names: A regular expression for the names of the files that count.
        prefix: A regular expression for what the program puts in front of the id of a task.
        by_file: Whether a file's own name (without its ending) is the task's id, unless it is one of ``NAMELESS``.
        id_in_file: A regular expression for names of files whose one group is the task's id, wherever they lie.

    Raises:
        UserError: There are no such files, or two places are of one task.
    """
    found: dict[tuple[Owner, Path], list[Path]] = {}
    wanted = re.compile(names)
    files = [root] if root.is_file() else _files(root, wanted)
    for file in files:
        match = re.fullmatch(id_in_file, file.name) if id_in_file else None
        if match is not None:
            owner, place = _owner(file.parent, root, match[1], prefix), file.parent
        elif by_file and file.name.partition(".")[0].casefold() not in NAMELESS:
            owner, place = _owner(file.parent, root, file.name.partition(".")[0], prefix), file
        else:
            owner, place = _owner(file.parent.parent, root, file.parent.name, prefix), file.parent
        found.setdefault((owner, place), []).append(file)
    places: dict[Owner, LogPlace] = {}
    for (owner, place), of_place in found.items():
        if owner in places and not id_in_file:
            other = places[owner].files[0]
            raise UserError(f"--curations {root}: two logs of {owner[1]!r}: {other} and {place}; take one out")
        earlier = places[owner].files if owner in places else ()
        places[owner] = LogPlace(owner=owner, files=(*earlier, *sorted(of_place)))
    if not places:
        raise UserError(f"--curations {root}: none of the files that were expected is in it: {_in_words(names)}")
    return tuple(places.values())


def _in_words(names: str) -> str:
    """A pattern of names as a user may read it: * for what differs."""
    plain = re.sub(r"\[[^\]]*\][+*]?|\\d\+?|\.[+*]", "*", names.replace("\\.", "\0").replace("(?:", "("))
    return plain.replace("\0", ".").strip("()").replace("|", " or ")


def _files(root: Path, wanted: re.Pattern[str]) -> list[Path]:
    found: list[Path] = []
    waiting = [(root, 0)]
    seen = 0
    while waiting:
        folder, depth = waiting.pop()
        for path in sorted(folder.iterdir()):
            seen += 1
            if seen > MAX_FILES:
                raise UserError(f"--curations {root}: more than {MAX_FILES:,} files; give the folder of the logs alone")
            if path.is_symlink():
                continue
            if path.is_dir():
                if depth < DEPTH:
                    waiting.append((path, depth + 1))
            elif wanted.fullmatch(path.name):
                found.append(path)
    return sorted(found)


def _owner(folder: Path, root: Path, name: str, prefix: str) -> Owner:
    name = re.sub(rf"^(?:{prefix})", "", name) if prefix else name
    left, between, right = name.partition(BETWEEN)
    scenario = _scenario(left) if between else None
    if scenario is not None:
        return scenario, right
    above = [folder, *folder.parents]
    inside = above[: above.index(root) + 1] if root in above else [folder]
    return next((one for one in map(_scenario, (part.name for part in inside)) if one is not None), None), name


def _scenario(name: str) -> Scenario | None:
    try:
        return scenario_named(name)
    except UserError:
        return None


Read = Callable[[LogPlace], RecordedAnswer]


class LogRecording:
    """The logs of a folder, read when they are asked for."""

    def __init__(self, places: tuple[LogPlace, ...], read: Read) -> None:
        self._places: Mapping[Owner, LogPlace] = {place.owner: place for place in places}
        self._read = read
        # File by file: histories with pictures in them are large.
        hashes = {
            f"{one.owner}/{file.name}": hashlib.sha256(read_bytes(file)).digest()
            for one in places
            for file in one.files
        }
        self.sha256 = hash_of(hashes)

    @property
    def owners(self) -> tuple[Owner, ...]:
        """Whose logs there are."""
        return tuple(self._places)

    def answer(self, owner: Owner) -> RecordedAnswer:
        """What the log of one task says."""
        return self._read(self._places[owner])
