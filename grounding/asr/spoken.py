"""What a run was told instead of the true words: records of ``transcripts.json`` in a run folder, and its reader.

One :class:`Spoken` is one instruction: what was said, what was heard, from which recording. Nothing here hears
anything.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import msgspec

from grounding.asr.word_errors import Confusion, Errors, Pair, ParticipantErrors, WordErrors, word_errors
from grounding.errors import UserError
from grounding.records import Failure, Record, TaskLabel
from grounding.runfolder import TRANSCRIPTS
from grounding.scoring.intervals import Interval

MOST_BYTES = 256 << 20
"""A larger file is none of ours."""

MOST_CONFUSIONS = 40
"""How many of the most confused words a run keeps."""


class Spoken(Record, frozen=True, kw_only=True):
    """One instruction of a run: the true text, and what stands for it.

    ``steps`` are the ids of the steps that carry it. ``audio`` is the recording, "" where the transcript came from a
    file. ``failure`` says why there are no words: a recording or an entry that is missing, one that can't be read, a
    recogniser that failed, or one that heard nothing. Such an instruction is never asked about and counts as wrong,
    and all its words as not heard; the true words never stand in for it.
    """

    participant: str
    task: TaskLabel
    instruction_index: int
    steps: tuple[str, ...]
    reference: str
    heard: str = ""
    clip_id: str = ""
    clip_sha256: str = ""
    audio: str = ""
    audio_s: float = 0.0
    compute_s: float = 0.0
    notes: tuple[str, ...] = ()
    failure: Failure | None = None

    @property
    def id(self) -> str:
        """Names the instruction within its data set: its first step."""
        return self.steps[0]


class WordScore(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How far the transcripts are from the truth: corpus-level counts, and the rate's 95 % interval in percent.

    ``interval`` is a bootstrap over the recordings, ``interval_by_participant`` one over people. ``confusions`` are
    the most frequent ones.
    """

    normaliser: str
    errors: Errors
    rate_percent: float | None
    interval: Interval | None
    interval_by_participant: Interval | None
    instructions: int
    participants: tuple[ParticipantErrors, ...]
    confusions: tuple[Confusion, ...]


class Transcripts(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The content of ``transcripts.json``.

    ``condition`` is the canonical text of the source; ``recogniser`` and ``noise`` are their identities ("" where
    there is none), and ``source`` the hash of the recordings' or the file's bytes.
    """

    schema: Literal[1] = 1
    condition: str
    recogniser: str
    noise: str
    source: str
    score: WordScore
    spoken: tuple[Spoken, ...]

    @property
    def words(self) -> str:
        """The source, its word error rate and what is lacking, in a line."""
        score = self.score
        rate = "no word to be heard" if score.rate_percent is None else f"WER {score.rate_percent:.1f} %"
        interval = "" if score.interval is None else f" [{score.interval.low:.1f}, {score.interval.high:.1f}]"
        of = score.errors
        lacking = f", {self.failures()} without a transcript" if self.failures() else ""
        return (
            f"{self.condition}: {rate}{interval} of {of.reference_words:,} words ({of.substitutions:,} substituted, "
            f"{of.deletions:,} left out, {of.insertions:,} added; {score.normaliser}), "
            f"{score.instructions:,} instructions{lacking}"
        )

    def failures(self, *kinds: str) -> int:
        """How many instructions have no words for one of these reasons; for any without a kind."""
        return sum(one.failure is not None and (not kinds or one.failure.kind in kinds) for one in self.spoken)


def slug(text: str, most: int = 60) -> str:
    """A text as part of a file's name.

    >>> slug("pocketsphinx@babble:-5dB")
    'pocketsphinx-babble--5dB'
    """
    return re.sub(r"[^A-Za-z0-9._-]", "-", text)[:most].strip(".") or "none"


def score_words(spoken: tuple[Spoken, ...]) -> WordScore:
    """The word error rate over these instructions; one without words counts as all its words left out."""
    found: WordErrors = word_errors(pairs_of(spoken))
    return WordScore(
        normaliser=found.normaliser,
        errors=found.total,
        rate_percent=found.total.rate_percent,
        interval=found.by_clip,
        interval_by_participant=found.by_participant,
        instructions=len(spoken),
        participants=found.participants,
        confusions=found.confusions[:MOST_CONFUSIONS],
    )


def pairs_of(spoken: tuple[Spoken, ...]) -> list[Pair]:
    """The instructions as the arithmetic of word errors takes them."""
    return [
        Pair(clip_id=one.id, participant=one.participant, reference=one.reference, heard=one.heard) for one in spoken
    ]


def read_transcripts(folder: Path) -> Transcripts | None:
    """What a run was told, from its folder; None where it was told the true words.

    Raises:
        UserError: the file is damaged.
    """
    path = folder / TRANSCRIPTS
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UserError(f"{path}: is too large to be a file of ours")
        return msgspec.json.decode(path.read_bytes(), type=Transcripts)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not the transcripts of a run: {error}; run the same command again") from error
