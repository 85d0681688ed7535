"""Which recording and which recorded words belong to which steps: a data set and its files in, units out.

A unit is what is said at once: one recording with the steps that it leads. Mostly that is an instruction; where a user
said the same twice in a row, the data has one instruction with two recordings, and these are two units.

``transcriptions_GT.json`` in a participant's folder says which recording goes with which pictures. Without it, or where
it doesn't say, recordings belong to instructions by their order, if there are as many of the ones as of the others.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path, PurePosixPath

import msgspec

from grounding.asr.conditions import Condition
from grounding.asr.records import Clip
from grounding.asr.substitution import Instruction, instructions_of
from grounding.asr.transcripts import Transcript, best_match, clip_of, find_clips, read_transcripts
from grounding.errors import UserError
from grounding.loaders.folders import match_name
from grounding.records import Record, Session, Step, TaskLabel

MANIFEST = "transcriptions_GT.json"
"""The true transcripts of a release, with the recordings that they are of."""

AUDIO = "audio"
"""The folder of a participant's recordings."""


class Unit(Record, frozen=True, kw_only=True):
    """Words that were said at once, and the steps that they lead; ``clip`` is None where there is no recording."""

    participant: str
    task: TaskLabel
    instruction_index: int
    steps: tuple[str, ...]
    text: str
    clip: Clip | None = None


def units_of(
    sessions: Sequence[Session], folders: Mapping[str, Path], needed: frozenset[str], *, optional: bool = False
) -> tuple[Unit, ...]:
    """The units that the needed steps belong to, with their recordings, in order of their first step.

    Args:
        sessions: The data set with the true words.
        folders: Every participant's folder.
        needed: Ids of steps.
        optional: Whether a data set without recordings is all right.

    Raises:
        UserError: there are no recordings, or nothing says which belongs to which steps.
    """
    found: list[Unit] = []
    for session in sessions:
        if not any(step.id in needed for step in session.steps):
            continue
        instructions = instructions_of([session])
        clips = _clips_of(session, folders[session.participant], instructions, optional=optional)
        for one in instructions:
            steps = [step for step in one.steps if step in needed]
            for path, led in groupby(steps, key=clips.get):
                found.append(
                    _unit(one, tuple(led), None if path is None else _clip(path, folders[session.participant]))
                )
    if not optional and not any(unit.clip is not None for unit in found):
        raise UserError(
            f"{_places(folders)}: there are no recordings: expected the files that {MANIFEST} names, or one for "
            f"each instruction in the folder {AUDIO}"
        )
    return tuple(found)


def _unit(one: Instruction, steps: tuple[str, ...], clip: Clip | None) -> Unit:
    return Unit(
        participant=one.participant,
        task=one.task,
        instruction_index=one.instruction_index,
        steps=steps,
        text=one.text,
        clip=clip,
    )


def _clips_of(
    session: Session, folder: Path, instructions: Sequence[Instruction], *, optional: bool
) -> dict[str, Path]:
    """The recording of each step that has one."""
    manifest = match_name(MANIFEST, _names(folder))
    if manifest is not None:
        entries = read_transcripts(folder / manifest)
        if any(entry.audio for entry in entries):
            of_step = _by_step(entries, session, folder, instructions, folder / manifest)
            found = {step: _inside(folder, entry.audio) for step, entry in of_step.items() if entry.audio}
            return {step: path for step, path in found.items() if path.is_file()}
    audio = match_name(AUDIO, _names(folder))
    recordings = find_clips([folder / audio]) if audio is not None and any((folder / audio).iterdir()) else []
    if not recordings:
        return {}
    if len(recordings) != len(instructions):
        if optional:
            return {}
        raise UserError(
            f"{folder / (audio or AUDIO)}: {len(recordings)} recordings for {len(instructions)} instructions, and no "
            f'{MANIFEST} that says which belongs to which: write one, with lines such as {{"audio": "audio/1.flac", '
            '"steps": ["images/1.png"], "text": "…"}'
        )
    return {step: Path(clip.path) for one, clip in zip(instructions, recordings, strict=True) for step in one.steps}


def _names(folder: Path) -> list[str]:
    try:
        return [path.name for path in folder.iterdir()]
    except OSError as error:
        raise UserError(f"{folder}: can't be read: {error.strerror}") from error


def _inside(folder: Path, written: str) -> Path:
    """A recording's path; it may not lead out of its participant's folder."""
    path = PurePosixPath(written.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts:
        raise UserError(f"{folder / MANIFEST}: {written!r} leads out of the participant's folder: name a file in it")
    return folder / path


def _clip(path: Path, folder: Path) -> Clip:
    about = path.stat()
    return msgspec.structs.replace(
        _hashed(path, about.st_mtime_ns, about.st_size), id=f"{folder.name}/{path.relative_to(folder).with_suffix('')}"
    )


@functools.lru_cache(1 << 16)
def _hashed(path: Path, _changed_ns: int, _size_bytes: int) -> Clip:
    """Hashed once for all runs of a command, unless the file changes in between."""
    return clip_of(path, path.stem)


def _by_step(
    entries: Sequence[Transcript], session: Session, folder: Path, instructions: Sequence[Instruction], file: Path
) -> dict[str, Transcript]:
    """The entry of each step: by its picture where entries name pictures, else by the instruction's place."""
    if any(entry.steps for entry in entries):
        of_picture: dict[str, list[Transcript]] = {}
        for entry in entries:
            for picture in entry.steps:
                of_picture.setdefault(_picture(picture), []).append(entry)
        used: dict[str, int] = {}
        found = {}
        for step in session.steps:
            picture = _picture(picture_of(step, folder))
            known = of_picture.get(picture)
            if known:
                # Several steps may be over one picture: the first entry belongs to the first of them.
                found[step.id] = known[min(used.get(picture, 0), len(known) - 1)]
                used[picture] = used.get(picture, 0) + 1
        return found
    if len(entries) != len(instructions):
        raise UserError(
            f"{file}: {len(entries)} transcripts for {len(instructions)} instructions, and none of them says which "
            'pictures it belongs to: add "steps" to each, such as ["images/1.png"]'
        )
    return {step: entry for one, entry in zip(instructions, entries, strict=True) for step in one.steps}


def picture_of(step: Step, folder: Path) -> str:
    """A step's screenshot as a participant's files name it: ``images/1.png``."""
    path = Path(step.screenshot.path)
    try:
        inner = path.relative_to(folder.absolute())
    except ValueError:
        inner = Path(*path.parts[-2:])
    return inner.as_posix()


def _picture(written: str) -> str:
    """One spelling, whatever the case and the slashes."""
    return PurePosixPath(written.replace("\\", "/")).as_posix().casefold()


# --- recorded words -----------------------------------------------------------------------------------------------


def recorded_texts(
    condition: Condition, sessions: Sequence[Session], folders: Mapping[str, Path], needed: frozenset[str]
) -> dict[str, str]:
    """What recorded transcripts, or another questions file, have for the needed steps; those they lack are left out.

    Raises:
        UserError: no participant has the file, or it can't be read.
    """
    found: dict[str, str] = {}
    files = 0
    for session in sessions:
        if not any(step.id in needed for step in session.steps):
            continue
        folder = folders[session.participant]
        file = _file_of(condition, folder)
        if file is None:
            continue
        files += 1
        entries: Sequence[Transcript] = read_transcripts(file)
        instructions = instructions_of([session])
        if condition.kind == "file" and not any(entry.steps for entry in entries):
            entries = _with_steps(entries, folder)
        of_step = _by_step(entries, session, folder, instructions, file)
        found |= {step: entry.text for step, entry in of_step.items() if step in needed}
    if not files:
        raise UserError(
            f"--transcript {condition}: no participant has {Path(condition.name).name} "
            f"({_looked(condition, folders)}); {_there_are(folders)}"
        )
    return found


def _file_of(condition: Condition, folder: Path) -> Path | None:
    """A participant's file: in the folder of that name below the one that the user named, else in the data set's."""
    name = Path(condition.name)
    if name.parent == Path():
        match = match_name(name.name, _names(folder))
        return None if match is None else folder / match
    own = name.parent / folder.name / name.name
    return own if own.is_file() else None


def _with_steps(entries: Sequence[Transcript], folder: Path) -> Sequence[Transcript]:
    """Entries that name only their recording, with the steps that the true transcripts have for it."""
    manifest = match_name(MANIFEST, _names(folder))
    if manifest is None or not any(entry.audio for entry in entries):
        return entries
    true = read_transcripts(folder / manifest)
    matched = [best_match(Path(entry.audio), true) for entry in entries if entry.audio]
    return [
        msgspec.structs.replace(entry, steps=match.steps)
        for entry, match in zip((entry for entry in entries if entry.audio), matched, strict=True)
        if match is not None
    ]


def _looked(condition: Condition, folders: Mapping[str, Path]) -> str:
    name = Path(condition.name)
    return f"looked in {_places(folders)}" if name.parent == Path() else f"looked for {name.parent}/N/{name.name}"


def _places(folders: Mapping[str, Path]) -> str:
    paths = [str(path) for path in folders.values()]
    return ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")


def _there_are(folders: Mapping[str, Path]) -> str:
    names = sorted({name for folder in folders.values() for name in _json_files(folder)})
    return f"there are {', '.join(names)}" if names else "there are no such files"


def _json_files(folder: Path) -> Iterable[str]:
    return (name for name in _names(folder) if name.startswith(("transcriptions", "questions")))
