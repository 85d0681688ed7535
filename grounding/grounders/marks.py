"""Numbers drawn on a picture: boxes in, a picture with a numbered mark for each out.

What a box stands for is somebody else's matter: a region that was found on a screenshot (``grounders.som``), or an
element of a page in a browser (``webagents``).
"""

from __future__ import annotations

import colorsys
from collections.abc import Sequence
from functools import lru_cache

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from grounding.records import Box, Point, Record

IntBox = tuple[int, int, int, int]
"""Left, top, right, bottom; the right and bottom edges are those of the last pixel's far side."""


class Grid:
    """Sums over boxes of a picture of zeros and ones, each in constant time."""

    def __init__(self, ones: npt.NDArray[np.uint8]) -> None:
        self._sums = cv2.integral(ones)

    def total(self, box: IntBox) -> int:
        left, top, right, bottom = box
        sums = self._sums
        return int(sums[bottom, right]) - int(sums[top, right]) - int(sums[bottom, left]) + int(sums[top, left])

    def share(self, box: IntBox) -> float:
        return self.total(box) / max(1, (box[2] - box[0]) * (box[3] - box[1]))


def area(box: IntBox) -> int:
    return max(0, box[2] - box[0]) * max(0, box[3] - box[1])


def overlap(one: IntBox, other: IntBox) -> int:
    return area((max(one[0], other[0]), max(one[1], other[1]), min(one[2], other[2]), min(one[3], other[3])))


Colour = tuple[int, int, int]
BLACK: Colour = (0, 0, 0)
WHITE: Colour = (255, 255, 255)
_GOLDEN = 0.618033988749895

CROWDING = 6.0
"""A pixel of another label that is covered costs as much as so many pixels of the screenshot's own ink."""

INTRUSION = 0.5
"""A pixel of another region that is covered costs as much as so many pixels of ink: the number may seem to be its."""

INSET = 4
CELL = 64


def colour(number: int) -> Colour:
    """A strong colour for a number; numbers that follow each other are far apart on the wheel."""
    red, green, blue = colorsys.hsv_to_rgb((number * _GOLDEN) % 1.0, 0.9, 0.8 if number % 2 else 0.95)
    return round(red * 255), round(green * 255), round(blue * 255)


def luminance(rgb: Colour) -> float:
    """Relative luminance by WCAG 2, 0 to 1."""

    def linear(value: int) -> float:
        part = value / 255
        return part / 12.92 if part <= 0.04045 else float(((part + 0.055) / 1.055) ** 2.4)

    return 0.2126 * linear(rgb[0]) + 0.7152 * linear(rgb[1]) + 0.0722 * linear(rgb[2])


def contrast(one: Colour, other: Colour) -> float:
    """Contrast ratio by WCAG 2, 1 to 21."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def text_colour(background: Colour) -> Colour:
    """Black or white, whichever is easier to read on a background; one of them always has at least 4.5 to 1."""
    return max((BLACK, WHITE), key=lambda text: contrast(text, background))


def place_labels(
    boxes: Sequence[IntBox], sizes: Sequence[tuple[int, int]], picture: tuple[int, int], ink: Grid
) -> list[IntBox]:
    """A place for each label at its box: outside, where it hides least, and on no other label where there is room.

    The largest box comes first; ``sizes`` are widths and heights of the labels, ``picture`` that of the picture, and
    ``ink`` has ones where the screenshot has something to read.
    """
    table = np.array(boxes, dtype=np.int64).reshape(-1, 4)
    placed: dict[int, IntBox] = {}
    cells: dict[tuple[int, int], list[IntBox]] = {}
    # The smallest regions have the fewest places to choose from, so they choose first.
    for index in reversed(range(len(boxes))):
        choices = _candidates(boxes[index], sizes[index], picture)
        foreign = _foreign(choices, index, table)
        costs = [_cost(choice, rank, ink, cells) + INTRUSION * foreign[rank] for rank, choice in enumerate(choices)]
        best = choices[costs.index(min(costs))]
        placed[index] = best
        for cell in _cells(best):
            cells.setdefault(cell, []).append(best)
    return [placed[index] for index in range(len(boxes))]


def _candidates(box: IntBox, size: tuple[int, int], picture: tuple[int, int]) -> list[IntBox]:
    """Places for a label, from the most to the least expected, moved into the picture where they would leave it."""
    left, top, right, bottom = box
    across, down = size
    middle_x, middle_y = (left + right - across) // 2, (top + bottom - down) // 2
    corners = (
        (left, top - down),
        (left - across, middle_y),
        (right, middle_y),
        (right - across, top - down),
        (left, bottom),
        (right - across, bottom),
        (left - across, top),
        (left - across, top - down),
        (right, top - down),
        (right, top),
        (left - across, bottom),
        (right, bottom),
        (left + INSET, top + INSET),
        (right - across - INSET, top + INSET),
        (right - across - INSET, bottom - down - INSET),
        (left + INSET, bottom - down - INSET),
        (middle_x, top - down // 2),
        (middle_x, bottom - down // 2),
        (middle_x, middle_y),
    )
    found = []
    for x, y in corners:
        x = max(0, min(x, picture[0] - across))
        y = max(0, min(y, picture[1] - down))
        found.append((x, y, min(x + across, picture[0]), min(y + down, picture[1])))
    return found


def _foreign(choices: list[IntBox], index: int, table: npt.NDArray[np.int64]) -> list[float]:
    """How much of the regions beside its own each choice covers: a number there would seem to be theirs."""
    own = table[index]
    holds_own = (table[:, :2] <= own[:2]).all(axis=1) & (table[:, 2:] >= own[2:]).all(axis=1)
    others = table[~holds_own]
    labels = np.array(choices, dtype=np.int64)[:, None, :]
    across = np.minimum(labels[..., 2], others[:, 2]) - np.maximum(labels[..., 0], others[:, 0])
    down = np.minimum(labels[..., 3], others[:, 3]) - np.maximum(labels[..., 1], others[:, 1])
    covered = (np.clip(across, 0, None) * np.clip(down, 0, None)).sum(axis=1)
    return [float(pixels) for pixels in covered]


def _cost(label: IntBox, rank: int, ink: Grid, cells: dict[tuple[int, int], list[IntBox]]) -> float:
    others = {other for cell in _cells(label) for other in cells.get(cell, ())}
    crowded = sum(overlap(label, other) for other in others)
    return ink.total(label) + CROWDING * crowded + 2.0 * rank


def _cells(box: IntBox) -> list[tuple[int, int]]:
    return [
        (column, row)
        for column in range(box[0] // CELL, box[2] // CELL + 1)
        for row in range(box[1] // CELL, box[3] // CELL + 1)
    ]


Pixels = npt.NDArray[np.uint8]
"""A picture as height x width x 3 bytes, red first."""

Outline = tuple[tuple[float, float], ...]


class Proposed(Record, frozen=True, kw_only=True):
    """One region, in pixels of the picture that was looked at.

    ``point`` is where a click stands for the region: the centre of a box, and for a mask the place farthest from its
    edge, which lies inside whatever the shape. ``outlines`` is empty where the box itself is the region.
    """

    box: Box
    point: Point
    area_px: float
    outlines: tuple[Outline, ...] = ()


class Mark(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What a number on the picture means, in pixels of the original screenshot."""

    number: int
    box: Box
    point: Point


def box_region(left: float, top: float, right: float, bottom: float) -> Proposed:
    """A region that is a box."""
    box = Box(left_px=left, top_px=top, right_px=right, bottom_px=bottom)
    return Proposed(box=box, point=box.center, area_px=(right - left) * (bottom - top))


VERSION = 1
"""Goes up with every change of how marks look: a model may answer differently."""

TEXT_SHARE = 0.017
"""Height of the numbers, as a share of the picture's shorter side."""

MIN_TEXT_PX = 9
PAD_PX = 2


def draw_marks(image: Pixels, regions: Sequence[Proposed], *, alpha: float, outline: bool) -> Pixels:
    """A copy of the picture with its regions, the largest first, numbered from 1; smaller ones lie over larger ones.

    ``alpha`` is how much of a region's colour covers it, 0 to 1; ``outline`` whether its edge is drawn.
    """
    height, width = image.shape[:2]
    shapes = [_shapes(region) for region in regions]
    colours = [colour(number) for number in range(1, len(regions) + 1)]
    drawn = _filled(image, shapes, colours, alpha) if alpha > 0 else image.copy()
    if outline:
        thick = max(1, round(min(width, height) / 500))
        for shape, rgb in zip(shapes, colours, strict=True):
            cv2.polylines(drawn, shape, isClosed=True, color=rgb, thickness=thick)
    return _labelled(image, drawn, regions, colours)


def int_box(region: Proposed, width: int, height: int) -> IntBox:
    """A region's box in whole pixels, inside the picture."""
    box = region.box
    return (
        max(0, int(box.left_px)),
        max(0, int(box.top_px)),
        min(width, int(np.ceil(box.right_px))),
        min(height, int(np.ceil(box.bottom_px))),
    )


def _shapes(region: Proposed) -> list[np.ndarray[tuple[int, ...], np.dtype[np.int32]]]:
    box = region.box
    corners = (
        (box.left_px, box.top_px),
        (box.right_px - 1, box.top_px),
        (box.right_px - 1, box.bottom_px - 1),
        (box.left_px, box.bottom_px - 1),
    )
    return [np.array(points, dtype=np.float64).round().astype(np.int32) for points in region.outlines or (corners,)]


def _filled(
    image: Pixels,
    shapes: list[list[np.ndarray[tuple[int, ...], np.dtype[np.int32]]]],
    colours: list[Colour],
    alpha: float,
) -> Pixels:
    # Painted whole and blended once: blending each region would hide what lies in nested ones under many coats.
    painted = image.copy()
    for shape, rgb in zip(shapes, colours, strict=True):
        cv2.fillPoly(painted, shape, rgb)
    blended: Pixels = cv2.addWeighted(painted, alpha, image, 1 - alpha, 0).astype(np.uint8)
    return blended


@lru_cache(maxsize=8)
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def _labelled(image: Pixels, drawn: Pixels, regions: Sequence[Proposed], colours: list[Colour]) -> Pixels:
    height, width = image.shape[:2]
    size = max(MIN_TEXT_PX, round(min(width, height) * TEXT_SHARE))
    font = _font(size)
    texts = [str(number) for number in range(1, len(regions) + 1)]
    _, top, _, bottom = font.getbbox("0123456789")
    down = round(bottom - top) + 2 * PAD_PX
    sizes = [(min(width, round(font.getlength(text)) + 2 * PAD_PX), min(height, down)) for text in texts]
    ink = Grid((cv2.Canny(image, 40, 120) > 0).astype(np.uint8))
    places = place_labels([int_box(region, width, height) for region in regions], sizes, (width, height), ink)
    canvas = Image.fromarray(drawn)
    pen = ImageDraw.Draw(canvas)
    for text, place, rgb in zip(texts, places, colours, strict=True):
        letters = text_colour(rgb)
        pen.rectangle((place[0], place[1], place[2] - 1, place[3] - 1), fill=rgb)
        pen.text((place[0] + PAD_PX, place[1] + PAD_PX - top), text, fill=letters, font=font)
    labelled: Pixels = np.asarray(canvas, dtype=np.uint8)
    return labelled
