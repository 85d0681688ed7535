"""Rectangles in screenshot pixels."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Rect:
    """An axis-parallel rectangle; x and y are the top left corner."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """The x coordinate just past the rectangle."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """The y coordinate just past the rectangle."""
        return self.y + self.height

    @property
    def centre(self) -> tuple[int, int]:
        """The pixel in the middle, where the session clicks."""
        return int(self.x + self.width / 2), int(self.y + self.height / 2)

    def scaled(self, factor: float) -> Rect:
        """The same rectangle in units that are `factor` times finer."""
        return Rect(self.x * factor, self.y * factor, self.width * factor, self.height * factor)

    def moved(self, dx: float, dy: float) -> Rect:
        """The same rectangle elsewhere."""
        return Rect(self.x + dx, self.y + dy, self.width, self.height)

    def clipped(self, other: Rect) -> Rect:
        """The part inside `other`; may have no area."""
        x, y = max(self.x, other.x), max(self.y, other.y)
        return Rect(x, y, min(self.right, other.right) - x, min(self.bottom, other.bottom) - y)

    def as_pixels(self) -> dict[str, int]:
        """Whole pixels, rounded inwards so that every pixel of the box belongs to the element."""
        x, y = math.ceil(self.x - 0.01), math.ceil(self.y - 0.01)
        width, height = math.floor(self.right + 0.01) - x, math.floor(self.bottom + 0.01) - y
        return {"x": x, "y": y, "width": width, "height": height}
