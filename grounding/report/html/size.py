"""How large a page may be before its steps lie in files beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from grounding.report.html.content import MOST_TEXT

MOST_STEPS = 20_000
"""Steps of all its runs together that stand in a page itself; it has then some 10 MB and opens in a second or two."""

MOST_BYTES = 64 << 20
"""The same in bytes, at the most that texts can come to."""

_STEP_BYTES = 3 * MOST_TEXT
"""At most so much of a step counts: its reply, its plan and the planner's reply are cut."""


def lie_beside(folders: Sequence[Path]) -> bool:
    """Whether the steps of these runs are too many, or their texts too long, to stand in one page."""
    steps = [_lines(folder / "steps.jsonl") for folder in folders]
    texts = [
        min(_STEP_BYTES * count, sum(_bytes(folder / name) for name in ("plans.jsonl", "predictions.jsonl")))
        for folder, count in zip(folders, steps, strict=True)
    ]
    return sum(steps) > MOST_STEPS or sum(texts) > MOST_BYTES


def _lines(path: Path) -> int:
    """Lines of a file; 0 where it is not there, which whoever reads it will say better."""
    try:
        with path.open("rb") as file:
            return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
    except OSError:
        return 0


def _bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
