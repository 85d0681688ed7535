"""Word error rate: what was said and what was heard in; counts and the rate with its interval out.

The rate is that of the corpus, all errors over all words that were said: a mean of the clips' own rates would let an
instruction of one word count as much as one of thirty. Words are aligned by jiwer (least edits) after Whisper's own
normaliser of English, as in its paper; rates under different normalisers can't be compared, so its name stands beside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from grounding.errors import UserError
from grounding.records import Failure, Record, TaskLabel
from grounding.scoring.intervals import Interval, Matrix, bootstrap
from grounding.scoring.scored import Estimate, estimated

TRANSCRIPTS = "transcripts.json"
MOST_BYTES = 256 << 20
WORD_ERROR_RATE = "word_error_rate"  # What the rate is called among the scores of a run.
NORMALISER = "whisper-en"


class Errors(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Counts of words: heard right, heard as another, not heard, and heard where none was said."""

    hits: int = 0
    substitutions: int = 0
    deletions: int = 0
    insertions: int = 0

    @property
    def reference_words(self) -> int:
        return self.hits + self.substitutions + self.deletions

    @property
    def errors(self) -> int:
        return self.substitutions + self.deletions + self.insertions

    @property
    def rate_percent(self) -> float | None:
        """Errors for a hundred words that were said, which can be more than 100; None where none was said."""
        return 100 * self.errors / self.reference_words if self.reference_words else None

    def __add__(self, other: Errors) -> Errors:
        return Errors(**{name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__})


class WordScore(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How far transcripts are from the truth: counts over the corpus, and the rate in percent. ``interval`` is a 95 %
    bootstrap over the recordings; None where no word was said.
    """

    normaliser: str
    errors: Errors
    rate_percent: float | None
    interval: Interval | None
    instructions: int

    @property
    def estimate(self) -> Estimate:
        """The rate as a score, in a unit of its own: it may be above 100."""
        words = self.errors.reference_words
        return estimated(self.rate_percent, words, self.interval, most=None, unit="% of words")


_KINDS = {"equal": "hits", "substitute": "substitutions", "delete": "deletions", "insert": "insertions"}
"""jiwer's words for what became of a run of words."""


def word_errors(pairs: Sequence[tuple[str, str]]) -> WordScore:
    """Compare what was said with what was heard, a pair of texts for each recording. Nothing was heard is "". A
    recording in which no word was said adds no words, only what was heard in it, as insertions.
    """
    import jiwer
    from whisper_normalizer.english import EnglishTextNormalizer

    normalised = EnglishTextNormalizer()
    split = jiwer.Compose([jiwer.ReduceToListOfListOfWords()])
    output = jiwer.process_words(
        [normalised(said) for said, _ in pairs],
        [normalised(heard) for _, heard in pairs],
        reference_transform=split,
        hypothesis_transform=split,
    )
    found: list[Errors] = []
    for chunks in output.alignments:
        kinds: Counter[str] = Counter()
        for chunk in chunks:
            lengths = (chunk.ref_end_idx - chunk.ref_start_idx, chunk.hyp_end_idx - chunk.hyp_start_idx)
            kinds[_KINDS[chunk.type]] += max(lengths)
        found.append(Errors(**kinds))
    total = sum(found, start=Errors())
    wrong: Matrix = np.array([[float(100 * one.errors)] for one in found]).reshape(-1, 1)
    said: Matrix = np.array([[float(one.reference_words)] for one in found]).reshape(-1, 1)
    return WordScore(
        normaliser=NORMALISER,
        errors=total,
        rate_percent=total.rate_percent,
        interval=bootstrap(wrong, said)[0],
        instructions=len(pairs),
    )


# --- what a run was told ------------------------------------------------------------------------------------------


class Spoken(Record, frozen=True, kw_only=True):
    """One instruction of a run: the true text, and what stands for it; ``steps`` are the ids of its steps.

    ``audio`` is the recording, "" where the transcript came from a file. ``failure`` says why there are no words: such
    an instruction is never asked about and counts as wrong; the true words never stand in for it.
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


class Transcripts(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The content of ``transcripts.json``. ``recogniser`` and ``noise`` are identities, ``made_on`` is the device.
    ``condition`` is the canonical text of the source; ``source`` the hash of the recordings' or the file's bytes.
    """

    schema: Literal[1] = 1
    condition: str
    recogniser: str
    noise: str
    source: str
    score: WordScore
    spoken: tuple[Spoken, ...]
    made_on: str = ""

    @property
    def words(self) -> str:
        """The source, its word error rate and what is lacking, in a line."""
        of, percent = self.score.errors, self.score.rate_percent
        ends = self.score.interval
        rate = "no word" if percent is None else f"WER {percent:.1f} %"
        rate += f" [{ends.low:.1f}, {ends.high:.1f}]" if ends is not None and percent is not None else ""
        lacking = f", {self.failures()} without a transcript" if self.failures() else ""
        return (
            f"{self.condition}: {rate} of {of.reference_words:,} words ({of.substitutions:,} substituted, "
            f"{of.deletions:,} left out, {of.insertions:,} added; {self.score.normaliser}), "
            f"{self.score.instructions:,} instructions{lacking}"
        )

    @property
    def speed(self) -> str:
        """The device, and the seconds of computing for each second of sound that was heard for this run."""
        heard = {one.clip_id: one for one in self.spoken if one.compute_s}.values()
        if not heard:
            return "nothing had to be heard anew" if any(one.audio for one in self.spoken) else ""
        audio_s, compute_s = sum(one.audio_s for one in heard), sum(one.compute_s for one in heard)
        on = f" on {self.made_on}" if self.made_on else ""
        return f"{audio_s:.0f} s of sound heard in {compute_s:.0f} s{on}, {compute_s / audio_s:.2f} s a second"

    def failures(self, *kinds: str) -> int:
        """How many instructions have no words for one of these reasons; for any without a kind."""
        return sum(one.failure is not None and (not kinds or one.failure.kind in kinds) for one in self.spoken)


def read_spoken(folder: Path) -> Transcripts | None:
    """What a run was told, from its folder; None where it was told the true words. Raises UserError: the file is
    damaged.
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
