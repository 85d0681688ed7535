"""A run's diagrams as SVG that takes its colours from the page: scored tasks in, plots out. Drawn by matplotlib."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from grounding.report.html.content import Diagram
from grounding.report.html.figures import (
    TOLERANCES_PX,
    Bin,
    alive,
    by_area,
    by_position,
    by_screen_place,
    tolerance_curve,
)
from grounding.report.html.measured import Measured, measured
from grounding.scoring.scored import ScoredTask
from grounding.scoring.scores import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = {"#010203": "currentColor", "#040506": "var(--line)", "#070809": "var(--hit)", "#0a0b0c": "var(--miss)"}
"""Colours that no one would draw in, and what the page has in their place, light or dark."""
_INK, _LINE, _HIT, _MISS = _COLOURS

_STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.titlesize": 9,
    "text.color": _INK,
    "axes.edgecolor": _LINE,
    "axes.labelcolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "axes.prop_cycle": f"cycler('color', ['{_INK}'])",
    "grid.color": _LINE,
    "grid.linewidth": 0.5,
    "svg.fonttype": "none",
}
_SIZE_IN = (4.2, 2.5)
_LONGEST_NAME = 18
_MOST_POINTS = 1_000
"""Points of a line that are drawn at most; the drawing is some 400 pixels wide."""


def draw_diagrams(tasks: Sequence[ScoredTask], *, independent: bool = False) -> tuple[Diagram, ...]:
    """All diagrams for which there is something to show.

    Args:
        tasks: The run.
        independent: No step follows another, so that positions in a task mean nothing.
    """
    return draw_measured(measured(tasks), independent=independent)


def draw_measured(steps: Measured, *, independent: bool = False) -> tuple[Diagram, ...]:
    """The same from the numbers alone."""
    if not steps.steps:
        return ()
    found = []
    if not independent:
        found += [_progress(steps), _bars("Accuracy by step of the task", by_position(steps), "step of the task")]
    areas = by_area(steps)
    if areas:
        found.append(_bars("Accuracy by size of the gold region", areas, "side of a square of its area, px"))
    found.append(_screen(by_screen_place(steps)))
    off = steps.off_px()
    if off:
        found.append(_distances(off))
    found.append(_tolerance(steps))
    return tuple(found)


def _progress(steps: Measured) -> Diagram:
    from matplotlib.ticker import MaxNLocator

    shares = alive(steps)

    places = _turns(shares)

    def paint(axes: Axes) -> None:
        axes.step(places, [shares[at] for at in places], where="post", color=_HIT, linewidth=1.8)
        axes.set(xlabel="steps done", ylabel="tasks alive, %", ylim=(0, 103), xlim=(0, len(shares) - 1))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))

    half = next((at for at, share in enumerate(shares) if share <= 50), None)
    words = "" if half is None else f" Half of the tasks have a wrong step by step {half}."
    return _diagram(
        "Tasks without a wrong step so far",
        f"n = {_count(steps.tasks)} tasks; {shares[-1]:.1f} % have none at the end.{words}",
        paint,
    )


def _turns(values: Sequence[float]) -> Sequence[int]:
    """The places at which a line is drawn: all of a short one, of a long one those where it changes, thinned out."""
    if len(values) <= _MOST_POINTS:
        return range(len(values))
    last = len(values) - 1
    turns = [at for at in range(1, last) if values[at] != values[at - 1]]
    return [0, *turns[:: max(1, math.ceil(len(turns) / _MOST_POINTS))], last]


def _bars(title: str, bins: Sequence[Bin], label: str) -> Diagram:
    def paint(axes: Axes) -> None:
        reach = [
            [max(0.0, each.percent - each.interval.low) for each in bins],
            [max(0.0, each.interval.high - each.percent) for each in bins],
        ]
        axes.bar(
            range(len(bins)),
            [each.percent for each in bins],
            color=_HIT,
            width=0.65,
            yerr=reach,
            ecolor=_INK,
            error_kw={"elinewidth": 1, "capsize": 2},
        )
        axes.set_xticks(range(len(bins)), [f"{each.name}\n{_short(each.n, len(bins))}" for each in bins])
        axes.set(xlabel=label, ylabel="hits, %", ylim=(0, 103))

    words = "; ".join(f"{each.name}: {_count(each.k)}/{_count(each.n)}" for each in bins)
    return _diagram(title, f"{words}. Bars: 95 % Wilson intervals, steps taken as independent.", paint)


def _screen(rows: Sequence[Sequence[Bin]]) -> Diagram:
    def paint(axes: Axes) -> None:
        axes.grid(visible=False)
        for number, row in enumerate(rows):
            for column, each in enumerate(row):
                axes.add_patch(_rectangle(column, number, 0.06 + 0.6 * each.percent / 100 if each.n else 0.0))
                text = f"{each.percent:.0f} %\n{_count(each.k)}/{_count(each.n)}" if each.n else "none"
                axes.text(column + 0.5, number + 0.5, text, ha="center", va="center")
        axes.set(xlim=(0, 3), ylim=(3, 0), xticks=[], yticks=[])

    words = "; ".join(", ".join(f"{_count(each.k)}/{_count(each.n)}" for each in row) for row in rows)
    return _diagram(
        "Accuracy by place on the screen", f"Hits by ninth of the screen, from the top left: {words}.", paint
    )


def _rectangle(x: float, y: float, strength: float) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x + 0.02, y + 0.02), 0.96, 0.96, facecolor=_HIT, alpha=strength, linewidth=0)


def _distances(off: Sequence[float]) -> Diagram:
    from matplotlib.ticker import MaxNLocator

    edges = [3, 10, 30, 100, 300, 1000]
    names = ["≤3", "10", "30", "100", "300", "1,000", "more"]
    counts = [0] * len(names)
    for distance in off:
        counts[next((at for at, edge in enumerate(edges) if distance <= edge), len(names) - 1)] += 1

    def paint(axes: Axes) -> None:
        axes.bar(range(len(names)), counts, color=_MISS, width=0.85)
        axes.set_xticks(range(len(names)), names)
        axes.set(xlabel="px beside the gold region, up to", ylabel="misses")
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))

    middle = sorted(off)[len(off) // 2]
    words = f"n = {_count(len(off))} misses with a click; median {middle:,.0f} px."
    return _diagram("How far misses are off", words, paint)


def _tolerance(steps: Measured) -> Diagram:
    shares = tolerance_curve(steps)

    def paint(axes: Axes) -> None:
        axes.plot(TOLERANCES_PX, shares, "o-", color=_HIT, linewidth=1.8, markersize=3)
        axes.set(xlabel="px beside the region that would still count", ylabel="right, %", ylim=(0, 103), xlim=(-4, 304))

    words = f"n = {_count(steps.steps)} scored steps: {shares[0]:.1f} % inside; {shares[5]:.1f} % at most 50 px beside."
    return _diagram("If clicks beside the region counted", words, paint)


def curve_diagram(title: str, *, names: Sequence[str], estimates: Sequence[Estimate], here: int, label: str) -> Diagram:
    """Scores in per cent with their intervals, one a name, joined where there is an order; ``here`` is filled."""
    values = [estimate.value or 0.0 for estimate in estimates]
    reach = [
        [
            max(0.0, value - (value if each.low is None else each.low))
            for value, each in zip(values, estimates, strict=True)
        ],
        [
            max(0.0, (value if each.high is None else each.high) - value)
            for value, each in zip(values, estimates, strict=True)
        ],
    ]
    ordered = all(_is_number(name) for name in names)
    short = [name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…" for name in names]

    def paint(axes: Axes) -> None:
        places = range(len(names))
        axes.errorbar(places, values, yerr=reach, fmt="o-" if ordered else "o", color=_INK, mfc="none", capsize=2)
        axes.plot([here], [values[here]], "o", color=_HIT, markersize=7)
        axes.set_xticks(places, [text.replace("$", r"\$") for text in short])
        axes.set(xlabel=label, ylabel="step accuracy, %", ylim=(0, 103), xlim=(-0.5, len(names) - 0.5))

    words = "; ".join(
        f"{name}: {value:.1f} % ({each.k}/{each.n})" for name, value, each in zip(short, values, estimates, strict=True)
    )
    return _diagram(title, f"{words}. This run: {short[here]}. Bars: the runs' 95 % intervals.", paint)


def _count(number: int) -> str:
    """Numbers of five digits and more can be read only in groups."""
    return f"{number:,}" if number >= 10_000 else str(number)


def _short(number: int, among: int) -> str:
    """How many steps one of several bars stands for; the words below the diagram have all digits."""
    if number < (1_000 if among > 5 else 100_000):
        return f"n={_count(number)}"
    power, unit = (1_000_000, "M") if number >= 999_500 else (1_000, "k")
    found = f"{number / power:.1f}{unit}" if number < 10 * power else f"{number / power:.0f}{unit}"
    # So many bars leave no room for more than the number.
    return found if among > 5 else f"n={found}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _diagram(title: str, words: str, paint: Callable[[Axes], None]) -> Diagram:
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with mpl.rc_context({**_STYLE, "svg.hashsalt": title}):
        figure = Figure(figsize=_SIZE_IN, layout="constrained")
        FigureCanvasSVG(figure)
        paint(figure.subplots())
        out = io.StringIO()
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    return Diagram(title=title, svg=_inline(out.getvalue()), words=words)


def _inline(svg: str) -> str:
    """The drawing itself, in the page's colours, scaling with its place, without names that two drawings share."""
    svg = svg[svg.index("<svg") :]
    for drawn, meant in _COLOURS.items():
        svg = svg.replace(drawn, meant)
    svg = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    used = set(re.findall(r"(?:#|url\(#)([\w-]+)", svg))
    svg = re.sub(r' id="([\w.-]+)"', lambda found: found[0] if found[1] in used else "", svg)
    svg = re.sub(r'^(<svg[^>]*?) height="[^"]*"', r"\1", svg)
    svg = re.sub(r'^(<svg[^>]*?) width="[^"]*"', r"\1", svg)
    return re.sub(r"font: ([\d.]+)px [^;\"]*", r"font: \1px system-ui, sans-serif", svg)
