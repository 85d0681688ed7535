"""A sweep's scores as a picture: the shape of the paper's Figure 6, with intervals. Drawn to fit a text column."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grounding.errors import UserError
from grounding.records import Record
from grounding.report.matrix import COLUMNS
from grounding.scoring.scores import Estimate, PaperScores

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


class Point(Record, frozen=True, kw_only=True):
    """One combination. ``x`` is the value of the option along the axis; ``series`` names the others' values."""

    series: str
    x: float | None
    scores: PaperScores
    partial: bool = False


class SweepPlot(Record, frozen=True, kw_only=True):
    """Everything a picture shows. Without an ``x_option`` the combinations are rows of dots."""

    points: tuple[Point, ...]
    x_option: str
    series_options: tuple[str, ...]
    subtitle: str


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
            draft = path.with_name(f".{path.name}.new")
            try:
                figure.savefig(draft, format=ending, facecolor="white", **options)
                draft.replace(path)
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
    """One panel a score, one above the other over the same axis; a line with a band for each series."""
    series = tuple(dict.fromkeys(point.series for point in plot.points))
    figure.set_size_inches(WIDTH_IN, 4.6 + 0.17 * _legend_rows(series))
    panels: Sequence[Axes] = figure.subplots(len(COLUMNS), 1, sharex=True)
    at = sorted({point.x for point in plot.points if point.x is not None})
    # Series stand a little beside each other, so that none hides another's interval.
    apart = min(0.014, 0.06 / len(series)) * (at[-1] - at[0] or 1.0)
    for panel, (field, label, unit) in zip(panels, COLUMNS, strict=True):
        for number, name in enumerate(series):
            points = sorted((point for point in plot.points if point.series == name), key=lambda point: point.x or 0.0)
            aside = apart * (number - (len(series) - 1) / 2)
            _line(panel, points, field, name, number, aside=aside, band=len(series) == 1)
        panel.set_title(f"{label} (%), {_counted(plot.points, field, unit)}", loc="left")
        panel.set_xticks(at, [_number(x) for x in at])
        top = _top(plot.points, field)
        panel.set_ylim(bottom=-0.04 * top, top=top)
        panel.margins(x=0.04)
    panels[-1].set_xlabel(X_LABELS.get(plot.x_option, plot.x_option.replace("_", " ")))
    _headline(figure, plot)
    if len(series) > 1:
        _legend(figure, panels[0], plot)


def _line(
    panel: Axes, points: Sequence[Point], field: str, name: str, number: int, *, aside: float, band: bool
) -> None:
    found = [(point.x, getattr(point.scores, field), point.partial) for point in points]
    known = [(x + aside, one, partial) for x, one, partial in found if x is not None and one.value is not None]
    xs, values = [x for x, _, _ in known], [one.value for _, one, _ in known]
    colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
    style = "-" if number < len(COLOURS) else "--"
    if band:
        lows, highs = [one.low for _, one, _ in known], [one.high for _, one, _ in known]
        panel.fill_between(xs, lows, highs, color=colour, alpha=0.15, linewidth=0)
    for x, one, _ in known:
        panel.errorbar(x, one.value, yerr=reach(one), color=colour, linewidth=0.8, capsize=1.8, zorder=3)
    panel.plot(xs, values, style, marker=marker, color=colour, linewidth=1.4, markersize=4, zorder=4, label=name)
    for x, one, partial in known:
        if partial:
            panel.plot([x], [one.value], marker, color=colour, markerfacecolor="white", markersize=4, zorder=5)


def _dots(figure: Figure, plot: SweepPlot) -> None:
    """One row a combination, from above in the order given; a dot with an interval for each score."""
    rows = [textwrap.fill(point.series, 22, max_lines=3, placeholder=" …") for point in plot.points]
    figure.set_size_inches(WIDTH_IN, 1.35 + 0.45 * len(rows))
    (panel,) = (figure.subplots(1, 1),)
    for number, (field, label, _) in enumerate(COLUMNS):
        colour, marker = COLOURS[number], MARKERS[number]
        for row, point in enumerate(plot.points):
            one: Estimate = getattr(point.scores, field)
            if one.value is None:
                continue
            panel.errorbar(
                one.value,
                row + (number - 1) * 0.22,
                xerr=reach(one),
                fmt=marker,
                color=colour,
                markerfacecolor="white" if point.partial else colour,
                markersize=4.5,
                linewidth=1.0,
                capsize=2,
                label=label if row == 0 else None,
            )
    panel.set_yticks(range(len(rows)), rows)
    panel.set_ylim(len(rows) - 0.5, -0.5)
    panel.grid(axis="y", visible=False)
    for row in range(1, len(rows)):
        panel.axhline(row - 0.5, color="#dddddd", linewidth=0.6)
    panel.set_xlim(left=-2, right=max(_top(plot.points, field) for field, _, _ in COLUMNS))
    panel.set_xlabel("score (%)")
    _headline(figure, plot)
    figure.legend(
        *panel.get_legend_handles_labels(),
        loc="outside lower center",
        ncols=3,
        frameon=False,
        handletextpad=0.3,
        columnspacing=1.0,
    )


def _number(x: float) -> str:
    return f"{int(x):,}" if x == int(x) else f"{x:g}"


def reach(one: Estimate) -> list[list[float]] | None:
    """How far the interval reaches below and above the value; a bootstrap may not reach as far as the value itself."""
    if one.value is None or one.low is None or one.high is None:
        return None
    return [[max(0.0, one.value - one.low)], [max(0.0, one.high - one.value)]]


def _top(points: Sequence[Point], field: str) -> float:
    """Where a score's axis ends: somewhat above the highest interval, at most just above 100."""
    highs = [getattr(point.scores, field).high or 0.0 for point in points]
    return min(103.0, max(5.0, 1.12 * max(highs, default=0.0)))


def _counted(points: Sequence[Point], field: str, unit: str) -> str:
    counts = {getattr(point.scores, field).n for point in points}
    low, high = min(counts), max(counts)
    return f"n = {low} {unit}" if low == high else f"n = {low} to {high} {unit}"


def _headline(figure: Figure, plot: SweepPlot) -> None:
    marks = ["95 % intervals over tasks"]
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
