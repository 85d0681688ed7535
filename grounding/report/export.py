"""Scored runs of any benchmark as tables for papers and sheets, as lines for leaderboards, and as logs of Inspect.

Names come from cards, data sets and folders: they are escaped in each form.
"""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from grounding.errors import UserError, install
from grounding.records import Record
from grounding.report.compare import ALL, compare_rows
from grounding.report.groups import count, digits_of, heading, interval, number
from grounding.report.rows import ItemRow, RunRows, break_down, read_rows, run_names
from grounding.scoring.metrics import Better, Metric
from grounding.scoring.scored import Estimate, estimated

LEVEL = 0.05
DAGGER = "†"
INSPECT_ENDINGS = (".eval", ".json")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")

_HEADINGS = {"average_progress": "progress"}
_LATEX = str.maketrans(
    {letter: f"\\{letter}" for letter in "{}$&%#_"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
)


class ExportCell(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One score with its 95 % interval; ``heading`` is its metric's in words, ``source`` where that is defined.

    ``best`` marks the best of all runs over the same data: all that tie, and none where all are equal. ``p_holm`` is
    of the paired bootstrap against the baseline, None for the baseline itself and where the two can't be compared.
    """

    metric: str
    heading: str
    unit: str
    value: float | None
    k: int | None
    n: int
    low: float | None
    high: float | None
    best: bool
    p_holm: float | None
    better: Better
    source: str

    @property
    def is_significant(self) -> bool:
        return self.p_holm is not None and self.p_holm < LEVEL


class ExportRow(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One run. ``partial`` says of an unfinished one how far it is, and is "" for others; ``who`` what answered."""

    name: str
    who: dict[str, str]
    dataset: str
    folder: str
    signature: str
    partial: str
    cells: tuple[ExportCell, ...]

    @property
    def title(self) -> str:
        """The run in the first column, before it is escaped, and how far it is."""
        return self.name + (f" ({self.partial})" if self.partial else "")


class ExportTable(Record, frozen=True, kw_only=True, omit_defaults=False):
    """All runs. ``clusters`` are what intervals draw; ``notes`` say what marks mean and why some are missing."""

    rows: tuple[ExportRow, ...]
    baseline: str
    clusters: str
    notes: tuple[str, ...]


def export_table(paths: Sequence[Path], *, baseline: Path | None = None) -> ExportTable:
    """The runs as rows, in their order; the baseline (None: the first) is put first where it is not among them. Raises
    UserError: a folder holds no scored run, or the runs are of several benchmarks.
    """
    first = baseline or paths[0]
    every = list(dict.fromkeys(paths))
    if all(path.resolve() != first.resolve() for path in every):
        every.insert(0, first)
    runs = [read_rows(path) for path in every]
    _of_one_benchmark(runs)
    base = next(run for run in runs if run.folder.resolve() == first.resolve())
    corrected, notes = _tests(runs, base)
    same = len({run.fingerprint for run in runs}) == 1 and not any("not comparable" in one for one in notes)
    metrics = tuple({each.name: each for run in runs for each in run.shown(several=True)}.values())
    # Of a metric in a unit of its own nobody may know which way is better.
    ranked = [each for each in metrics if each.better and same and len(runs) > 1]
    best = {each.name: _best(runs, each) for each in ranked}

    def cell(run: RunRows, metric: Metric) -> ExportCell:
        found, most = _estimate(run, metric), best.get(metric.name)
        return ExportCell(
            metric=metric.name,
            heading=_HEADINGS.get(metric.name, metric.label),
            best=most is not None and found.value is not None and abs(found.value - most) < 1e-9,
            p_holm=corrected.get((str(run.folder), metric.name)),
            **{name: getattr(metric, name) for name in ("unit", "better", "source")},
            **{name: getattr(found, name) for name in ("value", "k", "n", "low", "high")},
        )

    names = run_names(runs)
    rows = tuple(
        ExportRow(
            name=name,
            who=dict(run.who),
            dataset=run.dataset,
            folder=str(run.folder),
            signature=run.signature,
            partial=_partial(run),
            cells=tuple(cell(run, each) for each in metrics),
        )
        for run, name in zip(runs, names, strict=True)
    )
    return ExportTable(rows=rows, baseline=names[runs.index(base)], clusters=base.clusters_word, notes=notes)


def _of_one_benchmark(runs: Sequence[RunRows]) -> None:
    if len({run.benchmark for run in runs}) > 1:
        named = ", ".join(f"{run.folder} ({run.benchmark or 'clicks'})" for run in runs)
        raise UserError(f"the runs are of different benchmarks, whose scores share no table: {named}")


def _tests(runs: Sequence[RunRows], base: RunRows) -> tuple[dict[tuple[str, str], float], tuple[str, ...]]:
    others = [run for run in runs if run is not base]
    if not others:
        return {}, ()
    try:
        found = compare_rows(base, others, clusters=base.clusters)
    except UserError as error:
        why = " ".join(str(error).split("\nRun one of them")[0].split())
        return {}, (f"not comparable, so nothing is tested and nothing is called best: {why}",)
    tested = [(run, each) for run in found.runs for each in run.metrics if each.group == ALL]
    return {(run.folder, each.metric): each.p_holm for run, each in tested if each.p_holm is not None}, found.warnings


def _partial(run: RunRows) -> str:
    if run.status != "partial":
        return ""
    every = len(run.rows)
    return "partial" if run.answered == every else f"partial, {run.answered} of {every} {run.item}s"


def _estimate(run: RunRows, metric: Metric) -> Estimate:
    return run.scores.get(metric.name) or estimated(None, 0, None, unit=metric.unit)


def _best(runs: Sequence[RunRows], metric: Metric) -> float | None:
    values = [found.value for found in (_estimate(run, metric) for run in runs) if found.value is not None]
    # Where all are equal none is best.
    if len({round(value, 9) for value in values}) < 2:
        return None
    return min(values) if metric.better == "lower" else max(values)


# --- tables of text -------------------------------------------------------------------------------------------------


def markdown(table: ExportTable) -> str:
    headings = [_markdown(heading(cell.heading, cell.unit)) for cell in table.rows[0].cells]
    lines = [f"| run | {' | '.join(headings)} |", f"|---|{'---:|' * len(headings)}"]
    for row in table.rows:
        cells = []
        for cell in row.cells:
            value, ends = number(cell.value, cell.unit), interval(cell.low, cell.high, cell.unit)
            value = (f"**{value}**" if cell.best else value) + (DAGGER if cell.is_significant else "")
            cells.append(f"{value}{ends and ' '}{ends} ({count(cell.k, cell.n)})")
        lines.append(f"| {_markdown(row.title)} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", *(f"{_markdown(note)}  " for note in notes(table))]) + "\n"


def latex(table: ExportTable) -> str:
    """A LaTeX table for the package booktabs: the best in bold, a dagger where it differs from the baseline."""
    cells = table.rows[0].cells
    headings = [cell.heading.capitalize() + (f" ({cell.unit})" if cell.unit else "") for cell in cells]
    lines = ["% needs \\usepackage{booktabs}", f"\\begin{{tabular}}{{l{'r' * len(cells)}}}", "\\toprule"]
    lines += [" & ".join(["Run", *map(_latex, headings)]) + " \\\\", "\\midrule"]
    for row in table.rows:
        found = [_latex(row.title)]
        for cell in row.cells:
            value, ends = number(cell.value, cell.unit), interval(cell.low, cell.high, cell.unit)
            value = f"\\textbf{{{value}}}" if cell.best else value
            counted = f"$n={cell.n}$" if cell.k is None else f"{cell.k}/{cell.n}"
            small = "".join(f" {{\\small {text}}}" for text in (ends, f"({counted})") if text)
            found.append(value + ("$^{\\dagger}$" if cell.is_significant else "") + small)
        lines.append(" & ".join(found) + " \\\\")
    lines += ["\\bottomrule", "\\end{tabular}", *(f"% {_plain(note)}" for note in notes(table))]
    return "\n".join(lines) + "\n"


def comma_separated(table: ExportTable) -> str:
    """One line for each run and metric, unrounded."""
    who = dict.fromkeys((name for row in table.rows for name in row.who), "")
    numbers = ("value", "unit", "k", "n", "low", "high", "p_holm")
    return _sheet(
        {
            **{"run": row.name, **who, **row.who, "dataset": row.dataset, "metric": cell.metric},
            **{name: getattr(cell, name) for name in numbers},
            **{"best": str(cell.best).lower(), "partial": str(bool(row.partial)).lower()},
            **{"signature": row.signature, "folder": row.folder},
        }
        for row in table.rows
        for cell in row.cells
    )


def as_json(table: ExportTable) -> str:
    """The same as JSON; who answered stands in each row by option, such as ``planner``."""
    content = msgspec.to_builtins(table)
    content["rows"] = [row.pop("who") | row for row in content["rows"]]
    return msgspec.json.format(msgspec.json.encode(content), indent=2).decode() + "\n"


FORMS = {"markdown": markdown, "latex": latex, "csv": comma_separated, "json": as_json}


def notes(table: ExportTable) -> tuple[str, ...]:
    found = [f"95 % intervals: bootstrap over {table.clusters}s, Wilson for plain proportions and at 0 and 100 %."]
    if any(cell.best for row in table.rows for cell in row.cells):
        lower = any(cell.better == "lower" for cell in table.rows[0].cells)
        found.append("Bold: the best." if lower else "Bold: the highest.")
    if any(cell.is_significant for row in table.rows for cell in row.cells):
        found.append(f"{DAGGER}: differs from {table.baseline}, p < 0.05 (paired bootstrap, Holm).")
    return (*found, *table.notes)


def _plain(text: str) -> str:
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def _markdown(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|~&])", r"\\\1", _plain(text))


def _latex(text: str) -> str:
    return _plain(text).translate(_LATEX)


def _sheet(rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows as CSV: what a row lacks is empty, and no spreadsheet takes a text for a formula."""
    lines = list(rows)
    text = io.StringIO()
    writer = csv.DictWriter(text, dict.fromkeys(name for row in lines for name in row), lineterminator="\n")
    writer.writeheader()
    for row in lines:
        texts = {name: f"'{cell}" for name, cell in row.items() if isinstance(cell, str) and cell.startswith(_FORMULA)}
        writer.writerow({**row, **texts})
    return text.getvalue()


# --- lines for leaderboards -----------------------------------------------------------------------------------------


def submission(runs: Sequence[RunRows]) -> str:
    """A header and one line a run: what a leaderboard asks for, in percent with two decimals and counts.

    Columns: who and when, all scores, then for each kind of group micro and macro of the first metric and each group's,
    as ``type=icon``; over a set with the groups of ScreenSpot-Pro those are the columns of its board. A run without a
    group leaves its cells empty. Raises UserError: the runs are of several benchmarks.
    """
    _of_one_benchmark(runs)
    return _sheet(map(_submitted, runs))


def _submitted(run: RunRows) -> dict[str, str]:
    asked = [row for row in run.rows if row.was_asked]
    every, results = len(run.rows), [row.result for row in asked]
    about = {
        **run.who,
        "dataset": run.dataset,
        "selection": run.select,
        "date": run.started_at[:10],
        "status": run.status,
        f"{run.item}s": str(every) if len(asked) == every else f"{len(asked)} of {every}",
        "unparsed": str(results.count("unparsed")),
        "errors": str(results.count("error") + results.count("missing")),
    }
    found = {metric.name: run.scores.get(metric.name) for metric in run.shown()}
    for kind in (kind for kind in run.kinds if kind in run.columns()):
        parts = break_down(run, kind)
        found |= {f"{kind} micro": parts.averages.micro, f"{kind} macro": parts.averages.macro}
        for group in parts.rows:
            found[f"{kind}={group.name}"] = group.accuracy
            found |= {f"{kind}={group.name} {extra}": value for extra, value in group.extra.items()}
    cells = {}
    for name, one in found.items():
        if one is not None:
            cells[name] = "" if one.value is None else f"{one.value:.{max(2, digits_of(one.unit))}f}"
            cells[f"{name} k/n"] = count(one.k, one.n).replace(" ", "")
    return {**about, **cells, "signature": run.signature}


# --- logs of Inspect ------------------------------------------------------------------------------------------------


def write_inspect_log(run: RunRows, path: Path) -> None:
    """Write one run as a log of Inspect, by its own writer. Pictures are named, not copied: the log stays small. Raises
    UserError: inspect_ai is not installed, or the file's name has another ending.
    """
    if path.suffix not in INSPECT_ENDINGS:
        raise UserError(f"{path}: a log of Inspect ends in {' or '.join(INSPECT_ENDINGS)}")
    try:
        from inspect_ai import log as logs
    except ImportError as error:
        raise UserError(f"--format inspect needs inspect_ai: {install('inspect')}") from error
    scorer, ids = run.benchmark or "click", [row.id for row in run.rows]
    model = "+".join(value for value in run.who.values() if value)
    metrics = {}
    for metric in run.shown():
        found = run.scores[metric.name]
        if found.value is not None:
            unit = {"%": "percent", "": "share"}.get(found.unit, found.unit)
            about = {"k": found.k, "n": found.n, "low": found.low, "high": found.high, "unit": unit}
            metrics[metric.name] = logs.EvalMetric(name=metric.name, value=found.value, metadata=about)
    score = logs.EvalScore(name=scorer, scorer=scorer, metrics=metrics)
    spec = logs.EvalSpec(
        created=run.started_at,
        **dict.fromkeys(("run_id", "eval_id", "task_id"), run.info.run_id),
        task=run.dataset,
        dataset=logs.EvalDataset(name=run.dataset, samples=len(ids), sample_ids=ids, shuffled=False),
        model=model,
        config=logs.EvalConfig(),
        packages=run.info.versions,
        metadata={"signature": run.signature, "status": run.status},
    )
    log = logs.EvalLog(
        status="success",
        eval=spec,
        results=logs.EvalResults(total_samples=len(ids), completed_samples=len(ids), scores=[score]),
        stats=logs.EvalStats(started_at=run.started_at, completed_at=run.started_at),
        samples=[_sample(row, scorer, model) for row in run.rows],
    )
    logs.write_eval_log(log, str(path))


def _sample(row: ItemRow, scorer: str, model: str) -> Any:
    from inspect_ai.log import EvalSample
    from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, ModelOutput
    from inspect_ai.scorer import Score

    texts = [row.instruction, *([row.plan] if row.plan not in ("", row.instruction) else [])]
    score = Score(
        value="C" if row.is_hit else "I",
        answer=row.answer,
        explanation=row.reason or row.outcome,
        metadata={"outcome": row.outcome, "distance_px": row.distance_px, **row.scores},
    )
    return EvalSample(
        id=row.id,
        epoch=1,
        input=row.instruction,
        target=row.target,
        messages=[*(ChatMessageUser(content=text) for text in texts), ChatMessageAssistant(content=row.reply)],
        output=ModelOutput.from_content(model=model, content=row.reply),
        scores={scorer: score},
        metadata={
            "participant": row.user,
            "task": row.task,
            "plan": row.plan,
            "screenshot": "" if row.screenshot is None else row.screenshot.path,
            **{f"group {kind}": "|".join(names) for kind, names in row.groups.items()},
        },
    )
