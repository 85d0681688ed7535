"""Many clips through one recogniser: what is kept is not heard again, and no clip's failure ends the run.

A clip is read, made noisy, cut at pauses where it is longer than the recogniser takes, heard piece by piece and put
together. Everything that was heard is kept the moment it is, a long clip's pieces one by one, so that a run which was
stopped or killed goes on where it was.
"""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

import msgspec
import numpy as np
from msgspec.structs import replace

from grounding.asr.audio import READER, SAMPLE_RATE_HZ, Audio, Samples, UnreadableAudio, read_audio
from grounding.asr.noise import Sources, add_noise, noise_identity, open_sources
from grounding.asr.recogniser import Recogniser, Recognition
from grounding.cache import Cache
from grounding.cards.places import cache_dir
from grounding.data.speech import Clip, Noisy, Transcript, read_transcripts
from grounding.errors import UserError
from grounding.options import Display
from grounding.records import Failure, FailureKind, Record
from grounding.run.display import Progress


class Heard(Recognition, frozen=True, kw_only=True):
    """What one recogniser made of one clip under one condition.

    ``key`` is the hash of all that can change the text: the audio's bytes, the noise, the recogniser, its version and
    its options. ``audio_s`` is the clip's length; ``compute_s`` is 0 where it was kept. A ``failure`` is ``unparsed``
    where the file can't be read, ``error`` where the recogniser failed: asking again may help. An empty ``text``
    without one is what was heard: nothing.
    """

    clip_id: str
    key: str
    audio_s: float = 0.0
    failure: Failure | None = None


def transcript_of(heard: Heard, *, audio: str, steps: Sequence[str] = ()) -> Transcript:
    return Transcript(text=heard.text, audio=audio, steps=tuple(steps), words=heard.words, key=heard.key)


Source = Literal["stored", "heard"]


def transcribe(
    clips: Sequence[Clip],
    recogniser: Recogniser,
    *,
    noise: Noisy | None = None,
    sources: Sources | None = None,
    store: TranscriptStore | None = None,
    progress: Callable[[Heard, Source], None] = lambda _heard, _source: None,
    on_piece: Callable[[Clip, int, int], None] = lambda _clip, _done, _count: None,
) -> list[Heard]:
    """What is heard in each clip, in the order of the clips. Equal files are heard once.

    A clip that can't be read or recognised has a ``failure`` in its record; the others go on. Ctrl-C ends it with
    KeyboardInterrupt after what was heard so far has been kept. Without ``sources`` there are the built-in noises,
    without a ``store`` nothing is kept. ``progress`` is told of every clip as it is ready, ``on_piece`` of one that is
    heard in several pieces, how many are through, and how many there are. Raises UserError: no such noise, or what the
    recogniser can't go on without.
    """
    sources, store = sources or open_sources(), store or TranscriptStore(None)
    keys = [heard_key(clip, recogniser, noise, sources) for clip in clips]
    same: dict[str, list[Clip]] = {}
    for clip, key in zip(clips, keys, strict=True):
        same.setdefault(key, []).append(clip)
    found: dict[str, Heard] = {}
    asked: dict[Audio, tuple[_Open, int]] = {}

    def ready(heard: Heard, source: Source) -> None:
        found[heard.key] = heard
        if source == "heard":
            store.put(heard, recogniser.name)
        for clip in same[heard.key]:
            progress(replace(heard, clip_id=clip.id), source)

    def settle(opened: _Open, number: int, result: Recognition | str) -> None:
        opened.results[number] = result
        if len(opened.cuts) > 1:
            on_piece(opened.clip, len(opened.results), len(opened.cuts))
        if len(opened.results) == len(opened.cuts):
            ready(opened.heard(), "heard")

    def pieces() -> Iterator[Audio]:
        """What has to be heard; clips that need nobody to hear them are ready at once."""
        for key, (clip, *_) in same.items():
            if (stored := store.get(key, recogniser.name, clip)) is not None:
                ready(stored, "stored")
        for key, (clip, *_) in same.items():
            if key in found:
                continue
            audio = _read(clip, key, noise, sources)
            if isinstance(audio, Heard):
                ready(audio, "heard")
                continue
            opened = _Open(clip, key, audio, cut_at_pauses(audio.samples, recogniser.longest_s))
            if not opened.cuts:  # No samples: there is nothing to hear.
                ready(opened.heard(), "heard")
            for number, (first, end) in enumerate(opened.cuts):
                kept = store.get(opened.piece_key(number), recogniser.name, clip) if len(opened.cuts) > 1 else None
                if kept is not None:
                    settle(opened, number, kept)
                    continue
                piece = Audio(samples=audio.samples[first:end])
                asked[piece] = opened, number
                yield piece

    with closing(cast("Any", recogniser.hear(pieces()))) as hearing:
        for piece, result in hearing:
            opened, number = asked.pop(piece)
            if len(opened.cuts) > 1 and isinstance(result, Recognition):
                fields = msgspec.structs.asdict(result) | {"compute_s": 0.0}
                store.put(Heard(**fields, clip_id=opened.clip.id, key=opened.piece_key(number)), recogniser.name)
            settle(opened, number, result)
    return [replace(found[key], clip_id=clip.id) for clip, key in zip(clips, keys, strict=True)]


_COLOURS = {"heard": "green", "nothing heard": "yellow", "failed": "red"}


def listen(
    clips: Sequence[Clip],
    recogniser: Recogniser,
    *,
    noise: Noisy | None,
    sources: Sources,
    store: TranscriptStore,
    display: Display | None,
) -> list[Heard]:
    """Transcribe, and tell on standard error who hears, on what, and how far it is, in a long recording too."""
    progress = Progress(display, _COLOURS, ("heard",), unit="recordings")
    on = f" on {recogniser.device}" if recogniser.device else ""
    say(f"{recogniser.name} hears {len(clips):,} recordings{on}", display)

    def told(heard: Heard, source: Source) -> None:
        if source == "stored":
            progress.kept()
        progress.count("failed" if heard.failure is not None else "heard" if heard.text else "nothing heard")

    with progress.steps(len(clips)):
        return transcribe(
            clips,
            recogniser,
            noise=noise,
            sources=sources,
            store=store,
            progress=told,
            on_piece=lambda clip, done, count: say(f"{clip.id}: {done} of {count} pieces", display),
        )


def say(words: str, display: Display | None = "plain") -> None:
    if display != "none" and (display is not None or sys.stderr.isatty()):
        print(f"grounding: {words}", file=sys.stderr, flush=True)


def heard_key(clip: Clip, recogniser: Recogniser, noise: Noisy | None = None, sources: Sources | None = None) -> str:
    """What the transcript of a clip is kept under: ``Heard.key``."""
    added = "" if noise is None else noise_identity(noise, open_sources() if sources is None else sources)
    return hashlib.sha256(msgspec.json.encode((READER, clip.sha256, recogniser.identity, added))).hexdigest()


def _read(clip: Clip, key: str, noise: Noisy | None, sources: Sources) -> Audio | Heard:
    try:
        audio = read_audio(Path(clip.path))
    except UnreadableAudio as error:
        return _failed(clip, key, "unparsed", str(error))
    if audio.sha256 != clip.sha256:
        return _failed(clip, key, "error", "the file was changed meanwhile: run the command again")
    if noise is not None and len(audio.samples):
        mixed = add_noise(audio.samples, noise, clip_key=audio.sha256, sources=sources)
        audio = replace(audio, samples=mixed.samples, notes=(*audio.notes, *mixed.notes))
    return audio


def _failed(clip: Clip, key: str, kind: FailureKind, message: str) -> Heard:
    return Heard(clip_id=clip.id, key=key, text="", failure=Failure(kind=kind, message=message))


# --- clips in pieces ----------------------------------------------------------------------------------------------

_FRAME_S, _PAUSE_FRAMES = 0.02, 15


def cut_at_pauses(samples: Samples, longest_s: float | None) -> list[tuple[int, int]]:
    """Where to cut: (first, end) of each piece, which together are all of the samples.

    A piece is never longer than ``longest_s``. Each cut is in the middle of the quietest 0.3 s of the second half of
    what a piece may hold; equally quiet ones: the last, so that there are fewer pieces. ``longest_s`` is at least 1.
    """
    total = len(samples)
    most = total if longest_s is None else int(longest_s * SAMPLE_RATE_HZ)
    frame = int(_FRAME_S * SAMPLE_RATE_HZ)
    cuts = [0]
    while total - cuts[-1] > most:
        start = cuts[-1] + most // 2
        frames = (cuts[-1] + most - start) // frame
        window = samples[start : start + frames * frame].reshape(frames, frame)
        energy = np.square(window, dtype=np.float64).sum(axis=1)
        width = min(_PAUSE_FRAMES, frames)
        levels = np.convolve(energy, np.ones(width), mode="valid")
        quietest = len(levels) - 1 - int(levels[::-1].argmin())
        cuts.append(start + quietest * frame + width * frame // 2)
    return list(zip(cuts, [*cuts[1:], total], strict=True)) if total else []


@dataclass(eq=False)
class _Open:
    clip: Clip
    key: str
    audio: Audio
    cuts: Sequence[tuple[int, int]]
    results: dict[int, Recognition | str] = field(default_factory=dict)

    def piece_key(self, number: int) -> str:
        """What a piece is kept under until the clip is whole."""
        first, end = self.cuts[number]
        return hashlib.sha256(f"{self.key} {first} {end}".encode()).hexdigest()

    def heard(self) -> Heard:
        pieces, notes = list[Recognition](), list(self.audio.notes)
        for number in range(len(self.cuts)):
            result = self.results[number]
            if isinstance(result, str):
                failed = _failed(self.clip, self.key, "error", result)
                return replace(failed, audio_s=self.audio.seconds, notes=self.audio.notes)
            pieces.append(result)
        notes += [f"cut into {len(pieces)} pieces at pauses"] if len(pieces) > 1 else []
        return Heard(
            clip_id=self.clip.id,
            key=self.key,
            audio_s=self.audio.seconds,
            text=" ".join(text for each in pieces if (text := each.text.strip())),
            words=tuple(
                replace(word, start_s=word.start_s + at_s, end_s=word.end_s + at_s)
                for each, at_s in zip(pieces, (first / SAMPLE_RATE_HZ for first, _ in self.cuts), strict=True)
                for word in each.words
            ),
            compute_s=sum(each.compute_s for each in pieces),
            notes=(*notes, *dict.fromkeys(note for each in pieces for note in each.notes)),
        )


# --- what was heard before ----------------------------------------------------------------------------------------


class _Stored(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The content of a kept file; ``recogniser`` says, for people, what made it."""

    schema: Literal[1] = 1
    recogniser: str
    heard: Heard


def transcript_store_dir(chosen: Path | None = None, *, off: bool = False) -> Path | None:
    """Where transcripts are kept: the folder that was chosen, else ``transcripts`` in the user's cache; None: nowhere.
    Raises UserError: it was both chosen and switched off.
    """
    if off and chosen is not None:
        raise UserError(f"--transcript-store {chosen} and --no-transcript-store contradict each other: give one")
    base = cache_dir()
    return chosen if off or chosen is not None else None if base is None else base / "transcripts"


class TranscriptStore:
    """Transcripts by their keys: in a folder, None for none, and those ``known`` besides, which stay out of it."""

    def __init__(self, folder: Path | None, known: dict[str, Heard] | None = None) -> None:
        self._cache = Cache(folder, "transcripts")
        self._known = {} if known is None else known

    def get(self, key: str, recogniser: str, clip: Clip) -> Heard | None:
        stored = self._cache.read(key, recogniser, _Stored)
        heard = self._known.get(key) or (stored.heard if stored is not None and stored.heard.key == key else None)
        return None if heard is None else replace(heard, clip_id=clip.id, compute_s=0.0)

    def put(self, heard: Heard, recogniser: str) -> None:
        if heard.failure is None:
            self._known[heard.key] = heard
            self._cache.write(heard.key, recogniser, _Stored(recogniser=recogniser, heard=heard))


_THIS_PROCESS: dict[str, Heard] = {}
"""Stands in for a cache that is off, because runs of one command are prepared twice and must not hear twice."""


def store_beside(folders: Mapping[str, Path]) -> TranscriptStore:
    """The user's store, with what a data set's own ``transcriptions_*.json`` have under the same keys.

    A key is the hash of the recording, the noise and the recogniser with its version and options, so an entry is used
    only where hearing anew would be the same work again.
    """
    kept = transcript_store_dir()
    if kept is None:
        return TranscriptStore(None, _THIS_PROCESS)
    files = (path for folder in folders.values() for path in sorted(folder.glob("transcriptions_*.json")))
    entries = (entry for path in files for entry in _keyed(path, path.stat().st_mtime_ns))
    return TranscriptStore(kept, {one.key: Heard(clip_id="", key=one.key, text=one.text) for one in entries})


@functools.lru_cache(256)
def _keyed(path: Path, _changed_ns: int) -> tuple[Transcript, ...]:
    """The entries with keys; a file that can't be read is the matter of who asks for it by its name."""
    try:
        return tuple(entry for entry in read_transcripts(path) if entry.key)
    except UserError:
        return ()
