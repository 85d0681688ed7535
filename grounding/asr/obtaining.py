"""From a condition to what was heard: recordings found, recognised or looked up, and scored against the true words.

The one place of this room that knows data sets, recognisers and the store. What is heard is kept in the user's cache
folder, so that nothing is heard twice, in whichever run.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import groupby
from pathlib import Path

import msgspec

from grounding.asr.conditions import Condition, recogniser_options
from grounding.asr.kept import StoreWithRecorded
from grounding.asr.noise import Noisy, Sources, check_noisy, noise_identity, open_sources
from grounding.asr.normaliser import NORMALISER
from grounding.asr.recogniser import Recogniser, open_recogniser
from grounding.asr.records import ClipFailureKind, Heard
from grounding.asr.running import Source, transcribe
from grounding.asr.spoken import Spoken, Transcripts, score_words, slug
from grounding.asr.substitution import NOTHING_HEARD, needed_steps
from grounding.asr.units import Unit, recorded_texts, units_of
from grounding.display import OutcomeProgress
from grounding.errors import UserError
from grounding.options import Display
from grounding.records import Failure, FailureKind, Record, Session
from grounding.runfolder import AskedTranscript

_COLOURS = {"heard": "green", "kept": "green", "nothing heard": "yellow", "failed": "red"}
_OF_KIND: dict[ClipFailureKind, FailureKind] = {"unreadable": "unparsed", "too-long": "unparsed", "error": "error"}
NO_RECORDING = Failure(kind="missing", message="no transcript: there is no recording of these words")
NO_ENTRY = Failure(kind="missing", message="no transcript: the file has no entry for this step")


class Hearing(Record, frozen=True, kw_only=True):
    """How recognisers are asked; nothing of this changes a word but the noises in ``noise_dir``, which are hashed.

    ``only_ask`` is for a dry run: it is found out what would be heard, and nothing is.
    """

    base_url: str | None = None
    noise_dir: Path | None = None
    display: Display | None = None
    timeout_s: float | None = None
    max_retries: int = 5
    only_ask: bool = False


class Obtained(Record, frozen=True, kw_only=True):
    """What stands for the true words, and all that made it; ``transcripts`` is None in a dry run.

    ``heard`` is everything that a recogniser gave, by the recording's id; empty for recorded words.
    """

    asked: AskedTranscript
    slug: str
    transcripts: Transcripts | None
    heard: dict[str, Heard] = msgspec.field(default_factory=dict)


def obtain(
    condition: Condition,
    sessions: Sequence[Session],
    folders: Mapping[str, Path],
    *,
    chosen: frozenset[str],
    how: Hearing,
    phase: Callable[[str], AbstractContextManager[None]],
) -> Obtained:
    """What stands for the true words of the chosen steps and of all before them in their sessions.

    Args:
        condition: Not the truth.
        sessions: The data set, with the true words.
        folders: Every participant's folder.
        chosen: The ids of the steps that a run is about.
        how: How recognisers are asked.
        phase: Told of what takes its time.

    Raises:
        UserError: no recordings, no such file, recogniser or noise, or the recogniser can't go on.
    """
    needed = needed_steps(sessions, chosen)
    if condition.is_heard:
        return _heard(condition, sessions, folders, needed, how, phase)
    return _recorded(condition, sessions, folders, needed, how)


# --- recorded -----------------------------------------------------------------------------------------------------


def _recorded(
    condition: Condition,
    sessions: Sequence[Session],
    folders: Mapping[str, Path],
    needed: frozenset[str],
    how: Hearing,
) -> Obtained:
    texts = recorded_texts(condition, sessions, folders, needed)
    spoken = []
    for unit in units_of(sessions, folders, needed, optional=True):
        # Where two recordings have the same true words, a file may have other words for each.
        for said, steps in groupby(unit.steps, key=texts.get):
            failure = NO_ENTRY if said is None else None if said.strip() else NOTHING_HEARD
            spoken.append(_spoken(msgspec.structs.replace(unit, steps=tuple(steps)), said or "", failure))
    digest = hashlib.sha256(msgspec.json.encode([(one.steps, one.heard, one.failure) for one in spoken])).hexdigest()
    asked = AskedTranscript(condition=condition.label, recogniser="", noise="", source=digest, normaliser=NORMALISER.id)
    return _obtained(condition, asked, None if how.only_ask else tuple(spoken))


# --- heard --------------------------------------------------------------------------------------------------------


def _heard(
    condition: Condition,
    sessions: Sequence[Session],
    folders: Mapping[str, Path],
    needed: frozenset[str],
    how: Hearing,
    phase: Callable[[str], AbstractContextManager[None]],
) -> Obtained:
    sources = open_sources(how.noise_dir) if condition.noise is not None or how.noise_dir is not None else None
    if condition.noise is not None and sources is not None:
        check_noisy(condition.noise, sources)
    recogniser = open_asked(condition, how)
    try:
        with phase("looking at the recordings"):
            units = units_of(sessions, folders, needed)
        asked = AskedTranscript(
            condition=condition.label,
            recogniser=recogniser.identity,
            noise=_noise_identity(condition.noise, sources),
            source=_digest(units),
            normaliser=NORMALISER.id,
        )
        if how.only_ask:
            print(
                f"grounding: nothing is heard in a dry run: the true words stand in for those of {condition}",
                file=sys.stderr,
                flush=True,
            )
            return _obtained(condition, asked, None)
        heard = _listen(units, folders, recogniser, condition, sources, how)
    finally:
        recogniser.close()
    found = _obtained(condition, asked, tuple(_from_heard(unit, heard) for unit in units))
    return msgspec.structs.replace(found, heard=heard)


def open_asked(condition: Condition, how: Hearing) -> Recogniser:
    """The recogniser that a condition names, with its options.

    Raises:
        UserError: there is none of that name, a package is missing, or an option is not for it.
    """
    options = recogniser_options(condition)
    if condition.name.partition(":")[0] == "whisper-api":
        options = msgspec.structs.replace(
            options,
            base_url=options.base_url or how.base_url,
            max_retries=how.max_retries,
            timeout_s=options.timeout_s if how.timeout_s is None else how.timeout_s,
        )
    elif how.base_url is not None:
        raise UserError(f"--asr-base-url {how.base_url}: {condition.name} asks no server; leave it out")
    return open_recogniser(condition.name, options)


def _listen(
    units: Sequence[Unit],
    folders: Mapping[str, Path],
    recogniser: Recogniser,
    condition: Condition,
    sources: Sources | None,
    how: Hearing,
) -> dict[str, Heard]:
    """What was heard, by the clip's id."""
    clips = list({unit.clip.id: unit.clip for unit in units if unit.clip is not None}.values())
    store = StoreWithRecorded(folders)
    progress = OutcomeProgress(how.display, _COLOURS, ("heard",), unit=f"recordings ({condition})")

    def told(heard: Heard, source: Source) -> None:
        if heard.failure is not None:
            progress.count("failed")
        elif not heard.text.strip():
            progress.count("nothing heard")
        else:
            progress.count("kept" if source == "stored" else "heard")

    with progress.steps(len(clips)):
        found = transcribe(clips, recogniser, noise=condition.noise, sources=sources, store=store, progress=told)
    return {heard.clip_id: heard for heard in found}


def _from_heard(unit: Unit, heard: Mapping[str, Heard]) -> Spoken:
    if unit.clip is None:
        return _spoken(unit, "", NO_RECORDING)
    one = heard[unit.clip.id]
    failure = None
    if one.failure is not None:
        failure = Failure(kind=_OF_KIND[one.failure.kind], message=f"no transcript: {one.failure.message}")
    elif not one.text.strip():
        failure = NOTHING_HEARD
    return msgspec.structs.replace(
        _spoken(unit, one.text, failure), audio_s=one.audio_s, compute_s=one.compute_s, notes=one.notes
    )


def _spoken(unit: Unit, text: str, failure: Failure | None) -> Spoken:
    return Spoken(
        participant=unit.participant,
        task=unit.task,
        instruction_index=unit.instruction_index,
        steps=unit.steps,
        reference=unit.text,
        heard="" if failure is not None else " ".join(text.split()),
        clip_id="" if unit.clip is None else unit.clip.id,
        clip_sha256="" if unit.clip is None else unit.clip.sha256,
        audio="" if unit.clip is None else unit.clip.path,
        failure=failure,
    )


def _obtained(condition: Condition, asked: AskedTranscript, spoken: tuple[Spoken, ...] | None) -> Obtained:
    transcripts = None
    if spoken is not None:
        transcripts = Transcripts(
            condition=condition.label,
            recogniser=asked.recogniser,
            noise=asked.noise,
            source=asked.source,
            score=score_words(spoken),
            spoken=spoken,
        )
    return Obtained(asked=asked, slug=slug(condition.label), transcripts=transcripts)


def _noise_identity(noise: Noisy | None, sources: Sources | None) -> str:
    return "" if noise is None or sources is None else noise_identity(noise, sources)


def _digest(units: Sequence[Unit]) -> str:
    """A hash of the recordings and of the steps that each belongs to, wherever they lie."""
    parts = [(unit.steps, None if unit.clip is None else unit.clip.sha256) for unit in units]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()
