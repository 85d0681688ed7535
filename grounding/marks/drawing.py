"""Numbered regions drawn on a picture: a fill, an outline, and a label for each. Pixels in, pixels out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import cv2
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from grounding.marks.grid import Grid, IntBox
from grounding.marks.labels import Colour, colour, place_labels, text_colour
from grounding.marks.regions import Pixels, Proposed

VERSION = 1
"""Goes up with every change of how marks look: a model may answer differently."""

TEXT_SHARE = 0.017
"""Height of the numbers, as a share of the picture's shorter side."""

MIN_TEXT_PX = 9
PAD_PX = 2


def draw_marks(image: Pixels, regions: Sequence[Proposed], *, alpha: float, outline: bool) -> Pixels:
    """A copy of the picture with the regions numbered from 1 in their order.

    Args:
        image: The picture that the regions are measured in.
        regions: The largest first; a smaller one is drawn over a larger one.
        alpha: How much of a region's colour covers it, 0 to 1.
        outline: Whether its edge is drawn.
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
