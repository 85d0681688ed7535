"""What was heard before: the store in the user's cache folder, and what a data set brings along under the same keys.

A data set may come with what a recogniser heard in its recordings (``transcriptions_*.json`` with a ``key`` in every
entry). The key is the hash of the recording, the noise and the recogniser with its version and options, so that an
entry is used only where hearing anew would be the same work again.
"""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from grounding.asr.records import Clip, Heard
from grounding.asr.store import TranscriptStore, transcript_store_dir
from grounding.asr.transcripts import read_transcripts
from grounding.errors import UserError

_FILES = "transcriptions_*.json"


class StoreWithRecorded(TranscriptStore):
    """The user's store, with a data set's own recorded transcripts before it; those are never copied into it.

    Without a cache (GROUNDING_NO_CACHE) neither is looked at.
    """

    def __init__(self, folders: Mapping[str, Path]) -> None:
        """Reads the data set's files.

        Args:
            folders: The participants' folders.
        """
        kept = transcript_store_dir()
        super().__init__(kept or _for_this_process())
        self._recorded = {} if kept is None else _recorded(tuple(folders.values()))

    def get(self, key: str, recogniser: str, clip: Clip) -> Heard | None:
        """What the data set or the store has under this key; None where neither has it."""
        found = self._recorded.get(key)
        if found is not None:
            return msgspec.structs.replace(found, clip_id=clip.id)
        return super().get(key, recogniser, clip)


def _recorded(folders: tuple[Path, ...]) -> dict[str, Heard]:
    found: dict[str, Heard] = {}
    for folder in folders:
        for path in sorted(folder.glob(_FILES)):
            found |= _in_file(path, path.stat().st_mtime_ns)
    return found


@functools.lru_cache(256)
def _in_file(path: Path, _changed_ns: int) -> dict[str, Heard]:
    """The entries with keys; a file that can't be read is the matter of who asks for it by its name."""
    try:
        entries = read_transcripts(path)
    except UserError:
        return {}
    return {
        entry.key: Heard(clip_id=entry.audio, key=entry.key, text=entry.text, words=entry.words)
        for entry in entries
        if entry.key
    }


@functools.cache
def _for_this_process() -> Path:
    """A store where no cache is wanted: runs of one command are prepared twice and must not hear twice."""
    folder = tempfile.TemporaryDirectory(prefix=f"grounding-transcripts-{os.getpid()}-")
    _KEPT.append(folder)
    return Path(folder.name)


_KEPT: list[tempfile.TemporaryDirectory[str]] = []
"""Removed when the process ends."""
