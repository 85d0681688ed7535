"""How a picture lies in the canvas: the one place where image pixels become view pixels and come back.

Image coordinates are continuous: pixel ``n`` covers ``n`` to ``n + 1``. The picture's corner lies on a whole view
pixel: from 100 % upwards whole image coordinates come back exactly, below within half a view pixel.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from msgspec.structs import replace

from grounding.records import Box, Point, Record, Size

from .records import nearest_whole

MIN_SCALE, MAX_SCALE = 0.05, 32.0
_STEPS_TO_DOUBLE = 3
_KEPT_VISIBLE_VIEW = 48  # How much of the picture stays in sight, in view pixels, however far it is pushed.


class ViewPoint(NamedTuple):
    x_view: float
    y_view: float


class VisiblePart(NamedTuple):
    """The part of a picture that can be seen: whole view pixels on the canvas, and what of the picture fills them."""

    left_view: int
    top_view: int
    width_view: int
    height_view: int
    source: Box


class ViewTransform(Record, frozen=True, kw_only=True, omit_defaults=False):
    """``scale`` is view pixels per image pixel; the picture's top left corner lies at ``left_view``, ``top_view``."""

    scale: float = 1.0
    left_view: int = 0
    top_view: int = 0

    def to_view(self, x_px: float, y_px: float) -> ViewPoint:
        return ViewPoint(x_px * self.scale + self.left_view, y_px * self.scale + self.top_view)

    def corners(self, box: Box) -> tuple[float, float, float, float]:
        """Where a box lies on the canvas: left, top, right, bottom."""
        return *self.to_view(box.left_px, box.top_px), *self.to_view(box.right_px, box.bottom_px)

    def to_image(self, x_view: float, y_view: float) -> Point:
        """Which image coordinate lies at a place on the canvas; it may be outside the picture."""
        return Point(x_px=(x_view - self.left_view) / self.scale, y_px=(y_view - self.top_view) / self.scale)

    def zoomed_at(self, at: ViewPoint, scale: float) -> ViewTransform:
        """Another scale from 5 % to 3200 %, with the same image coordinate under a place (to half a view pixel)."""
        scaled = ViewTransform(scale=min(max(scale, MIN_SCALE), MAX_SCALE))
        return scaled.with_at(self.to_image(*at), at)

    def with_at(self, point: Point, at: ViewPoint) -> ViewTransform:
        left, top = at.x_view - point.x_px * self.scale, at.y_view - point.y_px * self.scale
        return replace(self, left_view=nearest_whole(left), top_view=nearest_whole(top))

    def centred(self, point: Point, view: Size) -> ViewTransform:
        return self.with_at(point, ViewPoint(view.width / 2, view.height / 2))

    @classmethod
    def fit(cls, image: Size, view: Size, *, margin_view: int = 0, largest: float = MAX_SCALE) -> ViewTransform:
        """The whole picture in the middle, at most ``largest``, with ``margin_view`` free on each side."""
        across = (view.width - 2 * margin_view) / image.width
        down = (view.height - 2 * margin_view) / image.height
        # A picture of extreme length is shown whole even where that takes less than 5 %.
        scale = min(max(min(across, down), 1 / max(image.width, image.height)), largest)
        return cls(scale=scale).centred(Point(x_px=image.width / 2, y_px=image.height / 2), view)

    def pushed(self, dx_view: int, dy_view: int, image: Size, view: Size) -> ViewTransform:
        """Pushed by so many view pixels, as far as a strip of the picture stays on the canvas."""
        left = _kept(self.left_view + dx_view, image.width * self.scale, view.width)
        top = _kept(self.top_view + dy_view, image.height * self.scale, view.height)
        return replace(self, left_view=left, top_view=top)

    def visible(self, image: Size, view: Size) -> VisiblePart | None:
        left, top = max(self.left_view, 0), max(self.top_view, 0)
        right = min(math.ceil(self.left_view + image.width * self.scale), view.width)
        bottom = min(math.ceil(self.top_view + image.height * self.scale), view.height)
        if right <= left or bottom <= top:
            return None
        start, end = self.to_image(left, top), self.to_image(right, bottom)
        source = Box(
            left_px=max(start.x_px, 0.0),
            top_px=max(start.y_px, 0.0),
            right_px=min(end.x_px, float(image.width)),
            bottom_px=min(end.y_px, float(image.height)),
        )
        return VisiblePart(left, top, right - left, bottom - top, source)


def next_scale(scale: float, direction: int) -> float:
    """The next resting place of the zoom, larger for a positive ``direction``, smaller for a negative one.

    >>> next_scale(0.9, 1), next_scale(1.1, -1), next_scale(next_scale(next_scale(1.0, 1), 1), 1), next_scale(32.0, 1)
    (1.0, 1.0, 2.0, 32.0)
    """
    steps, nearly = math.log2(scale) * _STEPS_TO_DOUBLE, 1e-6
    following = math.floor(steps + nearly) + 1 if direction > 0 else math.ceil(steps - nearly) - 1
    return min(max(math.exp2(following / _STEPS_TO_DOUBLE), MIN_SCALE), MAX_SCALE)


def _kept(start_view: int, length_view: float, room_view: int) -> int:
    strip = min(_KEPT_VISIBLE_VIEW, math.ceil(length_view), room_view)
    return min(max(start_view, strip - math.ceil(length_view)), room_view - strip)
