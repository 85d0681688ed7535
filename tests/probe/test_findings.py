"""Replies whose space is known: the declared space is never doubted, every other one is named."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.coordinates import Space
from grounding.probe.findings import Judged, judge_replies, worst
from grounding.probe.fits import SPACES
from grounding.probe.targets import Target, draw_targets
from grounding.records import ImageSizes
from probe.models import card, dice, observed, perfect

SAME: dict[str, list[set[Space]]] = {
    # A client's resizing makes the picture as sent the one that the model sees; a server's leaves the sent one as it
    # was. 999 and 1000 differ by a thousandth of the picture, which no button shows.
    "client": [{"sent_px", "resized_px"}, {"rel_999", "rel_1000"}],
    "server": [{"original_px", "sent_px"}, {"rel_999", "rel_1000"}],
    "none": [{"original_px", "sent_px", "resized_px"}, {"rel_999", "rel_1000"}],
}


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> tuple[Target, ...]:
    return draw_targets(Path(tmp_path_factory.mktemp("targets")))


def kinds(judged: Judged) -> set[str]:
    return {finding.kind for finding in judged.findings}


def named(judged: Judged) -> set[Space]:
    return {space for finding in judged.findings for space in finding.spaces}


@pytest.mark.parametrize("resize", ["client", "server", "none"])
@pytest.mark.parametrize(("declared", "spoken"), list(itertools.product(SPACES, SPACES)))
def test_every_space_is_told_from_every_other(
    targets: tuple[Target, ...], declared: Space, spoken: Space, resize: str
) -> None:
    judged = judge_replies(observed(targets, card(declared, resize), perfect(spoken)), declared=declared)
    group = next((group for group in SAME[resize] if spoken in group), {spoken})
    if declared in group:
        assert judged.findings == () or kinds(judged) == {"range"}
        assert not (declared == spoken and judged.findings)
    else:
        assert named(judged) == group
        assert worst(judged.findings) == "warning"


def test_a_finding_says_in_words_what_fits(targets: tuple[Target, ...]) -> None:
    judged = judge_replies(observed(targets, card("rel_1000", "client"), perfect("resized_px")), declared="rel_1000")
    text = next(finding.text for finding in judged.findings if finding.kind == "other_space")
    assert "the card says a grid of 0 to 1000 (rel_1000), where" in text
    assert "pixels of the resized picture (resized_px), 12 of 12 replies hit" in text


@given(
    declared=st.sampled_from(SPACES),
    resize=st.sampled_from(["client", "server", "none"]),
    kept=st.sets(st.integers(0, 11), max_size=12),
    digits=st.sampled_from([3, 6]),
)
def test_exact_replies_never_make_another_space_look_better(
    targets: tuple[Target, ...], declared: Space, resize: str, kept: set[int], digits: int
) -> None:
    def say(target: Target, sizes: ImageSizes) -> tuple[float, float] | None:
        if targets.index(target) not in kept:
            return None
        x, y = perfect(declared)(target, sizes)
        return round(x, digits), round(y, digits)

    judged = judge_replies(observed(targets, card(declared, resize), say), declared=declared)
    assert kinds(judged) <= {"unparsed"}


@pytest.mark.parametrize("declared", SPACES)
@pytest.mark.parametrize("reach", [(1.0, 1.0), (1000.0, 1000.0), (1920.0, 1080.0)])
def test_replies_at_random_are_put_down_to_no_space(
    targets: tuple[Target, ...], declared: Space, reach: tuple[float, float]
) -> None:
    wrong = []
    for seed in range(100):
        judged = judge_replies(observed(targets, card(declared), dice(seed, *reach)), declared=declared)
        wrong += [] if "no_space" in kinds(judged) else [(seed, kinds(judged))]
    assert wrong == []


def test_a_model_that_grounds_badly_is_not_blamed_on_the_card(targets: tuple[Target, ...]) -> None:
    def say(target: Target, sizes: ImageSizes) -> tuple[float, float]:
        x, y = perfect("rel_1000")(target, sizes)
        off = 70 if targets.index(target) % 2 else -70
        return min(1000, max(0, x + off)), min(1000, max(0, y - off))

    judged = judge_replies(observed(targets, card("rel_1000"), say), declared="rel_1000")
    assert kinds(judged) == {"imprecise"}
    assert worst(judged.findings) == "ok"


def test_always_the_middle_of_the_picture_fits_no_space(targets: tuple[Target, ...]) -> None:
    judged = judge_replies(observed(targets, card("rel_1000"), lambda *_: (500.0, 500.0)), declared="rel_1000")
    assert kinds(judged) == {"no_space"}
    assert worst(judged.findings) == "warning"


def test_numbers_beyond_the_grid_are_named(targets: tuple[Target, ...]) -> None:
    """The fault of a vLLM release: x too low, y beyond 1000 on a grid of 1000."""

    def say(target: Target, sizes: ImageSizes) -> tuple[float, float]:
        x, y = perfect("rel_1000")(target, sizes)
        return 0.8 * x, 1.15 * y

    judged = judge_replies(observed(targets, card("rel_1000"), say), declared="rel_1000")
    found = next(finding for finding in judged.findings if finding.kind == "range")
    assert found.level == "warning"
    assert "outside the card's range, a grid of 0 to 1000" in found.text
    assert not named(judged)
    scale = next(finding.text for finding in judged.findings if finding.kind == "other_scale")
    assert "about 800x1150 at" in scale


def test_the_edges_belong_to_the_range(targets: tuple[Target, ...]) -> None:
    for x, y, inside in ((0, 0, 12), (1000, 1000, 12), (1000.5, 10, 0), (10, -0.5, 0)):
        judged = judge_replies(
            observed(targets, card("rel_1000"), lambda *_, x=x, y=y: (float(x), float(y))), declared="rel_1000"
        )
        own = next(fit for fit in judged.fits if fit.name == "rel_1000")
        assert own.in_range == inside
        assert ("range" in kinds(judged)) == (inside == 0)


def test_replies_that_hold_nothing_are_broken_only_when_all_do(targets: tuple[Target, ...]) -> None:
    def some(count: int) -> Judged:
        def say(target: Target, sizes: ImageSizes) -> tuple[float, float] | None:
            return perfect("rel_1")(target, sizes) if targets.index(target) < count else None

        return judge_replies(observed(targets, card("rel_1"), say), declared="rel_1")

    assert [worst(some(count).findings) for count in (0, 1, 8, 9, 12)] == ["broken", "warning", "warning", "ok", "ok"]


def test_a_handful_of_replies_tells_nothing_about_a_space(targets: tuple[Target, ...]) -> None:
    few = observed(targets[:5], card("rel_1000"), lambda *_: (900.0, 10.0))
    assert judge_replies(few, declared="rel_1000").findings == ()
    more = observed(targets[:6], card("rel_1000"), lambda *_: (900.0, 10.0))
    assert kinds(judge_replies(more, declared="rel_1000")) == {"no_space"}
