"""The regions that get numbers: found on a scaled screenshot by edges alone, put in order, and back on the original.

The built-in method finds widgets, icons, pictures and lines of text. All its lengths are in pixels of a picture whose
shorter side is 1000; other sizes are measured in proportion (``unit``). Boxes are rows of left, top, right, bottom.
"""

from collections.abc import Iterable
from typing import Protocol

import cv2
import numpy as np
import numpy.typing as npt

from grounding.grounders.marks import Grid, Mark, Pixels, Proposed, box_region
from grounding.records import Box, Point, Size

VERSION = 2  # Goes up with every change that can move a box: answers given over other marks are not these answers.
EDGE_LOW, EDGE_HIGH = 12, 40  # Contrast of the faintest edges: a white card on a page of 97 % white still has one.
# A closed outline of at least this side that encloses this share of its box is a widget; rounded ones do.
FRAME_SIDE, FRAME_FILL = 16, 0.75
GLYPH_HEIGHT, GLYPH_WIDTH = 48, 160
GAP_HEIGHTS = 0.35  # How far a glyph reaches to either side, in its own heights: where two meet they are of one line.
MIN_SIDE, SPECK_REACH, BORDER_BAND, PAD = 8, 5, 9, 3
"""What is thinner is a speck. Specks this near are one icon, such as a menu's three bars; along a frame's edge, a part
of it."""

SAME_SHARE, SAME_CLICK, CONCENTRIC_SHARE = 0.7, 3.0, 0.2
"""Boxes with this intersection over union are one, and so are those with centres so near, unless the smaller is less
than this share of the larger."""

# How high a button is at most, in pixels and in heights of its label; and how wide its label, as a share, at least.
MAX_BUTTON_HEIGHT, LABEL_HEIGHTS, LABEL_WIDTH = 80, 4.0, 0.35
# A photograph is a region of some size with little flat colour: what is found inside is texture, not widgets.
PICTURE_SIDE, PICTURE_FLAT = 56, 0.35
MAX_SHARE = 0.5  # A region larger than this share of the picture is the page, which nobody is asked to click.
Gray = npt.NDArray[np.uint8]
Boxes = npt.NDArray[np.int64]


class Proposer(Protocol):
    """Finds regions. ``identity`` is canonical text of everything that can change what it finds. ``check`` raises a
    UserError where something that is needed is missing; ``propose`` is called from several threads.
    """

    @property
    def identity(self) -> str: ...

    def check(self) -> None: ...

    def propose(self, image: Pixels) -> tuple[Proposed, ...]: ...


class WidgetProposer:
    identity = f"widgets {VERSION}"

    def check(self) -> None: ...

    def propose(self, image: Pixels) -> tuple[Proposed, ...]:
        shape = height, width = image.shape[:2]
        unit = max(min(height, width) / 1000, 0.25)
        edges: Gray = cv2.Canny(image, EDGE_LOW, EDGE_HIGH).astype(np.uint8)
        frames = _frames(edges, unit)
        glyphs = _glyphs(edges, frames, unit)
        lines = _joined(glyphs, (GAP_HEIGHTS * (glyphs[:, 3] - glyphs[:, 1])).round().astype(np.int64), 0, shape)
        thin = (lines[:, 2:] - lines[:, :2]).min(axis=1) < MIN_SIDE * unit
        specks = _icons(lines[thin], lines[~thin], frames, unit, shape)
        lines = _padded(lines[~thin], max(1, round(PAD * unit)), shape)
        bold = [(_shared(frame, lines) == area).any() for frame, area in zip(frames, _areas(frames), strict=True)]
        found = np.concatenate([frames[~np.array(bold, dtype=bool)], lines, specks])
        found = _distinct(found[_areas(found) <= MAX_SHARE * width * height], unit)
        found = _without_labels(found, {tuple(line) for line in lines.tolist()}, unit)
        return tuple(box_region(*box) for box in _without_texture(found, image, unit).tolist())


def _areas(boxes: Boxes) -> Boxes:
    areas: Boxes = np.clip(boxes[:, 2:] - boxes[:, :2], 0, None).prod(axis=1)
    return areas


def _shared(box: Boxes, boxes: Boxes) -> Boxes:
    return _areas(np.hstack([np.maximum(boxes[:, :2], box[:2]), np.minimum(boxes[:, 2:], box[2:])]))


def _padded(boxes: Boxes, pad: int, shape: tuple[int, int], least: int = 0) -> Boxes:
    more = np.maximum(pad, (least - (boxes[:, 2:] - boxes[:, :2])) // 2)
    last = np.array([shape[1], shape[0]])
    return np.hstack([np.maximum(0, boxes[:, :2] - more), np.minimum(last, boxes[:, 2:] + more)])


def _frames(edges: Gray, unit: float) -> Boxes:
    """Boxes of the closed outlines that fill them: widgets, pictures, bold letters."""
    thick = cv2.dilate(edges, np.ones((3, 3), np.uint8))
    found = []
    for contour in cv2.findContours(thick, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)[0]:
        left, top, across, down = cv2.boundingRect(contour)
        if min(across, down) >= FRAME_SIDE * unit and cv2.contourArea(contour) >= FRAME_FILL * across * down:
            found.append((left, top, left + across, top + down))
    return np.array(found, dtype=np.int64).reshape(-1, 4)


def _glyphs(edges: Gray, frames: Boxes, unit: float) -> Boxes:
    stats = cv2.connectedComponentsWithStats(edges, connectivity=8)[2][1:].astype(np.int64)  # 0 is the background.
    boxes = np.hstack([stats[:, :2], stats[:, :2] + stats[:, 2:4]])
    across, down = stats[:, 2], stats[:, 3]
    boxes = boxes[(across <= GLYPH_WIDTH * unit) & (down <= GLYPH_HEIGHT * unit) & (across * down >= 6 * unit * unit)]
    framed = [len(frames) > 0 and (np.abs(frames - box).max(axis=1) <= 4 * unit).any() for box in boxes]
    glyphs: Boxes = boxes[~np.array(framed, dtype=bool)]
    return glyphs


def _joined(boxes: Boxes, across: Boxes | int, down: Boxes | int, shape: tuple[int, int]) -> Boxes:
    canvas = np.zeros(shape, np.uint8)
    reach = np.stack(np.broadcast_arrays(across, down, boxes[:, 0])[:2], axis=1)
    for left, top, right, bottom in np.hstack([boxes[:, :2] - reach, boxes[:, 2:] + reach]).tolist():
        canvas[max(0, top) : bottom, max(0, left) : right] = 1
    count, labels = cv2.connectedComponents(canvas, connectivity=8)
    label = labels[boxes[:, 1], boxes[:, 0]].astype(np.int64)
    joined = np.tile(np.array([shape[1], shape[0], 0, 0], dtype=np.int64), (count, 1))
    np.minimum.at(joined[:, :2], label, boxes[:, :2])
    np.maximum.at(joined[:, 2:], label, boxes[:, 2:])
    return joined[1:]


def _icons(specks: Boxes, lines: Boxes, frames: Boxes, unit: float, shape: tuple[int, int]) -> Boxes:
    taken = np.zeros(shape, np.uint8)
    for left, top, right, bottom in frames.tolist():
        cv2.rectangle(taken, (left, top), (right - 1, bottom - 1), 1, max(3, round(BORDER_BAND * unit)))
    for left, top, right, bottom in lines.tolist():
        taken[top:bottom, left:right] = 1
    grid = Grid(taken)
    free = [box for box in specks.tolist() if grid.share(box) < 0.5 and box[2] - box[0] <= GLYPH_HEIGHT * unit]
    reach = max(1, round(SPECK_REACH * unit))
    icons = _joined(np.array(free, dtype=np.int64).reshape(-1, 4), 0, reach, shape)
    icons = icons[(icons[:, 2:] - icons[:, :2]).max(axis=1) >= SPECK_REACH * unit]
    return _padded(icons, round(PAD * unit), shape, least=round(2 * MIN_SIDE * unit))


def _distinct(boxes: Boxes, unit: float) -> Boxes:
    """One of every group of boxes that are nearly the same, or whose centres are one click: the largest of them."""
    boxes = np.unique(boxes, axis=0)
    boxes = boxes[np.argsort(-_areas(boxes), kind="stable")]
    areas, centres, kept = _areas(boxes), boxes[:, :2] + boxes[:, 2:], np.ones(len(boxes), dtype=bool)
    for index, box in enumerate(boxes):
        if kept[index]:
            shared = _shared(box, boxes)
            near = np.abs(centres - centres[index]).max(axis=1) <= 2 * SAME_CLICK * unit
            same = shared >= SAME_SHARE * (areas[index] + areas - shared)
            same |= near & (areas >= CONCENTRIC_SHARE * areas[index])
            same[: index + 1] = False
            kept &= ~same
    return boxes[kept]


def _without_labels(boxes: Boxes, lines: set[tuple[int, ...]], unit: float) -> Boxes:
    """Without the text of a button, which would be a second mark for one target. A label is the only thing in a box
    that is not much higher or wider than it: the text in a wide cell may be a link.
    """
    areas, kept = _areas(boxes), np.ones(len(boxes), dtype=bool)
    for index, box in enumerate(boxes):
        across, down = box[2:] - box[:2]
        if down <= MAX_BUTTON_HEIGHT * unit:
            inside = np.flatnonzero((_shared(box, boxes) == areas) & (areas < areas[index]))
            if len(inside) == 1 and tuple(label := boxes[inside[0]].tolist()) in lines:
                low = down <= LABEL_HEIGHTS * (label[3] - label[1])
                kept[inside] = not (low and label[2] - label[0] >= LABEL_WIDTH * across)
    return boxes[kept]


def _without_texture(boxes: Boxes, image: Pixels, unit: float) -> Boxes:
    contrast = cv2.morphologyEx(image, cv2.MORPH_GRADIENT, np.ones((3, 3), np.uint8)).max(axis=2)
    flat = Grid((contrast <= 4).astype(np.uint8))
    busy = np.array([flat.share(box) < PICTURE_FLAT for box in boxes.tolist()], dtype=bool)
    pictures = boxes[busy & ((boxes[:, 2:] - boxes[:, :2]).min(axis=1, initial=1 << 30) >= PICTURE_SIDE * unit)]
    areas, texture = _areas(boxes), np.zeros(len(boxes), dtype=bool)
    for picture in pictures:
        texture |= busy & (_shared(picture, boxes) == areas) & (boxes != picture).any(axis=1)
    return boxes[~texture]


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


MAX_PIXELS = 16_000_000  # A marked picture has at most so many pixels, whatever the shape of the screenshot.


def marked_size(original: Size, short_side: int) -> Size:
    """The size of the marked picture: the shorter side as asked for, the other in proportion (cut off, not rounded). A
    strip so long that the picture would have more than 16 million pixels gets a smaller one of its own shape.
    """
    short, long = sorted((original.width, original.height))
    scale = min(short_side / short, (MAX_PIXELS / (short * long)) ** 0.5)
    # The whole product first: 1000 * 1080 / 1080 is exactly 1000, and 1080 * (1000 / 1080) need not be.
    exact = scale == short_side / short
    sides = [
        max(1, short_side * side // short if exact else int(side * scale)) for side in (original.width, original.height)
    ]
    return Size(width=sides[0], height=sides[1])
