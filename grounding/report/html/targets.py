"""What is written under a step's target, from readings of its screenshot that the grounder ``ocr`` kept here.

Nothing is read anew, which takes seconds a screenshot: one run of ``--grounder ocr`` over a data set is enough for all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from grounding.grounders.ocr.engine import EngineError
from grounding.grounders.ocr.reader import DiskCache, reader_identity
from grounding.grounders.ocr.screen import Screen
from grounding.records import Point, Step
from grounding.regions import is_hit

NAMED, OTHER, NOTHING, UNREAD = "a word of the instruction", "other words", "no words", "not read"
KINDS = (NAMED, OTHER, NOTHING, UNREAD)
"""In the order in which a table has them."""

_WORD = re.compile(r"[^\W_]{2,}")


def texts_under(steps: Iterable[Step]) -> dict[str, str]:
    """Which of :data:`KINDS` each step's target is, by the step's id; empty where no screenshot was ever read."""
    try:
        readings = DiskCache.for_engine(reader_identity())
    except EngineError:
        return {}
    screens: dict[str, Screen | None] = {}
    found = {}
    for step in steps:
        sha256 = step.screenshot.sha256
        if sha256 not in screens:
            screens[sha256] = readings.get(sha256)
        found[step.id] = _text_under(step, screens[sha256])
    return found if any(screens.values()) else {}


def _text_under(step: Step, screen: Screen | None) -> str:
    if screen is None or step.region is None:
        return UNREAD
    there: set[str] = set()
    for line in screen.lines:
        for word in line.words:
            middle = Point(x_px=(word.left_px + word.right_px) / 2, y_px=(line.box.top_px + line.box.bottom_px) / 2)
            if is_hit(step.region, middle):
                there.update(_WORD.findall(word.text.casefold()))
    if not there:
        return NOTHING
    return NAMED if there & set(_WORD.findall(step.instruction.casefold())) else OTHER
