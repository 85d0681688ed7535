"""What people say of a run's misses: a side file that is only appended to, merged over people. No score hangs on it."""

import fcntl
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path

import msgspec

from grounding.analysis.labels import LABELLER, Label, is_labeller, label_lines
from grounding.errors import UserError
from grounding.scoring.intervals import cohens_kappa

LABELS_FILE = "labels.jsonl"

# What a person may choose on the page. A file may hold `unclear`, too.
CHOICES = ("reasoning", "grounding", "annotation-wrong", "ambiguous", "other")
MOST_NOTE = 2_000  # Characters that a note may have.


def read_triage(folder: Path) -> tuple[Label, ...]:
    """The labels of a run folder, merged; empty where nobody labelled anything. A torn last line, which another process
    may be writing, is passed over. Raises UserError: the file can't be read or a line is no label; says which.
    """
    path = folder / LABELS_FILE
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise UserError(f"{path}: can't be read: {error.strerror}") from error
    return merge(label for _, label in label_lines(content[: content.rfind(b"\n") + 1], str(path)))


def merge(labels: Iterable[Label]) -> tuple[Label, ...]:
    """The last label of each person for each step, without those that were withdrawn."""
    last = {(label.step, label.labeller): label for label in labels}
    return tuple(label for label in last.values() if label.label != "withdrawn")


def triage_lines(labels: Sequence[Label], misses: Iterable[str]) -> tuple[str, ...]:
    """Merged labels in words, and how far people agree; nothing where there is none. Steps whose labels differ are
    disputed and counted as nothing else.
    """
    if not labels:
        return ()
    wrong, by_step, by_person = set(misses), dict[str, set[str]](), dict[str, dict[str, str]]()
    for label in labels:
        by_step.setdefault(label.step, set()).add(label.label)
        by_person.setdefault(label.labeller, {})[label.step] = label.label
    agreed = Counter(next(iter(given)) for given in by_step.values() if len(given) == 1)
    counts = sorted(agreed.items(), key=lambda it: (-it[1], it[0]))
    parts = [f"{name.replace('-', ' ')} {count}" for name, count in counts]
    disputed = len(by_step) - agreed.total()
    parts += [f"disputed {disputed}"] if disputed else []
    people = "1 person" if len(by_person) == 1 else f"{len(by_person)} people"
    of_misses = len(wrong & by_step.keys())
    beyond = f" and {len(by_step) - of_misses} other steps" if len(by_step) > of_misses else ""
    said = f"{people} labelled {of_misses:,} of {len(wrong):,} misses{beyond}"
    lines = [f"{said}: {' · '.join(parts)} (no score changes by it)"]
    for (first, one), (second, two) in combinations(by_person.items(), 2):
        both = [(one[step], two[step]) for step in one if step in two]
        if not both:
            lines.append(f"{first} and {second} have labelled no step in common")
            continue
        names = sorted({name for pair in both for name in pair})
        kappa = cohens_kappa([[both.count((row, column)) for column in names] for row in names])
        words = "kappa undefined: both always say the same" if kappa.value is None else f"kappa {kappa.value:.2f}"
        interval = "" if kappa.interval is None else f" [{kappa.interval.low:.2f}, {kappa.interval.high:.2f}]"
        agree = sum(a == b for a, b in both)
        lines.append(f"{first} and {second} agree on {agree}/{len(both)} steps, {words}{interval}")
    return tuple(lines)


def append_label(folder: Path, label: Label) -> None:
    """Add a label to a run's file, whole or not at all; several processes may do so at once. Raises ValueError: the
    labeller's name or the note is not allowed. Raises OSError: the disk is full or failing; nothing was added.
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
