"""What passes between the parts of this room: clips of speech, and what a recogniser heard in them.

Times are seconds from the start of the clip. Nothing here knows of files or models.
"""

from __future__ import annotations

from typing import Literal

from grounding.records import Record


class Clip(Record, frozen=True, kw_only=True):
    """One recording of one instruction: ``id`` is ``participant/name``, ``sha256`` is of the file's bytes."""

    id: str
    path: str
    sha256: str


class Word(Record, frozen=True, kw_only=True):
    """One word as it was heard, and when. ``probability`` is None where the recogniser gives none."""

    text: str
    start_s: float
    end_s: float
    probability: float | None = None


ClipFailureKind = Literal["unreadable", "too-long", "error"]
"""``unreadable``: the file holds no audio that can be read. ``too-long``: longer than the recogniser takes.
``error``: the recogniser failed, after the retries; asking again may help."""


class ClipFailure(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Why there is no transcript."""

    kind: ClipFailureKind
    message: str


class Heard(Record, frozen=True, kw_only=True):
    """What one recogniser made of one clip under one condition.

    ``key`` is the hash of all that can change the text: the audio's bytes, the noise, the recogniser, its version and
    its options. ``audio_s`` is the clip's length, ``compute_s`` what hearing it took (0 where it was stored or
    recorded), ``cost_usd`` what it cost, None where nobody knows or nothing was paid now. ``notes`` say what is odd
    about the clip in words: silence, clipping, several channels. An empty ``text`` without a ``failure`` is what was
    heard: nothing.
    """

    clip_id: str
    key: str
    text: str
    words: tuple[Word, ...] = ()
    audio_s: float = 0.0
    compute_s: float = 0.0
    cost_usd: float | None = None
    language: str = ""
    notes: tuple[str, ...] = ()
    failure: ClipFailure | None = None
