"""A run's diagrams as SVG that takes its colours from the page: five numbers a scored step in, plots out."""

from __future__ import annotations

import io
import itertools
import math
import re
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from grounding.records import Point, Record, Region, Size
from grounding.report.clicks import AREA_SIDES_PX, ORDERS, POSITIONS
from grounding.report.html.content import Diagram, DiagramPart
from grounding.scoring.intervals import Interval, wilson
from grounding.scoring.scored import Estimate, shape_areas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OFF_PX = (3, 10, 30, 100, 300, 1000)
"""Distances between which misses are counted together."""

TOLERANCES_PX = (0, 5, 10, 20, 30, 50, 75, 100, 150, 200, 300)
"""Distances at which the tolerance curve is drawn."""

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
_LONGEST_NAME = 18
_MOST_POINTS = 1_000  # of a line that are drawn; the drawing is some 400 pixels wide
_MOST_PARTS = 60  # of a line that can be clicked


# --- numbers --------------------------------------------------------------------------------------------------------


class StepColumns(Record, frozen=True, kw_only=True):
    """The scored steps in the order of their tasks, one entry a step in each column.

    ``task`` numbers the tasks that have a scored step from 0. ``distance_px`` is NaN where a step has none,
    ``area_px2`` that of the region's shapes together and 0 where it has none, ``ninth`` (of the screen, row by row from
    the top left, in which its first shape has its middle) -1 there.
    """

    task: NDArray[np.int64]
    is_hit: NDArray[np.bool_]
    distance_px: NDArray[np.float64]
    area_px2: NDArray[np.float64]
    ninth: NDArray[np.int64]

    @property
    def place(self) -> NDArray[np.int64]:
        """The number of each step in its task, from 0."""
        starts = np.flatnonzero(np.diff(self.task, prepend=-1))
        lengths = np.diff(np.append(starts, len(self.task)))
        return np.arange(len(self.task), dtype=np.int64) - np.repeat(starts, lengths)


class Measuring:
    """Takes scored steps one by one, in any order of their tasks, and keeps nothing of them but the numbers."""

    def __init__(self) -> None:
        self._task, self._ninth, self._is_hit = array("q"), array("q"), array("b")
        self._distance, self._area = array("d"), array("d")

    def add(
        self,
        task: int,
        is_hit: bool,
        distance_px: float | None = None,
        *,
        region: Region | None = None,
        at: Point | None = None,
        size: Size | None = None,
    ) -> None:
        """Take one step. ``task`` is any number that only the steps of its task have; ``at`` is where it is right."""
        if at is None and region is not None:
            at = _middle(region)
        self._task.append(task)
        self._is_hit.append(is_hit)
        self._distance.append(math.nan if distance_px is None else distance_px)
        self._area.append(sum(shape_areas(region)) if region is not None else 0.0)
        ninth = -1
        if at is not None and size is not None:
            ninth = 3 * _third(at.y_px, size.height) + _third(at.x_px, size.width)
        self._ninth.append(ninth)

    def done(self) -> StepColumns:
        """All steps so far: tasks in the order of their numbers, and steps as they came within each."""
        tasks = np.array(self._task, dtype=np.int64)
        order = np.argsort(tasks, kind="stable")
        _, numbered = np.unique(tasks[order], return_inverse=True)
        return StepColumns(
            task=numbered.astype(np.int64),
            is_hit=np.array(self._is_hit, dtype=np.bool_)[order],
            distance_px=np.array(self._distance, dtype=np.float64)[order],
            area_px2=np.array(self._area, dtype=np.float64)[order],
            ninth=np.array(self._ninth, dtype=np.int64)[order],
        )


def _middle(region: Region) -> Point | None:
    if region.boxes:
        return region.boxes[0].center
    if not region.polygons:
        return None
    corners = region.polygons[0].points
    x, y = sum(point.x_px for point in corners), sum(point.y_px for point in corners)
    return Point(x_px=x / len(corners), y_px=y / len(corners))


def _third(at_px: float, whole_px: int) -> int:
    return min(2, max(0, int(3 * at_px / whole_px)))


class Bin(Record, frozen=True, kw_only=True):
    """Some of the steps: ``k`` of ``n`` are hits. ``group`` is what the page calls these steps, kind and name."""

    name: str
    k: int
    n: int
    group: str = ""

    @property
    def percent(self) -> float:
        """The share of hits; 0 where there is nothing."""
        return 100 * self.k / self.n if self.n else 0.0

    @property
    def interval(self) -> Interval:
        """Wilson's 95 % interval in percent, which takes the steps for independent of each other."""
        return wilson(self.k, self.n)


def _bins(
    kind: str, names: Sequence[str], labels: Sequence[str], at: NDArray[np.int64], is_hit: NDArray[np.bool_]
) -> tuple[Bin, ...]:
    """The groups of a kind; ``at`` is each step's place among their names."""
    n = np.bincount(at, minlength=len(names))
    k = np.bincount(at[is_hit], minlength=len(names))
    return tuple(
        Bin(name=label, k=int(k[place]), n=int(n[place]), group=f"{kind}: {name}")
        for place, (name, label) in enumerate(zip(names, labels, strict=True))
    )


def alive(steps: StepColumns) -> tuple[float, ...]:
    """The share of tasks in percent without a wrong step after 0, 1, 2, … of their steps.

    A task that ended well stays alive, so that the last value is the task success.
    """
    place, tasks = steps.place, int(steps.task[-1]) + 1
    longest = int(place.max()) + 1
    died = np.full(tasks, longest, dtype=np.int64)
    np.minimum.at(died, steps.task[~steps.is_hit], place[~steps.is_hit])
    gone = np.concatenate(([0], np.cumsum(np.bincount(died, minlength=longest + 1)[:longest])))
    return tuple(100 * (tasks - int(count)) / tasks for count in gone)


def by_area(steps: StepColumns) -> tuple[Bin, ...]:
    """Steps by the area of their gold region, without sizes that none has."""
    there = steps.area_px2 > 0
    sizes = np.searchsorted([side * side for side in AREA_SIDES_PX], steps.area_px2[there], side="right")
    labels = (
        f"<{AREA_SIDES_PX[0]}",
        *(f"{low}-{high}" for low, high in itertools.pairwise(AREA_SIDES_PX)),
        f"{AREA_SIDES_PX[-1]}+",
    )
    found = _bins("gold-area", ORDERS["gold-area"][1:], labels, sizes, steps.is_hit[there])
    return tuple(each for each in found if each.n)


def by_position(steps: StepColumns) -> tuple[Bin, ...]:
    """Steps by their number in their task; late ones are put together."""
    names = ORDERS["position"]
    found = _bins("position", names, names, np.searchsorted(POSITIONS, steps.place + 1), steps.is_hit)
    return tuple(each for each in found if each.n)


def by_screen_place(steps: StepColumns) -> tuple[tuple[Bin, ...], ...]:
    """Steps by where on the screen they are right: three rows from above, of three from the left."""
    there, names = steps.ninth >= 0, ORDERS["screen-place"][:9]
    found = _bins("screen-place", names, names, steps.ninth[there], steps.is_hit[there])
    return found[:3], found[3:6], found[6:]


def tolerance_curve(steps: StepColumns) -> tuple[float, ...]:
    """The share of all scored steps in percent whose click is at most so many pixels (``TOLERANCES_PX``) beside."""
    # A hit where the target is absent has no distance.
    right = int((steps.is_hit & np.isnan(steps.distance_px)).sum())
    return tuple(100 * (right + int((steps.distance_px <= most).sum())) / len(steps.task) for most in TOLERANCES_PX)


# --- drawings -------------------------------------------------------------------------------------------------------


def draw_diagrams(steps: StepColumns, *, independent: bool = False) -> tuple[Diagram, ...]:
    """All diagrams of clicks for which there is something to show.

    Args:
        steps: The run.
        independent: No step follows another, so that positions in a task mean nothing.
    """
    if not len(steps.task):
        return ()
    found = []
    if not independent:
        found += [progress(steps), bars("Accuracy by step of the task", by_position(steps), "step of the task")]
    if areas := by_area(steps):
        found.append(bars("Accuracy by size of the gold region", areas, "side of a square of its area, px"))
    found.append(screen(by_screen_place(steps)))
    off = [float(distance) for distance in steps.distance_px[~steps.is_hit] if distance > 0]
    if off:
        found.append(_distances(off))
    shares = tolerance_curve(steps)
    words = (
        f"n = {_count(len(steps.task))} scored steps: {shares[0]:.1f} % inside; {shares[5]:.1f} % at most 50 px beside."
    )
    label = "px beside the region that would still count"
    return (*found, curve("If clicks beside the region counted", TOLERANCES_PX, shares, label, words))


def progress(steps: StepColumns) -> Diagram:
    """How many tasks have no wrong step after so many of their steps."""
    from matplotlib.ticker import MaxNLocator

    shares = alive(steps)
    places, steps_ = _turns(shares), range(1, len(shares) if len(shares) <= _MOST_PARTS else 1)

    def paint(axes: Axes) -> None:
        axes.step(places, [shares[at] for at in places], where="post", color=_HIT, linewidth=1.8)
        _clickable(axes, [(step - 0.5, step + 0.5) for step in steps_])
        axes.set(xlabel="steps done", ylabel="tasks alive, %", ylim=(0, 103), xlim=(0, len(shares) - 1))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))

    half = next((at for at, share in enumerate(shares) if share <= 50), None)
    words = "" if half is None else f" Half of the tasks have a wrong step by step {half}."
    tasks = _count(int(steps.task[-1]) + 1)
    words = f"n = {tasks} tasks; {shares[-1]:.1f} % have none at the end.{words}"
    parts = [DiagramPart(name=f"first wrong step is number {step}", group=f"first-wrong: {step}") for step in steps_]
    return _diagram("Tasks without a wrong step so far", words, paint, parts)


def _turns(values: Sequence[float]) -> Sequence[int]:
    """The places at which a line is drawn: all of a short one, of a long one those where it changes, thinned out."""
    if len(values) <= _MOST_POINTS:
        return range(len(values))
    last = len(values) - 1
    turns = [at for at in range(1, last) if values[at] != values[at - 1]]
    return [0, *turns[:: max(1, math.ceil(len(turns) / _MOST_POINTS))], last]


def bars(title: str, bins: Sequence[Bin], label: str) -> Diagram:
    """The shares of hits of some parts of the steps, side by side."""

    def paint(axes: Axes) -> None:
        reach = [
            [max(0.0, each.percent - each.interval.low) for each in bins],
            [max(0.0, each.interval.high - each.percent) for each in bins],
        ]
        places, lines = range(len(bins)), {"elinewidth": 1, "capsize": 2}
        axes.bar(
            places, [each.percent for each in bins], color=_HIT, width=0.65, yerr=reach, ecolor=_INK, error_kw=lines
        )
        axes.set_xticks(places, [f"{each.name}\n{_short(each.n, len(bins))}" for each in bins])
        axes.set(xlabel=label, ylabel="hits, %", ylim=(0, 103))
        _clickable(axes, [(place - 0.5, place + 0.5) for place in places])

    words = "; ".join(f"{each.name}: {_count(each.k)}/{_count(each.n)}" for each in bins)
    words = f"{words}. Bars: 95 % Wilson intervals, steps taken as independent."
    return _diagram(title, words, paint, [DiagramPart(name=each.name, group=each.group) for each in bins])


def screen(rows: Sequence[Sequence[Bin]]) -> Diagram:
    """The shares of hits by ninth of the screen."""

    def paint(axes: Axes) -> None:
        from matplotlib.patches import Rectangle

        axes.grid(visible=False)
        for number, row in enumerate(rows):
            for column, each in enumerate(row):
                strength = 0.06 + 0.6 * each.percent / 100 if each.n else 0.0
                corner = (column + 0.02, number + 0.02)
                cell = Rectangle(corner, 0.96, 0.96, facecolor=_HIT, alpha=strength, linewidth=0)
                cell.set_gid(f"part-{3 * number + column}")
                axes.add_patch(cell)
                text = f"{each.percent:.0f} %\n{_count(each.k)}/{_count(each.n)}" if each.n else "none"
                axes.text(column + 0.5, number + 0.5, text, ha="center", va="center")
        axes.set(xlim=(0, 3), ylim=(3, 0), xticks=[], yticks=[])

    words = "; ".join(", ".join(f"{_count(each.k)}/{_count(each.n)}" for each in row) for row in rows)
    title = "Accuracy by place on the screen"
    parts = [DiagramPart(name=each.name, group=each.group) for row in rows for each in row]
    return _diagram(title, f"Hits by ninth of the screen, from the top left: {words}.", paint, parts)


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
    """Shares in per cent at other tolerances."""

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


# --- the sweeps that a run was part of ------------------------------------------------------------------------------

MAX_SWEEPS = 6
MAX_BYTES = 64 << 20

SweptValue = str | int | float | bool | None


class _Row(Record, frozen=True, kw_only=True):
    """What is read of a row of ``sweep.json``; the rest of it is passed over."""

    values: dict[str, SweptValue]
    folder: str
    summary: dict[str, Any] | None

    @property
    def extra(self) -> dict[str, Any]:
        return {} if self.summary is None else self.summary["scores"].get("extra", {})

    def of(self, metric: str) -> Estimate | None:
        """The row's value of a metric; None where it has none."""
        found = None
        if self.summary is not None:
            found = self.extra.get(metric) or self.summary["scores"]["paper"].get(metric)
        known = None if found is None else msgspec.convert(found, Estimate)
        return None if known is None or known.value is None else known


class Curve(Record, frozen=True, kw_only=True):
    """Step accuracy, or a registered metric beyond the paper's, along one swept option.

    ``here`` is the place of the run that the page is about. Names are the option's values as text; all other options
    have the value that they have in that run.
    """

    metric: str
    unit: str
    option: str
    names: tuple[str, ...]
    estimates: tuple[Estimate, ...]
    here: int


def sweep_curves(run: Path) -> tuple[Curve, ...]:
    """The curves on which a run lies: one for each option of each sweep in the folder that holds the run's folder.

    A file that is not a sweep of this version is passed over, since the page is about the run.
    """
    found: list[Curve] = []
    for path in sorted(run.resolve().parent.glob("sweep_*/sweep.json"))[:MAX_SWEEPS]:
        try:
            if path.stat().st_size <= MAX_BYTES:
                rows = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])["rows"]
                found += _curves(msgspec.convert(rows, list[_Row]), run.name)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, LookupError):
            continue
    return tuple(found)


def _curves(rows: Sequence[_Row], run_name: str) -> list[Curve]:
    own = next((row for row in rows if row.folder and Path(row.folder).name == run_name), None)
    if own is None:
        return []
    curves = []
    for option, metric in itertools.product(own.values, ("step_accuracy", *own.extra)):
        others = {name: value for name, value in own.values.items() if name != option}
        along = [
            (row, found)
            for row in rows
            if (found := row.of(metric)) is not None and others == {name: row.values.get(name) for name in others}
        ]
        here = next((at for at, (row, _) in enumerate(along) if row is own), None)
        if len(along) > 1 and here is not None:
            values = (row.values.get(option) for row, _ in along)
            curves.append(
                Curve(
                    metric=metric.replace("_", " "),
                    unit=along[0][1].unit,
                    option=option.replace("_", " "),
                    names=tuple("none" if value is None else str(value) for value in values),
                    estimates=tuple(found for _, found in along),
                    here=here,
                )
            )
    return curves


def draw_curves(curves: Sequence[Curve]) -> tuple[Diagram, ...]:
    """One diagram for each curve, with the intervals, joined where there is an order, the run itself filled."""
    return tuple(map(_sweep_diagram, curves))


def _sweep_diagram(found: Curve) -> Diagram:
    values = [each.value or 0.0 for each in found.estimates]
    pairs = list(zip(values, found.estimates, strict=True))
    reach = [
        [max(0.0, value - (value if each.low is None else each.low)) for value, each in pairs],
        [max(0.0, (value if each.high is None else each.high) - value) for value, each in pairs],
    ]
    ordered = all(re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?", name) for name in found.names)
    short = [name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…" for name in found.names]

    def paint(axes: Axes) -> None:
        places = range(len(short))
        axes.errorbar(places, values, yerr=reach, fmt="o-" if ordered else "o", color=_INK, mfc="none", capsize=2)
        axes.plot([found.here], [values[found.here]], "o", color=_HIT, markersize=7)
        axes.set_xticks(places, [text.replace("$", r"\$") for text in short])
        axes.set(xlabel=found.option, ylabel=f"{found.metric}, {found.unit}", xlim=(-0.5, len(short) - 0.5))
        axes.set_ylim(0, 103 if found.unit == "%" else None)

    words = "; ".join(
        f"{name}: {value:.1f} {found.unit} ({f'n = {each.n}' if each.k is None else f'{each.k}/{each.n}'})"
        for name, (value, each) in zip(short, pairs, strict=True)
    )
    words = f"{words}. This run: {short[found.here]}. Bars: the runs' 95 % intervals."
    return _diagram(f"Sweep: {found.metric} by {found.option}", words, paint)
