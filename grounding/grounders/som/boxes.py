"""Arithmetic on lists of boxes: lines out of glyphs, doubles out, labels out. Integers in, integers out; pure."""

from __future__ import annotations

from statistics import median

import numpy as np
import numpy.typing as npt

from grounding.marks.grid import IntBox, area, overlap

SAME_SHARE = 0.7
"""Two boxes with this intersection over union are one region found twice."""

SAME_CLICK, CONCENTRIC_SHARE = 3.0, 0.2
"""Boxes with centres so near, in pixels, are one target, unless the smaller is less than this share of the larger."""

WORD_GAP, ODD_GAP = 0.7, 0.6
"""The widest gap inside a line of text, in heights of its glyphs: to a glyph of about the same height, and to another,
such as a dash. A check box stands farther off from its label."""

SAME_ROW = 0.5

MIN_ICONS, ICON_SIDE, ICON_SPREAD, ICON_SHARE = 3, 14, 0.2, 0.75
"""A row of so many things, at least so large, of one size but for this share, is no text if this share is square."""

MAX_BUTTON_HEIGHT, LABEL_HEIGHTS, LABEL_WIDTH = 80, 4.0, 0.35
"""How high a button is at most, in pixels and in heights of its label; and how wide its label, as a share, at least."""


def text_lines(glyphs: list[IntBox], unit: float) -> list[IntBox]:
    """Glyphs that stand side by side joined to the boxes of lines; a lone one, and icons in a row, stay as they are."""
    bounds: list[IntBox] = []
    members: list[list[IntBox]] = []
    heights: list[list[int]] = []
    rows: dict[int, list[int]] = {}
    bucket = max(1, round(24 * unit))
    for glyph in sorted(glyphs):
        line = _line_for(glyph, bounds, heights, rows, bucket)
        if line is None:
            line = len(bounds)
            bounds.append(glyph)
            members.append([])
            heights.append([])
        members[line].append(glyph)
        left, top, right, bottom = bounds[line]
        bounds[line] = (left, min(top, glyph[1]), max(right, glyph[2]), max(bottom, glyph[3]))
        height = glyph[3] - glyph[1]
        if not heights[line] or height >= 0.5 * median(heights[line]):
            heights[line] = [*heights[line][-8:], height]
        for row in range(bounds[line][1] // bucket, bounds[line][3] // bucket + 1):
            here = rows.setdefault(row, [])
            if line not in here:
                here.append(line)
    found: list[IntBox] = []
    for box, parts in zip(bounds, members, strict=True):
        found.extend(_icons(parts, unit) or [box])
    return found


def _icons(glyphs: list[IntBox], unit: float) -> list[IntBox]:
    """The stars of a rating or the discs of a choice of colours: square, equal, and at least three; else none."""
    outer = [
        glyph
        for index, glyph in enumerate(glyphs)
        if not any(
            overlap(glyph, other) == area(glyph) and (area(other) > area(glyph) or place < index)
            for place, other in enumerate(glyphs)
            if place != index
        )
    ]
    if len(outer) < MIN_ICONS:
        return []
    usual = median(box[2] - box[0] for box in outer)
    square = [
        box
        for box in outer
        if abs(box[2] - box[0] - usual) <= ICON_SPREAD * usual and abs(box[3] - box[1] - usual) <= ICON_SPREAD * usual
    ]
    many = len(square) >= MIN_ICONS and len(square) >= ICON_SHARE * len(outer)
    return outer if many and usual >= ICON_SIDE * unit else []


def _line_for(
    glyph: IntBox, bounds: list[IntBox], heights: list[list[int]], rows: dict[int, list[int]], bucket: int
) -> int | None:
    """The line that a glyph continues: in its row, and near enough; the nearest of several."""
    best: tuple[int, int] | None = None
    height = glyph[3] - glyph[1]
    for row in range(glyph[1] // bucket, glyph[3] // bucket + 1):
        for line in reversed(rows.get(row, [])):
            _, top, right, bottom = bounds[line]
            gap = glyph[0] - right
            usual = median(heights[line])
            # A tile beside a text must not reach as far as its own height would let it.
            alike = 0.5 * usual <= height <= 1.6 * usual
            if gap > (WORD_GAP * usual if alike else ODD_GAP * min(usual, height + 8)):
                continue
            shared = min(bottom, glyph[3]) - max(top, glyph[1])
            if shared >= SAME_ROW * min(bottom - top, height) and (best is None or gap < best[0]):
                best = (gap, line)
    return None if best is None else best[1]


def padded(box: IntBox, pad: int, width: int, height: int, least: int = 0) -> IntBox:
    """A box with room around it, at least so many pixels wide and high, inside the picture."""
    across, down = max(0, least - (box[2] - box[0])), max(0, least - (box[3] - box[1]))
    left, top = box[0] - max(pad, across // 2), box[1] - max(pad, down // 2)
    right, bottom = box[2] + max(pad, across // 2), box[3] + max(pad, down // 2)
    return max(0, left), max(0, top), min(width, right), min(height, bottom)


def outside(boxes: list[IntBox], holders: list[IntBox], slack: int) -> list[IntBox]:
    """The boxes that lie in none of the holders, give or take a few pixels."""
    if not boxes or not holders:
        return boxes
    table = np.array(holders, dtype=np.int64)
    table[:, :2] -= slack
    table[:, 2:] += slack
    return [box for box in boxes if not (_shared(np.array(box, dtype=np.int64), table) == area(box)).any()]


def without_doubles(boxes: list[IntBox], unit: float) -> list[IntBox]:
    """One of every group of boxes that are nearly the same, or whose centres are one click: the largest of them."""
    ordered = sorted(set(boxes), key=lambda box: (-area(box), box))
    if not ordered:
        return []
    table = np.array(ordered, dtype=np.int64)
    areas = (table[:, 2] - table[:, 0]) * (table[:, 3] - table[:, 1])
    centres = table[:, :2] + table[:, 2:]
    kept = np.ones(len(ordered), dtype=bool)
    for index in range(len(ordered)):
        if not kept[index]:
            continue
        shared = _shared(table[index], table)
        same = shared >= SAME_SHARE * (areas[index] + areas - shared)
        concentric = np.abs(centres - centres[index]).max(axis=1) <= 2 * SAME_CLICK * unit
        same |= concentric & (areas >= CONCENTRIC_SHARE * areas[index])
        same[: index + 1] = False
        kept &= ~same
    return [box for box, keep in zip(ordered, kept.tolist(), strict=True) if keep]


def _shared(box: npt.NDArray[np.int64], table: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    across = np.minimum(table[:, 2], box[2]) - np.maximum(table[:, 0], box[0])
    down = np.minimum(table[:, 3], box[3]) - np.maximum(table[:, 1], box[1])
    shared: npt.NDArray[np.int64] = np.clip(across, 0, None) * np.clip(down, 0, None)
    return shared


def without_own_label(boxes: list[IntBox], labels: set[IntBox], unit: float) -> list[IntBox]:
    """Without the text of a button, which would be a second mark for one target.

    A label is the only thing in a box that is not much higher or wider than it: the text in a wide cell may be a link.
    """
    if not boxes:
        return []
    table = np.array(boxes, dtype=np.int64)
    areas = (table[:, 2] - table[:, 0]) * (table[:, 3] - table[:, 1])
    dropped: set[int] = set()
    for index, box in enumerate(boxes):
        if box[3] - box[1] > MAX_BUTTON_HEIGHT * unit:
            continue
        inside = np.flatnonzero((_shared(table[index], table) == areas) & (areas < areas[index]))
        if len(inside) != 1 or boxes[int(inside[0])] not in labels:
            continue
        label = boxes[int(inside[0])]
        high = box[3] - box[1] <= LABEL_HEIGHTS * (label[3] - label[1])
        if high and label[2] - label[0] >= LABEL_WIDTH * (box[2] - box[0]):
            dropped.add(int(inside[0]))
    return [box for index, box in enumerate(boxes) if index not in dropped]
