"""Drawn screens with things whose edges are known to the pixel."""

from __future__ import annotations

import cv2
import numpy as np

from annotate.proposals.regions import Frame, Pixels

SIZE = (640, 400)
BUTTON = Frame(100, 80, 220, 112)
FIELD = Frame(300, 80, 560, 116)
PICTURE = Frame(40, 200, 160, 290)
TEXT_AT = (300, 250)


def draw(pixels: Pixels, box: Frame, colour: tuple[int, int, int], thickness: int = -1) -> None:
    cv2.rectangle(pixels, (box.left_px, box.top_px), (box.right_px - 1, box.bottom_px - 1), colour, thickness)


def screen() -> Pixels:
    """A filled button with a label, a field with a border of one pixel, a flat picture, and a line of text."""
    pixels = np.full((SIZE[1], SIZE[0], 3), 250, dtype=np.uint8)
    draw(pixels, BUTTON, (20, 90, 200))
    cv2.putText(pixels, "Buy now", (118, 102), cv2.FONT_HERSHEY_SIMPLEX, 0.6, (255, 255, 255), 1, cv2.LINE_AA)
    draw(pixels, FIELD, (120, 120, 120), 1)
    draw(pixels, PICTURE, (200, 180, 90))
    cv2.putText(pixels, "Terms of use", TEXT_AT, cv2.FONT_HERSHEY_SIMPLEX, 0.7, (10, 10, 10), 1, cv2.LINE_AA)
    return pixels


def text_ink(pixels: Pixels) -> Frame:
    """The bounds of the line of text, by its dark pixels."""
    x, y = TEXT_AT
    part = pixels[y - 40 : y + 20, x - 20 : x + 300].min(axis=2) < 245
    rows, columns = np.flatnonzero(part.any(axis=1)), np.flatnonzero(part.any(axis=0))
    return Frame(
        int(columns[0]) + x - 20, int(rows[0]) + y - 40, int(columns[-1]) + 1 + x - 20, int(rows[-1]) + 1 + y - 40
    )
