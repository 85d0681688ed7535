"""What replies say about a card: they are read again in every known space. Pure functions.

Distances are fractions of the picture here (1 is a whole side), so that screenshots of all sizes count alike.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Sequence
from typing import Literal, get_args

import msgspec

from grounding.geometry import ModelBox, ModelPoint, Space, point_from_original, point_to_original
from grounding.records import ImageSizes, Point, Record, Region, Size
from grounding.regions import distance_px, is_hit

SPACES: tuple[Space, ...] = get_args(Space)
WORDS: dict[Space, str] = {
    "original_px": "pixels of the screenshot",
    "sent_px": "pixels of the picture as sent",
    "resized_px": "pixels of the resized picture",
    "rel_1": "fractions from 0 to 1",
    "rel_999": "a grid of 0 to 999",
    "rel_1000": "a grid of 0 to 1000",
}
MIN_JUDGED = 6
"""Fewer replies than this tell nothing about a space."""
MOST_OUTSIDE, MOST_UNREAD, MIN_HITS = 0.01, 0.25, 0.5
"""Shares: more replies beyond the card's range are no slip of the model; more unread, or fewer hits, are told."""
MOST_LUCK, MOST_LUCK_FOLLOWING = 0.02, 0.005
"""A difference that luck alone makes more often than this is none. Stricter where it is asked of several readings."""
TIMES_BETTER, NEARLY_ALL, FOLLOWS, MATERIAL, ALIKE = 1.5, 0.75, 0.5, 0.02, 0.005
MOST_OTHERS = 20
MIN_SCALED, MIN_FRACTION = 2, 0.1
"""Targets nearer to the left or upper edge than this part of the picture say too little about the scale."""

Level = Literal["ok", "warning", "broken"]
Points = tuple[Point | None, ...]
"""All replies under one reading: the place of each on its screenshot, None where it holds no answer."""


class ProbedReply(Record, frozen=True, kw_only=True):
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


class SpaceFit(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How well a reading explains the replies. ``median_px`` is to the nearest edge of the target, 0 inside.

    ``in_range`` counts the replies whose numbers all lie on the picture.
    """

    name: str
    parsed: int
    in_range: int
    hits: int
    median_px: float | None


class ProbeFinding(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One thing that was noticed. ``spaces`` are the known spaces that would explain the replies."""

    kind: Literal["errors", "unparsed", "range", "other_space", "other_scale", "no_space", "imprecise", "tokens"]
    level: Level
    text: str
    spaces: tuple[Space, ...] = ()


class ProbeVerdict(Record, frozen=True, kw_only=True):
    """Every space's figures, and what they mean."""

    fits: tuple[SpaceFit, ...]
    findings: tuple[ProbeFinding, ...]


def worst(findings: Sequence[ProbeFinding]) -> Level:
    """The level of the most serious finding."""
    return max((finding.level for finding in findings), key=get_args(Level).index, default="ok")


def corners_of(place: ModelPoint | ModelBox | None) -> tuple[ModelPoint, ...]:
    """What a card read in a reply, as the points it is made of."""
    if isinstance(place, ModelBox):
        ends = ((place.x1, place.y1), (place.x2, place.y2))
        return tuple(ModelPoint(space=place.space, x=x, y=y) for x, y in ends)
    return () if place is None else (place,)


def judge_replies(observations: Sequence[ProbedReply], *, declared: Space) -> ProbeVerdict:
    """Read replies under every space and say what is wrong with the declared one, if anything is."""
    readings = {space: _read_in(space, observations, declared) for space in SPACES}
    fits = {
        space: _fit(space, points, observations, sum(_in_range(seen, space, declared) for seen in observations))
        for space, points in readings.items()
    }
    own = fits[declared]
    findings = []
    if (unread := len(observations) - own.parsed) > MOST_UNREAD * len(observations):
        text = f"{unread} of {len(observations)} replies hold no answer in the form that the card reads"
        findings.append(ProbeFinding(kind="unparsed", level="warning" if own.parsed else "broken", text=text))
    if (outside := own.parsed - own.in_range) > MOST_OUTSIDE * own.parsed:
        corners = [corner for seen in observations for corner in seen.corners]
        text = (
            f"{outside} of {own.parsed} replies lie outside the card's range, {WORDS[declared]}: the largest x is "
            f"{max(corner.x for corner in corners):g}, the largest y {max(corner.y for corner in corners):g}"
        )
        findings.append(ProbeFinding(kind="range", level="warning", text=text))
    if own.parsed >= MIN_JUDGED:
        found = _other_space(fits, readings, observations, declared)
        found = found or _other_scale(own, readings[declared], observations, declared)
        if found is None and own.hits < MIN_HITS * own.parsed:
            found = _unexplained(own, readings[declared], observations, declared)
        findings += [found] if found else []
    return ProbeVerdict(fits=tuple(fits.values()), findings=tuple(findings))


def _read_in(space: Space, observations: Sequence[ProbedReply], declared: Space) -> Points:
    return tuple(
        None if (said := seen.centre) is None else point_to_original(_as(said, space, declared), seen.sizes)
        for seen in observations
    )


def _as(said: ModelPoint, space: Space, declared: Space) -> ModelPoint:
    """The numbers in a space; in the declared one a card may read whole numbers otherwise, which stands."""
    return said if space == declared else msgspec.structs.replace(said, space=space)


def _in_range(seen: ProbedReply, space: Space, declared: Space) -> bool:
    """Whether every number of a reply lies on the picture, edges included."""
    size = seen.sizes.original
    for corner in seen.corners:
        taken = _as(corner, space, declared)
        end = point_from_original(Point(x_px=size.width, y_px=size.height), taken.space, seen.sizes)
        if not (0 <= taken.x <= end.x and 0 <= taken.y <= end.y):
            return False
    return bool(seen.corners)


def _hits(points: Points, observations: Sequence[ProbedReply]) -> list[bool]:
    pairs = zip(points, observations, strict=True)
    return [point is not None and is_hit(seen.region, point) for point, seen in pairs]


def _fit(name: str, points: Points, observations: Sequence[ProbedReply], in_range: int) -> SpaceFit:
    pairs = [(point, seen) for point, seen in zip(points, observations, strict=True) if point is not None]
    distances = [found for point, seen in pairs if (found := distance_px(seen.region, point)) is not None]
    return SpaceFit(
        name=name,
        parsed=len(pairs),
        in_range=in_range,
        hits=sum(_hits(points, observations)),
        median_px=round(statistics.median(distances), 1) if distances else None,
    )


# --- better, and not by luck ------------------------------------------------------------------------------------------


def _target(region: Region) -> Point | None:
    """The middle of a region's first shape."""
    if region.boxes:
        return region.boxes[0].center
    if not region.polygons:
        return None
    corners = region.polygons[0].points
    x = statistics.fmean(corner.x_px for corner in corners)
    return Point(x_px=x, y_px=statistics.fmean(corner.y_px for corner in corners))


def _apart(one: Point, size: Size, other: Point, other_size: Size) -> float:
    across = one.x_px / size.width - other.x_px / other_size.width
    return math.hypot(across, one.y_px / size.height - other.y_px / other_size.height)


def _offset(point: Point | None, seen: ProbedReply) -> float | None:
    target, size = _target(seen.region), seen.sizes.original
    return None if point is None or target is None else _apart(point, size, target, size)


def _luck(better: int, worse: int) -> float:
    """How often coin flips alone would favour one side so much (one-sided sign test)."""
    total = better + worse
    return sum(math.comb(total, count) for count in range(better, total + 1)) / (1 << total)


def follows(points: Points, observations: Sequence[ProbedReply]) -> bool:
    """Whether nearly all replies are much nearer to their own targets than to those of other replies."""
    placed = [
        (point, seen.sizes.original, target)
        for point, seen in zip(points, observations, strict=True)
        if point is not None and (target := _target(seen.region)) is not None
    ]
    if len(placed) < 2:
        return False
    shifts = range(1, len(placed), max(1, (len(placed) - 1) // MOST_OTHERS))
    own, others = [], []
    for index, (point, size, target) in enumerate(placed):
        own.append(_apart(point, size, target, size))
        strange = (placed[(index + shift) % len(placed)] for shift in shifts)
        others.append(statistics.median(_apart(point, size, theirs, theirs_size) for _, theirs_size, theirs in strange))
    nearer = sum(mine < theirs for mine, theirs in zip(own, others, strict=True))
    enough = _luck(nearer, len(own) - nearer) <= MOST_LUCK_FOLLOWING
    return enough and statistics.median(own) < FOLLOWS * statistics.median(others)


def much_better(other: Points, declared: Points, observations: Sequence[ProbedReply]) -> bool:
    """Whether another reading explains the replies much better: it hits more, or is much nearer, and not by luck."""
    ours, theirs = _hits(declared, observations), _hits(other, observations)
    # So many hits are none of chance, even where all targets are at one place.
    if not follows(other, observations) and sum(theirs) < NEARLY_ALL * sum(point is not None for point in other):
        return False
    gained = sum(b and not a for a, b in zip(ours, theirs, strict=True))
    lost = sum(a and not b for a, b in zip(ours, theirs, strict=True))
    if sum(theirs) >= TIMES_BETTER * sum(ours) and _luck(gained, lost) <= MOST_LUCK:
        return True
    if follows(declared, observations):
        return False
    nearer = further = 0
    for mine, another, seen in zip(declared, other, observations, strict=True):
        before, after = _offset(mine, seen), _offset(another, seen)
        if before is not None and after is not None:
            nearer += after < before - MATERIAL
            further += after > before + MATERIAL
    return bool(nearer) and _luck(nearer, further) <= MOST_LUCK


def alike(one: Points, other: Points, observations: Sequence[ProbedReply]) -> bool:
    """Whether two readings mean the same places, for these pictures."""
    apart = [
        _apart(a, seen.sizes.original, b, seen.sizes.original)
        for a, b, seen in zip(one, other, observations, strict=True)
        if a is not None and b is not None
    ]
    return not apart or statistics.median(apart) < ALIKE


# --- what is wrong with the declared space ----------------------------------------------------------------------------


def _other_space(
    fits: dict[Space, SpaceFit], readings: dict[Space, Points], observations: Sequence[ProbedReply], declared: Space
) -> ProbeFinding | None:
    own = readings[declared]
    better = [
        space
        for space, points in readings.items()
        if not alike(points, own, observations) and much_better(points, own, observations)
    ]
    if not better:
        return None
    best = max(better, key=lambda space: (fits[space].hits, -(fits[space].median_px or 0.0)))
    same = tuple(space for space in better if alike(readings[space], readings[best], observations))
    names = " or ".join(f"{WORDS[space]} ({space})" for space in same)
    return ProbeFinding(
        kind="other_space",
        level="warning",
        text=f"the card says {WORDS[declared]} ({declared}), where {_fit_words(fits[declared])}; read as {names}, "
        f"{_fit_words(fits[best])}",
        spaces=same,
    )


def _fit_words(fit: SpaceFit) -> str:
    return f"{fit.hits} of {fit.parsed} replies hit and the median distance is {fit.median_px:g} px"


def _other_scale(
    own: SpaceFit, points: Points, observations: Sequence[ProbedReply], declared: Space
) -> ProbeFinding | None:
    """A server that shrinks pictures unasked makes a model answer in pixels of a size that nobody declared."""
    scales = _scales(observations)
    measured = tuple(_scaled(seen, scales.get(seen.sizes.original)) for seen in observations)
    if alike(measured, points, observations) or not much_better(measured, points, observations):
        return None
    fit = _fit("measured", measured, observations, 0)
    return ProbeFinding(
        kind="other_scale",
        level="warning",
        text=f"the card says {WORDS[declared]} ({declared}), where {own.hits} of {own.parsed} replies hit; "
        f"no known space explains them better, but {fit.hits} of the {fit.parsed} that show a scale fit "
        f"{_scale_words(scales)}",
    )


def _scales(observations: Sequence[ProbedReply]) -> dict[Size, tuple[float, float]]:
    """How many of the replies' units cover width and height of the screenshots of each size, at the median."""
    across, down = defaultdict[Size, list[float]](list), defaultdict[Size, list[float]](list)
    for seen in observations:
        said, target, size = seen.centre, _target(seen.region), seen.sizes.original
        if said is None or target is None:
            continue
        if target.x_px >= MIN_FRACTION * size.width:
            across[size].append(said.x / target.x_px * size.width)
        if target.y_px >= MIN_FRACTION * size.height:
            down[size].append(said.y / target.y_px * size.height)
    found = {
        size: (statistics.median(across[size]), statistics.median(down[size]))
        for size in across
        if min(len(across[size]), len(down.get(size, ()))) >= MIN_SCALED
    }
    return {size: scale for size, scale in found.items() if min(scale) > 0}


def _scaled(seen: ProbedReply, scale: tuple[float, float] | None) -> Point | None:
    said, size = seen.centre, seen.sizes.original
    if said is None or scale is None:
        return None
    return Point(x_px=said.x / scale[0] * size.width, y_px=said.y / scale[1] * size.height)


def _scale_words(scales: dict[Size, tuple[float, float]]) -> str:
    sides = [side for scale in scales.values() for side in scale]
    if max(sides) <= 1.03 * min(sides) and len(scales) > 1:
        return f"a grid of 0 to about {statistics.median(sides):.4g}"
    shown = list(scales.items())[:3]
    return "pixels of a picture of " + ", ".join(
        f"about {x:.0f}x{y:.0f} at {size.width}x{size.height}" for size, (x, y) in shown
    )


def _unexplained(own: SpaceFit, points: Points, observations: Sequence[ProbedReply], declared: Space) -> ProbeFinding:
    if follows(points, observations):
        text = f"{_fit_words(own)}: the replies follow the targets in the card's space, only not precisely"
        return ProbeFinding(kind="imprecise", level="ok", text=text)
    text = f"{_fit_words(own)}: the replies fit neither {WORDS[declared]} ({declared}) nor any other known space"
    return ProbeFinding(kind="no_space", level="warning", text=text)
