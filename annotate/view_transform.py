"""How a picture lies in the canvas: the one place where image pixels become view pixels and come back.

A *view* pixel is one of the canvas, origin at its top left; an *image* pixel is one of the upright picture. Image
coordinates are continuous: pixel ``n`` covers ``n`` to ``n + 1``, and a box that starts at pixel ``n`` has its edge at
``n``. The picture's corner lies on a whole view pixel, so that from 100 % upwards a whole image coordinate survives the
way to the nearest view pixel and back exactly; below 100 % it comes back within half a view pixel.
"""

from __future__ import annotations

import math

from grounding.records import Box, Point, Record, Size

MIN_SCALE = 0.05
MAX_SCALE = 32.0
SCALES = (
    0.05, 0.0625, 0.08, 0.1, 0.125, 0.16, 0.2, 0.25, 0.33, 0.4, 0.5, 0.67, 0.8,
    1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0, 24.0, MAX_SCALE,
)  # fmt: skip
"""Where the zoom rests when it is changed step by step: 5 % to 3200 %."""

_KEPT_VISIBLE_VIEW = 48
"""How much of the picture stays in sight, in view pixels, however far it is pushed."""


class ViewPoint(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A place on the canvas in view pixels."""

    x_view: float
    y_view: float


class VisiblePart(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The part of a picture that can be seen: whole view pixels on the canvas, and what of the picture fills them."""

    left_view: int
    top_view: int
    width_view: int
    height_view: int
    source: Box


class ViewTransform(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Scale and place of a picture on the canvas.

    ``scale`` is view pixels per image pixel. ``left_view`` and ``top_view`` are where the picture's top left corner
    lies, in whole view pixels.
    """

    scale: float = 1.0
    left_view: int = 0
    top_view: int = 0

    def to_view(self, x_px: float, y_px: float) -> ViewPoint:
        """Where an image coordinate lies on the canvas."""
        return ViewPoint(x_view=x_px * self.scale + self.left_view, y_view=y_px * self.scale + self.top_view)

    def to_image(self, x_view: float, y_view: float) -> Point:
        """Which image coordinate lies at a place on the canvas; it may be outside the picture."""
        return Point(x_px=(x_view - self.left_view) / self.scale, y_px=(y_view - self.top_view) / self.scale)

    def zoomed_at(self, x_view: float, y_view: float, scale: float) -> ViewTransform:
        """Another scale, with the same image coordinate under the given place (within half a view pixel).

        The scale is brought into 5 % to 3200 %.
        """
        scale = min(max(scale, MIN_SCALE), MAX_SCALE)
        here = self.to_image(x_view, y_view)
        return ViewTransform(
            scale=scale,
            left_view=nearest_whole(x_view - here.x_px * scale),
            top_view=nearest_whole(y_view - here.y_px * scale),
        )

    def panned(self, dx_view: float, dy_view: float) -> ViewTransform:
        """Pushed by so many view pixels."""
        return ViewTransform(
            scale=self.scale,
            left_view=nearest_whole(self.left_view + dx_view),
            top_view=nearest_whole(self.top_view + dy_view),
        )

    @classmethod
    def fit(cls, image: Size, view: Size, *, margin_view: int = 0, largest: float = MAX_SCALE) -> ViewTransform:
        """The whole picture, as large as the canvas allows, in its middle.

        Args:
            image: The picture's size in image pixels.
            view: The canvas' size in view pixels.
            margin_view: What stays free on each side.
            largest: The largest scale to use.
        """
        across = (view.width - 2 * margin_view) / image.width
        down = (view.height - 2 * margin_view) / image.height
        # A picture of extreme length is shown whole even where that takes less than 5 %.
        scale = min(max(min(across, down), 1 / max(image.width, image.height)), largest)
        return cls(scale=scale).centred(Point(x_px=image.width / 2, y_px=image.height / 2), view)

    def centred(self, point: Point, view: Size) -> ViewTransform:
        """The same scale with an image coordinate in the middle of the canvas."""
        return ViewTransform(
            scale=self.scale,
            left_view=nearest_whole(view.width / 2 - point.x_px * self.scale),
            top_view=nearest_whole(view.height / 2 - point.y_px * self.scale),
        )

    def kept_in_sight(self, image: Size, view: Size) -> ViewTransform:
        """The same, pushed back as far as is needed for a strip of the picture to stay on the canvas."""
        return ViewTransform(
            scale=self.scale,
            left_view=_kept(self.left_view, image.width * self.scale, view.width),
            top_view=_kept(self.top_view, image.height * self.scale, view.height),
        )

    def visible(self, image: Size, view: Size) -> VisiblePart | None:
        """What of a picture is on the canvas; None where nothing is."""
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
        return VisiblePart(
            left_view=left, top_view=top, width_view=right - left, height_view=bottom - top, source=source
        )


def next_scale(scale: float, direction: int) -> float:
    """The next resting place of the zoom, larger for a positive ``direction``, smaller for a negative one.

    >>> next_scale(1.0, 1), next_scale(0.9, -1), next_scale(32.0, 1)
    (1.25, 0.8, 32.0)
    """
    nearly = 1 + 1e-6
    if direction > 0:
        return next((step for step in SCALES if step > scale * nearly), MAX_SCALE)
    return next((step for step in reversed(SCALES) if step < scale / nearly), min(scale, MIN_SCALE))


def nearest_whole(value: float) -> int:
    """The nearest whole number, halves upwards: unlike ``round`` it moves with its argument.

    >>> nearest_whole(0.5), nearest_whole(1.5), nearest_whole(-0.5)
    (1, 2, 0)
    """
    return math.floor(value + 0.5)


def _kept(start_view: int, length_view: float, room_view: int) -> int:
    strip = min(_KEPT_VISIBLE_VIEW, math.ceil(length_view), room_view)
    return min(max(start_view, strip - math.ceil(length_view)), room_view - strip)
