"""Whether the difference between two pictures is that the same content moved up or down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from annotate.recording.blobs import Blob

if TYPE_CHECKING:
    from annotate.recording.masks import Grey

ALIKE = 0.8
"""Least correlation of a moved strip with what was there before: small text blurs where it moves by half a pixel."""
BETTER_BY = 0.1
EXPLAINED = 0.6
"""How much of the difference may be left once the move is undone."""


def scrolled_by(before: Grey, after: Grey, where: Blob) -> int | None:
    """By how many rows the content of a rectangle moved, negative for upwards; None where it did not just move.

    A strip of the new picture is looked for in the old one, at all heights: what scrolls in at an edge is not in it.

    Args:
        before: Grey picture, uint8.
        after: The next one, of the same size.
        where: The rectangle that changed.
    """
    import cv2

    if where.height < 24 or where.width < 24:
        return None
    old = before[where.top : where.top + where.height, where.left : where.left + where.width]
    new = after[where.top : where.top + where.height, where.left : where.left + where.width]
    strip_height = max(8, where.height // 4)
    starts = range(0, where.height - strip_height + 1, max(1, strip_height // 2))
    # The strip with most to recognise in it; an empty one fits everywhere.
    start = max(starts, key=lambda top: float(new[top : top + strip_height].std()))
    strip = new[start : start + strip_height]
    if float(strip.std()) < 6:
        return None
    scores = cv2.matchTemplate(old, strip, cv2.TM_CCOEFF_NORMED)[:, 0]
    best = int(scores.argmax())
    moved = start - best
    if moved == 0 or scores[best] < ALIKE or scores[best] < scores[start] + BETTER_BY:
        return None
    still = float(cv2.absdiff(new, old).mean())
    down = abs(moved)
    if moved > 0:
        along = float(cv2.absdiff(new[down:], old[:-down]).mean())
    else:
        along = float(cv2.absdiff(new[:-down], old[down:]).mean())
    return moved if along < EXPLAINED * still else None
