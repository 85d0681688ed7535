"""The values behind a chart: a table that has all of them or bins of them, and what is told under the pointer."""

from __future__ import annotations

from collections.abc import Sequence

from grounding.training.page.axes import figure_text
from grounding.training.page.content import HoverLine, TableRow
from grounding.training.page.lines import NAMES, DrawnLine
from grounding.training.page.series import binned

TABLE_ROWS = 40


def table_of(lines: Sequence[DrawnLine], bounds: tuple[int, int]) -> tuple[tuple[str, ...], tuple[TableRow, ...]]:
    """Headings and rows: all points, or, of more than fit, bins of equally many steps with their ends."""
    columns = []
    for line in lines:
        raw = binned(line.series.steps, line.series.values, TABLE_ROWS, bounds=bounds)
        means = binned(line.series.steps, line.smooth, TABLE_ROWS, bounds=bounds)
        columns.append({_place(one.first_step, bounds): (one, mean.mean) for one, mean in zip(raw, means, strict=True)})
    has_ends = [any(one.points > 1 for one, _ in column.values()) for column in columns]
    heads = ["steps"]
    for line, ends in zip(lines, has_ends, strict=True):
        name = NAMES[line.series.kind]
        heads += [f"{name}, mean", f"{name}, least", f"{name}, greatest"] if ends else [name]
        heads += [f"{name}, smoothed"] if line.window > 1 else []
    rows = []
    for place in sorted({place for column in columns for place in column}):
        bins = [column[place][0] for column in columns if place in column]
        first, last = min(one.first_step for one in bins), max(one.last_step for one in bins)
        cells = []
        for line, column, ends in zip(lines, columns, has_ends, strict=True):
            one, smooth = column.get(place, (None, None))
            figures = (None, None, None) if one is None else (one.mean, one.low, one.high)
            shown = [figure_text(value) for value in figures[: 3 if ends else 1]]
            if one is not None and one.missing:
                shown[0] += f" ({one.missing:,} of {one.points:,} no number)"
            cells += [*shown, *([figure_text(smooth)] if line.window > 1 else [])]
        rows.append(TableRow(name=f"{first:,}" if first == last else f"{first:,} to {last:,}", cells=tuple(cells)))
    return tuple(heads), tuple(rows)


def _place(step: int, bounds: tuple[int, int]) -> int:
    """In which bin of the table a step is, by the rule of ``binned``."""
    span = bounds[1] - bounds[0] + 1
    return (step - bounds[0]) * TABLE_ROWS // span if span > TABLE_ROWS else step - bounds[0]


def hover_of(line: DrawnLine) -> HoverLine:
    """What the page's script tells of a line."""
    return HoverLine(
        name=NAMES[line.series.kind],
        steps=tuple(one.step for one in line.bins),
        low=tuple(_short(one.low) for one in line.bins) if line.is_thinned else (),
        high=tuple(_short(one.high) for one in line.bins) if line.is_thinned else (),
        values=() if line.is_thinned else tuple(_short(one.mean) for one in line.bins),
        smooth=tuple(_short(value) for _, value in line.line) if line.window > 1 else (),
    )


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.5g}")
