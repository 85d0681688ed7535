"""Finding what may be meant on a screenshot, and moving the sides of a rough box to the edges of what it is around.

A side looks for the nearest straight edge that runs along most of it: the border of a button, the outline of a field,
the side of a picture. Where there is none within reach, as around a link on a plain page, it goes to the ink: to the
place where the text begins behind a gap. Where there is neither, it stays.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from grounding.records import Box, Point

from ..core.native import whole_box
from ..core.records import MarkedBox, overlap

Marks = npt.NDArray[np.bool_]
Shares = npt.NDArray[np.float64]
Pixels = npt.NDArray[np.uint8]  # A picture as height x width x 3 bytes.
CONTRAST = 6
"""The least difference between two neighbouring pixels, in one of the colours (0 to 255), that counts as an edge."""
EDGE_SHARE, EDGE_BEST = 0.7, 0.9
"""An edge runs along at least this share of the side, and along nearly as much of it as the best one within reach."""
OUTSIDE_SHARE, UNBROKEN_SHARE = 0.05, 0.95
"""Outside an edge at most so much is not plain, unless the edge runs along at least this share of the side."""
CORNER_SHARE = 0.15  # This much of a side at each end is left out: corners may be round.
BORDER_PX = 3  # A border line is at most so thick; the box goes around it, not inside it.
GAP_SHARE, LEAST_GAP_PX = 0.4, 2
"""The gap before ink where text begins: in heights of the box for the left and right sides, at least so many pixels."""
INK_REACH_PX, INK_PAD_PX = 8, 2  # A side goes no further than this to reach ink, and leaves so much room beside it.
LEAST_SIDE_PX = 2
_ROUNDS = 4
PROPOSED_REACH_PX = 4  # Found boxes are off by two or three pixels, never more: contours are those of thickened edges.
TAKEN_SHARE = 0.9  # A proposal that overlaps a box of the step so far (intersection over union) was taken already.


class Frame(NamedTuple):
    """A rectangle between pixels: ``left_px`` is the first column inside, ``right_px`` the first one outside."""

    left_px: int
    top_px: int
    right_px: int
    bottom_px: int

    @classmethod
    def around(cls, box: Box) -> Frame:
        """The pixels that a box reaches into, one at least each way."""
        left, top = int(box.left_px), int(box.top_px)
        return cls(left, top, max(left + 1, math.ceil(box.right_px)), max(top + 1, math.ceil(box.bottom_px)))

    @property
    def width_px(self) -> int:
        """Columns inside."""
        return self.right_px - self.left_px

    @property
    def height_px(self) -> int:
        """Rows inside."""
        return self.bottom_px - self.top_px

    @property
    def area_px2(self) -> int:
        """Pixels inside."""
        return self.width_px * self.height_px

    def as_box(self) -> MarkedBox:
        """The box that has it for its edges."""
        return MarkedBox(x_px=self.left_px, y_px=self.top_px, width_px=self.width_px, height_px=self.height_px)

    def moved(self, dx_px: int, dy_px: int) -> Frame:
        """Pushed."""
        return Frame(self.left_px + dx_px, self.top_px + dy_px, self.right_px + dx_px, self.bottom_px + dy_px)


def usual_reach_px(frame: Frame) -> int:
    """How far a side of a hand-drawn box may move: half of the shorter side, from 6 to 16 pixels."""
    return max(6, min(16, round(min(frame.width_px, frame.height_px) / 2)))


def snap(pixels: Pixels, frame: Frame, *, reach_px: int | None = None) -> Frame:
    """Each side of a box moved to the nearest edge of what it is drawn around; the box itself where there is none.
    Raises ValueError: the box has no pixel of the picture.
    """
    height, width = pixels.shape[:2]
    start = Frame(max(0, frame.left_px), max(0, frame.top_px), min(width, frame.right_px), min(height, frame.bottom_px))
    if start.width_px < 1 or start.height_px < 1:
        raise ValueError(f"the box {frame} has no pixel of a picture of {width} x {height}")
    reach = usual_reach_px(start) if reach_px is None else reach_px
    # One strip around the box is enough, and keeps the work independent of the size of the screen.
    margin = reach + BORDER_PX + max(LEAST_GAP_PX, round(GAP_SHARE * start.height_px)) + 1
    x, y = max(0, start.left_px - margin), max(0, start.top_px - margin)
    part = pixels[y : start.bottom_px + margin, x : start.right_px + margin].astype(np.int16)
    across, down = _steps(part), _steps(part.swapaxes(0, 1))
    ink = across[:, :-1] | across[:, 1:] | (down[:, :-1] | down[:, 1:]).T
    return _snapped(across, down, ink, start.moved(-x, -y), reach).moved(x, y)


def _steps(part: npt.NDArray[np.int16]) -> Marks:
    """Where column ``c`` differs from ``c - 1``; there is one column more, and the ends never do."""
    rows, columns = part.shape[:2]
    steps = np.zeros((rows, columns + 1), dtype=bool)
    steps[:, 1:columns] = np.abs(np.diff(part, axis=1)).max(axis=2) >= CONTRAST
    return steps


def _snapped(across: Marks, down: Marks, ink: Marks, start: Frame, reach: int) -> Frame:
    """Side by side, several times over: a side that has moved shows the others more, or less, of an edge.

    Which sides have an edge is decided once, along the box as it was drawn: seen along a box that has closed around a
    short text, the stem of a letter would be an edge, too.
    """
    horizontal, vertical = _Axis(start.left_px, start.right_px, reach), _Axis(start.top_px, start.bottom_px, reach)
    vertical.look_for_edges(down, ink.T, horizontal)
    horizontal.look_for_edges(across, ink, vertical)
    # One upright edge alone, with none above or below, is a letter that the box was drawn through.
    if not any(vertical.has_edge) and not all(horizontal.has_edge):
        horizontal.has_edge = (False, False)
    for _ in range(_ROUNDS):
        before = (horizontal.first, horizontal.end, vertical.first, vertical.end)
        height = vertical.end - vertical.first
        horizontal.move(across, ink, vertical, max(LEAST_GAP_PX, round(GAP_SHARE * height)))
        vertical.move(down, ink.T, horizontal, LEAST_GAP_PX)
        if (horizontal.first, horizontal.end, vertical.first, vertical.end) == before:
            break
    return Frame(horizontal.first, vertical.first, horizontal.end, vertical.end)


class _Axis:
    """Two opposite sides, at ``first`` and ``end``, which were drawn where they are at the beginning."""

    def __init__(self, first: int, end: int, reach: int) -> None:
        self.first, self.end = first, end
        self.has_edge = (False, False)
        self._drawn = (first, end)
        self._reach = reach

    @property
    def middle(self) -> slice:
        """What lies between the sides, without the corners."""
        corner = int((self.end - self.first) * CORNER_SHARE)
        return slice(self.first + corner, self.end - corner)

    def look_for_edges(self, changes: Marks, ink: Marks, along: _Axis) -> None:
        """Decide which of the two sides have an edge within reach, ``along`` the other two."""
        first, end = (
            float(share[places.start : places.stop].max()) >= EDGE_SHARE
            for share, places in zip(self._shares(changes, ink, along), self._near(changes.shape[1] - 1), strict=True)
        )
        self.has_edge = (first, end)

    def move(self, changes: Marks, ink: Marks, along: _Axis, gap: int) -> None:
        """Move both sides to their edges or to the ink between the other two sides."""
        shares, near = self._shares(changes, ink, along), self._near(changes.shape[1] - 1)
        sides = [self.first, self.end]
        for side, outward in ((0, -1), (1, 1)):
            if self.has_edge[side]:
                sides[side] = _at_edge(shares[side], near[side], sides[side], outward)
        if not all(self.has_edge):
            columns = np.asarray(ink[along.first : along.end].any(axis=0))
            reach = min(self._reach, INK_REACH_PX)
            at = [
                sides[side] if self.has_edge[side] else _beside_ink(columns, self._drawn[side], reach, gap, outward)
                for side, outward in ((0, -1), (1, 1))
            ]
            # Text between two blanks, or nothing: moved on one side only, a box would stand askew.
            if None not in at:
                sides = [place for place in at if place is not None]
        if sides[1] - sides[0] >= LEAST_SIDE_PX:
            self.first, self.end = sides

    def _shares(self, changes: Marks, ink: Marks, along: _Axis) -> list[Shares]:
        return [_edges(changes[along.middle], ink[along.middle], outward) for outward in (-1, 1)]

    def _near(self, last: int) -> list[range]:
        return [range(max(0, at - self._reach), min(last, at + self._reach) + 1) for at in self._drawn]


def _edges(changes: Marks, ink: Marks, outward: int) -> Shares:
    """How much of the side changes at each place; 0 at places that are inside something, such as a row of letters."""
    share = changes.mean(axis=0)
    filled = ink.mean(axis=0)
    beyond = np.zeros_like(share)
    # One pixel further out, where a blurred edge is over.
    if outward < 0:
        beyond[2:] = filled[:-1]
    else:
        beyond[:-2] = filled[1:]
    return np.where((beyond <= OUTSIDE_SHARE) | (share >= UNBROKEN_SHARE), share, 0.0)


def _at_edge(share: Shares, places: range, at: int, outward: int) -> int:
    """The nearest edge among some places, around its border; where the side is if there is none any more."""
    least = max(EDGE_SHARE, EDGE_BEST * float(share[places.start : places.stop].max()))
    edges = [place for place in places if share[place] >= least]
    if not edges:
        return at
    # Of two that are equally near, the outer one.
    nearest = min(edges, key=lambda place: (abs(place - at), -outward * place))
    for step in range(BORDER_PX, 0, -1):
        further = nearest + outward * step
        if 0 < further < len(share) - 1 and share[further] >= least:
            return further
    return nearest


def _beside_ink(ink: Marks, drawn: int, reach: int, gap: int, outward: int) -> int | None:
    """The place beside the ink at a side: outwards where the side cuts through it, else inwards. None where the ink
    reaches further out than the side may go, or begins further in.
    """
    # A right side is a left one in the mirror.
    seen, place = (ink, drawn) if outward < 0 else (ink[::-1], len(ink) - drawn)
    edge = next(
        (at for at in range(place, max(-1, place - reach - 1), -1) if not seen[max(0, at - gap) : at].any()), None
    )
    if edge is None:
        return None
    if edge == place:
        edge = next((at for at in range(place, min(len(seen), place + reach + 1)) if seen[at]), None)
    elif not seen[edge]:
        return None
    if edge is None:
        return None
    # A change is ink on both sides of it, so that the ink seems to begin a pixel early.
    edge = max(0, edge + 1 - INK_PAD_PX)
    return edge if outward < 0 else len(ink) - edge


def find_regions(pixels: Pixels) -> tuple[Frame, ...]:
    """Widgets, icons, pictures and lines of text by their edges, each snapped to them; the largest first."""
    from grounding.grounders.som.boxes import WidgetProposer

    boxes = (Frame.around(region.box) for region in WidgetProposer().propose(pixels))
    found = dict.fromkeys(snap(pixels, box, reach_px=PROPOSED_REACH_PX) for box in boxes)
    return tuple(sorted(found, key=lambda frame: (-frame.area_px2, frame.top_px, frame.left_px)))


def in_order(proposals: Sequence[Frame], cursor: Point | None) -> list[Frame]:
    """The proposals by their distance from the cursor, if there is one, the smaller ones first."""
    if cursor is None:
        return list(proposals)

    def rank(one: Frame) -> tuple[float, int]:
        across = max(one.left_px - cursor.x_px, 0.0, cursor.x_px - one.right_px)
        down = max(one.top_px - cursor.y_px, 0.0, cursor.y_px - one.bottom_px)
        return math.hypot(across, down), one.area_px2

    return sorted(proposals, key=rank)


def next_best(order: Sequence[Frame], boxes: Sequence[MarkedBox], tried: Collection[Frame] = ()) -> Frame | None:
    """The first proposal that is none of the boxes, and was not tried; None where nothing is left."""
    left = ((one, one.as_box().box) for one in order if one not in tried)
    return next((one for one, box in left if all(overlap(box, there.box) < TAKEN_SHARE for there in boxes)), None)


def frame_of(box: MarkedBox) -> Frame:
    """A box by its edges, on the nearest whole pixels."""
    return Frame.around(whole_box(box).box)
