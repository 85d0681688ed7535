"""A figure over the steps of a stage as SVG, in the colours of the page. Numbers in, a drawing out.

Pale: every value that was measured, or, of very many, what lies between the least and greatest of neighbours. Strong:
the mean of those around. A gap is where no finite number was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from grounding.training.page.axes import Limits, figure_text, limits, step_ticks, tick_texts, ticks
from grounding.training.page.content import Chart
from grounding.training.page.escape import text
from grounding.training.page.lines import NAMES, DrawnLine
from grounding.training.page.measures import Measure
from grounding.training.page.series import Bin, Series
from grounding.training.page.values import hover_of, table_of

WIDTH, HEIGHT = 400, 220
LEFT, RIGHT, TOP, BOTTOM = 48, 8, 18, 24
"""Margins around the plot, which hold the labels."""

_MOST_MARKS = 80
_MOST_DOTS = 60


class _Frame:
    """Where a step and a value lie on the drawing."""

    def __init__(self, first: int, last: int, bounds: Limits) -> None:
        self.first, self.last, self.bounds = first, last, bounds

    def x(self, step: float) -> float:
        span = self.last - self.first
        share = (step - self.first) / span if span else 0.5
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        # Beyond the axis is at its edge, where a mark says so.
        inside = min(max(value, self.bounds.low), self.bounds.high)
        share = (inside - self.bounds.low) / (self.bounds.high - self.bounds.low)
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)


def draw(measure: Measure, series: Sequence[Series], *, bounds: tuple[int, int], identifier: str) -> Chart:
    """One figure as a chart with its table.

    Args:
        measure: How it is laid out.
        series: What was measured, at least one series with a point.
        bounds: The first and last step of the axis, which the charts of a stage share.
        identifier: A name for it on the page, of letters, digits and hyphens.
    """
    lines = [DrawnLine(one, is_exact=measure.is_exact) for one in series]
    shown = [value for line in lines for value in line.series.values if value is not None]
    edges = [edge for line in lines for at in line.band if at is not None for edge in at[1:]]
    span = limits(shown, low=measure.low, high=measure.high)
    if edges and not span.above and not span.below:
        span = limits([*shown, *edges], low=measure.low, high=measure.high)
    frame = _Frame(*bounds, span)
    parts = [*_axes(frame), *_guide(measure, frame)]
    for line in lines:
        parts += [*_band(line, frame), *_raw(line, frame)]
    for line in lines:
        parts += _smooth(line, frame)
    parts += [*_gap_marks(lines, frame), *_beyond(lines, frame)]
    label = text(f"{measure.title} over {bounds[1] - bounds[0] + 1:,} steps. {_movement(lines)}")
    svg = (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" tabindex="0" aria-label="{label}" '
        f'data-chart="{identifier}">{"".join(parts)}</svg>'
    )
    heads, rows = table_of(lines, bounds)
    return Chart(
        id=identifier,
        title=measure.title,
        svg=svg,
        movement=_movement(lines),
        words=" ".join(part for part in (measure.words, *_notes(lines, span)) if part),
        heads=heads,
        rows=rows,
        first=bounds[0],
        last=bounds[1],
        lines=tuple(hover_of(line) for line in lines),
    )


def _axes(frame: _Frame) -> list[str]:
    low, high = frame.bounds.low, frame.bounds.high
    values = ticks(low, high)
    texts, power = tick_texts(values)
    parts = []
    for value, name in zip(values, texts, strict=True):
        y = frame.y(value)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="end" x="{LEFT - 7}" y="{y + 4:.1f}">{name}</text>')
    if power:
        parts.append(f'<text x="{LEFT}" y="11">{power}</text>')
    base = HEIGHT - BOTTOM
    parts.append(f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{base}" y2="{base}"/>')
    steps = step_ticks(frame.first, frame.last)
    names, factor = tick_texts(steps)
    for step, name in zip(steps, names, strict=True):
        x = frame.x(step)
        # The last one would stand out of the drawing.
        place = "end" if x > WIDTH - RIGHT - 12 else "middle"
        parts.append(f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{base}" y2="{base + 4}"/>')
        parts.append(f'<text class="{place}" x="{x:.1f}" y="{base + 16}">{name}</text>')
    parts.append(f'<text class="end" x="{LEFT - 7}" y="{base + 16}">step{f" {factor}" if factor else ""}</text>')
    return parts


def _guide(measure: Measure, frame: _Frame) -> list[str]:
    if measure.guide is None or not frame.bounds.low <= measure.guide <= frame.bounds.high:
        return []
    y = frame.y(measure.guide)
    return [
        f'<line class="guide" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>',
        f'<text class="end" x="{WIDTH - RIGHT}" y="{y - 4:.1f}">{text(measure.guide_words)}</text>',
    ]


def _runs(points: Sequence[tuple[float, float | None]]) -> list[list[tuple[float, float]]]:
    """The points between gaps."""
    runs: list[list[tuple[float, float]]] = [[]]
    for step, value in points:
        if value is None:
            runs.append([])
        else:
            runs[-1].append((step, value))
    return [run for run in runs if run]


def _path(run: Sequence[tuple[float, float]], frame: _Frame) -> str:
    return "M" + "L".join(f"{frame.x(step):.1f},{frame.y(value):.1f}" for step, value in run)


def _band(line: DrawnLine, frame: _Frame) -> list[str]:
    band, kind = line.band, line.series.kind
    if kind == "held_out" and len(band) <= _MOST_DOTS:
        # Two areas over each other can't be told apart: the rarer figure has bars.
        return [
            f'<path class="bar {kind}" d="M{(x := frame.x(at[0])):.1f},{(y := frame.y(at[2])):.1f}'
            f'V{frame.y(at[1]):.1f}M{x - 3:.1f},{y:.1f}h6M{x - 3:.1f},{frame.y(at[1]):.1f}h6"/>'
            for at in band
            if at is not None
        ]
    parts = []
    for is_there, group in groupby(band, key=lambda at: at is not None):
        run = [at for at in group if at is not None] if is_there else []
        if len(run) > 1:
            outline = [(step, high) for step, _, high in run] + [(step, low) for step, low, _ in reversed(run)]
            parts.append(f'<path class="band {kind}" d="{_path(outline, frame)}Z"/>')
    return parts


def _raw(line: DrawnLine, frame: _Frame) -> list[str]:
    kind = line.series.kind
    if not line.is_thinned:
        if line.window == 1:
            return []
        runs = _runs([(one.step, one.mean) for one in line.bins])
        return [f'<path class="raw {kind}" d="{_path(run, frame)}"/>' for run in runs if len(run) > 1]
    parts = []
    for run in _bin_runs(line.bins):
        top = [(one.step, high) for one in run if (high := one.high) is not None]
        bottom = [(one.step, low) for one in reversed(run) if (low := one.low) is not None]
        parts.append(f'<path class="envelope {kind}" d="{_path([*top, *bottom], frame)}Z"/>')
    return parts


def _bin_runs(bins: Sequence[Bin]) -> list[list[Bin]]:
    runs: list[list[Bin]] = [[]]
    for one in bins:
        if one.mean is None:
            runs.append([])
        else:
            runs[-1].append(one)
    return [run for run in runs if run]


def _smooth(line: DrawnLine, frame: _Frame) -> list[str]:
    kind = line.series.kind
    parts = []
    runs = _runs(line.line)
    for run in runs:
        if len(run) > 1:
            parts.append(f'<path class="line {kind}" d="{_path(run, frame)}"/>')
    dots = [
        point for run in runs if len(run) == 1 or (line.window == 1 and len(line.line) <= _MOST_DOTS) for point in run
    ]
    for step, value in dots:
        x, y = frame.x(step), frame.y(value)
        # Two shapes, so that print in black tells them apart.
        if kind == "train":
            parts.append(f'<circle class="dot {kind}" cx="{x:.1f}" cy="{y:.1f}" r="2.6"/>')
        else:
            parts.append(f'<rect class="dot {kind}" x="{x - 2.8:.1f}" y="{y - 2.8:.1f}" width="5.6" height="5.6"/>')
    return parts


def _gap_marks(lines: Sequence[DrawnLine], frame: _Frame) -> list[str]:
    """A cross below the plot for each step without a finite value; those on one pixel are one."""
    at = sorted({round(frame.x(step)) for line in lines for step in line.series.gaps})
    if len(at) > _MOST_MARKS:
        at = at[:: -(-len(at) // _MOST_MARKS)]
    y = HEIGHT - BOTTOM - 5
    return [f'<path class="gap" d="M{x - 3},{y - 3}l6,6m0,-6l-6,6"/>' for x in at]


def _beyond(lines: Sequence[DrawnLine], frame: _Frame) -> list[str]:
    parts = []
    marked = set()
    for line in lines:
        for one in line.bins:
            x = round(frame.x(one.step))
            if one.high is not None and one.high > frame.bounds.high and (x, "up") not in marked:
                marked.add((x, "up"))
                parts.append(f'<path class="beyond {line.series.kind}" d="M{x - 4},{TOP + 1}h8l-4,-7z"/>')
            if one.low is not None and one.low < frame.bounds.low and (x, "down") not in marked:
                marked.add((x, "down"))
                y = HEIGHT - BOTTOM - 1
                parts.append(f'<path class="beyond {line.series.kind}" d="M{x - 4},{y}h8l-4,7z"/>')
    return parts[: 2 * _MOST_MARKS]


def _movement(lines: Sequence[DrawnLine]) -> str:
    parts = []
    for line in lines:
        known = [value for value in line.smooth if value is not None]
        if known:
            ends = (known[0],) if len(known) == 1 else (known[0], known[-1])
            words = " \u2192 ".join(figure_text(value, 3) for value in ends)
            parts.append(f"{NAMES[line.series.kind].capitalize()} {words}.")
    return " ".join(parts)


def _notes(lines: Sequence[DrawnLine], span: Limits) -> list[str]:
    notes = []
    for line in lines:
        name = NAMES[line.series.kind].capitalize()
        points = len(line.series.steps)
        if line.is_thinned:
            drawn = f"{points:,} points in {len(line.bins)} bins, pale from each bin's least to its greatest"
            notes.append(f"{name}: {drawn}" + (f"; line: mean of {line.window:,} around." if line.window > 1 else "."))
        elif line.window > 1:
            notes.append(f"{name}: {points:,} points; line: mean of {line.window} around.")
    if any(line.band and not line.series.lows for line in lines):
        notes.append("Band and bars: \u00b1 1 standard deviation.")
    for line in lines:
        gaps = line.series.gaps
        if gaps:
            one = "1 value is no finite number" if len(gaps) == 1 else f"{len(gaps):,} values are no finite number"
            notes.append(f"{NAMES[line.series.kind].capitalize()}: {one} (crosses; first at step {gaps[0]:,}).")
    if span.above or span.below:
        values = [value for line in lines for value in line.series.values if value is not None]
        far = [
            *([f"{span.above:,} above, up to {figure_text(max(values))}"] if span.above else []),
            *([f"{span.below:,} below, down to {figure_text(min(values))}"] if span.below else []),
        ]
        notes.append(f"Beyond the drawing (triangles): {'; '.join(far)}.")
    return notes
