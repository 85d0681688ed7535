"""Regions that a click may be meant for, and their numbers. A picture in, proposed regions out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from grounding.marks.regions import Mark, Pixels, Proposed
from grounding.records import Box, Point, Size


class Proposer(Protocol):
    """Finds regions. ``identity`` is canonical text of everything that can change what it finds."""

    @property
    def identity(self) -> str:
        """Method, version and settings."""
        ...

    def check(self) -> None:
        """Raise a UserError where something that is needed is missing."""
        ...

    def propose(self, image: Pixels) -> tuple[Proposed, ...]:
        """The regions of a picture, in any order. Called from several threads."""
        ...


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


MAX_PIXELS = 16_000_000
"""A marked picture has at most so many pixels, whatever the shape of the screenshot."""


def marked_size(original: Size, short_side: int) -> Size:
    """The size of the marked picture: the shorter side as asked for, the other in proportion (cut off, not rounded).

    A strip so long that the picture would have more than 16 million pixels gets a smaller one of its own shape.
    """
    short, long = sorted((original.width, original.height))
    scale = min(short_side / short, (MAX_PIXELS / (short * long)) ** 0.5)
    # The whole product first: 1000 * 1080 / 1080 is exactly 1000, and 1080 * (1000 / 1080) need not be.
    exact = scale == short_side / short
    sides = [
        max(1, short_side * side // short if exact else int(side * scale)) for side in (original.width, original.height)
    ]
    return Size(width=sides[0], height=sides[1])
