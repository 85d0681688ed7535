"""Replies whose space is known: the declared space is never doubted, every other one is named; luck is no evidence."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.geometry import ModelBox, ModelPoint, Space
from grounding.records import Box, ImageSizes, Point, Polygon, Region, Size
from grounding.run.probe.gate import ProbeTarget, draw_targets
from grounding.run.probe.replies import SPACES, ProbedReply, ProbeFinding, SpaceFit, judge_replies, worst
from run.probe.models import card, dice, observed, perfect

SAME: dict[str, list[set[Space]]] = {
    # A client's resizing makes the picture as sent the one that the model sees; a server's leaves the sent one as it
    # was. 999 and 1000 differ by a thousandth of the picture, which no button shows.
    "client": [{"sent_px", "resized_px"}, {"rel_999", "rel_1000"}],
    "server": [{"original_px", "sent_px"}, {"rel_999", "rel_1000"}],
    "none": [{"original_px", "sent_px", "resized_px"}, {"rel_999", "rel_1000"}],
}
ProbeVerdict = tuple[tuple[SpaceFit, ...], tuple[ProbeFinding, ...]]
SIZE = Size(width=1000, height=1000)
SAME_SIZES = ImageSizes(original=SIZE, sent=SIZE, model=SIZE)


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> tuple[ProbeTarget, ...]:
    return draw_targets(Path(tmp_path_factory.mktemp("targets")))


def kinds(judged: ProbeVerdict) -> set[str]:
    return {finding.kind for finding in judged[1]}


def named(judged: ProbeVerdict) -> set[Space]:
    return {space for finding in judged[1] for space in finding.spaces}


@pytest.mark.parametrize("resize", ["client", "server", "none"])
def test_every_space_is_told_from_every_other(targets: tuple[ProbeTarget, ...], resize: str) -> None:
    for declared, spoken in itertools.product(SPACES, SPACES):
        judged = judge_replies(observed(targets, card(declared, resize), perfect(spoken)), declared=declared)
        group = next((group for group in SAME[resize] if spoken in group), {spoken})
        if declared == spoken:
            assert judged[1] == ()
        elif declared in group:
            assert kinds(judged) <= {"range"}
        else:
            assert named(judged) == group, (declared, spoken)
            assert worst(judged[1]) == "warning"


@given(
    declared=st.sampled_from(SPACES),
    resize=st.sampled_from(["client", "server", "none"]),
    kept=st.sets(st.integers(0, 11), max_size=12),
    digits=st.sampled_from([3, 6]),
)
def test_exact_replies_never_make_another_space_look_better(
    targets: tuple[ProbeTarget, ...], declared: Space, resize: str, kept: set[int], digits: int
) -> None:
    def say(target: ProbeTarget, sizes: ImageSizes) -> tuple[float, float] | None:
        if targets.index(target) not in kept:
            return None
        x, y = perfect(declared)(target, sizes)
        return round(x, digits), round(y, digits)

    judged = judge_replies(observed(targets, card(declared, resize), say), declared=declared)
    assert kinds(judged) <= {"unparsed"}


@pytest.mark.parametrize("reach", [(1.0, 1.0), (1000.0, 1000.0), (1920.0, 1080.0)])
def test_replies_at_random_are_put_down_to_no_space(
    targets: tuple[ProbeTarget, ...], reach: tuple[float, float]
) -> None:
    for declared, seed in itertools.product(SPACES, range(50)):
        judged = judge_replies(observed(targets, card(declared), dice(seed, *reach)), declared=declared)
        assert "no_space" in kinds(judged), (declared, seed)


def test_what_is_said_of_a_model_that_grounds_badly(targets: tuple[ProbeTarget, ...]) -> None:
    def beside(target: ProbeTarget, sizes: ImageSizes) -> tuple[float, float]:
        x, y = perfect("rel_1000")(target, sizes)
        off = 70 if targets.index(target) % 2 else -70
        return min(1000, max(0, x + off)), min(1000, max(0, y - off))

    def off_the_grid(target: ProbeTarget, sizes: ImageSizes) -> tuple[float, float]:
        """The fault of a vLLM release: x too low, y beyond 1000 on a grid of 1000."""
        x, y = perfect("rel_1000")(target, sizes)
        return 0.8 * x, 1.15 * y

    def judged(say: object) -> ProbeVerdict:
        return judge_replies(observed(targets, card("rel_1000"), say), declared="rel_1000")  # type: ignore[arg-type]

    assert kinds(judged(beside)) == {"imprecise"}
    assert worst(judged(beside)[1]) == "ok"
    assert kinds(judged(lambda *_: (500.0, 500.0))) == {"no_space"}
    found = {finding.kind: finding for finding in judged(off_the_grid)[1]}
    assert "outside the card's range, a grid of 0 to 1000" in found["range"].text
    assert not named(judged(off_the_grid))


def test_the_edges_belong_to_the_range(targets: tuple[ProbeTarget, ...]) -> None:
    for x, y, inside in ((0, 0, 12), (1000, 1000, 12), (1000.5, 10, 0), (10, -0.5, 0)):
        judged = judge_replies(
            observed(targets, card("rel_1000"), lambda *_, x=x, y=y: (float(x), float(y))), declared="rel_1000"
        )
        own = next(fit for fit in judged[0] if fit.name == "rel_1000")
        assert own.in_range == inside
        assert ("range" in kinds(judged)) == (inside == 0)
    place = ModelBox(space="rel_1000", x1=10, y1=10, x2=1001, y2=30)
    seen = [ProbedReply(place=place, sizes=SAME_SIZES, region=box(5, 5))]
    ranged = {fit.name: fit.in_range for fit in judge_replies(seen, declared="rel_1000")[0]}
    assert (ranged["rel_1000"], ranged["original_px"]) == (0, 0)


def test_replies_that_hold_nothing_are_broken_only_when_all_do(targets: tuple[ProbeTarget, ...]) -> None:
    def some(count: int) -> ProbeVerdict:
        def say(target: ProbeTarget, sizes: ImageSizes) -> tuple[float, float] | None:
            return perfect("rel_1")(target, sizes) if targets.index(target) < count else None

        return judge_replies(observed(targets, card("rel_1"), say), declared="rel_1")

    assert [worst(some(count)[1]) for count in (0, 1, 8, 9, 12)] == ["broken", "warning", "warning", "ok", "ok"]


def test_a_handful_of_replies_tells_nothing_about_a_space(targets: tuple[ProbeTarget, ...]) -> None:
    for count, found in ((5, set()), (6, {"no_space"})):
        few = observed(targets[:count], card("rel_1000"), lambda *_: (900.0, 10.0))
        assert kinds(judge_replies(few, declared="rel_1000")) == found


def test_whole_numbers_of_a_card_of_fractions_keep_their_own_space() -> None:
    """A reply that the card reads on a grid is no reason to doubt its fractions."""
    seen = [
        ProbedReply(place=ModelPoint(space="rel_1000", x=x, y=y), sizes=SAME_SIZES, region=box(x, y))
        for x, y in spread(12)
    ]
    judged = judge_replies(seen, declared="rel_1")
    own = next(fit for fit in judged[0] if fit.name == "rel_1")
    assert (own.hits, own.in_range, judged[1]) == (12, 12, ())


# --- what is better, and what is only luck ------------------------------------------------------------------------


def box(x: float, y: float, half: float = 10) -> Region:
    return Region(boxes=(Box(left_px=x - half, top_px=y - half, right_px=x + half, bottom_px=y + half),))


def spread(count: int) -> list[tuple[float, float]]:
    return [(50 + 97 * n % 900, 50 + 389 * n % 900) for n in range(count)]


def said(
    places: Sequence[tuple[float, float]], targets: Sequence[tuple[float, float]], half: float = 10
) -> list[ProbedReply]:
    """Replies in pixels of pictures of 1000 x 1000."""
    return [
        ProbedReply(place=ModelPoint(space="original_px", x=x, y=y), sizes=SAME_SIZES, region=box(*target, half))
        for (x, y), target in zip(places, targets, strict=True)
    ]


def off(targets: Sequence[tuple[float, float]], px: float) -> list[tuple[float, float]]:
    return [(x + px, y) for x, y in targets]


@pytest.mark.parametrize(("hits", "better"), [(5, False), (6, True), (12, True)])
def test_six_hits_more_are_no_luck_and_five_may_be(hits: int, better: bool) -> None:
    """On a grid of 1000 a tenth larger than the picture the card's pixels miss, and are not far off."""
    targets = spread(12)
    sizes = ImageSizes(original=SIZE, sent=Size(width=1060, height=1060), model=Size(width=1060, height=1060))
    places = [(1.06 * x, 1.06 * y) for x, y in [*targets[:hits], *off(targets[hits:], 40)]]
    seen = [
        ProbedReply(place=ModelPoint(space="original_px", x=x, y=y), sizes=sizes, region=box(*target, 1))
        for (x, y), target in zip(places, targets, strict=True)
    ]
    assert ("other_space" in kinds(judge_replies(seen, declared="original_px"))) is better


def test_a_model_that_always_says_the_middle_fits_no_space() -> None:
    large = [(500.0, 500.0) if n % 2 else (150.0, 150.0) for n in range(40)]
    seen = said([(900.0, 900.0)] * 40, large, half=60)
    assert kinds(judge_replies(seen, declared="original_px")) == {"no_space"}
    assert not named(judge_replies(said([(500.0, 500.0)] * 40, large, half=60), declared="rel_1"))


def test_a_card_whose_replies_follow_the_targets_is_not_doubted() -> None:
    targets = spread(12)
    assert kinds(judge_replies(said(off(targets, 60), targets), declared="original_px")) == {"imprecise"}
    shuffled = targets[1:] + targets[:1]
    assert kinds(judge_replies(said(shuffled, targets), declared="original_px")) == {"no_space"}


def test_the_target_of_a_polygon_is_its_middle() -> None:
    def seen(x: float, y: float) -> ProbedReply:
        corners = ((x - 5, y - 10), (x + 5, y - 10), (x + 5, y + 10), (x - 5, y + 10))
        polygon = Region(polygons=(Polygon(points=tuple(Point(x_px=x, y_px=y) for x, y in corners)),))
        place = ModelPoint(space="original_px", x=x + 40, y=y)
        return ProbedReply(place=place, sizes=SAME_SIZES, region=polygon)

    judged = judge_replies([seen(x, y) for x, y in spread(12)], declared="original_px")
    assert kinds(judged) == {"imprecise"}
