"""An ablation as pictures: curves over the level of the noise, and what errors cost instruction by instruction."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from grounding.asr.ablation import Ablation, Curve, Spot
from grounding.records import Record
from grounding.report.plot import COLOURS, MARKERS, STYLE, WIDTH_IN, reach
from grounding.scoring import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BINS = (0.0, 10.0, 25.0, 50.0, 75.0, 100.0)
"""Edges of word error rates in per cent whose instructions are put together; those above the last are one more bin."""

_MOST_NAMED = 6
"""More conditions than these are not told apart by colours."""

_FURTHEST = 125.0
"""Word error rates above this are drawn here: a recogniser may hear any number of words that nobody said."""


class Bin(Record, frozen=True, kw_only=True):
    """Instructions of similar word error rates: their mean rate, and the mean accuracy lost, in per cent."""

    word_error_percent: float
    lost_percent: float
    n: int


def binned(spots: Sequence[Spot]) -> tuple[Bin, ...]:
    """The spots by their word error rate: none at all, then between the edges; bins without a spot are left out."""
    parts: dict[int, list[Spot]] = {}
    for spot in spots:
        rate = spot.word_error_percent
        parts.setdefault(sum(rate > edge for edge in BINS), []).append(spot)
    return tuple(
        Bin(
            word_error_percent=sum(spot.word_error_percent for spot in found) / len(found),
            lost_percent=sum(spot.lost_percent for spot in found) / len(found),
            n=len(found),
        )
        for _, found in sorted(parts.items())
    )


def curve_picture(ablation: Ablation) -> Figure:
    """Word error rate above step accuracy over the signal-to-noise ratio, a line for each recogniser and noise.

    Dashed lines are the same recognisers without noise, the dotted one the true words. There must be a curve.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(layout="constrained", figsize=(WIDTH_IN, 4.3 + 0.17 * len(ablation.curves)))
        FigureCanvasAgg(figure)
        above, below = figure.subplots(2, 1, sharex=True)
        at = sorted({level.snr_db for curve in ablation.curves for level in curve.levels})
        apart = min(0.4, 0.02 * (at[-1] - at[0] or 1.0))
        for number, curve in enumerate(ablation.curves):
            aside = apart * (number - (len(ablation.curves) - 1) / 2)
            _curve(above, below, curve, number, aside)
        drawn = set()
        for number, curve in enumerate(ablation.curves):
            if curve.clean is None or curve.recogniser in drawn or curve.clean.words is None:
                continue
            drawn.add(curve.recogniser)
            # One recogniser's clean speech is the same for all noises.
            colour = (
                COLOURS[number % len(COLOURS)] if len({each.recogniser for each in ablation.curves}) > 1 else "#555555"
            )
            name = f"{curve.recogniser}, no noise"
            _level_line(above, curve.clean.words.rate_percent, colour, "--", name)
            _level_line(below, curve.clean.scores.step_accuracy.value, colour, "--", name)
        if ablation.truth is not None:
            true = ablation.rows[ablation.truth].scores.step_accuracy
            _level_line(below, true.value, "#000000", ":", "true words")
        above.set_title("word error rate (%)", loc="left")
        below.set_title(f"step accuracy (%), n = {_steps(ablation)} steps", loc="left")
        for panel in (above, below):
            panel.set_ylim(bottom=0)
        below.set_xticks(at, [f"{x:g}" for x in at])
        below.set_xlabel("signal-to-noise ratio in dB: the less, the louder the noise")
        _headline(figure, ablation, "bars: 95 % intervals, over recordings above, over tasks below")
        handles, labels = below.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower left", ncols=1, frameon=False)
    return figure


def _curve(above: Axes, below: Axes, curve: Curve, number: int, aside: float) -> None:
    colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
    name = f"{curve.recogniser}, {curve.noise}"
    rates = [
        (level.snr_db + aside, _as_estimate(level.words.rate_percent, level.words.interval)) for level in curve.levels
    ]
    hits = [(level.snr_db + aside, level.step_accuracy) for level in curve.levels]
    for panel, found in ((above, rates), (below, hits)):
        known = [(x, one) for x, one in found if one.value is not None]
        for x, one in known:
            panel.errorbar(x, one.value or 0.0, yerr=reach(one), color=colour, linewidth=0.8, capsize=1.8, zorder=3)
        panel.plot(
            [x for x, _ in known],
            [one.value or 0.0 for _, one in known],
            marker=marker,
            color=colour,
            linewidth=1.4,
            markersize=4,
            zorder=4,
            label=name,
        )


def _as_estimate(value: float | None, interval: object) -> Estimate:
    low, high = getattr(interval, "low", None), getattr(interval, "high", None)
    return Estimate(value=value, n=0, low=low, high=high)


def _level_line(panel: Axes, value: float | None, colour: str, style: str, name: str) -> None:
    if value is not None:
        panel.axhline(value, color=colour, linestyle=style, linewidth=1.1, zorder=2, label=name)


def scatter_picture(ablation: Ablation) -> Figure:
    """Accuracy lost over the word error rate, a small dot for each instruction, with bins and the fitted line.

    There must be a spot.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        conditions = list(dict.fromkeys(spot.condition for spot in ablation.spots))
        named = conditions if len(conditions) <= _MOST_NAMED else []
        figure = Figure(layout="constrained", figsize=(WIDTH_IN, 3.2 + 0.17 * len(named or [""])))
        FigureCanvasAgg(figure)
        panel = figure.subplots(1, 1)
        for number, condition in enumerate(conditions):
            own = [spot for spot in ablation.spots if spot.condition == condition]
            panel.plot(
                [min(spot.word_error_percent, _FURTHEST) for spot in own],
                # A fixed spread, so that instructions of the same outcome don't hide each other.
                [spot.lost_percent + 11 * (((at * 0.6180339887) % 1) - 0.5) for at, spot in enumerate(own)],
                linestyle="",
                marker=MARKERS[number % len(MARKERS) if named else 0],
                markersize=2.4,
                markeredgewidth=0,
                color=COLOURS[number % len(COLOURS) if named else 0],
                alpha=0.4,
                label=condition
                if named
                else None
                if number
                else f"an instruction in one of {len(conditions)} conditions",
            )
        bins = binned(ablation.spots)
        panel.plot(
            [min(each.word_error_percent, _FURTHEST) for each in bins],
            [each.lost_percent for each in bins],
            "o",
            color="#000000",
            markersize=5,
            zorder=5,
            label="mean of the instructions around",
        )
        _line(panel, ablation)
        panel.set_xlabel(f"word error rate (%), {_FURTHEST:g} or more at the edge")
        panel.set_ylabel("step accuracy lost (points)")
        panel.set_xlim(-4, _FURTHEST + 4)
        panel.set_ylim(-112, 112)
        panel.set_yticks([-100, -50, 0, 50, 100])
        _headline(figure, ablation, slope_words(ablation))
        handles, labels = panel.get_legend_handles_labels()
        figure.legend(
            handles, labels, loc="outside lower left", ncols=1, frameon=False, handletextpad=0.3, markerscale=1.4
        )
    return figure


def _line(panel: Axes, ablation: Ablation) -> None:
    slope = ablation.slope
    if slope is None or slope.value is None:
        return
    n = len(ablation.spots)
    x = sum(spot.word_error_percent for spot in ablation.spots) / n
    y = sum(spot.lost_percent for spot in ablation.spots) / n
    ends = (0.0, _FURTHEST)
    panel.plot(
        ends, [y + slope.value / 10 * (end - x) for end in ends], color="#000000", linewidth=1.2, zorder=4, label="fit"
    )


def slope_words(ablation: Ablation) -> str:
    """The slope in a sentence, with its interval and how many instructions it is from."""
    slope = ablation.slope
    if slope is None or slope.value is None:
        return "no line: the instructions do not differ in their word error rate"
    interval = "" if slope.low is None else f" [{slope.low:+.1f}, {slope.high:+.1f}]"
    return (
        f"{slope.value:+.1f}{interval} points of step accuracy lost for every 10 points of word error rate "
        f"(n = {slope.instructions:,} instructions over all conditions)"
    )


def _steps(ablation: Ablation) -> str:
    counts = {row.scores.step_accuracy.n for row in ablation.rows}
    return f"{min(counts)}" if len(counts) == 1 else f"{min(counts)} to {max(counts)}"


def _headline(figure: Figure, ablation: Ablation, note: str) -> None:
    text = "\n".join([*textwrap.wrap(ablation.title, 62), *textwrap.wrap(note, 62)])
    figure.suptitle(text.replace("$", r"\$"), x=0.01, ha="left", fontsize=7.5, color="#444444")
