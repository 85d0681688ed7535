"""Counting what a conversion does not carry over, so that it can be said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from annotate.formats.records import Item, Loss, LossHow
from annotate.records import Entry

TEXT_FIELDS = ("instruction", "transcript", "task", "action", "comment", "verified", "annotator", "at")
"""The fields of an entry beside its picture, its boxes and its state."""


class Tally:
    """Counts losses by kind, in the order in which the kinds come up."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, LossHow, str]] = Counter()

    def add(self, what: str, how: LossHow, note: str, count: int = 1) -> None:
        """Count ``count`` more of one kind."""
        if count:
            self._counts[what, how, note] += count

    def add_fields(self, items: Iterable[Item], how: LossHow, note: str, *, kept: Iterable[str] = ()) -> None:
        """Count the steps that say something in a field that has no standard place in the format."""
        entries = [item.entry for item in items]
        for field in TEXT_FIELDS:
            if field not in set(kept):
                self.add(f"field {field}", how, note, sum(_says_something(entry, field) for entry in entries))

    def add_states(self, items: Iterable[Item], notes: Mapping[str, str], how: LossHow) -> None:
        """Count the steps without boxes, by state; ``notes`` says for each state what becomes of it."""
        counts = Counter(item.entry.state for item in items)
        for state, note in notes.items():
            self.add(f"state {state}", how, note, counts[state])  # type: ignore[index]

    def losses(self) -> tuple[Loss, ...]:
        """What was counted."""
        return tuple(
            Loss(what=what, how=how, count=count, note=note) for (what, how, note), count in self._counts.items()
        )


def _says_something(entry: Entry, field: str) -> bool:
    value = getattr(entry, field)
    return bool(value) or (field == "task" and value == 0 and not isinstance(value, str))
