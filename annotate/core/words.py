"""What was said: recognisers' words in ``transcriptions_<name>.json`` and people's in ``transcriptions_GT.json``.

Only items that were changed are written anew: the release's files have no mark of who checked them, and keep none.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec.structs import replace

from grounding.data.folders import natural_key
from grounding.data.layouts.realwebassist import QUESTIONS
from grounding.data.samples import instruction_indices
from grounding.data.speech import find_clips, read_transcripts
from grounding.errors import UserError
from grounding.records import Record

from .folders import inside
from .journal import SaveFailed, in_words, read_list, replace_file, write_list
from .native import read_item
from .records import AnnotatedStep

CORRECTED, PREFIX, AUDIO = "transcriptions_GT.json", "transcriptions_", "audio"
_TEXT = ("text", "transcription", "transcript", "instruction")


class ClipWords(Record, frozen=True, kw_only=True):
    """A recording's words, or those typed for a picture without one, where ``audio`` is empty. ``checked``: whether
    somebody vouched for them here; None where the file does not say, as those of the release.
    """

    audio: str = ""
    steps: tuple[str, ...] = ()
    text: str = ""
    checked: bool | None = None

    def as_item(self) -> dict[str, Any]:
        mark = {} if self.checked is None else {"checked": self.checked}
        return {"audio": self.audio, "steps": list(self.steps), "text": self.text, **mark}


def machine_file(recogniser: str) -> str:
    """The name of a recogniser's file. Raises UserError: it would be the name under which corrections lie."""
    name = f"{PREFIX}{re.sub(r'[^A-Za-z0-9._-]', '-', recogniser)[:60]}.json"
    if name.casefold() == CORRECTED.casefold():
        raise UserError(f"{CORRECTED} holds what people corrected: no recogniser can write it")
    return name


def _machine_files(folder: Path) -> list[Path]:
    found = (path for path in folder.glob(f"{PREFIX}*.json") if path.name.casefold() != CORRECTED.casefold())
    return sorted(found, key=lambda path: natural_key(path.stem))


class CorrectedFile:
    """The folder's ``transcriptions_GT.json``, which need not be there yet. Raises UserError: it cannot be read.
    ``reformats``: whether saving sets all of it out anew, as its layout is not an item a line.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / CORRECTED
        self.clips: list[ClipWords] = []
        self._values: list[dict[str, Any]] = []
        self.reformats = False
        if not self.path.exists():
            return
        values, self.reformats = read_list(self.path.read_bytes(), self.path, lines=True)
        for one, value in zip(read_transcripts(self.path), values, strict=True):
            item = value if isinstance(value, dict) else ClipWords(text=one.text).as_item()
            self.reformats = self.reformats or item is not value
            mark = item.get("checked") if isinstance(item.get("checked"), bool) else None
            self.clips.append(ClipWords(audio=one.audio, steps=one.steps, text=one.text, checked=mark))
            self._values.append(item)

    def put(self, clip: ClipWords, at: int | None = None) -> None:
        """Change the item of the same recording (or of the same pictures, without one), or add it at the end."""
        keys = [(one.audio or one.steps) for one in self.clips]
        wanted = clip.audio or clip.steps
        if at is None and wanted not in keys:
            self.clips.append(clip)
            self._values.append(clip.as_item())
            return
        at = keys.index(wanted) if at is None else at
        self.clips[at], value = clip, self._values[at]
        field = next(name for name in _TEXT if isinstance(value.get(name), str))
        mark = {} if clip.checked is None else {"checked": clip.checked}
        self._values[at] = {**value, field: clip.text, **mark}

    def remove_typed(self, image: str) -> None:
        for at, one in reversed(list(enumerate(self.clips))):
            if not one.audio and one.steps == (image,):
                del self.clips[at], self._values[at]

    def write_anew(self, clips: Sequence[ClipWords]) -> None:
        self.clips, self._values = list(clips), [clip.as_item() for clip in clips]
        self.write()

    def write(self) -> None:
        """Write the file, whole or not at all; without items it goes. Raises SaveFailed: it is as it was."""
        try:
            if self.clips:
                replace_file(self.path, write_list(self._values, lines=True))
            else:  # A list of nothing is no file of transcripts.
                self.path.unlink(missing_ok=True)
        except OSError as error:
            raise SaveFailed(in_words(error, self.path)) from None


def words_of_steps(folder: Path, entries: Sequence[AnnotatedStep]) -> Mapping[str, tuple[str, str]]:
    """What was said at each picture, and whose words these are: ``what was said``, or ``heard by pocketsphinx``.

    What people say goes first, then what the first recogniser heard. Raises UserError: a file can't be read, or names
    no steps and has another count.
    """
    said: dict[str, tuple[str, str]] = {}
    for path in _machine_files(folder)[:1]:
        heard = [ClipWords(steps=one.steps, text=one.text) for one in read_transcripts(path)]
        for image, clips in _by_picture(path, heard, entries).items():
            said[image] = _joined(clips), f"heard by {path.stem.removeprefix(PREFIX)}"
    file = CorrectedFile(folder)
    for image, clips in (_by_picture(file.path, file.clips, entries) if file.clips else {}).items():
        # What was typed at a picture without a recording counts alone.
        clips = [one for one in clips if one.checked and not one.audio][-1:] or clips
        unchecked = any(clip.checked is False for clip in clips)
        said[image] = _joined(clips), "heard, not checked" if unchecked else "what was said"
    return said


def _joined(clips: Sequence[ClipWords]) -> str:
    return " ".join(dict.fromkeys(clip.text for clip in clips))


def _by_picture(path: Path, clips: Sequence[ClipWords], entries: Sequence[AnnotatedStep]) -> dict[str, list[ClipWords]]:
    """The clips with words over each picture; where none names steps, by place: one text a step or an instruction."""
    pairs = [(image, clip) for clip in clips for image in clip.steps]
    if not pairs:
        runs = _runs(entries) if len(clips) != len(entries) else [[entry.image] for entry in entries]
        if len(runs) != len(clips):
            raise UserError(
                f"{path}: its {len(clips)} texts name no steps, and there are {len(entries)} steps and {len(runs)} "
                "instructions: add steps, the pictures that each text was spoken over"
            )
        pairs = [(image, clip) for clip, run in zip(clips, runs, strict=True) for image in run]
    found: dict[str, list[ClipWords]] = {}
    for image, clip in pairs:
        if clip.text:
            found.setdefault(image, []).append(clip)
    return found


def _runs(entries: Sequence[AnnotatedStep]) -> list[list[str]]:
    """The pictures of each instruction: a run of equal text within a task, as everywhere."""
    tasks = [entry.task for entry in entries]
    indices = instruction_indices(tasks, [entry.instruction for entry in entries])
    runs: dict[tuple[str | int, int], list[str]] = {}
    for entry, key in zip(entries, zip(tasks, indices, strict=True), strict=True):
        runs.setdefault(key, []).append(entry.image)
    return list(runs.values())


def clip_path(folder: Path, audio: str) -> Path:
    """Where a clip is. Raises UserError: the name leads out of the folder."""
    inner = PurePosixPath(audio.replace("\\", "/"))
    path = folder / inner
    if inner.is_absolute() or ".." in inner.parts or not inside(folder, path):
        raise UserError(f"{folder}: the recording {audio!r} leads out of the participant's folder")
    return path


def folder_clips(folder: Path) -> list[ClipWords]:
    """All recordings of a participant's folder with the words that count so far.

    Their steps are those of ``transcriptions_GT.json``, else of a recogniser's file, else by order: one recording for
    each instruction; or none. Raises UserError: no recordings, a file that is none of transcripts or names one
    elsewhere.
    """
    there = find_clips([folder / AUDIO]) if _has_audio(folder) else []
    known = {one.audio: one for one in CorrectedFile(folder).clips if one.audio}
    for one in (one for path in _machine_files(folder) for one in read_transcripts(path) if one.audio):
        known.setdefault(one.audio, ClipWords(audio=one.audio, steps=one.steps, text=one.text, checked=False))
    names = dict.fromkeys([*known, *(Path(one.path).relative_to(folder).as_posix() for one in there)])
    clips = [known.get(name) or ClipWords(audio=name, checked=False) for name in names]
    for clip in clips:
        clip_path(folder, clip.audio)
    if not clips:
        raise UserError(f"{folder}: there is no recording: expected files in the folder {AUDIO}, one an instruction")
    if any(clip.steps for clip in clips):
        return clips
    questions = folder / QUESTIONS
    try:
        entries = [read_item(value).entry for value in read_list(questions.read_bytes(), questions)[0]]
    except (OSError, UserError):  # Whoever opens the folder says what is wrong with it.
        return clips
    runs, words = _runs(entries), {entry.image: entry.instruction for entry in reversed(entries)}
    if len(runs) != len(clips):
        return clips
    return [
        replace(one, steps=tuple(run), text=one.text or words[run[0]]) for one, run in zip(clips, runs, strict=True)
    ]


def clips_of(folder: Path, image: str) -> list[ClipWords]:
    """The recordings that go with a step, by its screenshot. Raises UserError as ``folder_clips``."""
    return [one for one in folder_clips(folder) if image in one.steps] if _has_audio(folder) else []


def _has_audio(folder: Path) -> bool:
    return (folder / AUDIO).is_dir() and any((folder / AUDIO).iterdir())


def correct(folder: Path, image: str, text: str) -> bool:
    """Keep a person's words for a step in ``transcriptions_GT.json``; whether a foreign layout was set out anew.

    They are those of the step's recording, in all steps that it goes with, or of its picture alone where there is none,
    or several. A new file gets all recordings, the others marked as not checked. Typed at a picture, no words take the
    item out. Raises UserError: the file cannot be read or written; the words are not kept then.
    """
    file = CorrectedFile(folder)
    spoken = clips_of(folder, image)
    if len(spoken) == 1:
        clips = folder_clips(folder)
        by_place = not any(one.audio for one in file.clips) and len(file.clips) == len(clips)
        for one in clips if not file.clips else ():
            file.put(replace(one, checked=bool(one.checked)))
        file.put(replace(spoken[0], text=text, checked=True), clips.index(spoken[0]) if by_place else None)
    elif any(not one.audio and not one.steps for one in file.clips):
        raise UserError(
            f"{file.path}: its texts name neither recordings nor pictures and belong to the steps by their "
            'place: correct it there, or give each item steps, a list such as ["images/1.png"]'
        )
    elif text:
        file.put(ClipWords(steps=(image,), text=text, checked=True))
    else:
        file.remove_typed(image)
    file.write()
    return file.reformats
