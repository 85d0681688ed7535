"""What people say was said: ``transcriptions_GT.json``, apart from what any machine heard.

A machine's file is named after it, is written by it alone and never holds a correction. ``transcriptions_GT.json`` has
an item for every clip of the folder, as it also says which recording goes with which steps; an item that a person has
checked says so, and the text of any other is only what the machine, or the questions file, has::

    {"audio": "audio/1.flac", "steps": ["images/1.png"], "text": "open the first one", "checked": true}
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from annotate.heard import CORRECTED
from annotate.saving import SaveFailed, in_words, replace_file
from grounding.asr.transcripts import Transcript, read_transcripts
from grounding.errors import UserError
from grounding.records import Record

PREFIX = "transcriptions_"


class Corrected(Record, frozen=True, kw_only=True):
    """One clip's words; ``checked`` once a person has listened and vouches for them."""

    audio: str
    steps: tuple[str, ...] = ()
    text: str = ""
    checked: bool = False


def machine_file(recogniser: str) -> str:
    """The name of a recogniser's file, such as ``transcriptions_whisper-turbo.json``.

    Raises:
        UserError: It would be the name under which corrections lie.
    """
    name = f"{PREFIX}{re.sub(r'[^A-Za-z0-9._-]', '-', recogniser)[:60]}.json"
    if name.casefold() == CORRECTED.casefold():
        raise UserError(f"{CORRECTED} holds what people corrected: no recogniser can write it")
    return name


def machine_files(folder: Path) -> list[Path]:
    """The files of recognisers in a folder, by name."""
    return sorted(path for path in folder.glob(f"{PREFIX}*.json") if path.name.casefold() != CORRECTED.casefold())


def read_machine(path: Path) -> tuple[Transcript, ...]:
    """What a recogniser heard; nothing where it has no file yet.

    Raises:
        UserError: The file is there and is none.
    """
    return read_transcripts(path) if path.exists() else ()


def read_corrected(folder: Path) -> list[Corrected]:
    """The items of the folder's ``transcriptions_GT.json``; none where there is no file.

    In a file of the release nothing is marked: there, every text is a person's.

    Raises:
        UserError: The file cannot be read, or holds something else.
    """
    path = folder / CORRECTED
    if not path.exists():
        return []
    try:
        items = msgspec.json.decode(path.read_bytes(), type=list[Corrected])
    except OSError as error:
        raise UserError(f"{path}: can't be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        items = [Corrected(audio=one.audio, steps=one.steps, text=one.text) for one in read_transcripts(path)]
    if not any("checked" in line for line in path.read_text(encoding="utf-8").splitlines()):
        items = [msgspec.structs.replace(one, checked=True) for one in items]
    return items


def write_corrected(folder: Path, items: Sequence[Corrected]) -> None:
    """Write the file, whole or not at all. What it has of a clip beyond the words stays.

    Raises:
        SaveFailed: It cannot be written; it is as it was.
    """
    path = folder / CORRECTED
    before = _as_it_is(path)
    # Said of every item: a clip without words is one, and a file of ours is never taken for one of the release.
    plain = [
        {**before.get(one.audio, {}), "audio": one.audio, "steps": one.steps, "text": one.text, "checked": one.checked}
        for one in items
    ]
    try:
        replace_file(path, msgspec.json.format(msgspec.json.encode(plain), indent=1) + b"\n")
    except OSError as error:
        raise SaveFailed(in_words(error, path)) from None


def _as_it_is(path: Path) -> dict[str, dict[str, Any]]:
    """The file's items by their recording, with all their fields; none where it has no such items."""
    try:
        items = msgspec.json.decode(path.read_bytes(), type=list[dict[str, Any]])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return {one["audio"]: one for one in items if isinstance(one.get("audio"), str)}


def with_correction(items: Sequence[Corrected], clips: Sequence[Corrected], audio: str, text: str) -> list[Corrected]:
    """The file's items with one clip's text as a person has it.

    Args:
        items: What the file has.
        clips: All clips of the folder, with the words that count so far: those that the file lacks are put in.
        audio: The clip, by its path in the folder.
        text: What was said.
    """
    known = {one.audio: one for one in items}
    result = [*items, *(one for one in clips if one.audio not in known)]
    return [msgspec.structs.replace(one, text=text, checked=True) if one.audio == audio else one for one in result]
