"""The regions that get numbers: found on a scaled screenshot by edges alone, put in order, and back on the original.

The built-in method finds widgets, icons, pictures and lines of text. All its lengths are in pixels of a picture whose
shorter side is 1000; other sizes are measured in proportion.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median
from typing import Protocol

import cv2
import numpy as np
import numpy.typing as npt

from grounding.grounders.marks import Grid, IntBox, Mark, Pixels, Proposed, area, box_region, overlap
from grounding.records import Box, Point, Size

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


VERSION = 1
"""Goes up with every change that can move a box: answers given over other marks are not these answers."""

REFERENCE_SIDE = 1000

EDGE_LOW, EDGE_HIGH = 12, 40
"""Contrast of the faintest edges: a white card on a page of 97 % white still has one."""

MIN_SIDE = 8
PAD = 3
HOLDER_SIDE, TILE_SIDE, BORDER_BAND = 18, 24, 9
SPECK_REACH, SPECK_SIDE = 5, 5

MAX_SHARE = 0.5
"""A region larger than this share of the picture is the page, which nobody is asked to click."""

FRAME_FILL, TILE_FILL = 0.75, 0.92
"""Share of its bounding box that the outline of a widget encloses; rounded buttons and discs are above it."""

GLYPH_MAX_HEIGHT, GLYPH_MAX_WIDTH = 48, 160

PICTURE_SIDE, PICTURE_FLAT = 56, 0.35
"""A photograph is a region of some size with little flat colour: what is found inside is texture, not widgets."""

Gray = npt.NDArray[np.uint8]


class WidgetProposer:
    @property
    def identity(self) -> str:
        return f"widgets {VERSION}"

    def check(self) -> None: ...

    def propose(self, image: Pixels) -> tuple[Proposed, ...]:
        height, width = image.shape[:2]
        unit = max(min(height, width) / REFERENCE_SIDE, 0.25)
        edges: Gray = cv2.Canny(image, EDGE_LOW, EDGE_HIGH).astype(np.uint8)
        frames, tiles = frame_boxes(edges, unit)
        parts = part_boxes(edges, unit)
        glyphs = without_holders(parts, frames, tiles, unit)
        lines = text_lines(glyphs, unit)
        small = [line for line in lines if min(line[2] - line[0], line[3] - line[1]) < MIN_SIDE * unit]
        pad = max(1, round(PAD * unit))
        lines = [padded(line, pad, width, height) for line in lines if line not in set(small)]
        frames = outside(frames, lines, pad)
        small = off_borders(outside(small, lines, pad), frames, width, height, unit)
        specks = joined_specks(small, width, height, unit)
        largest = MAX_SHARE * width * height
        kept = [box for box in (*frames, *lines, *specks) if area(box) <= largest]
        kept = without_own_label(without_doubles(kept, unit), set(lines), unit)
        return tuple(box_region(*box) for box in _without_texture(kept, Grid(_flat(image)), unit))


def frame_boxes(edges: Gray, unit: float) -> tuple[list[IntBox], list[IntBox]]:
    """Boxes of the closed outlines that fill them (widgets, pictures, bold letters), and those that are tiles."""
    thick = cv2.dilate(edges, np.ones((3, 3), np.uint8))
    contours, _ = cv2.findContours(thick, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
    frames: list[IntBox] = []
    tiles: list[IntBox] = []
    for contour in contours:
        left, top, across, down = cv2.boundingRect(contour)
        if min(across, down) < 2 * MIN_SIDE * unit:
            continue
        fill = cv2.contourArea(contour) / (across * down)
        if fill >= FRAME_FILL:
            frames.append((left, top, left + across, top + down))
            if fill >= TILE_FILL and down >= TILE_SIDE * unit:
                tiles.append(frames[-1])
    return frames, tiles


def part_boxes(edges: Gray, unit: float) -> list[IntBox]:
    """Boxes of connected edges small enough for glyphs or icons."""
    _, _, stats, _ = cv2.connectedComponentsWithStats(edges, connectivity=8)
    across, down = stats[:, cv2.CC_STAT_WIDTH], stats[:, cv2.CC_STAT_HEIGHT]
    small = (across <= GLYPH_MAX_WIDTH * unit) & (down <= GLYPH_MAX_HEIGHT * unit) & (across * down >= 6 * unit * unit)
    small[0] = False  # The background.
    columns = [cv2.CC_STAT_LEFT, cv2.CC_STAT_TOP, cv2.CC_STAT_WIDTH, cv2.CC_STAT_HEIGHT]
    return [(left, top, left + across, top + down) for left, top, across, down in stats[small][:, columns].tolist()]


def without_holders(parts: list[IntBox], frames: list[IntBox], tiles: list[IntBox], unit: float) -> list[IntBox]:
    """The parts that are no tiles and no frames around others: buttons in a row are not the letters of a line."""
    if not parts or not frames:
        return parts
    table = np.array(parts, dtype=np.int64)
    framed = np.array(frames, dtype=np.int64)
    tiled = np.array(tiles, dtype=np.int64).reshape(-1, 4)

    def lies_on(part: IntBox, known: npt.NDArray[np.int64]) -> bool:
        return bool((np.abs(known - np.array(part)).max(axis=1) <= 4 * unit).any())

    def is_holder(part: IntBox) -> bool:
        if part[3] - part[1] < HOLDER_SIDE * unit:
            return False
        if lies_on(part, tiled):
            return True
        margin = 3 * unit
        inside = (
            (table[:, 0] >= part[0] + margin)
            & (table[:, 1] >= part[1] + margin)
            & (table[:, 2] <= part[2] - margin)
            & (table[:, 3] <= part[3] - margin)
        )
        return bool(inside.any()) and lies_on(part, framed)

    return [part for part in parts if not is_holder(part)]


def off_borders(specks: list[IntBox], frames: list[IntBox], width: int, height: int, unit: float) -> list[IntBox]:
    """The specks that are not pieces of a frame's own edge."""
    band = np.zeros((height, width), np.uint8)
    thick = max(3, round(BORDER_BAND * unit))
    for left, top, right, bottom in frames:
        cv2.rectangle(band, (left, top), (right - 1, bottom - 1), 1, thick)
    borders = Grid(band)
    return [speck for speck in specks if borders.share(speck) < 0.5]


def joined_specks(specks: list[IntBox], width: int, height: int, unit: float) -> list[IntBox]:
    """Bars and dots joined to the icons they make up (a menu's three bars), each of a size that can be pointed at."""
    reach = max(1, round(SPECK_REACH * unit))
    canvas = np.zeros((height, width), np.uint8)
    for left, top, right, bottom in specks:
        if right - left <= GLYPH_MAX_HEIGHT * unit:
            canvas[max(0, top - reach) : bottom + reach, left:right] = 1
    _, _, stats, _ = cv2.connectedComponentsWithStats(canvas, connectivity=8)
    found = []
    for left, top, across, down in stats[1:, :4].tolist():
        box = (left, top + reach, left + across, top + down - reach)
        if max(box[2] - box[0], box[3] - box[1]) >= SPECK_SIDE * unit:
            found.append(padded(box, round(PAD * unit), width, height, least=round(2 * MIN_SIDE * unit)))
    return found


def _flat(image: Pixels) -> Gray:
    """1 where a pixel has the colour of its neighbours, nearly."""
    contrast = cv2.morphologyEx(image, cv2.MORPH_GRADIENT, np.ones((3, 3), np.uint8)).max(axis=2)
    flat: Gray = (contrast <= 4).astype(np.uint8)
    return flat


def _without_texture(boxes: list[IntBox], flat: Grid, unit: float) -> list[IntBox]:
    side = PICTURE_SIDE * unit
    pictures = [
        box for box in boxes if box[2] - box[0] >= side and box[3] - box[1] >= side and flat.share(box) < PICTURE_FLAT
    ]

    def is_texture(box: IntBox) -> bool:
        return (
            any(
                box != picture
                and box[0] >= picture[0]
                and box[1] >= picture[1]
                and box[2] <= picture[2]
                and box[3] <= picture[3]
                for picture in pictures
            )
            and flat.share(box) < PICTURE_FLAT
        )

    return [box for box in boxes if not is_texture(box)]


class Proposer(Protocol):
    """Finds regions. ``identity`` is canonical text of everything that can change what it finds."""

    @property
    def identity(self) -> str: ...

    def check(self) -> None: ...

    def propose(self, image: Pixels) -> tuple[Proposed, ...]: ...


def by_area(regions: Iterable[Proposed]) -> tuple[Proposed, ...]:
    """The regions in the order of their numbers: the largest is number 1, as in Set-of-Mark; equals from top left."""
    return tuple(
        sorted(
            regions,
            key=lambda region: (-region.area_px, region.box.top_px, region.box.left_px, region.box.bottom_px),
        )
    )


def marks_on_original(regions: Iterable[Proposed], looked_at: Size, original: Size) -> tuple[Mark, ...]:
    """Numbered regions of a scaled picture as marks on the original screenshot."""
    across, down = original.width / looked_at.width, original.height / looked_at.height

    def box(of: Box) -> Box:
        return Box(
            left_px=of.left_px * across,
            top_px=of.top_px * down,
            right_px=of.right_px * across,
            bottom_px=of.bottom_px * down,
        )

    def mark(number: int, region: Proposed) -> Mark:
        scaled = box(region.box)
        if region.point == region.box.center:  # The same point by another sum would differ in the last digit.
            return Mark(number=number, box=scaled, point=scaled.center)
        point = Point(x_px=region.point.x_px * across, y_px=region.point.y_px * down)
        return Mark(number=number, box=scaled, point=point)

    return tuple(mark(number, region) for number, region in enumerate(regions, start=1))


MAX_PIXELS = 16_000_000
"""A marked picture has at most so many pixels, whatever the shape of the screenshot."""


def marked_size(original: Size, short_side: int) -> Size:
    """The size of the marked picture: the shorter side as asked for, the other in proportion (cut off, not rounded).

    A strip so long that the picture would have more than 16 million pixels gets a smaller one of its own shape.
    """
    short, long = sorted((original.width, original.height))
    scale = min(short_side / short, (MAX_PIXELS / (short * long)) ** 0.5)
    # The whole product first: 1000 * 1080 / 1080 is exactly 1000, and 1080 * (1000 / 1080) need not be.
    exact = scale == short_side / short
    sides = [
        max(1, short_side * side // short if exact else int(side * scale)) for side in (original.width, original.height)
    ]
    return Size(width=sides[0], height=sides[1])
