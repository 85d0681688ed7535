"""Word error rate: what was said and what was heard in; counts, the rate with its intervals, and confusions out.

The rate is that of the corpus, all errors over all words that were said: a mean of the clips' own rates would let an
instruction of one word count as much as one of thirty. Words are aligned by jiwer (least edits) after the normaliser.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Literal

import numpy as np

from grounding.asr.normaliser import NORMALISER, Normaliser
from grounding.records import Record
from grounding.scoring.intervals import Interval, Matrix, bootstrap

ConfusionKind = Literal["substitution", "deletion", "insertion"]

_BATCH = 2048
"""Clips that are aligned at a time."""


class Pair(Record, frozen=True, kw_only=True):
    """What one clip says and what was heard in it; a clip that could not be heard has an empty ``heard``."""

    clip_id: str
    participant: str
    reference: str
    heard: str


class Errors(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Counts of words: heard right, heard as another, not heard, and heard where none was said."""

    hits: int = 0
    substitutions: int = 0
    deletions: int = 0
    insertions: int = 0

    @property
    def reference_words(self) -> int:
        """How many words were said."""
        return self.hits + self.substitutions + self.deletions

    @property
    def errors(self) -> int:
        """Substitutions, deletions and insertions together."""
        return self.substitutions + self.deletions + self.insertions

    @property
    def rate_percent(self) -> float | None:
        """Errors for a hundred words that were said, which can be more than 100; None where none was said."""
        return 100 * self.errors / self.reference_words if self.reference_words else None

    def __add__(self, other: Errors) -> Errors:
        return Errors(
            hits=self.hits + other.hits,
            substitutions=self.substitutions + other.substitutions,
            deletions=self.deletions + other.deletions,
            insertions=self.insertions + other.insertions,
        )


class ClipErrors(Record, frozen=True, kw_only=True):
    """One clip: the words that were compared, with a blank between, and its counts."""

    clip_id: str
    participant: str
    reference: str
    heard: str
    errors: Errors


class ParticipantErrors(Record, frozen=True, kw_only=True, omit_defaults=False):
    """All clips of one participant; ``interval`` is of the rate in percent, from a bootstrap over the clips."""

    participant: str
    clips: int
    errors: Errors
    interval: Interval | None


class Confusion(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A word, what it was heard as, how often. ``heard`` is "" for a deletion, ``reference`` for an insertion."""

    kind: ConfusionKind
    reference: str
    heard: str
    count: int


class WordErrors(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The word errors of a corpus.

    ``by_clip`` and ``by_participant`` are 95 % intervals of the rate in percent, from bootstraps that draw whole clips
    and whole participants; None where no word was said, and ``by_participant`` with fewer than two participants.
    ``confusions`` are all there are, the most frequent first; ``clips`` and ``participants`` in order of appearance.
    """

    normaliser: str
    total: Errors
    by_clip: Interval | None
    by_participant: Interval | None
    clips: tuple[ClipErrors, ...]
    participants: tuple[ParticipantErrors, ...]
    confusions: tuple[Confusion, ...]


def word_errors(pairs: Iterable[Pair], *, normaliser: Normaliser = NORMALISER, seed: int = 0) -> WordErrors:
    """Compare what was said with what was heard.

    A clip in which no word was said adds no words, only what was heard in it, as insertions.

    Args:
        pairs: The clips.
        normaliser: What makes words of both texts.
        seed: Of the bootstraps.
    """
    clips: list[ClipErrors] = []
    counted: Counter[tuple[ConfusionKind, str, str]] = Counter()
    batch: list[Pair] = []
    for pair in pairs:
        batch.append(pair)
        if len(batch) == _BATCH:
            clips += _aligned(batch, normaliser, counted)
            batch = []
    clips += _aligned(batch, normaliser, counted)
    by_person: dict[str, list[Errors]] = {}
    for clip in clips:
        by_person.setdefault(clip.participant, []).append(clip.errors)
    totals = {name: _sum(errors) for name, errors in by_person.items()}
    return WordErrors(
        normaliser=normaliser.id,
        total=_sum(totals.values()),
        by_clip=_interval([clip.errors for clip in clips], seed),
        by_participant=_interval(list(totals.values()), seed) if len(totals) > 1 else None,
        clips=tuple(clips),
        participants=tuple(
            ParticipantErrors(
                participant=name, clips=len(errors), errors=totals[name], interval=_interval(errors, seed)
            )
            for name, errors in by_person.items()
        ),
        confusions=tuple(
            Confusion(kind=kind, reference=said, heard=heard, count=count)
            for (kind, said, heard), count in sorted(counted.items(), key=lambda one: (-one[1], one[0]))
        ),
    )


def _aligned(
    batch: Sequence[Pair], normaliser: Normaliser, counted: Counter[tuple[ConfusionKind, str, str]]
) -> list[ClipErrors]:
    """The counts of a batch of clips; what was confused is added to ``counted``."""
    if not batch:
        return []
    import jiwer

    references = [" ".join(normaliser.words(pair.reference)) for pair in batch]
    hypotheses = [" ".join(normaliser.words(pair.heard)) for pair in batch]
    words = jiwer.Compose([jiwer.ReduceToListOfListOfWords()])
    output = jiwer.process_words(references, hypotheses, reference_transform=words, hypothesis_transform=words)
    found = []
    for pair, said, heard, chunks in zip(batch, output.references, output.hypotheses, output.alignments, strict=True):
        hits = substitutions = deletions = insertions = 0
        for chunk in chunks:
            here = said[chunk.ref_start_idx : chunk.ref_end_idx]
            there = heard[chunk.hyp_start_idx : chunk.hyp_end_idx]
            if chunk.type == "equal":
                hits += len(here)
                continue
            substitutions += min(len(here), len(there))
            deletions += max(0, len(here) - len(there))
            insertions += max(0, len(there) - len(here))
            counted.update(_kinds(here, there))
        errors = Errors(hits=hits, substitutions=substitutions, deletions=deletions, insertions=insertions)
        found.append(
            ClipErrors(
                clip_id=pair.clip_id,
                participant=pair.participant,
                reference=" ".join(said),
                heard=" ".join(heard),
                errors=errors,
            )
        )
    return found


def _kinds(said: Sequence[str], heard: Sequence[str]) -> Iterable[tuple[ConfusionKind, str, str]]:
    for word, other in zip_longest(said, heard, fillvalue=""):
        kind: ConfusionKind = "insertion" if not word else "deletion" if not other else "substitution"
        yield kind, word, other


def _sum(errors: Iterable[Errors]) -> Errors:
    return sum(errors, start=Errors())


def _interval(errors: Sequence[Errors], seed: int) -> Interval | None:
    if not errors:
        return None
    wrong: Matrix = np.array([[float(100 * one.errors)] for one in errors])
    said: Matrix = np.array([[float(one.reference_words)] for one in errors])
    return bootstrap(wrong, said, seed=seed)[0]
