"""What is better, and what is only luck."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from grounding.coordinates import ModelPoint
from grounding.probe.closeness import alike, follows, much_better, target_of
from grounding.probe.findings import judge_replies
from grounding.probe.fits import Observation, Reading, corners_of, in_range
from grounding.records import Box, ImageSizes, Point, Polygon, Region, Size

SIZE = Size(width=1000, height=1000)
SAME = ImageSizes(original=SIZE, sent=SIZE, model=SIZE)


def box(x: float, y: float, half: float = 10) -> Region:
    return Region(boxes=(Box(left_px=x - half, top_px=y - half, right_px=x + half, bottom_px=y + half),))


def spread(count: int) -> list[tuple[float, float]]:
    return [(50 + 97 * n % 900, 50 + 389 * n % 900) for n in range(count)]


def observations(targets: Sequence[tuple[float, float]], half: float = 10) -> list[Observation]:
    return [
        Observation(corners=(ModelPoint(space="original_px", x=0, y=0),), sizes=SAME, region=box(x, y, half))
        for x, y in targets
    ]


def reading(points: Sequence[tuple[float, float]]) -> Reading:
    return Reading(points=tuple(Point(x_px=x, y_px=y) for x, y in points))


def beside(points: Sequence[tuple[float, float]], off: float) -> Reading:
    return reading([(x + off, y) for x, y in points])


@pytest.mark.parametrize(("hits", "better"), [(5, False), (6, True), (12, True)])
def test_six_hits_more_are_no_luck_and_five_may_be(hits: int, better: bool) -> None:
    targets = spread(12)
    seen = observations(targets)
    other = reading([*targets[:hits], *[(x + 40, y) for x, y in targets[hits:]]])
    assert much_better(other, beside(targets, 40), seen) is better


def test_a_few_hits_more_than_many_are_not_much_better() -> None:
    targets = spread(60)
    seen = observations(targets)
    declared = reading([*targets[:40], *[(x + 40, y) for x, y in targets[40:]]])
    assert not much_better(reading(targets[:50] + [(x + 40, y) for x, y in targets[50:]]), declared, seen)


def test_hits_that_any_order_of_replies_would_have_are_chance() -> None:
    """A model that always says the middle, and a data set with many large targets there."""
    targets = [(500.0, 500.0) if n % 2 else (150.0, 150.0) for n in range(40)]
    seen = observations(targets, half=60)
    assert not much_better(reading([(500, 500)] * 40), reading([(900, 900)] * 40), seen)


def test_nearer_by_far_is_better_even_without_a_hit() -> None:
    targets = spread(12)
    seen = observations(targets)
    assert much_better(beside(targets, 45), reading([(x + 2000, y * 3) for x, y in targets]), seen)
    assert not much_better(beside(targets, 45), beside(targets, 80), seen)


def test_following_is_more_than_being_near_the_middle() -> None:
    targets = spread(12)
    seen = observations(targets)
    assert follows(beside(targets, 60), seen)
    assert not follows(reading([(500, 500)] * 12), seen)
    assert not follows(reading(targets[1:] + targets[:1]), seen)


def test_alike_is_within_half_a_hundredth() -> None:
    targets = spread(12)
    seen = observations(targets)
    assert alike(reading(targets), beside(targets, 4), seen)
    assert not alike(reading(targets), beside(targets, 6), seen)


def test_the_target_of_a_polygon_is_its_middle() -> None:
    corners = ((0.0, 0.0), (10.0, 0.0), (10.0, 20.0), (0.0, 20.0))
    region = Region(polygons=(Polygon(points=tuple(Point(x_px=x, y_px=y) for x, y in corners)),))
    assert target_of(region) == Point(x_px=5, y_px=10)
    assert target_of(Region()) is None


def test_every_corner_of_a_box_must_be_in_range() -> None:
    from grounding.coordinates import ModelBox

    def seen(x2: float) -> Observation:
        place = ModelBox(space="rel_1000", x1=10, y1=10, x2=x2, y2=30)
        return Observation(corners=corners_of(place), sizes=SAME, region=box(5, 5))

    assert in_range(seen(1000), "rel_1000", declared="rel_1000")
    assert not in_range(seen(1001), "rel_1000", declared="rel_1000")
    assert in_range(seen(1000), "original_px", declared="rel_1000")


def test_whole_numbers_of_a_card_of_fractions_keep_their_own_space() -> None:
    """A reply that the card reads on a grid is no reason to doubt its fractions."""
    seen = [
        Observation(corners=(ModelPoint(space="rel_1000", x=x, y=y),), sizes=SAME, region=box(x, y))
        for x, y in spread(12)
    ]
    judged = judge_replies(seen, declared="rel_1")
    own = next(fit for fit in judged.fits if fit.name == "rel_1")
    assert (own.hits, own.in_range, judged.findings) == (12, 12, ())
