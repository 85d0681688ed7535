"""Figures before and after a training as one drawing: a row for each, a dot and its interval twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from grounding.training.page.axes import limits, tick_texts, ticks
from grounding.training.page.content import Span
from grounding.training.page.escape import text

WIDTH, ROW, LEFT, RIGHT, TOP, BOTTOM = 440, 50, 14, 14, 4, 24


def draw_changes(spans: Sequence[Span], *, unit: str = "%") -> str:
    """The drawing as SVG in the page's colours; "" where there is nothing to draw.

    Args:
        spans: The figures, each with a value before and after.
        unit: What they are counted in.
    """
    shown = [span for span in spans if span.before is not None and span.after is not None]
    if not shown:
        return ""
    edges = [edge for span in shown for edge in _edges(span)]
    bounds = limits(edges, low=0.0)
    height = TOP + ROW * len(shown) + BOTTOM

    def x(value: float) -> float:
        return LEFT + (value - bounds.low) / (bounds.high - bounds.low) * (WIDTH - LEFT - RIGHT)

    parts = []
    values = ticks(bounds.low, bounds.high, about=6)
    for value, name in zip(values, tick_texts(values)[0], strict=True):
        at = f"{x(value):.1f}"
        parts.append(f'<line class="grid" x1="{at}" x2="{at}" y1="{TOP}" y2="{height - BOTTOM}"/>')
        parts.append(f'<text class="middle" x="{at}" y="{height - 8}">{f"{name} {text(unit)}".strip()}</text>')
    for number, span in enumerate(shown):
        top = TOP + number * ROW
        parts.append(f'<text class="name" x="2" y="{top + 16}">{text(span.name)}</text>')
        parts += _mark(x, span.before, span.before_low, span.before_high, top + 27, "before")
        parts += _mark(x, span.after, span.after_low, span.after_high, top + 40, "after")
    words = "; ".join(f"{span.name}: {_said(span)}" for span in shown)
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{text(words)}">{"".join(parts)}</svg>'


def _edges(span: Span) -> list[float]:
    found = (span.before, span.before_low, span.before_high, span.after, span.after_low, span.after_high)
    return [value for value in found if value is not None]


def _mark(
    x: Callable[[float], float], value: float | None, low: float | None, high: float | None, y: int, kind: str
) -> list[str]:
    if value is None:
        return []
    parts = []
    if low is not None and high is not None:
        parts.append(f'<path class="reach {kind}" d="M{x(low):.1f},{y}H{x(high):.1f}"/>')
    at = x(value)
    # Two shapes, so that print in black tells them apart.
    if kind == "before":
        parts.append(f'<rect class="dot {kind}" x="{at - 4:.1f}" y="{y - 4}" width="8" height="8"/>')
    else:
        parts.append(f'<circle class="dot {kind}" cx="{at:.1f}" cy="{y}" r="4.6"/>')
    return parts


def _said(span: Span) -> str:
    return f"{span.before:.1f} before, {span.after:.1f} after"
