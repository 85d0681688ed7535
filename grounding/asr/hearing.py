"""One clip, or a batch of them, from files to what was heard: read, made noisy, cut where it must be, recognised."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from grounding.asr.audio import Audio, UnreadableAudio, read_audio
from grounding.asr.noise import Noisy, add_noise
from grounding.asr.pauses import joined, pieces_of
from grounding.asr.recogniser import Recogniser, Recognition, RecognitionFailed
from grounding.asr.records import Clip, ClipFailure, ClipFailureKind, Heard
from grounding.records import Record

LIBRARY_ERRORS = (
    RuntimeError,
    ValueError,
    LookupError,
    ArithmeticError,
    TypeError,
    AssertionError,
    OSError,
    MemoryError,
)
"""What a recogniser's library may raise over one clip (torch: RuntimeError, for want of memory, too)."""


class Job(Record, frozen=True, kw_only=True):
    """A clip to be heard, and the key that its transcript will have."""

    clip: Clip
    key: str


class Noise(Record, frozen=True, kw_only=True, eq=False):
    """A noise with its sources (``grounding.asr.noise.open_sources``)."""

    noisy: Noisy
    sources: Any


class Ready(Record, frozen=True, kw_only=True, eq=False):
    """A clip that was read and made noisy."""

    job: Job
    audio: Audio


def failed(job: Job, kind: ClipFailureKind, message: str, audio: Audio | None = None) -> Heard:
    """The record of a clip that has no transcript."""
    return Heard(
        clip_id=job.clip.id,
        key=job.key,
        text="",
        audio_s=audio.seconds if audio is not None else 0.0,
        notes=audio.notes if audio is not None else (),
        failure=ClipFailure(kind=kind, message=message),
    )


def make_ready(job: Job, noise: Noise | None) -> Ready | Heard:
    """Read a clip and add the noise; a record with a failure where that can't be done."""
    try:
        audio = read_audio(Path(job.clip.path))
    except UnreadableAudio as error:
        return failed(job, error.kind, str(error))
    if audio.sha256 != job.clip.sha256:
        return failed(job, "error", "the file was changed while it was being worked on: run the command again")
    if noise is not None and len(audio.samples):
        mixed = add_noise(audio.samples, noise.noisy, clip_key=audio.sha256, sources=noise.sources)
        audio = msgspec.structs.replace(audio, samples=mixed.samples, notes=(*audio.notes, *mixed.notes))
    return Ready(job=job, audio=audio)


def hear_ready(batch: Sequence[Ready], recogniser: Recogniser) -> list[Heard]:
    """Have a batch recognised; where the whole of it fails, one clip at a time, so that only the culprits do.

    Raises:
        UserError: what ends the run, such as a missing model.
    """
    try:
        recognised = _hear(batch, recogniser)
    except (RecognitionFailed, *LIBRARY_ERRORS) as error:
        if len(batch) == 1:
            message = str(error) if isinstance(error, RecognitionFailed) else f"{type(error).__name__}: {error}"
            return [failed(batch[0].job, "error", " ".join(message.split())[:500], batch[0].audio)]
        return [heard for each in batch for heard in hear_ready([each], recogniser)]
    return [_record(ready, each) for ready, each in zip(batch, recognised, strict=True)]


def hear_job(job: Job, recogniser: Recogniser, noise: Noise | None) -> Heard:
    """One clip from its file to what was heard.

    Raises:
        UserError: what ends the run.
    """
    ready = make_ready(job, noise)
    return ready if isinstance(ready, Heard) else hear_ready([ready], recogniser)[0]


def _hear(batch: Sequence[Ready], recogniser: Recogniser) -> list[Recognition]:
    cut = [pieces_of(ready.audio, recogniser.longest_s) for ready in batch]
    pieces = [piece for own, _ in cut for piece in own]  # None of a clip without samples: there is nothing to hear.
    size = recogniser.at_once if recogniser.workers == "batch" else 1
    heard: Iterator[Recognition] = iter(
        [each for at in range(0, len(pieces), size) for each in recogniser.hear(pieces[at : at + size])]
    )
    return [joined([next(heard) for _ in own], starts_s) for own, starts_s in cut]


def _record(ready: Ready, recognised: Recognition) -> Heard:
    return Heard(
        clip_id=ready.job.clip.id,
        key=ready.job.key,
        text=recognised.text,
        words=recognised.words,
        audio_s=ready.audio.seconds,
        compute_s=recognised.compute_s,
        cost_usd=recognised.cost_usd,
        language=recognised.language,
        notes=(*ready.audio.notes, *recognised.notes),
    )
