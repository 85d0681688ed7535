"""The curves of trainings as PNG and SVG for documents: one run, or several of a recipe with their median and range."""

from __future__ import annotations

import contextlib
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grounding.errors import UserError
from grounding.records import Record
from grounding.report.plot import COLOURS, MARKERS, STYLE
from grounding.training.page.axes import limits
from grounding.training.page.measures import Measure, measure_of
from grounding.training.page.reading import KINDS, Metrics, read_metrics
from grounding.training.page.series import BINS, MOST_POINTS, Series, binned, joined, smoothed, window_of
from grounding.training.records import MetricsKind

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIELDS = ("reward", "preference_accuracy", "loss", "kl")
"""What is drawn unless something else is asked for, as far as it was measured."""

_PANEL_IN = (3.2, 2.3)
_MOST_MARKED = 40
_STYLES: dict[MetricsKind, str] = {"train": "-", "held_out": "--"}
_NAMES: dict[MetricsKind, str] = {"train": "train", "held_out": "held out"}


class RunGroup(Record, frozen=True, kw_only=True):
    """Runs that differ in their seed only, as one line: ``runs`` are what each of them measured."""

    name: str
    runs: tuple[Metrics, ...]


def run_group(name: str, folders: Sequence[Path], *, stage: str = "") -> RunGroup:
    """What one stage of each of some run folders measured.

    Args:
        name: What the runs have in common, for the legend.
        folders: Folders of training runs.
        stage: Which stage; "" for the last that has measured anything.

    Raises:
        UserError: a run has no such stage, or nothing was measured in it.
    """
    return RunGroup(name=name, runs=tuple(_stage_metrics(folder, stage) for folder in folders))


def _stage_metrics(folder: Path, stage: str) -> Metrics:
    from grounding.training.folder import TrainingFolder

    info = TrainingFolder(folder).read_info()
    names = [each.name for each in info.stages if stage in ("", each.name) and Path(each.name).name == each.name]
    for name in reversed(names):
        path = folder / "stages" / name / "metrics.jsonl"
        try:
            metrics = read_metrics(path)
        except OSError as error:
            raise UserError(f"{path}: can't be read: {error.strerror}") from error
        if metrics.figures:
            return metrics
    known = ", ".join(each.name for each in info.stages) or "none"
    raise UserError(
        f"{folder}: nothing was measured in {f'the stage {stage!r}' if stage else 'any stage'} (its stages: {known})"
    )


def draw_curves(
    runs: Path | Sequence[Path] | Sequence[RunGroup],
    path: Path,
    *,
    fields: Sequence[str] = (),
    kinds: Sequence[MetricsKind] = KINDS,
    stage: str = "",
    title: str = "",
    columns: int = 2,
) -> tuple[Path, ...]:
    """Write curves as a picture, a panel for each figure.

    One run is drawn with its points, pale, under their smoothed line, and with a band of one standard deviation where
    there is one. Several runs in a group are drawn as the median of their smoothed lines, with their range.

    Args:
        runs: A run folder, several of one recipe, or groups of runs, each a line of its own.
        path: The file, ending in ``.png`` or ``.svg``; without an ending both are written.
        fields: Fields of ``MetricsLine`` or names of the trainer's own; () for the usual ones that were measured.
        kinds: Of which examples.
        stage: Which stage of folders; "" for the last that has measured anything.
        title: Stands above, before what lines and bands are.
        columns: Panels beside each other.

    Returns:
        The files.

    Raises:
        UserError: nothing of that was measured, or the file can't be written.
    """
    if path.suffix not in ("", ".png", ".svg"):
        raise UserError(f"{path}: pictures end in .png or .svg; without an ending both are written")
    groups = _groups(runs, stage)
    figure = picture(groups, fields=fields, kinds=kinds, title=title, columns=columns)
    return _save(figure, path)


def _groups(runs: Path | Sequence[Path] | Sequence[RunGroup], stage: str) -> tuple[RunGroup, ...]:
    if isinstance(runs, Path):
        return (run_group("", [runs], stage=stage),)
    groups = tuple(each for each in runs if isinstance(each, RunGroup))
    folders = [each for each in runs if isinstance(each, Path)]
    return (*groups, run_group("", folders, stage=stage)) if folders else groups


def picture(
    groups: Sequence[RunGroup],
    *,
    fields: Sequence[str] = (),
    kinds: Sequence[MetricsKind] = KINDS,
    title: str = "",
    columns: int = 2,
) -> Figure:
    """The figure, not yet on disk; see ``draw_curves``.

    Raises:
        UserError: nothing of that was measured.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    measured = {name for group in groups for run in group.runs for name in run.figures}
    wanted = [name for name in fields or FIELDS if name in measured]
    if not wanted:
        known = ", ".join(sorted(measured)) or "nothing"
        raise UserError(f"there is no curve of {', '.join(fields or FIELDS)}; measured were: {known}")
    wide = min(columns, len(wanted))
    high = -(-len(wanted) // wide)
    note = _note(groups)
    heading = textwrap.wrap(f"{title}{'. ' if title and note else ''}{note}", 54 * wide)
    with mpl.rc_context(STYLE):
        legend = max(1, len(groups))
        size = (_PANEL_IN[0] * wide, _PANEL_IN[1] * high + 0.16 * (legend + len(heading)) + 0.1)
        figure = Figure(layout="constrained", figsize=size)
        FigureCanvasAgg(figure)
        panels = list(figure.subplots(high, wide, squeeze=False).flat)
        for panel, name in zip(panels, wanted, strict=False):
            _panel(panel, measure_of(name), groups, kinds)
        for panel in panels[len(wanted) :]:
            panel.set_axis_off()
        handles: dict[str, Any] = {}
        for panel in panels:
            found, names = panel.get_legend_handles_labels()
            handles |= {name: handle for name, handle in zip(names, found, strict=True) if name not in handles}
        figure.legend(handles.values(), handles.keys(), loc="outside lower left", ncols=min(4, 2 * wide), frameon=False)
        if heading:
            figure.suptitle("\n".join(heading).replace("$", r"\$"), x=0.01, ha="left", fontsize=7.5, color="#444444")
    return figure


def _note(groups: Sequence[RunGroup]) -> str:
    several = sorted({len(group.runs) for group in groups if len(group.runs) > 1})
    if several:
        runs = " or ".join(map(str, several))
        return f"Lines: median of {runs} runs, each smoothed; bands and bars: from the least to the greatest of them."
    return "Pale: as measured; lines: mean of the points around; bands and bars: \u00b1 1 standard deviation."


def _panel(panel: Axes, measure: Measure, groups: Sequence[RunGroup], kinds: Sequence[MetricsKind]) -> None:
    values: list[float] = []
    for number, group in enumerate(groups):
        for kind in kinds:
            found = [one for run in group.runs for one in run.figures.get(measure.field, ()) if one.kind == kind]
            if not found:
                continue
            # A single group has colours for its two kinds, several have one each.
            colour = COLOURS[(number if len(groups) > 1 else KINDS.index(kind)) % len(COLOURS)]
            name = f"{group.name}, {_NAMES[kind]}" if group.name else _NAMES[kind]
            marker = MARKERS[(number if len(groups) > 1 else KINDS.index(kind)) % len(MARKERS)]
            look = _Look(colour=colour, style=_STYLES[kind], marker=marker, name=name)
            if len(group.runs) > 1:
                values += _several(panel, found, look)
            else:
                values += [value for value in found[0].values if value is not None]
                _single(panel, found[0], look, is_exact=measure.is_exact)
    if measure.guide is not None:
        panel.axhline(measure.guide, color="#555555", linestyle=":", linewidth=1.0, zorder=1)
    edges = [edge for collection in panel.collections for edge in collection.get_datalim(panel.transData).intervaly]
    span = limits(values, low=measure.low, high=measure.high)
    if not span.above and not span.below:
        span = limits([*values, *edges], low=measure.low, high=measure.high)
    panel.set_ylim(span.low, span.high)
    far = span.above + span.below
    panel.set_title(f"{measure.title} ({far} values beyond)" if far else measure.title, loc="left")
    panel.set_xlabel("step", loc="right")
    panel.ticklabel_format(axis="y", style="sci", scilimits=(-3, 5), useMathText=True)


class _Look(Record, frozen=True, kw_only=True):
    """How a line is drawn."""

    colour: str
    style: str
    marker: str
    name: str


def _nan(values: Sequence[float | None]) -> list[float]:
    """Matplotlib leaves a gap where a value is no number."""
    return [float("nan") if value is None else value for value in values]


def _single(panel: Axes, one: Series, look: _Look, *, is_exact: bool) -> None:
    window = 1 if is_exact else window_of(len(one.values))
    line = smoothed(one.values, window)
    steps = one.steps
    spreads = smoothed(one.spreads, window) if one.spreads else ()
    if len(steps) > MOST_POINTS:
        bins = binned(steps, one.values, BINS)
        panel.fill_between(
            [each.step for each in bins], _nan([each.low for each in bins]), _nan([each.high for each in bins]),
            color=look.colour, alpha=0.25, linewidth=0, zorder=2,
        )  # fmt: skip
    elif window > 1:
        panel.plot(steps, _nan(one.values), color=look.colour, alpha=0.35, linewidth=0.7, zorder=2)
    if spreads:
        edges = [
            (step, value, spread)
            for step, value, spread in zip(steps, line, spreads, strict=True)
            if value is not None and spread is not None
        ]
        at, middle, reach = ([edge[part] for edge in edges] for part in range(3))
        _reach(panel, at, [m - r for m, r in zip(middle, reach, strict=True)],
               [m + r for m, r in zip(middle, reach, strict=True)], look)  # fmt: skip
    _line(panel, steps, _nan(line), look)


def _several(panel: Axes, found: Sequence[Series], look: _Look) -> list[float]:
    """Draw the median and the range; returns what is drawn."""
    at = joined(found)
    if not at:
        return []
    steps = [each.step for each in at]
    _reach(panel, steps, [each.low for each in at], [each.high for each in at], look)
    _line(panel, steps, [each.median for each in at], look)
    return [value for each in at for value in (each.low, each.high)]


def _reach(panel: Axes, steps: Sequence[float], low: Sequence[float], high: Sequence[float], look: _Look) -> None:
    """From low to high: an area, or, of a dashed line with few points, bars, since two areas hide each other."""
    if look.style == "--" and len(steps) <= _MOST_MARKED:
        panel.vlines(steps, low, high, color=look.colour, alpha=0.6, linewidth=0.9, zorder=2)
    else:
        panel.fill_between(steps, low, high, color=look.colour, alpha=0.15, linewidth=0, zorder=1)


def _line(panel: Axes, steps: Sequence[float], values: Sequence[float], look: _Look) -> None:
    few = len(steps) <= _MOST_MARKED and (look.style == "--" or len(steps) < 3)
    panel.plot(
        steps, values, color=look.colour, linestyle=look.style, linewidth=1.5, zorder=4, label=look.name,
        marker=look.marker if few else None, markersize=3.2,
    )  # fmt: skip


def _save(figure: Figure, path: Path) -> tuple[Path, ...]:
    import matplotlib as mpl

    options: dict[str, dict[str, Any]] = {".png": {"dpi": 200}, ".svg": {"metadata": {"Date": None}}}
    with mpl.rc_context(STYLE):
        # The layout moves a little each time that it is worked out: both files shall have the same.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
    written = []
    for ending in (path.suffix,) if path.suffix else tuple(options):
        target = path.with_suffix(ending)
        draft = target.with_name(f".{target.name}.new")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with mpl.rc_context(STYLE):
                figure.savefig(draft, format=ending[1:], facecolor="white", **options[ending])
            draft.replace(target)
        except OSError as error:
            raise UserError(f"{target}: can't be written: {error.strerror}") from error
        finally:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)
        written.append(target)
    return tuple(written)
