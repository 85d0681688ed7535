"""Bins, smoothing, axes and medians over runs: what is thinned must stay true to what was measured."""

from __future__ import annotations

import math
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from grounding.training.page.axes import figure_text, limits, step_ticks, tick_texts, ticks
from grounding.training.page.series import MOST_POINTS, Series, binned, joined, joined_series, smoothed, window_of

FINITE = st.floats(allow_nan=False, allow_infinity=False, width=32)
VALUES = st.lists(st.one_of(st.none(), FINITE), min_size=1, max_size=300)


@settings(max_examples=40)
@given(VALUES, st.integers(1, 40), st.integers(1, 50))
def test_bins_keep_every_extreme_and_every_point(values: list[float | None], most: int, apart: int) -> None:
    steps = [7 + apart * at for at in range(len(values))]
    bins = binned(steps, values, most)
    assert len(bins) <= most
    assert sum(one.points for one in bins) == len(values)
    assert sum(one.missing for one in bins) == values.count(None)
    for one in bins:
        inside = [
            value
            for step, value in zip(steps, values, strict=True)
            if one.first_step <= step <= one.last_step and value is not None
        ]
        assert (one.low, one.high) == ((min(inside), max(inside)) if inside else (None, None))
        if inside and one.low is not None and one.mean is not None and one.high is not None:
            assert one.low <= one.mean <= one.high
            assert math.isclose(
                one.mean, math.fsum(inside) / len(inside), rel_tol=1e-6, abs_tol=1e-6 * max(map(abs, inside))
            )
    assert all(before.last_step < after.first_step for before, after in pairwise(bins))


def test_bins_of_two_series_over_one_range_have_the_same_edges() -> None:
    rare = binned([0, 500, 999], [1.0, 2.0, 3.0], 10, bounds=(0, 999))
    assert [one.first_step for one in rare] == [0, 500, 999]
    often = binned(range(1000), [0.0] * 1000, 10, bounds=(0, 999))
    assert [(one.first_step, one.last_step) for one in often][5] == (500, 599)


@settings(max_examples=40)
@given(VALUES, st.sampled_from([1, 3, 5, 21]))
def test_a_smoothed_value_is_the_mean_of_those_around(values: list[float | None], window: int) -> None:
    lines = smoothed(values, window)
    assert [value is None for value in lines] == [value is None for value in values]
    biggest = max((abs(value) for value in values if value is not None), default=0.0)
    for at, value in enumerate(lines):
        around = [one for one in values[max(0, at - window // 2) : at + window // 2 + 1] if one is not None]
        if value is not None:
            assert math.isclose(value, math.fsum(around) / len(around), rel_tol=1e-6, abs_tol=1e-9 * biggest)


def test_a_value_far_off_does_not_spoil_the_digits_of_the_others() -> None:
    values = [1.0 + 0.001 * (at % 3) for at in range(300)]
    values[50] = 1e17
    lines = smoothed(values, 9)
    assert lines[46] == lines[54] == max(value for value in lines if value is not None)  # it is in their window
    assert all(value is not None and abs(value - 1.001) < 1e-3 for value in (*lines[:46], *lines[55:]))


@settings(max_examples=40)
@given(st.lists(FINITE, max_size=200))
def test_an_axis_holds_what_is_not_counted_as_beyond_it(values: list[float]) -> None:
    span = limits(values, low=0.0)
    assert span.low < span.high
    assert span.low <= 0.0
    assert sum(value < span.low for value in values) <= span.below
    assert sum(value > span.high for value in values) <= span.above
    assert span.above + span.below <= 2 + len(values) // 25


def test_one_spike_does_not_flatten_a_curve_and_is_counted() -> None:
    values = [0.1 * (at % 7) for at in range(100)]
    span = limits([*values, 1e6])
    assert span.high < 1
    assert (span.above, span.below) == (1, 0)
    # Where the figures themselves are wide, nothing is left out.
    assert limits([1.0, 2.0, 900.0]).above == 0


@settings(max_examples=40)
@given(FINITE, st.floats(1e-6, 1e6))
def test_ticks_are_round_and_inside(low: float, span: float) -> None:
    high = low + span
    if not high > low:
        return
    found = ticks(low, high)
    slack = 1e-6 * span
    assert all(low - slack <= tick <= high + slack for tick in found)
    assert len(found) <= 8
    texts, _ = tick_texts(found)
    # Values so near to each other that nine digits don't tell them apart are the only ones of one text.
    assert len(set(texts)) == len(texts) or span / max(abs(high), abs(low)) < 1e-6


def test_ticks_of_steps_are_whole() -> None:
    assert step_ticks(1, 3) == (1, 2, 3)
    assert step_ticks(5, 5) == (5,)
    assert all(isinstance(step, int) for step in step_ticks(1, 100_000))
    assert tick_texts([0.0, 2e-6, 4e-6])[0] == ("0", "2", "4")
    assert tick_texts([-0.5, 0.0])[0] == ("\u22120.5", "0.0")


def test_a_figure_has_few_digits() -> None:
    assert [figure_text(value, 3) for value in (0.0, 0.71234, 5e-7, 123456.0, None)] == [
        "0",
        "0.712",
        "5e-07",
        "123,456",
        "-",
    ]


def run(*values: float | None, first: int = 1) -> Series:
    return Series(kind="train", steps=tuple(range(first, first + len(values))), values=values)


def test_runs_are_joined_by_median_and_range() -> None:
    found = joined([run(1.0, 2.0), run(3.0, None), run(2.0, 6.0)])
    assert [(one.step, one.median, one.low, one.high, one.runs) for one in found] == [
        (1, 2.0, 1.0, 3.0, 3),
        (2, 4.0, 2.0, 6.0, 2),
    ]
    # The one run that went on longer is not what the line ends as.
    assert [one.step for one in joined([run(1.0), run(1.0), run(1.0, 5.0)])] == [1]
    assert joined_series("train", [run(None)]) is None
    many = joined_series("train", [run(*range(5000)), run(*range(5000))])
    assert many is not None
    assert len(many.steps) <= MOST_POINTS + 1
    assert many.steps[-1] == 5000


def test_few_points_are_not_smoothed() -> None:
    assert window_of(11) == 1
    assert all(window_of(count) % 2 == 1 for count in range(1, 500))
