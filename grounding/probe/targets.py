"""The probe's pictures: plain windows with one labelled button, the same on every machine."""

from __future__ import annotations

import hashlib
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from grounding.records import Box, Record, Region, Screenshot, Size

WORD = "Save"
INSTRUCTION = f"Click the '{WORD}' button"
BUTTON_COLOUR = (30, 110, 220)
_WINDOW, _TITLE_BAR, _LINE, _WHITE = (245, 245, 245), (210, 214, 220), (160, 165, 172), (255, 255, 255)
_BUTTON = Size(width=96, height=40)
_MARGIN = 12
_TITLE_HEIGHT = 32

_PLACES = {
    "centre": (0.5, 0.5),
    "right edge": (1.0, 0.4),
    "left edge": (0.0, 0.7),
    "lower edge": (0.65, 1.0),
    "upper right": (1.0, 0.0),
    "lower right": (1.0, 1.0),
    "inside": (0.75, 0.7),
}
_LAYOUT: tuple[tuple[int, int, tuple[str, ...]], ...] = (
    (320, 240, ("centre",)),
    (1000, 1000, ("lower right",)),
    (1280, 720, ("centre", "lower edge")),
    (1920, 1080, ("right edge", "lower edge", "upper right")),
    (2560, 1440, ("lower right", "inside", "left edge")),
    (1080, 1920, ("centre", "lower edge")),
)


class Target(Record, frozen=True, kw_only=True):
    """One picture on disk and where its button is."""

    id: str
    screenshot: Screenshot
    button: Box

    @property
    def region(self) -> Region:
        """The button, as the place where a click is right."""
        return Region(boxes=(self.button,))


def draw_targets(folder: Path) -> tuple[Target, ...]:
    """Draw all pictures into a folder."""
    return tuple(
        _draw(folder, Size(width=width, height=height), place) for width, height, places in _LAYOUT for place in places
    )


def _button_box(size: Size, place: str) -> Box:
    across, down = _PLACES[place]
    left = round(_MARGIN + across * (size.width - 2 * _MARGIN - _BUTTON.width))
    top = round(_TITLE_HEIGHT + _MARGIN + down * (size.height - _TITLE_HEIGHT - 2 * _MARGIN - _BUTTON.height))
    return Box(left_px=left, top_px=top, right_px=left + _BUTTON.width - 1, bottom_px=top + _BUTTON.height - 1)


def _draw(folder: Path, size: Size, place: str) -> Target:
    image = Image.new("RGB", (size.width, size.height), _WINDOW)
    pen = ImageDraw.Draw(image)
    pen.rectangle((0, 0, size.width - 1, _TITLE_HEIGHT - 1), fill=_TITLE_BAR)
    pen.line((0, _TITLE_HEIGHT, size.width - 1, _TITLE_HEIGHT), fill=_LINE)
    pen.text((_MARGIN, _TITLE_HEIGHT / 2), "Document", fill=(60, 60, 60), font=ImageFont.load_default(16), anchor="lm")
    box = _button_box(size, place)
    pen.rectangle((box.left_px, box.top_px, box.right_px, box.bottom_px), fill=BUTTON_COLOUR)
    middle = (box.center.x_px, box.center.y_px)
    pen.text(middle, WORD, fill=_WHITE, font=ImageFont.load_default(20), anchor="mm")
    name = f"{size.width}x{size.height} {place}"
    path = folder / f"{name.replace(' ', '-')}.png"
    image.save(path, "PNG", compress_level=1)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return Target(id=name, screenshot=Screenshot(path=str(path), size=size, sha256=digest), button=box)
