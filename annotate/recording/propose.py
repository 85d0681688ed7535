"""From a recording to a proposal of its steps: pictures and sound are read once each, then put together."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from annotate.recording.acts import user_actions
from annotate.recording.align import align
from annotate.recording.changes import ChangeFinder
from annotate.recording.records import CutPlan, ScreenChange, Utterance
from annotate.recording.sound import Sound, read_sound
from annotate.recording.speech import find_speech
from annotate.recording.video import Recording
from grounding.asr.recogniser import Recogniser
from grounding.asr.records import Clip, Heard, Word
from grounding.asr.store import TranscriptStore

MARGIN_S = 0.15
"""What is left before and after speech in a clip: a detector notices the first consonant late."""
Progress = Callable[[str, float, float], None]
"""What is being done, how far it is and how far it goes, in seconds of the recording or in clips."""


def find_changes(recording: Recording, progress: Progress) -> list[ScreenChange]:
    """All changes of a recording's screen, in doubt or not; the frames go by one at a time."""
    finder = ChangeFinder(recording.small_size, recording.facts.width_px / recording.small_size[0])
    for frame in recording.small_frames():
        finder.feed(frame)
        progress("looking", frame.time_s, recording.facts.duration_s or 0.0)
    return finder.finish()


def propose(
    recording: Recording,
    *,
    recogniser: Recogniser | None,
    store: TranscriptStore | None = None,
    task: str = "",
    progress: Progress,
) -> CutPlan:
    """Cut a recording into steps, as well as can be seen and heard.

    Args:
        recording: The recording.
        recogniser: Who hears what is said; None leaves the instructions empty.
        store: Where transcripts are kept, so that a second look at the same recording hears nothing again.
        task: The label of the task.
        progress: Told how far it is.
    """
    changes = find_changes(recording, progress)
    broke, damaged = recording.broke, recording.damaged_frames
    sound = read_sound(recording.path)
    notes = []
    if sound is None:
        notes.append("the recording has no sound: the instructions are empty")
    if recording.facts.duration_s is None:
        notes.append("the file does not state its length, as when a recorder was killed: it was read as far as it goes")
    if damaged:
        notes.append(f"{damaged} damaged pieces of the video were passed over")
    utterances = [] if sound is None else find_speech(sound)
    if sound is not None and not utterances:
        notes.append("nobody speaks in the recording: the instructions are empty")
    if sound is not None and recogniser is not None and utterances:
        utterances = hear(sound, utterances, recogniser, store=store, name=recording.path.name, progress=progress)
        failures = [one.failure for one in utterances if one.failure]
        if failures:
            notes.append(f"{len(failures)} of {len(utterances)} pieces of speech were not recognised: {failures[0]}")
    aligned = align(user_actions(changes), utterances, task=task)
    stated_s = recording.facts.duration_s or 0.0
    seen_s = max([changes[-1].settled_s if changes else 0.0, sound.seconds if sound else 0.0])
    return CutPlan(
        video=str(recording.path),
        sha256=file_sha256(recording.path),
        duration_s=max(seen_s, broke.at_s) if broke else max(stated_s, seen_s),
        recogniser="" if recogniser is None else recogniser.name,
        steps=aligned.steps,
        instructions=aligned.instructions,
        unused=aligned.unused,
        broke=broke,
        notes=tuple(notes),
    )


def hear(
    sound: Sound,
    utterances: Sequence[Utterance],
    recogniser: Recogniser,
    *,
    store: TranscriptStore | None,
    name: str,
    progress: Progress,
) -> list[Utterance]:
    """The same stretches of speech with what was heard in them; words have times of the recording.

    Raises:
        UserError: The recogniser cannot go on at all.
    """
    from grounding.asr.running import transcribe

    with tempfile.TemporaryDirectory(prefix="speech-") as folder:
        clips = [
            _clip(sound, one, Path(folder) / f"{index}.flac", f"{name}/{index}") for index, one in enumerate(utterances)
        ]
        done = 0

        def count(_heard: Heard, _source: str) -> None:
            nonlocal done
            done += 1
            progress("hearing", done, len(clips))

        heard = transcribe(clips, recogniser, store=store, progress=count)
    return [_told(one, each) for one, each in zip(utterances, heard, strict=True)]


def file_sha256(path: Path) -> str:
    """Hash of a file's bytes, read in parts."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _clip(sound: Sound, utterance: Utterance, path: Path, name: str) -> Clip:
    import soundfile

    part = sound.between(max(0.0, utterance.start_s - MARGIN_S), utterance.end_s + MARGIN_S)
    soundfile.write(path, part.samples, part.rate_hz, format="FLAC")
    return Clip(id=name, path=str(path), sha256=file_sha256(path))


def _told(utterance: Utterance, heard: Heard) -> Utterance:
    if heard.failure is not None:
        return msgspec.structs.replace(utterance, failure=heard.failure.message)
    shift_s = max(0.0, utterance.start_s - MARGIN_S)
    words = tuple(
        Word(
            text=word.text,
            start_s=round(word.start_s + shift_s, 3),
            end_s=round(word.end_s + shift_s, 3),
            probability=word.probability,
        )
        for word in heard.words
    )
    return msgspec.structs.replace(utterance, text=heard.text, words=words)
