"""``python -m annotate transcribe DIR``: a recogniser hears the clips of a folder; nobody's corrections are touched."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from annotate.segment import TerminalProgress
from annotate.transcripts.clips import AUDIO, clip_path, folder_clips
from annotate.transcripts.corrections import Corrected, machine_file
from grounding.asr.recogniser import DEFAULT, Recogniser, RecogniserOptions, open_recogniser
from grounding.asr.records import Heard
from grounding.asr.running import transcribe
from grounding.asr.store import TranscriptStore, transcript_store_dir
from grounding.asr.transcripts import clip_of, transcript_of, write_transcripts
from grounding.errors import UserError
from grounding.loaders.folders import natural_key
from grounding.records import Record

TRANSCRIBE_EXAMPLES = """Examples:

`annotate transcribe DATA/3` writes DATA/3/transcriptions_pocketsphinx.json.

`annotate transcribe DATA --asr whisper:turbo --language en` hears the clips of every participant in DATA.
"""
EXIT_OK, EXIT_PARTIAL = 0, 1


class Transcribed(Record, frozen=True, kw_only=True):
    """What became of a folder's clips: how many were heard now, were known already, hold no words, or failed."""

    file: Path
    heard: int
    stored: int
    silent: int
    failures: tuple[str, ...]


def transcribe_command(
    data_dir: Path,
    *,
    asr: str = DEFAULT,
    language: str | None = None,
    transcript_store: Path | None = None,
    no_transcript_store: bool = False,
) -> int:
    """Let a speech recogniser hear the audio clips of a participant, or of every participant in a folder.

    What is heard is kept at once, so that a command that was stopped goes on where it was. The result is
    `transcriptions_<recogniser>.json`; `transcriptions_GT.json`, where corrections are, is never written. Exit code 0:
    every clip was heard; 1: some could not be; 2: something about the command or the folder is wrong.

    Args:
        data_dir: A participant's folder with clips in `audio/`, or a folder of such folders.
        asr: Who hears: `pocketsphinx`, `whisper:turbo`, …
        language: The language that is spoken, such as `en`, for recognisers that can be told.
        transcript_store: Where transcripts are kept for all runs [default: the user's cache].
        no_transcript_store: Keep nothing but the result.
    """
    recogniser = open_recogniser(asr, RecogniserOptions(language=language))
    store = TranscriptStore(transcript_store_dir(transcript_store, off=no_transcript_store))
    failed = 0
    try:
        for folder in participant_folders(data_dir):
            done = transcribe_folder(folder, recogniser, store)
            _say(done)
            failed += len(done.failures)
    finally:
        recogniser.close()
    return EXIT_PARTIAL if failed else EXIT_OK


def participant_folders(data_dir: Path) -> list[Path]:
    """The folder itself where it has clips, else those in it that have.

    Raises:
        UserError: There is no such folder, or no clip in it.
    """
    if not data_dir.is_dir():
        raise UserError(f"{data_dir}: there is no such folder: name a participant's folder with clips in {AUDIO}/")
    if (data_dir / AUDIO).is_dir():
        return [data_dir]
    found = [path for path in data_dir.iterdir() if (path / AUDIO).is_dir()]
    if not found:
        raise UserError(f"{data_dir}: neither it nor a folder in it has clips in a folder {AUDIO}")
    return sorted(found, key=lambda path: natural_key(path.name))


def transcribe_folder(folder: Path, recogniser: Recogniser, store: TranscriptStore) -> Transcribed:
    """Hear the clips of one participant and write the recogniser's file; clips that failed are not in it.

    Raises:
        UserError: There is nothing to hear, or the recogniser cannot go on at all.
    """
    clips = folder_clips(folder)
    file = folder / machine_file(recogniser.name)
    progress = TerminalProgress()
    counts = {"heard": 0, "stored": 0}

    def told(_heard: Heard, source: str) -> None:
        counts[source] += 1
        progress(f"hearing {folder.name}", sum(counts.values()), len(clips))

    inputs = [clip_of(clip_path(folder, one.audio), f"{folder.name}/{one.audio}") for one in clips]
    heard = transcribe(inputs, recogniser, store=store, progress=told)
    progress.end()
    good = [(one, each) for one, each in zip(clips, heard, strict=True) if each.failure is None]
    if good:
        write_transcripts(file, [transcript_of(each, audio=one.audio, steps=one.steps) for one, each in good])
    return Transcribed(
        file=file,
        heard=counts["heard"],
        stored=counts["stored"],
        silent=sum(not each.text for _, each in good),
        failures=_failures(clips, heard),
    )


def _failures(clips: Sequence[Corrected], heard: Sequence[Heard]) -> tuple[str, ...]:
    return tuple(
        f"{one.audio}: {each.failure.message}"
        for one, each in zip(clips, heard, strict=True)
        if each.failure is not None
    )


def _say(done: Transcribed) -> None:
    known = f", {done.stored} of them known from before" if done.stored else ""
    silent = f"; in {done.silent} of them nothing" if done.silent else ""
    count = done.heard + done.stored - len(done.failures)
    print(
        f"{count} clips heard{known}{silent}: {done.file}" if count else f"no clip could be heard: {done.file.parent}"
    )
    for failure in done.failures:
        print(f"warning: not heard: {failure}", file=sys.stderr)
