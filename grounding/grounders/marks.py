"""Numbers drawn on a picture: boxes in, a picture with a numbered mark for each out.

What a box stands for is somebody else's matter: a region that was found on a screenshot (``grounders.som``), or an
element of a page in a browser (``webagents``).
"""

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


Colour = tuple[int, int, int]
BLACK: Colour = (0, 0, 0)
WHITE: Colour = (255, 255, 255)
_GOLDEN = 0.618033988749895

CROWDING, INTRUSION = 6.0, 0.5
"""What a covered pixel of another label costs, and one of another region, to which the number would seem to belong, in
pixels of the screenshot's own ink."""


def colour(number: int) -> Colour:
    """A strong colour for a number; numbers that follow each other are far apart on the wheel."""
    red, green, blue = colorsys.hsv_to_rgb((number * _GOLDEN) % 1.0, 0.9, 0.8 if number % 2 else 0.95)
    return round(red * 255), round(green * 255), round(blue * 255)


def text_colour(background: Colour) -> Colour:
    """Black or white, whichever has the higher contrast by WCAG 2: at least 4.5 to 1 on any colour."""
    linear = [value / 3294.6 if value <= 10 else ((value / 255 + 0.055) / 1.055) ** 2.4 for value in background]
    return BLACK if 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.179 else WHITE


def place_labels(
    boxes: Sequence[IntBox], sizes: Sequence[tuple[int, int]], picture: tuple[int, int], ink: Grid
) -> list[IntBox]:
    """A place for each label at its box: outside, where it hides least, and on no other label where there is room.

    The largest box comes first; ``sizes`` are widths and heights of the labels, ``picture`` that of the picture, and
    ``ink`` has ones where the screenshot has something to read.
    """
    table = np.array(boxes, dtype=np.int64).reshape(-1, 4)
    placed = np.zeros_like(table)
    # The smallest regions have the fewest places to choose from, so they choose first.
    for index in reversed(range(len(boxes))):
        choices = np.array(_candidates(boxes[index], sizes[index], picture), dtype=np.int64)
        own = table[index]
        others = table[~((table[:, :2] <= own[:2]) & (table[:, 2:] >= own[2:])).all(axis=1)]
        costs = CROWDING * _covered(choices, placed[index + 1 :]) + INTRUSION * _covered(choices, others)
        costs += [ink.total(tuple(choice)) + 2.0 * rank for rank, choice in enumerate(choices.tolist())]
        placed[index] = choices[costs.argmin()]
    return [(left, top, right, bottom) for left, top, right, bottom in placed.tolist()]


def _candidates(box: IntBox, size: tuple[int, int], picture: tuple[int, int]) -> list[IntBox]:
    """Places for a label, from the most to the least expected, moved into the picture where they would leave it."""
    left, top, right, bottom = box
    across, down = size
    middle = (top + bottom - down) // 2
    corners = [(left, top - down), (left - across, middle), (right, middle), (right - across, top - down)]
    corners += [(left, bottom), (right - across, bottom), (left - across, top - down), (right, bottom)]
    corners += [(left, top), (right - across, bottom - down), ((left + right - across) // 2, middle)]
    found = []
    for x, y in corners:
        x, y = max(0, min(x, picture[0] - across)), max(0, min(y, picture[1] - down))
        found.append((x, y, min(x + across, picture[0]), min(y + down, picture[1])))
    return found


def _covered(places: npt.NDArray[np.int64], boxes: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """How many pixels of the boxes, together, each place covers."""
    corner = np.maximum(places[:, None, :2], boxes[None, :, :2])
    shared = np.clip(np.minimum(places[:, None, 2:], boxes[None, :, 2:]) - corner, 0, None)
    covered: npt.NDArray[np.float64] = shared.prod(axis=2).sum(axis=1).astype(np.float64)
    return covered


Pixels = npt.NDArray[np.uint8]  # A picture as height x width x 3 bytes, red first.
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


VERSION = 2  # Goes up with every change of how marks look: a model may answer differently.
TEXT_SHARE = 0.017  # Height of the numbers, as a share of the picture's shorter side.
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
