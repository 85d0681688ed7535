"""A run's diagrams as SVG that takes its colours from the page: scored steps in, plots out."""

from __future__ import annotations

import io
import itertools
import re
from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from grounding.records import Record, Step
from grounding.report.clicks import AREA_SIDES_PX, COLUMNS, ORDERS
from grounding.report.html.content import Diagram, DiagramPart
from grounding.scoring.intervals import wilson

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OFF_PX = (3, 10, 30, 100, 300, 1000)  # Distances between which misses are counted together.
TOLERANCES_PX = (0, 5, 10, 20, 30, 50, 75, 100, 150, 200, 300)  # Distances at which the tolerance curve is drawn.
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
_MOST_PARTS = 60  # of a line that can be clicked


# --- numbers --------------------------------------------------------------------------------------------------------


class Bin(Record, frozen=True, kw_only=True):
    """Some of the steps: ``k`` of ``n`` are hits. ``group`` is what the page calls these steps, kind and name."""

    name: str
    k: int
    n: int
    group: str = ""

    @property
    def percent(self) -> float:
        return 100 * self.k / self.n if self.n else 0.0

    @property
    def counted(self) -> str:
        return f"{_count(self.k)}/{_count(self.n)}"

    @property
    def part(self) -> DiagramPart:
        return DiagramPart(name=self.name, group=self.group)


class Measuring:
    """Takes scored steps one by one, and keeps nothing of them but the numbers that are drawn."""

    def __init__(self) -> None:
        self._done, self._first_wrong = Counter[int](), dict[int, int]()
        self._n, self._k = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
        self._hits_px, self.misses_px = array("d"), array("d")
        self._hits = 0

    def add(self, task: int, step: Step, is_hit: bool, distance_px: float | None = None) -> None:
        """Take one step. ``task`` is any number that only the steps of its task have."""
        place = self._done[task]
        self._done[task] += 1
        if not is_hit:
            self._first_wrong.setdefault(task, place)
        for kind in ("position", "gold-area", "screen-place"):
            group = kind, COLUMNS[kind](step, place + 1)
            self._n[group] += 1
            self._k[group] += is_hit
        self._hits += is_hit
        if distance_px is not None:
            (self._hits_px if is_hit else self.misses_px).append(distance_px)

    @property
    def steps(self) -> int:
        return self._done.total()

    @property
    def tasks(self) -> int:
        return len(self._done)

    def bins(self, kind: str, labels: Sequence[str] = ()) -> tuple[Bin, ...]:
        """The groups of a kind in their order, but for steps without a target; ``labels`` are other names of theirs."""
        names = [name for name in ORDERS[kind] if name != "absent"]
        return tuple(
            Bin(name=label, k=self._k[kind, name], n=self._n[kind, name], group=f"{kind}: {name}")
            for name, label in zip(names, labels or names, strict=True)
        )

    def alive(self) -> tuple[float, ...]:
        """The share of tasks in percent without a wrong step after 0, 1, 2, … of their steps. A task that ended well
        stays alive, so that the last value is the task success.
        """
        died = Counter(self._first_wrong.values())
        gone = itertools.accumulate((died[place] for place in range(max(self._done.values()))), initial=0)
        return tuple(100 * (self.tasks - count) / self.tasks for count in gone)

    def tolerance_curve(self) -> tuple[float, ...]:
        """The share of all steps in percent whose click is at most so many pixels (``TOLERANCES_PX``) beside."""
        # A hit where the target is absent has no distance.
        absent = self._hits - len(self._hits_px)
        off = np.sort(np.array([*self._hits_px, *self.misses_px]))
        within = np.searchsorted(off, TOLERANCES_PX, side="right")
        return tuple(100 * (absent + int(count)) / self.steps for count in within)


# --- drawings -------------------------------------------------------------------------------------------------------


def draw_diagrams(steps: Measuring, *, independent: bool = False) -> tuple[Diagram, ...]:
    """All diagrams of clicks for which there is something to show. ``independent``: no step follows another, so that
    positions in a task mean nothing.
    """
    if not steps.steps:
        return ()
    found = []
    if not independent:
        positions = [each for each in steps.bins("position") if each.n]
        found += [progress(steps), bars("Accuracy by step of the task", positions, "step of the task")]
    between = (f"{low}-{high}" for low, high in itertools.pairwise(AREA_SIDES_PX))
    labels = (f"<{AREA_SIDES_PX[0]}", *between, f"{AREA_SIDES_PX[-1]}+")
    if areas := [each for each in steps.bins("gold-area", labels) if each.n]:
        found.append(bars("Accuracy by size of the gold region", areas, "side of a square of its area, px"))
    found.append(screen(steps.bins("screen-place")))
    off = [float(distance) for distance in steps.misses_px if distance > 0]
    if off:
        found.append(_distances(off))
    shares = steps.tolerance_curve()
    words = f"n = {_count(steps.steps)} scored steps: {shares[0]:.1f} % inside; {shares[5]:.1f} % at most 50 px beside."
    label = "px beside the region that would still count"
    return (*found, curve("If clicks beside the region counted", TOLERANCES_PX, shares, label, words))


def progress(steps: Measuring) -> Diagram:
    from matplotlib.ticker import MaxNLocator

    shares = steps.alive()
    steps_ = range(1, len(shares) if len(shares) <= _MOST_PARTS else 1)

    def paint(axes: Axes) -> None:
        axes.step(range(len(shares)), shares, where="post", color=_HIT, linewidth=1.8)
        _clickable(axes, [(step - 0.5, step + 0.5) for step in steps_])
        axes.set(xlabel="steps done", ylabel="tasks alive, %", ylim=(0, 103), xlim=(0, len(shares) - 1))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))

    half = next((at for at, share in enumerate(shares) if share <= 50), None)
    words = "" if half is None else f" Half of the tasks have a wrong step by step {half}."
    tasks = _count(steps.tasks)
    words = f"n = {tasks} tasks; {shares[-1]:.1f} % have none at the end.{words}"
    parts = [DiagramPart(name=f"first wrong step is number {step}", group=f"first-wrong: {step}") for step in steps_]
    return _diagram("Tasks without a wrong step so far", words, paint, parts)


def bars(title: str, bins: Sequence[Bin], label: str) -> Diagram:
    """The shares of hits of some parts of the steps, with Wilson's intervals."""
    shares, ends = [each.percent for each in bins], [wilson(each.k, each.n) for each in bins]

    def paint(axes: Axes) -> None:
        below = [max(0.0, share - each.low) for share, each in zip(shares, ends, strict=True)]
        above = [max(0.0, each.high - share) for share, each in zip(shares, ends, strict=True)]
        places, lines = range(len(bins)), {"elinewidth": 1, "capsize": 2}
        axes.bar(places, shares, color=_HIT, width=0.65, yerr=[below, above], ecolor=_INK, error_kw=lines)
        axes.set_xticks(places, [f"{each.name}\n{_short(each.n, len(bins))}" for each in bins])
        axes.set(xlabel=label, ylabel="hits, %", ylim=(0, 103))
        _clickable(axes, [(place - 0.5, place + 0.5) for place in places])

    words = "; ".join(f"{each.name}: {each.counted}" for each in bins)
    words = f"{words}. Bars: 95 % Wilson intervals, steps taken as independent."
    return _diagram(title, words, paint, [each.part for each in bins])


def screen(ninths: Sequence[Bin]) -> Diagram:
    """The shares of hits by ninth of the screen: three rows from above, of three from the left."""

    def paint(axes: Axes) -> None:
        from matplotlib.patches import Rectangle

        axes.grid(visible=False)
        for number, each in enumerate(ninths):
            row, column = divmod(number, 3)
            strength = 0.06 + 0.6 * each.percent / 100 if each.n else 0.0
            corner = (column + 0.02, row + 0.02)
            cell = Rectangle(corner, 0.96, 0.96, facecolor=_HIT, alpha=strength, linewidth=0, gid=f"part-{number}")
            axes.add_patch(cell)
            text = f"{each.percent:.0f} %\n{each.counted}" if each.n else "none"
            axes.text(column + 0.5, row + 0.5, text, ha="center", va="center")
        axes.set(xlim=(0, 3), ylim=(3, 0), xticks=[], yticks=[])

    words = "; ".join(", ".join(each.counted for each in ninths[first : first + 3]) for first in (0, 3, 6))
    words = f"Hits by ninth of the screen, from the top left: {words}."
    return _diagram("Accuracy by place on the screen", words, paint, [each.part for each in ninths])


def _distances(off: Sequence[float]) -> Diagram:
    from matplotlib.ticker import MaxNLocator

    names = ["≤3", "10", "30", "100", "300", "1,000", "more"]
    counts = np.bincount(np.searchsorted(OFF_PX, off), minlength=len(names))

    def paint(axes: Axes) -> None:
        axes.bar(range(len(names)), counts, color=_MISS, width=0.85)
        axes.set_xticks(range(len(names)), names)
        axes.set(xlabel="px beside the gold region, up to", ylabel="misses")
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        _clickable(axes, [(place - 0.5, place + 0.5) for place in range(len(names))])

    middle = sorted(off)[len(off) // 2]
    words = f"n = {_count(len(off))} misses with a click; median {middle:,.0f} px."
    parts = [
        DiagramPart(name=f"misses {low} to {high} px off", off=(low, high))
        for low, high in itertools.pairwise((0, *OFF_PX))
    ]
    parts.append(DiagramPart(name=f"misses more than {OFF_PX[-1]:,} px off", off=(OFF_PX[-1], None)))
    return _diagram("How far misses are off", words, paint, parts)


def curve(title: str, places: Sequence[float], shares: Sequence[float], label: str, words: str) -> Diagram:
    def paint(axes: Axes) -> None:
        axes.plot(places, shares, "o-", color=_HIT, linewidth=1.8, markersize=3)
        axes.set(xlabel=label, ylabel="right, %", ylim=(0, 103), xlim=(-4, max(places) + 4))
        ends = [places[0] - 4, *(sum(two) / 2 for two in itertools.pairwise(places)), max(places) + 4]
        _clickable(axes, list(itertools.pairwise(ends)))

    parts = [DiagramPart(name=f"misses up to {at:g} px off", off=(0, at)) for at in places]
    return _diagram(title, words, paint, parts)


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


def _clickable(axes: Axes, spans: Sequence[tuple[float, float]]) -> None:
    """Areas that can't be seen, one for each part, from the bottom to the top."""
    limits = axes.get_xlim()
    for number, (low, high) in enumerate(spans):
        axes.axvspan(low, high, fill=False, linewidth=0, gid=f"part-{number}", zorder=9)
    axes.set_xlim(limits)


def _diagram(title: str, words: str, paint: Callable[[Axes], None], parts: Sequence[DiagramPart] = ()) -> Diagram:
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with mpl.rc_context({**_STYLE, "svg.hashsalt": title}):
        figure = Figure(figsize=(4.2, 2.5), layout="constrained")
        FigureCanvasSVG(figure)
        paint(figure.subplots())
        out = io.StringIO()
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    return Diagram(title=title, svg=_inline(out.getvalue()), words=words, parts=tuple(parts))


def _inline(svg: str) -> str:
    """The drawing itself, in the page's colours, scaling with its place, without names that two drawings share."""
    svg = svg[svg.index("<svg") :]
    for drawn, meant in _COLOURS.items():
        svg = svg.replace(drawn, meant)
    svg = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' id="part-(\d+)"', r' data-part="\1"', svg)
    used = set(re.findall(r"(?:#|url\(#)([\w-]+)", svg))
    svg = re.sub(r' id="([\w.-]+)"', lambda found: found[0] if found[1] in used else "", svg)
    svg = re.sub(r'^(<svg[^>]*?) height="[^"]*"', r"\1", svg)
    svg = re.sub(r'^(<svg[^>]*?) width="[^"]*"', r"\1", svg)
    return re.sub(r"font: ([\d.]+)px [^;\"]*", r"font: \1px system-ui, sans-serif", svg)
