"""Several runs and their comparison: planners with grounders, every combination of options, repeats of one run."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from grounding.atomic import atomic_write
from grounding.console import wide_console
from grounding.data.release import data_name
from grounding.options import EvalOptions, ScoringName
from grounding.records import Record
from grounding.report.matrix import WIDE, MatrixRow, columns_of, print_matrix
from grounding.report.plot import NUMERIC, PlotPoint, SweepPlot, draw, x_axis
from grounding.run.benchmark import Result
from grounding.run.folder import TRANSCRIPTS
from grounding.run.scorebook import ScoredClicks, scored_tasks
from grounding.scoring import Comparison, Summary, compare, registered
from grounding.scoring.metrics import shown

SweptValue = str | int | float | bool | None


def comparisons(result: Result[ScoredClicks]) -> dict[int, Comparison]:
    """How each run differs from the baseline, by its number; without those that are over other steps or not there."""
    base = result.rows[result.baseline].scored
    if base is None:
        return {}
    theirs = scored_tasks(base)
    found = {}
    for number, row in enumerate(result.rows):
        if number == result.baseline or row.scored is None:
            continue
        try:
            found[number] = compare(
                registered(), scored_tasks(row.scored), theirs, seed=base.info.asked.seed, clusters=base.info.clusters
            )
        except ValueError:
            continue  # Over other steps: the runs are a series of data sets, not of models.
    return found


# --- planners and grounders ---------------------------------------------------------------------------------------


class NamedSummary(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One run of several, as ``--json`` prints it. ``difference`` is to the baseline, None where it can't be told."""

    name: str
    planner: str
    grounder: str
    folder: str
    problem: str
    summary: Summary | None
    difference: Comparison | None


def named(result: Result[ScoredClicks], compared: Mapping[int, Comparison] | None = None) -> tuple[NamedSummary, ...]:
    """The runs with their differences to the baseline: what ``--json`` prints of several."""
    compared = comparisons(result) if compared is None else compared
    found = []
    for number, row in enumerate(result.rows):
        planner, grounder = (
            (row.scored.info.asked.planner, row.scored.info.asked.grounder)
            if row.scored
            else (row.options.planner, row.options.grounder)
        )
        found.append(
            NamedSummary(
                name=row.name,
                planner=planner,
                grounder=grounder,
                folder=str(row.scored.folder) if row.scored else "",
                problem=row.problem,
                summary=_summary(row.scored) if row.scored else None,
                difference=compared.get(number),
            )
        )
    return tuple(found)


def _summary(scored: ScoredClicks) -> Summary:
    if not (scored.folder / TRANSCRIPTS).exists():
        return scored.summary
    # Only runs over speech load what it takes.
    from grounding.asr.table import heard_run

    return heard_run(scored).summary


def show_matrix(result: Result[ScoredClicks], scoring: ScoringName) -> None:
    compared = comparisons(result)
    rows = [
        MatrixRow(values=(one.name,), block=one.grounder, summary=one.summary, problem=one.problem, folder=one.folder)
        for one in named(result, compared)
    ]
    what = "no run"
    if result.scored:
        first = result.scored[0]
        counts = first.summary.counts
        what = (
            f"{data_name(first.info.asked.dataset, first.info.departs)} · {counts.steps} steps in {counts.tasks} tasks"
        )
    print_matrix(
        wide_console(WIDE),
        rows,
        title=what,
        headings=("planner + grounder",),
        scoring=scoring,
        compared=compared,
        baseline=result.baseline,
    )


# --- sweeps -------------------------------------------------------------------------------------------------------


class SweepRow(NamedSummary, frozen=True, kw_only=True, omit_defaults=False):
    """One combination, with its values by the options' names."""

    values: dict[str, SweptValue]


class SweepResult(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The content of ``sweep.json``. ``swept`` maps each option with several values to them, in the order given."""

    schema: int = 1
    command: str
    swept: dict[str, tuple[SweptValue, ...]]
    baseline: int
    rows: tuple[SweepRow, ...]


@dataclass(frozen=True)
class Swept:
    """A sweep as it was written down: the content of its file, and its plots."""

    content: SweepResult
    along: str
    drawn: tuple[Path, ...]
    compared: Mapping[int, Comparison]

    @property
    def what(self) -> str:
        return _what(self.content, tuple(self.content.swept))


def write_sweep(result: Result[ScoredClicks]) -> Swept:
    folder, varying = result.folder, result.varying
    assert folder is not None
    compared = comparisons(result)
    values = [{name: swept_value(row.options, name) for name in varying} for row in result.rows]
    content = SweepResult(
        command=result.command,
        swept={name: tuple(dict.fromkeys(row[name] for row in values)) for name in varying},
        baseline=result.baseline,
        rows=tuple(
            SweepRow(values=row, **msgspec.structs.asdict(one))
            for row, one in zip(values, named(result, compared), strict=True)
        ),
    )
    atomic_write(folder / "sweep.json", msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n")
    atomic_write(folder / "sweep.csv", sweep_csv(content).encode())
    along = x_axis(content.swept)
    drawn = draw(_plot(content, along, _what(content, varying)), folder)
    if varying == ("transcript",):
        from grounding.asr.table import draw_levels, heard_run

        drawn += draw_levels([heard_run(scored) for scored in result.scored], folder, _what(content, varying))
    return Swept(content, along, drawn, compared)


def show_sweep(result: Result[ScoredClicks], swept: Swept, scoring: ScoringName) -> None:
    console = wide_console(WIDE)
    print_matrix(
        console,
        [_table_row(row, swept.along) for row in swept.content.rows],
        title=swept.what,
        headings=[name.replace("_", " ") for name in result.varying],
        scoring=scoring,
        compared=swept.compared,
        baseline=result.baseline,
    )
    if "transcript" in result.varying:
        from grounding.asr.table import heard_run, print_notes

        print_notes(console, [heard_run(scored) for scored in result.scored])
    print(f"sweep      {result.folder}: {', '.join(['sweep.json', 'sweep.csv', *(path.name for path in swept.drawn)])}")


def swept_value(options: EvalOptions, name: str) -> SweptValue:
    value = getattr(options, name)
    if name == "transcript" and value is None:
        return "truth"
    if isinstance(value, Path):
        return value.stem if value.suffix else value.name
    if isinstance(value, str) and "/" in value and value.endswith((".yaml", ".yml")):
        return Path(value).stem
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)


def value_words(options: EvalOptions, name: str) -> str:
    """An option's value as a word of a run's name."""
    return _text(swept_value(options, name))


def _text(value: SweptValue) -> str:
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _name(values: Sequence[SweptValue]) -> str:
    return ", ".join(map(_text, values))


def _table_row(row: SweepRow, along: str) -> MatrixRow:
    return MatrixRow(
        values=tuple(map(_text, row.values.values())),
        block=_name([value for name, value in row.values.items() if name != along]) if along else "",
        summary=row.summary,
        problem=row.problem,
        folder=row.folder,
    )


def _what(result: SweepResult, varying: Sequence[str]) -> str:
    there = [row.summary for row in result.rows if row.summary is not None]
    words = []
    for name in ("planner", "grounder"):
        found = {getattr(row, name) for row in result.rows}
        if name not in varying and len(found) == 1:
            words.append(f"{name} {found.pop()}")
    sizes = sorted({(summary.counts.steps, summary.counts.tasks) for summary in there})
    if len(sizes) == 1:
        words.append(f"{sizes[0][0]} steps in {sizes[0][1]} tasks")
    elif sizes:
        words.append(f"{sizes[0][0]} to {sizes[-1][0]} steps")
    datasets = {summary.signature.partition("|")[0].removeprefix("dataset:").partition("@")[0] for summary in there}
    return " · ".join([*sorted(datasets), *words])


def _plot(result: SweepResult, along: str, what: str) -> SweepPlot:
    points = []
    for row in result.rows:
        if row.summary is None:
            continue
        x = row.values.get(along)
        points.append(
            PlotPoint(
                series=_name([value for name, value in row.values.items() if name != along]),
                x=float(x) if along and isinstance(x, NUMERIC) else None,
                scores=row.summary.scores,
                partial=row.summary.status == "partial",
            )
        )
    return SweepPlot(
        points=tuple(points),
        metrics=columns_of([row.summary for row in result.rows if row.summary is not None]),
        x_option=along,
        series_options=tuple(name for name in result.swept if name != along),
        subtitle=what,
    )


def sweep_csv(result: SweepResult) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    scores = [each.name for each in shown([row.summary.scores for row in result.rows if row.summary is not None])]
    counts = ("steps", "hit", "miss", "unparsed", "error", "missing", "unasked")
    ends = ("", "_low", "_high", "_k", "_n")
    figures = [f"{score}{end}" for score in scores for end in ends]
    writer.writerow([*result.swept, *figures, "status", *counts, "usd", "run_folder"])
    for row in result.rows:
        cells: list[object] = [_text(value) for value in row.values.values()]
        for score in scores:
            found = row.summary.scores.of(score) if row.summary else None
            cells += ["", "", "", "", ""] if found is None else [found.value, found.low, found.high, found.k, found.n]
        cells.append(row.summary.status if row.summary else "not run")
        cells += [getattr(row.summary.counts, name) if row.summary else "" for name in counts]
        cells += [row.summary.cost.usd if row.summary else "", row.folder]
        writer.writerow(["" if cell is None else cell for cell in cells])
    return out.getvalue()
