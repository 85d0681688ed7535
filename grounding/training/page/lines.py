"""A series as a chart shows it: its points or bins, the smoothed line over them, and the band around it."""

from __future__ import annotations

from grounding.training.page.series import MOST_POINTS, Bin, Series, binned, smoothed, window_of
from grounding.training.records import MetricsKind

NAMES: dict[MetricsKind, str] = {"train": "train", "held_out": "held out"}
"""What the two kinds of examples are called."""


class DrawnLine:
    """A series as it is drawn.

    ``bins`` hold a point each unless ``is_thinned``; ``line`` is the step and the smoothed value of each of them,
    ``smooth`` that of every point, as the mean of ``window`` points.

    Args:
        series: What was measured.
        is_exact: It was set and not measured: nothing is smoothed.
    """

    def __init__(self, series: Series, *, is_exact: bool) -> None:
        self.series = series
        self.window = 1 if is_exact or series.lows else window_of(len(series.values))
        self.smooth = smoothed(series.values, self.window)
        self.is_thinned = len(series.steps) > MOST_POINTS
        most = len(series.steps) if not self.is_thinned else None
        self.bins = _each(series) if most else binned(series.steps, series.values)
        self.line = (
            [(float(step), value) for step, value in zip(series.steps, self.smooth, strict=True)]
            if most
            else [(one.step, one.mean) for one in binned(series.steps, self.smooth)]
        )
        spreads = smoothed(series.spreads, self.window) if series.spreads else ()
        self.spreads = (
            list(spreads) if most or not spreads else [one.mean for one in binned(series.steps, spreads)]
        )  # As many as points of the line.

    @property
    def band(self) -> list[tuple[float, float, float] | None]:
        """Step, lower and upper edge; None at gaps.

        A standard deviation around the smoothed line, or the range that it came with.
        """
        if self.series.lows:
            return list(zip(map(float, self.series.steps), self.series.lows, self.series.highs, strict=True))
        if not self.spreads or (self.series.kind == "held_out" and self.is_thinned):
            return []  # Of so many points two areas would lie over each other.
        return [
            None if value is None or spread is None else (step, value - spread, value + spread)
            for (step, value), spread in zip(self.line, self.spreads, strict=True)
        ]


def _each(series: Series) -> tuple[Bin, ...]:
    return tuple(
        Bin(
            first_step=step, last_step=step, points=1, missing=int(value is None), low=value, high=value, mean=value
        )
        for step, value in zip(series.steps, series.values, strict=True)
    )  # fmt: skip
