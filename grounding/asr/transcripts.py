"""Files of transcripts: our layout, and the shapes in which others keep theirs.

Our layout, ``transcriptions_NAME.json``, is a JSON list with one object a clip::

    [{"audio": "audio/1.flac", "steps": ["images/1.png", "images/2.png"], "text": "okay so …",
      "words": [{"text": "okay", "start_s": 0.2, "end_s": 0.5}], "key": "…"}]

``words`` and ``key`` are there where a machine heard it. Nothing states the form of the release's own files, so that
the likely ones are read, too: other names of the fields, an object of file names, a list of bare texts in the order of
the clips, openai-whisper's output for one file, and a questions file (an instruction for each picture).
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from grounding.asr.audio import UnreadableAudio, file_sha256
from grounding.asr.records import Clip, Heard, Word
from grounding.errors import UserError
from grounding.records import Record

_LIBSNDFILE = (".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff", ".au", ".caf", ".w64")
_FFMPEG = (".m4a", ".aac", ".webm", ".mp4", ".mka", ".mkv", ".mov", ".wma", ".amr")
AUDIO_SUFFIXES = frozenset((*_LIBSNDFILE, *_FFMPEG))
_TEXT = ("text", "transcription", "transcript", "instruction")
_AUDIO = ("audio", "audio_path", "audio_file", "file", "filename", "file_name", "path", "clip")
_IMAGE = ("final_image", "image")
_MOST_BYTES = 256 << 20


class Transcript(Record, frozen=True, kw_only=True):
    """One clip's transcript. ``audio`` is the recording's path in its folder, ``steps`` are the pictures it goes with.

    Either may be empty where the file doesn't say: such items count by their place.
    """

    text: str
    audio: str = ""
    steps: tuple[str, ...] = ()
    words: tuple[Word, ...] = ()
    key: str = ""


def read_transcripts(path: Path) -> tuple[Transcript, ...]:
    """The transcripts in a file, in its order.

    Raises:
        UserError: it can't be read, or holds something else; says where.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise UserError(f"{path}: {path.stat().st_size} bytes are too many for transcripts")
        content = msgspec.json.decode(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    except OSError as error:
        raise UserError(f"{path}: the transcripts can't be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"{path}: is not JSON: {error}") from error
    if isinstance(content, dict):
        if isinstance(content.get("text"), str):
            return (_transcript(content, f"{path}"),)
        content = [
            {"audio": name, **value} if isinstance(value, dict) else {"audio": name, "text": value}
            for name, value in content.items()
        ]
    if not isinstance(content, list) or not content:
        raise UserError(f"{path}: expected a list of transcripts, one object a clip with audio, steps and text")
    return tuple(_transcript(item, f"{path}: item {number}") for number, item in enumerate(content, 1))


def write_transcripts(path: Path, transcripts: Iterable[Transcript]) -> None:
    """Write our layout; the file appears whole or not at all.

    Raises:
        UserError: it can't be written.
    """
    content = b",\n ".join(msgspec.json.encode(each) for each in transcripts)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    except OSError as error:
        raise UserError(f"{path}: can't be written: {error.strerror}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(b"[\n " + content + b"\n]\n")
        # Made for its owner alone; a data set's file is for everybody who may write there.
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except OSError as error:
        Path(name).unlink(missing_ok=True)
        raise UserError(f"{path}: can't be written: {error.strerror}") from error


def transcript_of(heard: Heard, *, audio: str, steps: Sequence[str] = ()) -> Transcript:
    """What a recogniser heard, as an item of a file."""
    return Transcript(text=heard.text, audio=audio, steps=tuple(steps), words=heard.words, key=heard.key)


def find_clips(places: Iterable[Path], names: Collection[str] = AUDIO_SUFFIXES) -> list[Clip]:
    """The recordings at these places: files as they are, folders with all that is below them, in natural order.

    A clip's id is its path below the folder that was named, without the ending, or the file's name without it. Files
    that can't be opened are clips, too, with no hash: what hears them will say why.

    Args:
        places: Files and folders.
        names: The endings of recordings that are looked for in folders, in lower case.

    Raises:
        UserError: there is no such place, or no recording in a folder.
    """
    clips, seen = [], set[str]()
    for place in places:
        if place.is_dir():
            inside = [path for path in place.rglob("*") if path.is_file() and path.suffix.lower() in names]
            found = [(path, path.relative_to(place)) for path in sorted(inside, key=_natural)]
            if not found:
                raise UserError(f"{place}: there is no recording in this folder ({', '.join(sorted(names))})")
        elif place.exists():
            found = [(place, Path(place.name))]
        else:
            raise UserError(f"{place}: there is no such file or folder of recordings")
        for path, inner in found:
            clip_id = str(PurePosixPath(inner.with_suffix("")))
            if clip_id in seen:  # 1.wav beside 1.flac, or one name in two folders
                clip_id = str(path)
            seen.add(clip_id)
            clips.append(clip_of(path, clip_id))
    return clips


def clip_of(path: Path, clip_id: str) -> Clip:
    """A file as a clip; ``sha256`` is the hash of no bytes where it can't be read."""
    try:
        return Clip(id=clip_id, path=str(path), sha256=file_sha256(path))
    except UnreadableAudio:
        return Clip(id=clip_id, path=str(path), sha256=hashlib.sha256(b"").hexdigest())


def best_match(path: Path, transcripts: Sequence[Transcript]) -> Transcript | None:
    """The transcript whose ``audio`` agrees with a recording's path from its end on, whatever the endings.

    ``audio/3.wav`` stands for ``…/2/audio/3.flac``; of several the one that agrees for longest; None where there is
    none, or two agree equally long.
    """
    own = _backwards(str(path))
    found = [(_agreement(own, _backwards(each.audio)), each) for each in transcripts if each.audio]
    best = max((length for length, _ in found), default=0)
    matching = [each for length, each in found if length == best]
    return matching[0] if best and len(matching) == 1 else None


def _backwards(path: str) -> tuple[str, ...]:
    parts = PurePosixPath(path.replace("\\", "/")).with_suffix("").parts if path.strip("/. ") else ()
    return tuple(part.casefold() for part in reversed(parts))


def _agreement(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    length = 0
    for one, other in zip(a, b, strict=False):
        if one != other:
            break
        length += 1
    return length


def _natural(path: Path) -> tuple[tuple[tuple[bool, int, str], ...], ...]:
    return tuple(tuple(_ranked(part) for part in re.split(r"(\d+)", each) if part) for each in path.parts)


def _ranked(part: str) -> tuple[bool, int, str]:
    """Numbers by their value, before words."""
    return (not part.isdecimal(), int(part) if part.isdecimal() else 0, part)


def _transcript(item: Any, where: str) -> Transcript:
    if isinstance(item, str):
        return Transcript(text=item)
    if not isinstance(item, dict):
        raise UserError(f"{where}: expected an object or a text, got {type(item).__name__}")
    text = next((item[name] for name in _TEXT if isinstance(item.get(name), str)), None)
    if text is None:
        raise UserError(f"{where}: expected a text under one of {', '.join(_TEXT)}; it has {', '.join(map(str, item))}")
    audio = next((item[name] for name in _AUDIO if isinstance(item.get(name), str)), "")
    steps = item.get("steps")
    if steps is None:
        steps = [item[name] for name in _IMAGE if isinstance(item.get(name), str)][:1]
    if not isinstance(steps, list) or not all(isinstance(step, str) for step in steps):
        raise UserError(f"{where}: steps: expected a list of pictures, such as images/1.png")
    key = item.get("key")
    return Transcript(
        text=text.strip(),
        audio=audio,
        steps=tuple(steps),
        words=_words(item, where),
        key=key if isinstance(key, str) else "",
    )


def _words(item: dict[str, Any], where: str) -> tuple[Word, ...]:
    listed = item.get("words")
    if listed is None:
        segments = item.get("segments")
        listed = [
            word
            for segment in (segments if isinstance(segments, list) else ())
            for word in (segment.get("words") or () if isinstance(segment, dict) else ())
        ]
    if not isinstance(listed, list):
        raise UserError(f"{where}: words: expected a list")
    try:
        return tuple(
            Word(
                text=str(word.get("text", word.get("word", ""))).strip(),
                start_s=float(word.get("start_s", word.get("start"))),
                end_s=float(word.get("end_s", word.get("end"))),
                probability=None if word.get("probability") is None else float(word["probability"]),
            )
            for word in listed
        )
    except (TypeError, ValueError, AttributeError) as error:
        raise UserError(f"{where}: words: expected objects with text, start_s and end_s: {error}") from error
