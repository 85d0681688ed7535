"""Many clips through one recogniser: what is stored is not heard again, and no clip's failure ends the run.

Everything that was heard is stored the moment it is, so that a run which was stopped or killed goes on where it was.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Literal, cast

import msgspec

from grounding.asr.hearing import Job, Noise, Ready, failed, hear_job, hear_ready, make_ready
from grounding.asr.noise import Noisy, Sources, check_noisy, noise_identity, open_sources
from grounding.asr.recogniser import Recogniser, Recorded
from grounding.asr.records import Clip, Heard
from grounding.asr.store import TranscriptStore, transcript_key
from grounding.asr.workers import in_processes
from grounding.errors import UserError

Source = Literal["stored", "heard"]
OnHeard = Callable[[Heard, Source], None]
"""Called once a clip, in the order in which they are ready, from the thread that called :func:`transcribe`."""

_READ_AHEAD = 2
"""Batches that are read and made noisy while one is being heard."""


def heard_key(clip: Clip, recogniser: Recogniser, noise: Noisy | None = None, sources: Sources | None = None) -> str:
    """What the transcript of a clip is stored under: ``Heard.key``."""
    return transcript_key(clip.sha256, recogniser=recogniser.identity, noise=_identity(noise, sources))


def transcribe(
    clips: Sequence[Clip],
    recogniser: Recogniser,
    *,
    noise: Noisy | None = None,
    sources: Sources | None = None,
    store: TranscriptStore | None = None,
    progress: OnHeard | None = None,
) -> list[Heard]:
    """What is heard in each clip, in the order of the clips. Equal files are heard once.

    A clip that can't be read or recognised has a ``failure`` in its record; the others go on. Ctrl-C ends it with
    KeyboardInterrupt after what was heard so far has been stored.

    Args:
        clips: The recordings.
        recogniser: Who hears; it is not closed.
        noise: What is added to each clip first.
        sources: Where noises come from; None for the built-in ones.
        store: Where transcripts are kept; None for nowhere.
        progress: Told of every clip.

    Raises:
        UserError: noise for recorded transcripts, no such noise, or what the recogniser can't go on without.
    """
    if noise is not None and recogniser.workers == "recorded":
        raise UserError(f"{recogniser.name} is a record of what was heard: noise can't be added to it any more")
    sources = open_sources() if noise is not None and sources is None else sources
    if noise is not None and sources is not None:
        check_noisy(noise, sources)
    known, told = _identity(noise, sources), progress or _silent
    store = store or TranscriptStore(None)
    found: dict[str, Heard] = {}
    clips_of: dict[str, list[Clip]] = {}
    keys = [transcript_key(clip.sha256, recogniser=recogniser.identity, noise=known) for clip in clips]
    if recogniser.workers == "recorded":
        return _recalled(clips, keys, cast("Recorded", recogniser), told)
    for clip, key in zip(clips, keys, strict=True):
        clips_of.setdefault(key, []).append(clip)
    jobs = []
    for key, same in clips_of.items():
        stored = store.get(key, recogniser.name, same[0])
        if stored is None:
            jobs.append(Job(clip=same[0], key=key))
            continue
        found[key] = stored
        for clip in same:
            told(_named(stored, clip), "stored")
    mixing = Noise(noisy=noise, sources=sources) if noise is not None else None
    with contextlib.closing(_hear_all(jobs, recogniser, mixing)) as hearing:
        for heard in hearing:
            store.put(heard, recogniser=recogniser.name, noise=known)
            found[heard.key] = heard
            for clip in clips_of[heard.key]:
                told(_named(heard, clip), "heard")
    return [_named(found[key], clip) for clip, key in zip(clips, keys, strict=True)]


def _hear_all(jobs: Sequence[Job], recogniser: Recogniser, noise: Noise | None) -> Generator[Heard, None, None]:
    if not jobs:
        return
    if recogniser.workers == "processes":
        yield from in_processes(jobs, recogniser, noise, recogniser.at_once)
    elif recogniser.workers == "connections":
        yield from _in_threads(jobs, recogniser, noise)
    else:
        yield from _in_batches(jobs, recogniser, noise)


def _in_threads(jobs: Sequence[Job], recogniser: Recogniser, noise: Noise | None) -> Iterator[Heard]:
    left = deque(jobs)
    pool = ThreadPoolExecutor(recogniser.at_once, thread_name_prefix="asr")
    running: set[Future[Heard]] = set()
    try:
        while left or running:
            while left and len(running) < recogniser.at_once:
                running.add(pool.submit(hear_job, left.popleft(), recogniser, noise))
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
    finally:
        if left or running:
            recogniser.close()  # Ends the waits and retries of those that still run.
        pool.shutdown(wait=False, cancel_futures=True)


def _in_batches(jobs: Sequence[Job], recogniser: Recogniser, noise: Noise | None) -> Iterator[Heard]:
    """Batches of clips in order; the next ones are read while one is being heard."""
    size = recogniser.at_once
    left = deque(jobs)
    reading: deque[Future[Ready | Heard]] = deque()
    pool = ThreadPoolExecutor(1, thread_name_prefix="asr-read")
    try:
        while left or reading:
            while left and len(reading) < size * _READ_AHEAD:
                reading.append(pool.submit(make_ready, left.popleft(), noise))
            batch: list[Ready] = []
            while reading and len(batch) < size:
                made = reading.popleft().result()
                if isinstance(made, Heard):
                    yield made
                else:
                    batch.append(made)
            if batch:
                yield from hear_ready(batch, recogniser)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _recalled(clips: Sequence[Clip], keys: Sequence[str], recorded: Recorded, told: OnHeard) -> list[Heard]:
    result = []
    for clip, key in zip(clips, keys, strict=True):
        said = recorded.recall(clip)
        if said is None:
            heard = failed(Job(clip=clip, key=key), "error", "there is no recorded transcript of this clip")
        else:
            heard = Heard(
                clip_id=clip.id, key=key, text=said.text, words=said.words, language=said.language, notes=said.notes
            )
        told(heard, "stored")
        result.append(heard)
    return result


def _identity(noise: Noisy | None, sources: Sources | None) -> str:
    if noise is None:
        return ""
    return noise_identity(noise, sources if sources is not None else open_sources())


def _named(heard: Heard, clip: Clip) -> Heard:
    return heard if heard.clip_id == clip.id else msgspec.structs.replace(heard, clip_id=clip.id)


def _silent(_heard: Heard, _source: Source) -> None:
    pass
