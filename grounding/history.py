"""What happened before a step: the window of earlier instructions and actions that a model is told."""

from __future__ import annotations

from collections.abc import Sequence

from grounding.records import HistoryEntry, Step


def history_window(steps: Sequence[Step], position: int, length: int) -> tuple[HistoryEntry, ...]:
    """The last ``length`` entries before a position of one participant's steps.

    Steps without a click count too, and the window crosses task boundaries but never participants, as in the
    released evaluator. Steps without an entry (no history file) give an empty window.
    """
    entries = (step.history_entry for step in steps[max(0, position - length) : position])
    return tuple(entry for entry in entries if entry is not None)


def history_text(entries: Sequence[HistoryEntry]) -> str:
    """The window as the released evaluator writes it: numbered from 1 in each window, empty at the first step."""
    return "\n".join(
        f"{number}. Instruction: {entry.instruction}\n   Action: {entry.action}"
        for number, entry in enumerate(entries, start=1)
    )
