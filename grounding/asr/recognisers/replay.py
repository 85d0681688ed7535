"""Transcripts that were recorded earlier, by whatever means, in the place of a recogniser.

``replay:NAME.json`` looks in each participant's folder (that of the recordings, or the one above it),
``replay:FOLDER/NAME.json`` at one file for all.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

from grounding.asr.audio import Audio, UnreadableAudio, file_sha256
from grounding.asr.recogniser import TEMPERATURES, RecogniserOptions, Recognition, RecognitionFailed, Workers
from grounding.asr.records import Clip
from grounding.asr.transcripts import Transcript, best_match, read_transcripts
from grounding.errors import UserError

CORRECTED = "transcriptions_GT.json"
"""Which says to which steps a recording belongs, for a file that has texts by step."""


class Replay:
    """Recorded transcripts; ``identity`` names the file, whose content is read when it is looked into."""

    workers: Workers = "recorded"
    at_once = 1
    longest_s: float | None = None

    def __init__(self, file: Path, identity: str) -> None:
        """``file`` is a path, or a bare name that is looked for beside the recordings."""
        self.name = f"replay:{file.name}"
        self.identity = identity
        self._file = file
        self._read = functools.cache(read_transcripts)

    def hear(self, batch: Sequence[Audio]) -> list[Recognition]:
        """Never: it has no ears.

        Raises:
            RecognitionFailed: always.
        """
        raise RecognitionFailed(f"{self.name} is a record: {len(batch)} clips can't be heard")

    def recall(self, clip: Clip) -> Recognition | None:
        """The recorded transcript of a clip, found by its path or by its steps; None where there is none.

        Raises:
            UserError: the file is missing or can't be read.
        """
        path = Path(clip.path)
        transcripts = self._read(self._file_for(path))
        found = best_match(path, transcripts)
        if found is None and not any(each.audio for each in transcripts):
            found = self._by_steps(path, transcripts)
        return None if found is None else Recognition(text=found.text, words=found.words)

    def close(self) -> None:
        """Forget what was read."""
        self._read.cache_clear()

    def _file_for(self, clip: Path) -> Path:
        if self._file.parent != Path():
            return self._file
        tried = [clip.parent / self._file.name, clip.parent.parent / self._file.name]
        for path in (*tried, self._file):
            if path.is_file():
                return path
        raise UserError(f"{self.name}: there is no such file for {clip}; looked for {tried[0]} and {tried[1]}")

    def _by_steps(self, clip: Path, transcripts: Sequence[Transcript]) -> Transcript | None:
        """A text by picture, or by place in the file, where another file says what the recording belongs to."""
        corrected = next((f for f in (clip.parent / CORRECTED, clip.parent.parent / CORRECTED) if f.is_file()), None)
        if corrected is None:
            return None
        belongs = self._read(corrected)
        own = best_match(clip, belongs)
        if own is None:
            return None
        for each in transcripts:
            if set(each.steps) & set(own.steps):
                return each
        if any(each.steps for each in transcripts) or len(transcripts) != len(belongs):
            return None
        return transcripts[belongs.index(own)]


def open_replay(argument: str, options: RecogniserOptions) -> Replay:
    """The recorded transcripts of a file.

    Raises:
        UserError: no name, no such file, or an option: what is recorded can't be heard differently.
    """
    if not argument:
        raise UserError("replay: which file? replay:transcriptions_Wturbo.json, or with its folder")
    for name, given in (("language", options.language), ("prompt", options.prompt), ("beam_size", options.beam_size)):
        if given is not None:
            raise UserError(f"{name}: recorded transcripts can't be heard differently; leave it out")
    if options.temperatures != TEMPERATURES:
        raise UserError("temperatures: recorded transcripts can't be heard differently; leave it out")
    file = Path(argument).expanduser()
    if file.parent == Path():
        return Replay(file, f"replay {file.name}")
    try:
        return Replay(file, f"replay {file_sha256(file)}")
    except UnreadableAudio as error:
        raise UserError(f"replay:{argument}: {error}") from error
