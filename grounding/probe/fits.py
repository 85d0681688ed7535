"""Replies read again under every known space: how many would hit, how far off they would be. Pure functions."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import get_args

import msgspec

from grounding.coordinates import ModelBox, ModelPoint, Space, point_from_original, point_to_original
from grounding.records import ImageSizes, Point, Record, Region
from grounding.regions import distance_px, is_hit

SPACES: tuple[Space, ...] = get_args(Space)


class Observation(Record, frozen=True, kw_only=True):
    """One reply beside the place where it should have been.

    ``corners`` are the numbers of the reply as the card reads them: one point, two corners of a box, or none where the
    reply holds no answer. ``input_tokens`` are the server's count of the request, ``text_chars`` the
    length of its text.
    """

    corners: tuple[ModelPoint, ...]
    sizes: ImageSizes
    region: Region
    input_tokens: int | None = None
    text_chars: int = 0

    @property
    def centre(self) -> ModelPoint | None:
        """The answer as one point, in the model's own numbers."""
        if not self.corners:
            return None
        x = statistics.fmean(corner.x for corner in self.corners)
        y = statistics.fmean(corner.y for corner in self.corners)
        return ModelPoint(space=self.corners[0].space, x=x, y=y)


def corners_of(place: ModelPoint | ModelBox | None) -> tuple[ModelPoint, ...]:
    """What a card read in a reply, as the points it is made of."""
    if isinstance(place, ModelBox):
        ends = ((place.x1, place.y1), (place.x2, place.y2))
        return tuple(ModelPoint(space=place.space, x=x, y=y) for x, y in ends)
    return () if place is None else (place,)


class Reading(Record, frozen=True, kw_only=True):
    """All replies under one reading: the place of each on its screenshot, None where it holds no answer."""

    points: tuple[Point | None, ...]


class Fit(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How well a reading explains the replies. ``median_px`` is to the nearest edge of the target, 0 inside.

    ``in_range`` counts the replies whose numbers all lie on the picture.
    """

    name: str
    parsed: int
    in_range: int
    hits: int
    median_px: float | None


def read_in(space: Space, observations: Sequence[Observation], *, declared: Space) -> Reading:
    """The replies as if their numbers were of one space.

    In the declared space every reply keeps the space that its card gives it: a card may read whole numbers otherwise.
    """
    return Reading(
        points=tuple(
            None if (said := seen.centre) is None else point_to_original(_as(said, space, declared), seen.sizes)
            for seen in observations
        )
    )


def _as(said: ModelPoint, space: Space, declared: Space) -> ModelPoint:
    return said if space == declared else msgspec.structs.replace(said, space=space)


def in_range(seen: Observation, space: Space, *, declared: Space) -> bool:
    """Whether every number of a reply lies on the picture, edges included."""
    for corner in seen.corners:
        taken = _as(corner, space, declared)
        size = seen.sizes.original
        end = point_from_original(Point(x_px=size.width, y_px=size.height), taken.space, seen.sizes)
        if not (0 <= taken.x <= end.x and 0 <= taken.y <= end.y):
            return False
    return bool(seen.corners)


def hits_of(reading: Reading, observations: Sequence[Observation]) -> tuple[bool, ...]:
    """For each reply whether it is on its target."""
    return tuple(
        point is not None and is_hit(seen.region, point)
        for point, seen in zip(reading.points, observations, strict=True)
    )


def fit_of(name: str, reading: Reading, observations: Sequence[Observation], *, ranged: int) -> Fit:
    """A reading's figures."""
    pairs = [(point, seen) for point, seen in zip(reading.points, observations, strict=True) if point is not None]
    distances = [found for point, seen in pairs if (found := distance_px(seen.region, point)) is not None]
    return Fit(
        name=name,
        parsed=len(pairs),
        in_range=ranged,
        hits=sum(hits_of(reading, observations)),
        median_px=round(statistics.median(distances), 1) if distances else None,
    )


def fit_all(observations: Sequence[Observation], *, declared: Space) -> tuple[Fit, ...]:
    """Every known space's figures, in a fixed order."""
    return tuple(
        fit_of(
            space,
            read_in(space, observations, declared=declared),
            observations,
            ranged=sum(in_range(seen, space, declared=declared) for seen in observations),
        )
        for space in SPACES
    )
