"""What the command line asks of the window."""

from __future__ import annotations

from pathlib import Path

from grounding.records import Record


class WindowOptions(Record, frozen=True, kw_only=True):
    """``run`` is the folder of a run to review. ``keys`` is a file of keys. ``scale`` is by how much everything is
    larger than at 96 dpi; None for what the display says. ``step`` counts from 0.
    """

    folder: Path
    annotator: str = ""
    run: Path | None = None
    keys: Path | None = None
    scale: float | None = None
    step: int | None = None
