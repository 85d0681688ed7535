"""The built-in proposer: widgets, icons, pictures and lines of text, found by edges alone. A picture in, boxes out.

All lengths are in pixels of a picture whose shorter side is 1000; other sizes are measured in proportion.
"""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

from grounding.grounders.som.boxes import (
    outside,
    padded,
    text_lines,
    without_doubles,
    without_own_label,
)
from grounding.marks.grid import Grid, IntBox, area
from grounding.marks.regions import Pixels, Proposed, box_region

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
    """list[IntBox] by edge contours and by glyphs that stand in line; deterministic."""

    @property
    def identity(self) -> str:
        """Method and version."""
        return f"widgets {VERSION}"

    def check(self) -> None:
        """Nothing can be missing."""

    def propose(self, image: Pixels) -> tuple[Proposed, ...]:
        """The boxes of a picture."""
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
    """list[IntBox] of connected edges small enough for glyphs or icons."""
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
