"""A sweep's scores as a picture: the shape of the paper's Figure 6, with intervals. Drawn to fit a text column."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grounding.atomic import draft_of
from grounding.errors import UserError
from grounding.records import Record
from grounding.scoring.metrics import Metric
from grounding.scoring.scored import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

X_LABELS = {
    "history": "history: earlier steps that models are told of",
    "limit": "scored steps",
    "temperature": "sampling temperature",
    "seed": "seed",
    "timeout": "timeout in s",
    "batch_size": "steps at once",
}  # What stands at the axis; other options have their name there.

# Okabe and Ito's colours, which people with any kind of colour blindness tell apart, the darker ones first.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = "osD^vPX"
WIDTH_IN = 3.5  # One column of a paper in two columns.
STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 7.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "svg.fonttype": "path",
    "svg.hashsalt": "grounding",
}


class PlotPoint(Record, frozen=True, kw_only=True):
    """One combination. ``x`` is the value of the option along the axis; ``series`` names the others' values. ``scores``
    is what has the estimate of a metric by its name, as ``of(name)``: a run, or the scores of a summary.
    """

    series: str
    x: float | None
    scores: Any
    partial: bool = False


class SweepPlot(Record, frozen=True, kw_only=True):
    """Everything a picture shows. Without an ``x_option`` the combinations are rows of dots. ``lines`` are runs that
    lie nowhere on the axis: dashed lines at their scores. ``note`` says what intervals are.
    """

    points: tuple[PlotPoint, ...]
    metrics: tuple[Metric, ...]
    x_option: str
    series_options: tuple[str, ...]
    subtitle: str
    lines: tuple[tuple[str, Any], ...] = ()
    note: str = "95 % intervals over tasks"

    def found(self, metric: Metric) -> list[tuple[int, PlotPoint, Estimate]]:
        """The points that have a value of a metric, with their numbers."""
        every = ((number, point, point.scores.of(metric.name)) for number, point in enumerate(self.points))
        return [(number, point, one) for number, point, one in every if one is not None and one.value is not None]

    def top(self, metric: Metric) -> float:
        """Where a score's axis ends: somewhat above the highest interval, at most just above 100 per cent."""
        highest = max((max(one.high or 0.0, one.value or 0.0) for _, _, one in self.found(metric)), default=0.0)
        top = max(5.0, 1.12 * highest)
        return top if metric.most is None else min(1.03 * metric.most, top)


def draw(plot: SweepPlot, folder: Path) -> tuple[Path, ...]:
    """Write ``sweep.png`` and ``sweep.svg``; nothing where there is no point to show. Raises UserError: a file can't be
    written.
    """
    return save(picture(plot), folder, "sweep") if plot.points else ()


def save(figure: Figure, folder: Path, name: str) -> tuple[Path, ...]:
    """Write a figure as PNG and as SVG. Raises UserError: a file can't be written."""
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        written = []
        for ending, options in (("png", {"dpi": 220}), ("svg", {"metadata": {"Date": None}})):
            path = folder / f"{name}.{ending}"
            try:
                with draft_of(path) as draft:
                    figure.savefig(draft, format=ending, facecolor="white", **options)
            except OSError as error:
                raise UserError(f"{path}: can't be written: {error.strerror}. The runs themselves are kept.") from error
            written.append(path)
    return tuple(written)


def picture(plot: SweepPlot) -> Figure:
    """The figure, not yet on disk: lines over the option along the axis, or rows of dots. There must be a point."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(layout="constrained")
        FigureCanvasAgg(figure)
        (_lines if plot.x_option else _dots)(figure, plot)
        marks = [plot.note, *(["hollow: partial run"] if any(point.partial for point in plot.points) else [])]
        text = "\n".join(textwrap.wrap(plot.subtitle, 62) + textwrap.wrap(" · ".join(marks), 62))
        figure.suptitle(text, x=0.01, ha="left", fontsize=7.5, color="#444444")
    return figure


def _lines(figure: Figure, plot: SweepPlot) -> None:
    series = tuple(dict.fromkeys(point.series for point in plot.points))
    named = [*series, *(name for name, _ in plot.lines)]
    longest = max(map(len, named))
    columns = 3 if longest <= 10 else 2 if longest <= 20 else 1
    legend_rows = 0 if len(named) < 2 else 1 + -(-len(named) // columns)
    figure.set_size_inches(WIDTH_IN, 0.4 + 1.4 * len(plot.metrics) + 0.17 * legend_rows)
    panels: Sequence[Axes] = list(figure.subplots(len(plot.metrics), 1, sharex=True, squeeze=False).flat)
    at = sorted({point.x for point in plot.points if point.x is not None})
    # Series stand a little beside each other, so that none hides another's interval.
    apart = min(0.014, 0.06 / len(series)) * (at[-1] - at[0] or 1.0)
    for panel, metric in zip(panels, plot.metrics, strict=True):
        found = plot.found(metric)
        for number, name in enumerate(series):
            aside = apart * (number - (len(series) - 1) / 2)
            own = (
                (point.x + aside, one, point) for _, point, one in found if point.series == name and point.x is not None
            )
            known = sorted(own, key=lambda each: each[0])
            _line(panel, known, number, label=name, band=len(series) == 1)
        for number, (name, scores) in enumerate(plot.lines, start=len(series)):
            level = scores.of(metric.name)
            if level is not None and level.value is not None:
                colour = COLOURS[number % len(COLOURS)]
                panel.axhline(level.value, color=colour, linestyle="--", linewidth=1.1)
                panel.plot([], [], color=colour, linestyle="--", label=name)
        counts = sorted({one.n for point in plot.points if (one := point.scores.of(metric.name)) is not None} or {0})
        n = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        panel.set_title(f"{metric.label} ({metric.unit}), n = {n} {metric.of}", loc="left")
        panel.set_xticks(at, [f"{int(x):,}" if x == int(x) else f"{x:g}" for x in at])
        top = plot.top(metric)
        panel.set_ylim(bottom=-0.04 * top, top=top)
        panel.margins(x=0.04)
    panels[-1].set_xlabel(X_LABELS.get(plot.x_option, plot.x_option.replace("_", " ")))
    if len(named) > 1:
        handles, labels = panels[-1].get_legend_handles_labels()
        figure.legend(
            handles,
            [textwrap.shorten(label, 56, placeholder="…") for label in labels],
            title=", ".join(name.replace("_", " ") for name in plot.series_options),
            loc="outside lower left",
            ncols=columns,
            frameon=False,
            alignment="left",
        )


def _line(panel: Axes, known: Sequence[tuple[float, Any, PlotPoint]], number: int, *, label: str, band: bool) -> None:
    xs, values = [x for x, _, _ in known], [one.value for _, one, _ in known]
    colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
    style = "-" if number < len(COLOURS) else "--"
    if band:
        lows = [one.value if one.low is None else one.low for _, one, _ in known]
        highs = [one.value if one.high is None else one.high for _, one, _ in known]
        panel.fill_between(xs, lows, highs, color=colour, alpha=0.15, linewidth=0)
    for x, one, _ in known:
        panel.errorbar(x, one.value, yerr=_reach(one), color=colour, linewidth=0.8, capsize=1.8, zorder=3)
    panel.plot(xs, values, style, marker=marker, color=colour, linewidth=1.4, markersize=4, zorder=4, label=label)
    for x, one, point in known:
        if point.partial:
            panel.plot([x], [one.value], marker, color=colour, markerfacecolor="white", markersize=4, zorder=5)


def _dots(figure: Figure, plot: SweepPlot) -> None:
    rows = [textwrap.fill(point.series, 25, max_lines=3, placeholder=" …") for point in plot.points]
    # A metric in a unit of its own has an axis of its own.
    units = dict.fromkeys(metric.unit for metric in plot.metrics)
    figure.set_size_inches(WIDTH_IN, 1.35 + 0.45 * len(rows) * len(units))
    panels: Sequence[Axes] = list(figure.subplots(len(units), 1, squeeze=False).flat)
    for panel, unit in zip(panels, units, strict=True):
        metrics = [metric for metric in plot.metrics if metric.unit == unit]
        apart = min(0.22, 0.66 / len(metrics))
        for number, metric in enumerate(metrics):
            place = plot.metrics.index(metric)
            colour, aside = COLOURS[place % len(COLOURS)], (number - (len(metrics) - 1) / 2) * apart
            for first, (row, point, one) in enumerate(plot.found(metric)):
                panel.errorbar(
                    one.value or 0.0,
                    row + aside,
                    xerr=_reach(one),
                    fmt=MARKERS[place % len(MARKERS)],
                    color=colour,
                    markerfacecolor="white" if point.partial else colour,
                    markersize=4.5,
                    linewidth=1.0,
                    capsize=2,
                    label=None if first else metric.label,
                )
        panel.set_yticks(range(len(rows)), rows)
        panel.set_ylim(len(rows) - 0.5, -0.5)
        panel.grid(axis="y", visible=False)
        for row in range(1, len(rows)):
            panel.axhline(row - 0.5, color="#dddddd", linewidth=0.6)
        top = max(plot.top(metric) for metric in metrics)
        panel.set_xlim(left=-0.02 * top, right=top)
        panel.set_xlabel(f"score ({unit})")
    named = [panel.get_legend_handles_labels() for panel in panels]
    figure.legend(
        [handle for handles, _ in named for handle in handles],
        [label for _, labels in named for label in labels],
        loc="outside lower center",
        ncols=3,
        frameon=False,
        handletextpad=0.3,
        columnspacing=1.0,
    )


def _reach(one: Estimate) -> list[list[float]] | None:
    """How far the interval reaches below and above the value; a bootstrap may not reach as far as the value itself."""
    if one.value is None or one.low is None or one.high is None:
        return None
    return [[max(0.0, one.value - one.low)], [max(0.0, one.high - one.value)]]


NUMERIC = (int, float)


def x_axis(values: Mapping[str, Sequence[Any]]) -> str:
    """The option along the plot's axis: the numeric one with the most values; "" where none is numeric."""
    numeric = {
        name: len(found)
        for name, found in values.items()
        if all(isinstance(one, NUMERIC) and not isinstance(one, bool) for one in found)
    }
    return max(numeric, key=lambda name: numeric[name], default="")
