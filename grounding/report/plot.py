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
}
"""What stands at the axis; other options have their name there."""

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
    """One combination. ``x`` is the value of the option along the axis; ``series`` names the others' values.

    ``scores`` is what has the estimate of a metric by its name, as ``of(name)``: a run, or the scores of a summary.
    """

    series: str
    x: float | None
    scores: Any
    partial: bool = False


class SweepPlot(Record, frozen=True, kw_only=True):
    """Everything a picture shows. Without an ``x_option`` the combinations are rows of dots.

    ``lines`` are runs that lie nowhere on the axis: dashed lines at their scores. ``note`` says what intervals are.
    """

    points: tuple[PlotPoint, ...]
    metrics: tuple[Metric, ...]
    x_option: str
    series_options: tuple[str, ...]
    subtitle: str
    lines: tuple[tuple[str, Any], ...] = ()
    note: str = "95 % intervals over tasks"


def draw(plot: SweepPlot, folder: Path) -> tuple[Path, ...]:
    """Write ``sweep.png`` and ``sweep.svg``; nothing where there is no point to show.

    Raises:
        UserError: a file can't be written.
    """
    return save(picture(plot), folder, "sweep") if plot.points else ()


def save(figure: Figure, folder: Path, name: str) -> tuple[Path, ...]:
    """Write a figure as PNG and as SVG.

    Raises:
        UserError: a file can't be written.
    """
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
    return figure


def _lines(figure: Figure, plot: SweepPlot) -> None:
    series = tuple(dict.fromkeys(point.series for point in plot.points))
    named = [*series, *(name for name, _ in plot.lines)]
    figure.set_size_inches(WIDTH_IN, 0.4 + 1.4 * len(plot.metrics) + 0.17 * _legend_rows(named))
    panels: Sequence[Axes] = list(figure.subplots(len(plot.metrics), 1, sharex=True, squeeze=False).flat)
    at = sorted({point.x for point in plot.points if point.x is not None})
    # Series stand a little beside each other, so that none hides another's interval.
    apart = min(0.014, 0.06 / len(series)) * (at[-1] - at[0] or 1.0)
    for panel, metric in zip(panels, plot.metrics, strict=True):
        for number, name in enumerate(series):
            points = sorted((point for point in plot.points if point.series == name), key=lambda point: point.x or 0.0)
            aside = apart * (number - (len(series) - 1) / 2)
            _line(panel, points, metric.name, name, number, aside=aside, band=len(series) == 1)
        for number, (name, scores) in enumerate(plot.lines, start=len(series)):
            level = scores.of(metric.name)
            if level is not None and level.value is not None:
                panel.axhline(level.value, color=COLOURS[number % len(COLOURS)], linestyle="--", linewidth=1.1)
                panel.plot([], [], color=COLOURS[number % len(COLOURS)], linestyle="--", label=name)
        panel.set_title(f"{metric.label} ({metric.unit}), {_counted(plot.points, metric)}", loc="left")
        panel.set_xticks(at, [_number(x) for x in at])
        top = _top(plot.points, metric)
        panel.set_ylim(bottom=-0.04 * top, top=top)
        panel.margins(x=0.04)
    panels[-1].set_xlabel(X_LABELS.get(plot.x_option, plot.x_option.replace("_", " ")))
    _headline(figure, plot)
    if len(named) > 1:
        _legend(figure, panels[-1], plot)


def _line(
    panel: Axes, points: Sequence[PlotPoint], metric: str, name: str, number: int, *, aside: float, band: bool
) -> None:
    known = [
        (point.x + aside, one.value, one, point.partial)
        for point in points
        if point.x is not None and (one := point.scores.of(metric)) is not None and one.value is not None
    ]
    xs, values = [x for x, _, _, _ in known], [value for _, value, _, _ in known]
    colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
    style = "-" if number < len(COLOURS) else "--"
    if band:
        lows = [value if one.low is None else one.low for _, value, one, _ in known]
        highs = [value if one.high is None else one.high for _, value, one, _ in known]
        panel.fill_between(xs, lows, highs, color=colour, alpha=0.15, linewidth=0)
    for x, value, one, _ in known:
        panel.errorbar(x, value, yerr=reach(one), color=colour, linewidth=0.8, capsize=1.8, zorder=3)
    panel.plot(xs, values, style, marker=marker, color=colour, linewidth=1.4, markersize=4, zorder=4, label=name)
    for x, value, _, partial in known:
        if partial:
            panel.plot([x], [value], marker, color=colour, markerfacecolor="white", markersize=4, zorder=5)


def _dots(figure: Figure, plot: SweepPlot) -> None:
    rows = [textwrap.fill(point.series, 25, max_lines=3, placeholder=" …") for point in plot.points]
    # A metric in a unit of its own has an axis of its own.
    units = dict.fromkeys(metric.unit for metric in plot.metrics)
    panels = [[metric for metric in plot.metrics if metric.unit == unit] for unit in units]
    figure.set_size_inches(WIDTH_IN, 1.35 + 0.45 * len(rows) * len(panels))
    found: Sequence[Axes] = list(figure.subplots(len(panels), 1, squeeze=False).flat)
    for panel, metrics in zip(found, panels, strict=True):
        _dots_panel(panel, plot, metrics, rows)
    _headline(figure, plot)
    named = [panel.get_legend_handles_labels() for panel in found]
    figure.legend(
        [handle for handles, _ in named for handle in handles],
        [label for _, labels in named for label in labels],
        loc="outside lower center",
        ncols=3,
        frameon=False,
        handletextpad=0.3,
        columnspacing=1.0,
    )


def _dots_panel(panel: Axes, plot: SweepPlot, metrics: Sequence[Metric], rows: Sequence[str]) -> None:
    apart = min(0.22, 0.66 / len(metrics))
    for number, metric in enumerate(metrics):
        place = plot.metrics.index(metric)
        colour, marker = COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)]
        shown = False
        for row, point in enumerate(plot.points):
            one = point.scores.of(metric.name)
            if one is None or one.value is None:
                continue
            panel.errorbar(
                one.value,
                row + (number - (len(metrics) - 1) / 2) * apart,
                xerr=reach(one),
                fmt=marker,
                color=colour,
                markerfacecolor="white" if point.partial else colour,
                markersize=4.5,
                linewidth=1.0,
                capsize=2,
                label=None if shown else metric.label,
            )
            shown = True
    panel.set_yticks(range(len(rows)), rows)
    panel.set_ylim(len(rows) - 0.5, -0.5)
    panel.grid(axis="y", visible=False)
    for row in range(1, len(rows)):
        panel.axhline(row - 0.5, color="#dddddd", linewidth=0.6)
    top = max(_top(plot.points, metric) for metric in metrics)
    panel.set_xlim(left=-0.02 * top, right=top)
    panel.set_xlabel(f"score ({metrics[0].unit})")


def _number(x: float) -> str:
    return f"{int(x):,}" if x == int(x) else f"{x:g}"


def reach(one: Estimate) -> list[list[float]] | None:
    """How far the interval reaches below and above the value; a bootstrap may not reach as far as the value itself."""
    if one.value is None or one.low is None or one.high is None:
        return None
    return [[max(0.0, one.value - one.low)], [max(0.0, one.high - one.value)]]


def _top(points: Sequence[PlotPoint], metric: Metric) -> float:
    found = [one for point in points if (one := point.scores.of(metric.name)) is not None]
    top = max(5.0, 1.12 * max((max(one.high or 0.0, one.value or 0.0) for one in found), default=0.0))
    return top if metric.most is None else min(1.03 * metric.most, top)


def _counted(points: Sequence[PlotPoint], metric: Metric) -> str:
    counts = {one.n for point in points if (one := point.scores.of(metric.name)) is not None}
    low, high = min(counts, default=0), max(counts, default=0)
    return f"n = {low} {metric.of}" if low == high else f"n = {low} to {high} {metric.of}"


def _headline(figure: Figure, plot: SweepPlot) -> None:
    marks = [plot.note]
    if any(point.partial for point in plot.points):
        marks.append("hollow: partial run")
    text = "\n".join(textwrap.wrap(plot.subtitle, 62) + textwrap.wrap(" · ".join(marks), 62))
    figure.suptitle(text, x=0.01, ha="left", fontsize=7.5, color="#444444")


def _legend_columns(series: Sequence[str]) -> int:
    longest = max(map(len, series))
    return 3 if longest <= 10 else 2 if longest <= 20 else 1


def _legend_rows(series: Sequence[str]) -> int:
    return 0 if len(series) < 2 else 1 + -(-len(series) // _legend_columns(series))


def _legend(figure: Figure, panel: Axes, plot: SweepPlot) -> None:
    handles, labels = panel.get_legend_handles_labels()
    figure.legend(
        handles,
        [textwrap.shorten(label, 56, placeholder="…") for label in labels],
        title=", ".join(name.replace("_", " ") for name in plot.series_options),
        loc="outside lower left",
        ncols=_legend_columns(labels),
        frameon=False,
        alignment="left",
    )


NUMERIC = (int, float)


def x_axis(values: Mapping[str, Sequence[Any]]) -> str:
    """The option along the plot's axis: the numeric one with the most values; "" where none is numeric."""
    numeric = {
        name: len(found)
        for name, found in values.items()
        if all(isinstance(one, NUMERIC) and not isinstance(one, bool) for one in found)
    }
    return max(numeric, key=lambda name: numeric[name], default="")
