"""A sweep's combinations run and written down: ``sweep.json``, ``sweep.csv`` and the plot, in a folder of their own."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from grounding.board import board_folder, runs_hash
from grounding.combinations import combine
from grounding.desktop.command import desktop_command
from grounding.desktop.refusals import point_scoring
from grounding.errors import UserError
from grounding.loaders import is_desktop
from grounding.manyruns import fit_all, plan_runs, run_all
from grounding.matrix import comparisons, exit_code
from grounding.options import DesktopScoringName, EvalOptions
from grounding.planned import PlannedRun, RunOutcome
from grounding.records import Record
from grounding.report.html.written import with_report
from grounding.report.matrix import WIDE, MatrixRow, print_lines, print_matrix
from grounding.report.plot import Point, SweepPlot, draw
from grounding.report.published import PAPER
from grounding.report.show import wide_console
from grounding.scorebook import Scored
from grounding.scoring import Comparison, Estimate, PaperScores, Summary

if TYPE_CHECKING:
    from grounding.asr.ablation import Ablation

SweptValue = str | int | float | bool | None

_NUMERIC = (int, float)


class SweepRow(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One combination: its values by the options' names, and the run. ``difference`` is to the baseline."""

    values: dict[str, SweptValue]
    planner: str
    grounder: str
    folder: str
    problem: str
    summary: Summary | None
    difference: Comparison | None


class SweepResult(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The content of ``sweep.json``. ``swept`` maps each option with several values to them, in the order given."""

    schema: Literal[1] = 1
    command: str
    swept: dict[str, tuple[SweptValue, ...]]
    baseline: int
    rows: tuple[SweepRow, ...]


def sweep(
    given: Mapping[str, Any],
    *,
    axes: Sequence[str],
    varying: Sequence[str],
    command: str,
    scoring: DesktopScoringName,
    as_json: bool,
    baseline: str | None,
    dry_run: bool = False,
) -> int:
    """Run every combination, print the table, write the files; the exit code is that of several runs.

    Args:
        given: Arguments of ``grounding eval`` by their names, with all values of each of the ``axes``.
        axes: The options that may have several values.
        varying: Those of them that have.
        command: What the user typed.
        scoring: Which definition the table shows; ``strict`` is for desktop tasks.
        as_json: Print ``sweep.json`` instead of the table.
        dry_run: Only show what the runs would ask.
        baseline: The name of the row that the others are compared with; the first where it is None.

    Raises:
        UserError: something is missing or wrong for one of the combinations; nothing was asked of any model yet.
    """
    # The option along the plot's axis changes fastest, so that the rows of one line follow one another.
    along = x_axis({name: given[name] for name in varying})
    ordered = [*(name for name in axes if name != along), *((along,) if along else ())]
    runs = combine(given, ordered, command=command)
    if len(runs) < 2:
        raise UserError("nothing is swept: these combinations are all the same run")
    log_dir, published = runs[0].log_dir, bool(given.get("published", False))
    kinds = {is_desktop(run.dataset) for run in runs}
    if kinds == {True}:
        return desktop_command(
            runs,
            scoring=scoring,
            as_json=as_json,
            baseline=baseline,
            published=published,
            write_to=lambda run_ids: log_dir / f"sweep_{runs_hash(run_ids)}",
        )
    if len(kinds) > 1:
        raise UserError("--dataset: desktop tasks and clicks have different scores; sweep them one by one")
    scoring = point_scoring(runs[0], scoring, published=published)
    if dry_run:
        from grounding.dryrun import dry_run_command

        return dry_run_command(fit_all(runs), as_json=as_json)
    planned = plan_runs(runs)
    shown = {name: tuple(dict.fromkeys(swept_value(run.options, name) for run in planned)) for name in varying}
    first = _baseline(planned, varying, baseline)
    folder = board_folder("sweep", planned)
    ran = run_all(planned, folder)
    outcomes = ran.outcomes
    compared = comparisons(outcomes, first)
    result = SweepResult(
        command=command,
        swept=shown,
        baseline=first,
        rows=tuple(_row(outcome, varying, compared.get(number)) for number, outcome in enumerate(outcomes)),
    )
    _write(folder, result)
    what = _what(result, varying)
    drawn = draw(_plot(result, along, what), folder)
    for outcome in outcomes:  # Their pages were written before there was a curve to show.
        if outcome.scored is not None and outcome.scored.report is not None:
            with_report(outcome.scored)
    speech = _speech(outcomes, varying, folder, given) if "transcript" in varying else ()
    if as_json:
        print(msgspec.json.format(msgspec.json.encode(result), indent=2).decode())
    else:
        console, rows = wide_console(WIDE), [_table_row(row, along) for row in result.rows]
        if scoring == "paper" and set(varying) == {"transcript"} and speech:
            _print_speech(speech)
            print_lines(console, rows, scoring=scoring, compared=compared)
        else:
            print_matrix(
                console,
                rows,
                title=what,
                headings=[name.replace("_", " ") for name in varying],
                scoring=scoring,
                compared=compared,
                baseline=first,
            )
            _print_speech(speech)
        print(f"sweep      {folder}: {', '.join(['sweep.json', 'sweep.csv', *(path.name for path in drawn)])}")
        for each in speech:
            print(f"speech     {', '.join(path.name for path in each.files)}")
    return exit_code(ran, outcomes)


class SpeechShown(Record, frozen=True, kw_only=True):
    """What recognition errors did for one combination of the other options, and the files that show it."""

    ablation: Ablation
    files: tuple[Path, ...]
    published: bool


def _speech(
    outcomes: Sequence[RunOutcome], varying: Sequence[str], folder: Path, given: Mapping[str, Any]
) -> tuple[SpeechShown, ...]:
    """The runs that differ only in their transcripts, compared and written down: one for each of the other values."""
    # Only sweeps over speech load what it takes.
    from grounding.asr.spoken import slug
    from grounding.asr.writing import ablate_runs, title_of, write_ablation

    groups: dict[str, list[Scored]] = {}
    for outcome in outcomes:
        if outcome.scored is not None:
            others = [swept_value(outcome.run.options, name) for name in varying if name != "transcript"]
            groups.setdefault(_name(others), []).append(outcome.scored)
    found = []
    for name, runs in groups.items():
        published = runs[0].info.asked.dataset == PAPER
        try:
            ablation = ablate_runs(runs, title=" · ".join(filter(None, (title_of(runs[0]), name))))
        except UserError as error:
            print(f"grounding: warning: no table of transcripts: {error}", file=sys.stderr, flush=True)
            continue
        files = write_ablation(
            folder,
            ablation,
            name="speech" if len(groups) == 1 else f"speech-{slug(name)}",
            published=published,
            noise_dir=given.get("noise_dir"),
        )
        found.append(SpeechShown(ablation=ablation, files=files, published=published))
    return tuple(found)


def _print_speech(speech: Sequence[SpeechShown]) -> None:
    from grounding.asr.table import print_ablation

    for each in speech:
        print_ablation(wide_console(WIDE), each.ablation, published=each.published)


def x_axis(values: Mapping[str, Sequence[Any]]) -> str:
    """The option along the plot's axis: the numeric one with the most values; "" where none is numeric."""
    numeric = {
        name: len(found)
        for name, found in values.items()
        if all(isinstance(one, _NUMERIC) and not isinstance(one, bool) for one in found)
    }
    return max(numeric, key=lambda name: numeric[name], default="")


def swept_value(options: EvalOptions, name: str) -> SweptValue:
    """An option's value in a run, as it is shown: a path by its name without the ending."""
    value = getattr(options, name)
    if name == "transcript" and value is None:
        return "truth"
    if isinstance(value, Path):
        return value.stem if value.suffix else value.name
    if isinstance(value, str) and "/" in value and value.endswith((".yaml", ".yml")):
        return Path(value).stem
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)


def _text(value: SweptValue) -> str:
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _name(values: Sequence[SweptValue]) -> str:
    return ", ".join(map(_text, values))


def _baseline(planned: Sequence[PlannedRun], varying: Sequence[str], wanted: str | None) -> int:
    names = [_name([swept_value(run.options, name) for name in varying]) for run in planned]
    if wanted is None:
        return 0
    bare = [_bare(name) for name in names]
    if _bare(wanted) not in bare:
        raise UserError(f"--baseline {wanted}: no combination is called so; there are {'; '.join(names)}")
    return bare.index(_bare(wanted))


def _bare(name: str) -> list[str]:
    """The values in a combination's name, whether there are commas between them or blanks."""
    return name.replace(",", " ").split()


def _row(outcome: RunOutcome, varying: Sequence[str], difference: Comparison | None) -> SweepRow:
    scored = outcome.scored
    return SweepRow(
        values={name: swept_value(outcome.run.options, name) for name in varying},
        planner=outcome.run.planner,
        grounder=outcome.run.grounder,
        folder=str(scored.folder) if scored else "",
        problem=outcome.problem,
        summary=scored.summary if scored else None,
        difference=difference,
    )


def _table_row(row: SweepRow, along: str) -> MatrixRow:
    return MatrixRow(
        values=tuple(map(_text, row.values.values())),
        block=_name([value for name, value in row.values.items() if name != along]) if along else "",
        summary=row.summary,
        problem=row.problem,
        folder=row.folder,
    )


def _what(result: SweepResult, varying: Sequence[str]) -> str:
    """What all combinations have in common, and over how much they are measured."""
    ran = [row for row in result.rows if row.summary is not None]
    words = []
    for name in ("planner", "grounder"):
        found = {getattr(row, name) for row in result.rows}
        if name not in varying and len(found) == 1:
            words.append(f"{name} {found.pop()}")
    sizes = {(row.summary.counts.steps, row.summary.counts.tasks) for row in ran if row.summary is not None}
    if len(sizes) == 1:
        ((steps, tasks),) = sizes
        words.append(f"{steps} steps in {tasks} tasks")
    elif sizes:
        words.append(f"{min(sizes)[0]} to {max(sizes)[0]} steps")
    names = {row.summary.signature.partition("|")[0].removeprefix("dataset:") for row in ran if row.summary is not None}
    datasets = sorted({name.partition("@")[0] for name in names})
    return " · ".join([*datasets, *words])


def _plot(result: SweepResult, along: str, what: str) -> SweepPlot:
    points = []
    for row in result.rows:
        if row.summary is None:
            continue
        others = [value for name, value in row.values.items() if name != along]
        x = row.values.get(along)
        points.append(
            Point(
                series=_name(others),
                x=float(x) if along and isinstance(x, _NUMERIC) else None,
                scores=row.summary.scores.paper,
                partial=row.summary.status == "partial",
            )
        )
    return SweepPlot(
        points=tuple(points),
        x_option=along,
        series_options=tuple(name for name in result.swept if name != along),
        subtitle=what,
    )


# --- files --------------------------------------------------------------------------------------------------------


def _write(folder: Path, result: SweepResult) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _replace(folder / "sweep.json", msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n")
        _replace(folder / "sweep.csv", sweep_csv(result).encode())
    except OSError as error:
        raise UserError(f"{folder}: can't be written: {error.strerror}. The runs themselves are kept.") from error


def _replace(path: Path, content: bytes) -> None:
    draft = path.with_name(f".{path.name}.new")
    draft.write_bytes(content)
    draft.replace(path)


def sweep_csv(result: SweepResult) -> str:
    """One line a combination: values, the paper's scores in per cent with their intervals, k and n, counts and cost."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    scores = PaperScores.__struct_fields__
    ends = ("", "_low", "_high", "_k", "_n")
    more = ("status", "steps", "hit", "miss", "unparsed", "error", "missing", "usd", "run_folder")
    writer.writerow([*result.swept, *(f"{score}{end}" for score in scores for end in ends), *more])
    for row in result.rows:
        cells: list[object] = [_text(value) for value in row.values.values()]
        for score in scores:
            found: Estimate | None = getattr(row.summary.scores.paper, score) if row.summary else None
            cells += ["", "", "", "", ""] if found is None else [found.value, found.low, found.high, found.k, found.n]
        counts = row.summary.counts if row.summary else None
        cells.append(row.summary.status if row.summary else "not run")
        cells += [getattr(counts, name, "") for name in more[1:7]]
        cells += [row.summary.cost.usd if row.summary else "", row.folder]
        writer.writerow(["" if cell is None else cell for cell in cells])
    return out.getvalue()
