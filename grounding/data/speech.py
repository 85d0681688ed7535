"""Recordings, transcripts, and where the words of a run come from: files and one line of text in, records out.

A source of words is ``SOURCE`` or ``SOURCE@NOISE``::

    truth                                the true transcripts
    pocketsphinx   whisper   whisper:turbo   whisper:/models/tiny.pt   whisper-api:large-v3
    whisper:turbo,language=en            a recogniser with options
    pocketsphinx@babble:10dB             with noise at a signal-to-noise ratio
    pocketsphinx@babble:10dB:seed=3      with another draw of the noise
    file:transcriptions_Wturbo.json      recorded transcripts: a name in every participant's folder, or a path

Transcripts are kept in a JSON list, one object a recording::

    [{"audio": "audio/1.flac", "steps": ["images/1.png", "images/2.png"], "text": "okay so …",
      "words": [{"text": "okay", "start_s": 0.2, "end_s": 0.5}], "key": "…"}]

``words`` and ``key`` are there where a machine heard it. Nothing states the form of the release's own files, so the
likely ones are read, too: other names of the fields, a plain list of texts (one a recording, an instruction or a step),
and a questions file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import msgspec

from grounding.atomic import atomic_write
from grounding.data.folders import natural_key
from grounding.errors import UserError
from grounding.records import Record

# --- recordings and transcripts -----------------------------------------------------------------------------------

_LIBSNDFILE = (".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff", ".au", ".caf", ".w64")
_FFMPEG = (".m4a", ".aac", ".webm", ".mp4", ".mka", ".mkv", ".mov", ".wma", ".amr")
AUDIO_SUFFIXES = frozenset((*_LIBSNDFILE, *_FFMPEG))
_TEXT = ("text", "transcription", "transcript", "instruction")
_AUDIO = ("audio", "audio_path", "audio_file", "file", "filename", "file_name", "path", "clip")
_MOST_BYTES = 256 << 20


class Clip(Record, frozen=True, kw_only=True):
    id: str
    path: str
    sha256: str


class Word(Record, frozen=True, kw_only=True):
    """One word as it was heard, in seconds from the clip's start. ``probability`` is None where none is given."""

    text: str
    start_s: float
    end_s: float
    probability: float | None = None


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
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise UserError(f"{path}: {path.stat().st_size} bytes are too many for transcripts")
        content = msgspec.json.decode(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    except OSError as error:
        raise UserError(f"{path}: the transcripts can't be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"{path}: is not JSON: {error}") from error
    if not isinstance(content, list) or not content:
        raise UserError(f"{path}: expected a list of transcripts, one object a clip with audio, steps and text")
    return tuple(_transcript(item, f"{path}: item {number}") for number, item in enumerate(content, 1))


def _transcript(item: Any, where: str) -> Transcript:
    if isinstance(item, str):
        return Transcript(text=item)
    if not isinstance(item, dict):
        raise UserError(f"{where}: expected an object or a text, got {type(item).__name__}")

    def first(*names: str) -> str | None:
        return next((item[name] for name in names if isinstance(item.get(name), str)), None)

    text, image = first(*_TEXT), first("final_image", "image")
    if text is None:
        raise UserError(f"{where}: expected a text under one of {', '.join(_TEXT)}; it has {', '.join(map(str, item))}")
    steps = item.get("steps", [] if image is None else [image])
    if not isinstance(steps, list) or not all(isinstance(step, str) for step in steps):
        raise UserError(f"{where}: steps: expected a list of pictures, such as images/1.png")
    try:
        words = msgspec.convert(item.get("words") or (), tuple[Word, ...])
    except msgspec.ValidationError as error:
        raise UserError(f"{where}: words: expected objects with text, start_s and end_s: {error}") from error
    return Transcript(
        text=text.strip(), audio=first(*_AUDIO) or "", steps=tuple(steps), words=words, key=first("key") or ""
    )


def write_transcripts(path: Path, transcripts: Iterable[Transcript]) -> None:
    content = b",\n ".join(msgspec.json.encode(each) for each in transcripts)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, b"[\n " + content + b"\n]\n")
    except OSError as error:
        raise UserError(f"{path}: can't be written: {error.strerror}") from error


def find_clips(places: Iterable[Path]) -> list[Clip]:
    """The recordings at these places: files as they are, folders with all that is below them, in natural order.

    A clip's id is its path below the folder that was named, without the ending, or the file's name without it. Raises
    UserError: there is no such place, or no recording in a folder.
    """
    clips, seen = [], set[str]()
    for place in places:
        if not place.exists():
            raise UserError(f"{place}: there is no such file or folder of recordings")
        inside = sorted(place.rglob("*"), key=lambda path: natural_key(str(path))) if place.is_dir() else [place]
        found = [path for path in inside if path == place or (path.is_file() and path.suffix.lower() in AUDIO_SUFFIXES)]
        if not found:
            raise UserError(f"{place}: there is no recording in this folder ({', '.join(sorted(AUDIO_SUFFIXES))})")
        for path in found:
            clip_id = (path.relative_to(place) if path != place else Path(place.name)).with_suffix("").as_posix()
            clip_id = str(path) if clip_id in seen else clip_id  # 1.wav beside 1.flac, or one name in two folders
            seen.add(clip_id)
            clips.append(clip_of(path, clip_id))
    return clips


def clip_of(path: Path, clip_id: str) -> Clip:
    try:
        return Clip(id=clip_id, path=str(path), sha256=file_sha256(path))
    except OSError:
        return Clip(id=clip_id, path=str(path), sha256=hashlib.sha256(b"").hexdigest())


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# --- where words come from ----------------------------------------------------------------------------------------

TRUTH, DEFAULT_RECOGNISER = "truth", "pocketsphinx"

# Options that say how a recogniser is asked and never change what it hears.
HOW_FAST = frozenset(("base_url", "connections", "max_retries", "server_wait_s", "timeout_s"))
_NOISE = re.compile(r"(?P<source>[a-z][a-z0-9_-]*):(?P<level>[-+]?\d+(\.\d+)?)\s*(dB)?(:seed=(?P<seed>\d{1,9}))?", re.I)
OPTION = re.compile(r",(?=[a-z_]+=)")
"""What separates a recogniser's options: a comma in a prompt is part of the prompt."""
_WIDEST_DB = 100.0
_EXAMPLE = "as in pocketsphinx@babble:10dB or pocketsphinx@typing:0dB:seed=1"


class Noisy(Record, frozen=True, kw_only=True):
    """Noise to add: the name of a source, and ``snr_db``, how much louder the speech is than it."""

    source: str
    snr_db: float
    seed: int = 0

    def __str__(self) -> str:
        return f"{self.source}:{self.snr_db:g}dB{f':seed={self.seed}' if self.seed else ''}"


class Condition(Record, frozen=True, kw_only=True):
    """One source of words.

    ``name`` is the file of a recorded source and the recogniser with its model else; "" for the truth. ``options`` are
    the recogniser's, as ``name=value``, by name. ``noise`` is what is added to the speech before it is heard.
    """

    kind: Literal["truth", "file", "recogniser"]
    name: str = ""
    options: tuple[str, ...] = ()
    noise: Noisy | None = None

    @property
    def is_heard(self) -> bool:
        return self.kind == "recogniser"

    @property
    def clean(self) -> Condition:
        return msgspec.structs.replace(self, noise=None)

    @property
    def label(self) -> str:
        """The text without what cannot change a word, places of files among it: names runs and rows of tables."""
        if self.kind == "file":
            return f"file:{Path(self.name).name}"
        kept = tuple(option for option in self.options if option.partition("=")[0] not in HOW_FAST)
        return str(msgspec.structs.replace(self, options=kept))

    def __str__(self) -> str:
        if not self.is_heard:
            return TRUTH if self.kind == "truth" else f"file:{self.name}"
        return ",".join((self.name, *self.options)) + ("" if self.noise is None else f"@{self.noise}")


def parse_noise(text: str) -> Noisy:
    """A noise from its text. Raises UserError: it is not ``SOURCE:LEVELdB``, with ``:seed=N`` behind it or not."""
    found = _NOISE.fullmatch(text.strip().replace("\u2212", "-"))
    if found is None or abs(level := float(found["level"]) + 0.0) > _WIDEST_DB:
        raise UserError(
            f"noise {text!r}: expected a source, a colon and decibels between -{_WIDEST_DB:g} and {_WIDEST_DB:g}, "
            f"{_EXAMPLE}"
        )
    return Noisy(source=found["source"], snr_db=level, seed=int(found["seed"] or 0))


def parse_condition(text: str) -> Condition:
    """A source of words from its text. Raises UserError: it names nothing, a noise that can't be read, or noise for
    words that nobody has to hear.
    """
    said = text.strip()
    source, at, behind = said.rpartition("@")
    if not at or "/" in behind or (said.lower().startswith("file:") and not _NOISE.fullmatch(behind)):
        source, at, behind = said, "", ""  # The @ is part of a path.
    kind, colon, name = source.partition(":")
    if not source or any(character.isspace() and character != " " for character in said):
        raise UserError(
            f"--transcript {text!r}: expected a source of transcripts: truth, a recogniser (pocketsphinx, whisper, "
            "whisper:MODEL, whisper-api:MODEL) or file:NAME.json"
        )
    try:
        noise = parse_noise(behind) if at else None
    except UserError as error:
        raise UserError(f"--transcript {text}: {error}") from None
    if source.lower() == TRUTH or (kind.lower() == "file" and colon):
        if noise is not None:
            raise UserError(
                f"--transcript {text}: {source} has no sound: noise can be added only where a recogniser hears, "
                f"{_EXAMPLE}"
            )
        if source.lower() == TRUTH:
            return Condition(kind="truth")
        if not name.strip():
            raise UserError(f"--transcript {said}: which file? As in file:transcriptions_GT.json")
        return Condition(kind="file", name=name.strip())
    head, *options = OPTION.split(source)
    found = {one.partition("=")[0].strip(): one.partition("=")[2].strip() for one in options}
    if len(found) < len(options):
        raise UserError(f"--transcript {said}: an option is given twice; leave one out")
    by_name = tuple(f"{option}={value}" for option, value in sorted(found.items()))
    return Condition(kind="recogniser", name=head.strip(), options=by_name, noise=noise)
