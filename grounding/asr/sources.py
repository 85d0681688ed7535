"""From a source of words to what a run is told: recordings found, heard or looked up, scored and put in their place.

A unit is what is said at once: one recording with the steps that it leads. Mostly that is an instruction; where a user
said the same twice in a row, the data has one instruction with two recordings, and these are two units.
``transcriptions_GT.json`` in a participant's folder says which recording goes with which pictures. Without it, or where
it doesn't say, recordings belong to instructions by their order, if there are as many of the ones as of the others.
"""

import functools
import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
from msgspec.structs import replace

from grounding.asr.noise import noise_identity, open_sources
from grounding.asr.recogniser import Recogniser, RecogniserOptions, open_recogniser
from grounding.asr.transcribe import Heard, listen, say, store_beside
from grounding.data.folders import match_name
from grounding.data.speech import (
    TRUTH,
    Clip,
    Condition,
    Transcript,
    clip_of,
    find_clips,
    parse_condition,
    read_transcripts,
)
from grounding.errors import UserError
from grounding.options import EvalOptions
from grounding.records import Failure, HistoryEntry, Record, Session, Step, TaskLabel
from grounding.run.folder import AskedTranscript
from grounding.scoring.words import NORMALISER, Spoken, Transcripts, word_errors

AUDIO = "audio"  # The folder of a participant's recordings.
MANIFEST = "transcriptions_GT.json"  # The true transcripts of a release, which say to which steps a recording belongs.
NOTHING_HEARD = Failure(kind="unparsed", message="no transcript: nothing was heard")
NO_RECORDING = Failure(kind="missing", message="no transcript: there is no recording of these words")
NO_ENTRY = Failure(kind="missing", message="no transcript: the file has no entry for this step")
NOT_WANTED = Failure(kind="missing", message="no transcript: nobody asked for it")


class Obtained(Record, frozen=True, kw_only=True):
    """What stands for the true words, and all that made it; ``transcripts`` is None in a dry run."""

    asked: AskedTranscript
    transcripts: Transcripts | None

    @property
    def slug(self) -> str:
        plain = (one if one.isascii() and (one.isalnum() or one in "._-") else "-" for one in self.asked.condition)
        return "".join(plain)[:60].strip(".") or "none"


def obtain(
    options: EvalOptions,
    sessions: Sequence[Session],
    folders: Mapping[str, Path],
    *,
    chosen: frozenset[str],
    phase: Callable[[str], AbstractContextManager[None]],
) -> Obtained:
    """What stands for the true words of the chosen steps and of all before them in their sessions.

    In a dry run it is found out what would be heard, and nothing is. Raises UserError: no recordings, no such file,
    recogniser or noise, or the recogniser can't go on.
    """
    condition = parse_condition(options.transcript or TRUTH)
    needed = _needed_steps(sessions, chosen)
    made: dict[str, Any] = {"condition": condition.label, "recogniser": "", "noise": ""}
    device = ""
    if condition.is_heard:
        sources, recogniser = open_sources(options.noise_dir), _opened(condition, options)
        made["noise"] = "" if condition.noise is None else noise_identity(condition.noise, sources)
        made["recogniser"], device = recogniser.identity, recogniser.device
        with phase("looking at the recordings"):
            units = _units(sessions, folders, needed)
        made["source"] = _digest([(one.steps, one.clip_sha256 or None) for one in units])
        if options.dry_run:
            say(f"nothing is heard in a dry run: the true words stand in for those of {condition}")
        else:
            clips = {one.clip_id: Clip(id=one.clip_id, path=one.audio, sha256=one.clip_sha256) for one in units}
            clips.pop("", None)
            found = listen(
                list(clips.values()),
                recogniser,
                noise=condition.noise,
                sources=sources,
                store=store_beside(folders),
                display=options.display,
            )
            heard = {one.clip_id: one for one in found}
            units = [_told(one, heard.get(one.clip_id)) for one in units]
    else:
        units = _recorded(condition, sessions, folders, needed)
        made["source"] = _digest([(one.steps, one.heard, one.failure) for one in units])
    asked = AskedTranscript(**made, normaliser=NORMALISER)
    if options.dry_run:
        return Obtained(asked=asked, transcripts=None)
    score = word_errors([(one.reference, one.heard) for one in units])
    told = Transcripts(**made, score=score, spoken=tuple(units), made_on=device)
    if condition.is_heard:
        say(f"{condition}: {told.speed}", options.display)
    return Obtained(asked=asked, transcripts=told)


def _opened(condition: Condition, options: EvalOptions) -> Recogniser:
    if not condition.name.startswith("whisper-api"):
        if options.asr_base_url is not None:
            raise UserError(f"--asr-base-url {options.asr_base_url}: {condition.name} asks no server; leave it out")
        return open_recogniser(str(condition.clean))
    asked = RecogniserOptions(
        base_url=options.asr_base_url,
        max_retries=options.max_retries,
        server_wait_s=options.server_wait,
        timeout_s=RecogniserOptions.timeout_s if options.timeout is None else options.timeout,
    )
    return open_recogniser(str(condition.clean), asked)


def _digest(parts: object) -> str:
    """A hash that names what the words come from, wherever the files lie."""
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


def _told(unit: Spoken, heard: Heard | None) -> Spoken:
    if heard is None:
        return replace(unit, failure=NO_RECORDING)
    text, failure = " ".join(heard.text.split()), heard.failure
    if failure is not None:
        failure = replace(failure, message=f"no transcript: {failure.message}")
    return replace(
        unit,
        heard=text,
        failure=failure or (None if text else NOTHING_HEARD),
        audio_s=heard.audio_s,
        compute_s=heard.compute_s,
        notes=heard.notes,
    )


# --- in place of the true words -----------------------------------------------------------------------------------


def _instructions_of(session: Session) -> list[Spoken]:
    found: dict[tuple[TaskLabel, int], list[Step]] = {}
    for step in session.steps:
        found.setdefault((step.task, step.instruction_index), []).append(step)
    return [
        Spoken(
            participant=session.participant,
            task=task,
            instruction_index=index,
            reference=steps[0].instruction,
            steps=tuple(step.id for step in steps),
        )
        for (task, index), steps in found.items()
    ]


def _needed_steps(sessions: Sequence[Session], chosen: Collection[str]) -> frozenset[str]:
    """The steps whose words a run over the ``chosen`` ones may tell: those, and all that came before in the session."""
    needed: set[str] = set()
    for session in sessions:
        last = max((at for at, step in enumerate(session.steps) if step.id in chosen), default=-1)
        needed.update(step.id for step in session.steps[: last + 1])
    return frozenset(needed)


def substitute(sessions: Sequence[Session], spoken: Sequence[Spoken]) -> tuple[Session, ...]:
    """The sessions with what was heard as the instruction of every step and of every history entry.

    An instruction without words, and a step that nobody asked for, has an empty text and says so in ``Step.unheard``.
    ``instruction_index`` stays that of the true text, since one recording is one instruction whatever was heard in it,
    so that scores count the same things under every condition.
    """
    of = {step_id: (one.heard, one.failure) for one in spoken for step_id in one.steps}

    def told(step: Step) -> Step:
        (heard, failure), entry = of.get(step.id, ("", NOT_WANTED)), step.history_entry
        # An entry's own words are those of the questions file, or were written from them.
        changed = None if entry is None else HistoryEntry(instruction=heard, action=entry.action)
        return replace(step, instruction=heard, unheard=failure, history_entry=changed)

    return tuple(replace(each, steps=tuple(map(told, each.steps))) for each in sessions)


# --- which recording ----------------------------------------------------------------------------------------------


def _units(
    sessions: Sequence[Session], folders: Mapping[str, Path], needed: frozenset[str], *, optional: bool = False
) -> list[Spoken]:
    """The units that the needed steps belong to, with their recordings, in order of their first step. Raises UserError:
    there are no recordings, or nothing says which belongs to which steps; unless they are optional.
    """
    found: list[Spoken] = []
    for session in sessions:
        if needed.isdisjoint(step.id for step in session.steps):
            continue
        folder, instructions = folders[session.participant], _instructions_of(session)
        clips = _clips_of(session, folder, instructions, optional=optional)
        for one in instructions:
            for path, led in groupby((step for step in one.steps if step in needed), key=clips.get):
                unit = replace(one, steps=tuple(led))
                if path is not None:
                    about = path.stat()
                    clip = _hashed(path, about.st_mtime_ns, about.st_size)
                    name = f"{folder.name}/{path.relative_to(folder).with_suffix('')}"
                    unit = replace(unit, clip_id=name, clip_sha256=clip.sha256, audio=clip.path)
                found.append(unit)
    if not optional and not any(unit.audio for unit in found):
        raise UserError(
            f"{_places(folders)}: there are no recordings: expected the files that {MANIFEST} names, or one for "
            f"each instruction in the folder {AUDIO}"
        )
    return found


def _clips_of(session: Session, folder: Path, instructions: Sequence[Spoken], *, optional: bool) -> dict[str, Path]:
    entries = _manifest(folder)
    if any(entry.audio for entry in entries):
        of_step = _by_step(entries, session, folder, instructions, folder / MANIFEST)
        found = {step: _inside(folder, entry.audio) for step, entry in of_step.items() if entry.audio}
        return {step: path for step, path in found.items() if path.is_file()}
    audio = folder / (match_name(AUDIO, _names(folder)) or AUDIO)
    recordings = find_clips([audio]) if audio.is_dir() and any(audio.iterdir()) else []
    if len(recordings) == len(instructions):
        return {step: Path(clip.path) for one, clip in zip(instructions, recordings, strict=True) for step in one.steps}
    if recordings and not optional:
        raise UserError(
            f"{audio}: {len(recordings)} recordings for {len(instructions)} instructions, and no "
            f'{MANIFEST} that says which belongs to which: write one, with lines such as {{"audio": "audio/1.flac", '
            '"steps": ["images/1.png"], "text": "…"}'
        )
    return {}


def _names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def _manifest(folder: Path) -> Sequence[Transcript]:
    name = match_name(MANIFEST, _names(folder))
    return () if name is None else read_transcripts(folder / name)


def _inside(folder: Path, written: str) -> Path:
    path = PurePosixPath(written.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts:
        raise UserError(f"{folder / MANIFEST}: {written!r} leads out of the participant's folder: name a file in it")
    return folder / path


@functools.lru_cache(1 << 16)
def _hashed(path: Path, _changed_ns: int, _size_bytes: int) -> Clip:
    """Hashed once for all runs of a command, unless the file changes in between."""
    return clip_of(path, path.stem)


def _by_step(
    entries: Sequence[Transcript], session: Session, folder: Path, instructions: Sequence[Spoken], file: Path
) -> dict[str, Transcript]:
    if not any(entry.steps for entry in entries):
        if len(entries) == len(instructions):
            return {step: entry for one, entry in zip(instructions, entries, strict=True) for step in one.steps}
        if len(entries) == len(session.steps):
            return {step.id: entry for step, entry in zip(session.steps, entries, strict=True)}
        raise UserError(
            f"{file}: {len(entries)} transcripts for {len(instructions)} instructions in {len(session.steps)} steps, "
            'and none of them says which pictures it belongs to: add "steps" to each, such as ["images/1.png"]'
        )
    of_picture: dict[str, list[Transcript]] = {}
    for entry in entries:
        for picture in entry.steps:
            of_picture.setdefault(_plain(picture), []).append(entry)
    found, own = {}, folder.absolute()
    for step in session.steps:
        path = Path(step.screenshot.path)
        place = path.relative_to(own) if path.is_relative_to(own) else Path(*path.parts[-2:])
        if known := of_picture.get(_plain(str(place))):
            # Several steps may be over one picture: the first entry belongs to the first of them, the last to the rest.
            found[step.id] = known.pop(0) if len(known) > 1 else known[0]
    return found


def _plain(picture: str) -> str:
    return PurePosixPath(picture.replace("\\", "/")).as_posix().casefold()


# --- recorded transcripts -----------------------------------------------------------------------------------------


def _recorded(
    condition: Condition, sessions: Sequence[Session], folders: Mapping[str, Path], needed: frozenset[str]
) -> list[Spoken]:
    name, texts, files = Path(condition.name), dict[str, str](), 0
    for session in sessions:
        folder = folders[session.participant]
        file = _file_of(name, folder)
        if file is None or needed.isdisjoint(step.id for step in session.steps):
            continue
        files += 1
        entries: Sequence[Transcript] = read_transcripts(file)
        if not any(entry.steps for entry in entries) and any(entry.audio for entry in entries):
            # They name their recordings only: the true transcripts say which steps those lead.
            led = {PurePosixPath(_plain(one.audio)).stem: one.steps for one in _manifest(folder)}
            names = (PurePosixPath(_plain(entry.audio)).stem for entry in entries)
            pairs = [(entry, led[name]) for entry, name in zip(entries, names, strict=True) if name in led]
            entries = [replace(entry, steps=steps) for entry, steps in pairs] or entries
        of_step = _by_step(entries, session, folder, _instructions_of(session), file)
        texts |= {step: entry.text for step, entry in of_step.items() if step in needed}
    if not files:
        there = sorted({one for folder in folders.values() for one in _names(folder)})
        known = ", ".join(one for one in there if one.startswith(("transcriptions", "questions"))) or "no such files"
        looked = f"in {_places(folders)}" if name.parent == Path() else f"for {name.parent}/N/{name.name}"
        raise UserError(
            f"--transcript {condition}: no participant has {name.name} (looked {looked}); there are {known}"
        )
    spoken = []
    for unit in _units(sessions, folders, needed, optional=True):
        # Where two recordings have the same true words, a file may have other words for each.
        for said, steps in groupby(unit.steps, key=texts.get):
            words = " ".join((said or "").split())
            failure = NO_ENTRY if said is None else None if words else NOTHING_HEARD
            spoken.append(replace(unit, steps=tuple(steps), heard=words, failure=failure))
    return spoken


def _file_of(name: Path, folder: Path) -> Path | None:
    """A participant's file: in the folder of that name below the one that the user named, else in the data set's."""
    if name.parent == Path():
        match = match_name(name.name, _names(folder))
        return None if match is None else folder / match
    own = name.parent / folder.name / name.name
    return own if own.is_file() else None


def _places(folders: Mapping[str, Path]) -> str:
    paths = [str(path) for path in folders.values()]
    return ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
