"""What people say of a run's misses: a side file that is only appended to, merged over people. No score hangs on it."""

from __future__ import annotations

import fcntl
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path

import msgspec

from grounding.analysis.labels import LABELLER, Label, is_labeller, label_lines
from grounding.errors import UserError
from grounding.records import Record
from grounding.scoring.intervals import Interval, cohens_kappa

LABELS_FILE = "labels.jsonl"

CHOICES = ("reasoning", "grounding", "annotation-wrong", "ambiguous", "other")
"""What a person may choose on the page. A file may hold ``unclear``, too."""

MOST_NOTE = 2_000
"""Characters that a note may have."""


class LabelCount(Record, frozen=True, kw_only=True):
    """On how many steps all who labelled them say this."""

    label: str
    steps: int


class PairAgreement(Record, frozen=True, kw_only=True):
    """Two people over the ``n`` steps that both labelled; kappa is None where chance alone would agree always."""

    first: str
    second: str
    n: int
    agree: int
    kappa: float | None
    interval: Interval | None


class Triage(Record, frozen=True, kw_only=True):
    """All labels of a run, merged. ``disputed`` steps have labels that differ; ``counts`` are over the other ones."""

    labels: tuple[Label, ...]
    labellers: tuple[str, ...]
    steps: int
    disputed: int
    counts: tuple[LabelCount, ...]
    pairs: tuple[PairAgreement, ...]


def read_triage(folder: Path) -> Triage:
    """The labels of a run folder; empty where nobody labelled anything.

    A torn last line, which another process may be writing, is passed over.

    Raises:
        UserError: the file can't be read or a line is no label; says which.
    """
    path = folder / LABELS_FILE
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return merge(())
    except OSError as error:
        raise UserError(f"{path}: can't be read: {error.strerror}") from error
    return merge(label for _, label in label_lines(content[: content.rfind(b"\n") + 1], str(path)))


def merge(labels: Iterable[Label]) -> Triage:
    """The last label of each person for each step, and how far people agree.

    >>> said = [("1/1", "ann", "grounding"), ("1/1", "bob", "grounding"), ("1/2", "ann", "other")]
    >>> triage = merge(Label(step=step, labeller=who, label=label) for step, who, label in said)
    >>> triage.steps, triage.disputed, [(count.label, count.steps) for count in triage.counts]
    (2, 0, [('grounding', 1), ('other', 1)])
    """
    last: dict[tuple[str, str], Label] = {}
    for label in labels:
        last[label.step, label.labeller] = label
    kept = tuple(label for label in last.values() if label.label != "withdrawn")
    by_step: dict[str, set[str]] = {}
    for label in kept:
        by_step.setdefault(label.step, set()).add(label.label)
    agreed = Counter(next(iter(said)) for said in by_step.values() if len(said) == 1)
    people = tuple(dict.fromkeys(label.labeller for label in kept))
    return Triage(
        labels=kept,
        labellers=people,
        steps=len(by_step),
        disputed=sum(len(said) > 1 for said in by_step.values()),
        counts=tuple(
            LabelCount(label=name, steps=count)
            for name, count in sorted(agreed.items(), key=lambda each: (-each[1], each[0]))
        ),
        pairs=tuple(_pair(first, second, kept) for first, second in combinations(people, 2)),
    )


def _pair(first: str, second: str, labels: Sequence[Label]) -> PairAgreement:
    one, two = ({label.step: label.label for label in labels if label.labeller == who} for who in (first, second))
    both = [(one[step], two[step]) for step in one if step in two]
    names = sorted({name for pair in both for name in pair})
    kappa = cohens_kappa([[both.count((row, column)) for column in names] for row in names] or [[0]])
    return PairAgreement(
        first=first,
        second=second,
        n=len(both),
        agree=sum(a == b for a, b in both),
        kappa=kappa.value,
        interval=kappa.interval,
    )


def triage_lines(triage: Triage, misses: Iterable[str]) -> tuple[str, ...]:
    """A merged triage in words, nothing where there is none. ``misses`` are the ids of the steps that are no hits."""
    if not triage.steps:
        return ()
    wrong = set(misses)
    of_misses = len(wrong & {label.step for label in triage.labels})
    people = "1 person" if len(triage.labellers) == 1 else f"{len(triage.labellers)} people"
    parts = [f"{count.label.replace('-', ' ')} {count.steps}" for count in triage.counts]
    parts += [f"disputed {triage.disputed}"] if triage.disputed else []
    beyond = f" and {triage.steps - of_misses} other steps" if triage.steps > of_misses else ""
    said = f"{people} labelled {of_misses:,} of {len(wrong):,} misses{beyond}"
    lines = [f"{said}: {' · '.join(parts)} (no score changes by it)"]
    for pair in triage.pairs:
        if not pair.n:
            lines.append(f"{pair.first} and {pair.second} have labelled no step in common")
            continue
        kappa = "kappa undefined: both always say the same" if pair.kappa is None else f"kappa {pair.kappa:.2f}"
        found = pair.interval
        interval = "" if found is None else f" [{found.low:.2f}, {found.high:.2f}]"
        lines.append(f"{pair.first} and {pair.second} agree on {pair.agree}/{pair.n} steps, {kappa}{interval}")
    return tuple(lines)


def append_label(folder: Path, label: Label) -> None:
    """Add a label to a run's file, whole or not at all; several processes may do so at once.

    Raises:
        ValueError: the labeller's name or the note is not allowed.
        OSError: the disk is full or failing; nothing was added.
    """
    if not is_labeller(label.labeller):
        raise ValueError(f"a labeller's name has {LABELLER}")
    if len(label.note) > MOST_NOTE:
        raise ValueError(f"a note may have {MOST_NOTE} characters, this one has {len(label.note)}")
    line = msgspec.json.encode(label) + b"\n"
    file = os.open(folder / LABELS_FILE, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        end = os.fstat(file).st_size
        # What a crash tore off must not swallow the next line; it was never a label.
        if end and os.pread(file, 1, end - 1) != b"\n":
            end = os.pread(file, end, 0).rfind(b"\n") + 1
            os.ftruncate(file, end)
        try:
            if os.write(file, line) != len(line):
                raise OSError("the disk took a part of the line only")
            os.fsync(file)
        except OSError:
            os.ftruncate(file, end)
            raise
    finally:
        os.close(file)
