"""Connected patches of changed pixels on a small picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from annotate.recording.masks import grown
from grounding.records import Record

if TYPE_CHECKING:
    from annotate.recording.masks import Grey


class Blob(Record, frozen=True, kw_only=True):
    """A patch in pixels of the small picture: it covers ``left`` to ``left + width``, and ``area`` pixels of that."""

    left: int
    top: int
    width: int
    height: int
    area: int

    def near(self, other: Blob, margin: int) -> bool:
        """Whether the two rectangles come closer to each other than ``margin``, on both axes."""
        return (
            self.left - margin < other.left + other.width
            and other.left - margin < self.left + self.width
            and self.top - margin < other.top + other.height
            and other.top - margin < self.top + self.height
        )


MOST_BLOBS = 60
"""More patches than this are not told apart: whoever asks has seen that it is neither a pointer nor a caret."""


def blobs(mask: Grey, *, join_px: int = 0) -> list[Blob]:
    """The patches of a mask (0 and 255), from the largest to the smallest, at most 60 of them.

    ``join_px`` is how far apart two patches may lie and still be one, in pixels to either side.
    """
    import cv2

    joined = grown(mask, join_px) if join_px else mask
    count, labels, stats, _ = cv2.connectedComponentsWithStats(joined, connectivity=8)
    order = sorted(range(1, count), key=lambda label: -int(stats[label, cv2.CC_STAT_AREA]))[:MOST_BLOBS]
    found = []
    for label in order:
        left, top, width, height, area = (int(value) for value in stats[label])
        if join_px:
            part = (labels[top : top + height, left : left + width] == label) & (
                mask[top : top + height, left : left + width] > 0
            )
            rows, columns = part.any(axis=1).nonzero()[0], part.any(axis=0).nonzero()[0]
            top, height = top + int(rows[0]), int(rows[-1] - rows[0]) + 1
            left, width = left + int(columns[0]), int(columns[-1] - columns[0]) + 1
            area = int(part.sum())
        found.append(Blob(left=left, top=top, width=width, height=height, area=area))
    return found


def bounds(patches: list[Blob]) -> Blob:
    """The smallest rectangle around some patches, at least one; its area is the sum of theirs."""
    left, top = min(one.left for one in patches), min(one.top for one in patches)
    right = max(one.left + one.width for one in patches)
    bottom = max(one.top + one.height for one in patches)
    return Blob(left=left, top=top, width=right - left, height=bottom - top, area=sum(one.area for one in patches))
