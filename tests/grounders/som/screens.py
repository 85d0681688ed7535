"""Small made-up screens whose widgets are known to the pixel."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from grounding.records import Screenshot, Size

Four = tuple[int, int, int, int]

BUTTON: Four = (700, 300, 860, 350)
FIELD: Four = (200, 300, 600, 350)
CARD: Four = (200, 450, 860, 800)
ICON: Four = (900, 310, 930, 340)
CHECK_BOX: Four = (240, 500, 262, 522)
LINE_AT = (280, 500)
LINE_TEXT = "Remember this choice on this computer"


def screen(width: int = 1600, height: int = 1000, *, dark: bool = False) -> Image.Image:
    """A page with a button, a text field, a card with a check box and its label, and an icon."""
    page, ink, pale = ((24, 24, 28), (235, 235, 235), (40, 40, 48)) if dark else ((250,) * 3, (20,) * 3, (255,) * 3)
    image = Image.new("RGB", (width, height), page)
    pen = ImageDraw.Draw(image)
    font = ImageFont.load_default(20)
    pen.rounded_rectangle(BUTTON, 8, fill=(40, 90, 220))
    pen.text((750, 313), "Search", fill="white", font=font)
    pen.rounded_rectangle(FIELD, 4, outline=(150, 150, 150), width=2)
    pen.rounded_rectangle(CARD, 10, fill=pale, outline=(200, 200, 200))
    pen.rectangle(CHECK_BOX, outline=ink, width=2)
    pen.text(LINE_AT, LINE_TEXT, fill=ink, font=font)
    pen.ellipse(ICON, outline=ink, width=3)
    return image


def pixels(image: Image.Image) -> npt.NDArray[np.uint8]:
    """A picture as the proposers take it."""
    return np.asarray(image, dtype=np.uint8)


def saved(image: Image.Image, path: Path) -> Screenshot:
    """A picture as a file, and its record."""
    image.save(path)
    return Screenshot(path=str(path), size=Size(width=image.width, height=image.height), sha256="0" * 64)


def middle(box: Four) -> tuple[float, float]:
    """The middle of a box."""
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
