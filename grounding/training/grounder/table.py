"""A training in the terminal: every fold before and after, all held-out steps together, and the mean of the folds."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from grounding.training.grounder.folds import TrainedGrounder
from grounding.training.grounder.opening import OpenedTraining
from grounding.training.grounder.pooled import GrounderSummary
from grounding.training.grounder.texts import change_cells, mean_text

_NAMES = {
    "step_accuracy": "step accuracy",
    "instruction_accuracy": "instruction accuracy",
    "average_progress": "average progress",
    "task_success": "task success",
}


def print_training(console: Console, trained: TrainedGrounder) -> None:
    """Print what came of a training and where it lies."""
    summary = trained.summary
    for table in (_pooled(summary), _means(summary), _folds(summary)):
        if table is not None:
            console.print(table)
    for line in training_lines(trained):
        console.print(line, soft_wrap=True, highlight=False)


def print_split(console: Console, opened: OpenedTraining) -> None:
    """Print what is trained on and what is held out, and what was left out on the way."""
    table = Table(title=Text(f"{opened.dataset.name} · {opened.card.name}"), title_style="bold", title_justify="left")
    for heading in ("held out", "train on", "tasks", "test on", "tasks", "left out"):
        table.add_column(heading, justify="left" if heading in ("held out", "left out") else "right", overflow="fold")
    for fold in opened.folds:
        split = fold.split
        table.add_row(
            split.text,
            f"{len(fold.train.examples)} steps",
            f"{len(split.train.tasks)}",
            f"{len(split.test.step_ids)} steps",
            f"{len(split.test.tasks)}",
            ", ".join(f"{len(each.step_ids)} {_WHY[each.reason]}" for each in split.left_out) or "-",
        )
    console.print(table)


_WHY = {
    "participant": "of the participants who are tested",
    "task": "of a task that is tested",
    "screenshot": "over a screenshot that is tested",
    "limit": "beyond the limit",
}


def _pooled(summary: GrounderSummary) -> Table | None:
    if not summary.pooled:
        return None
    evaluated = [fold for fold in summary.folds if fold.metrics]
    steps = sum(fold.test_steps for fold in evaluated)
    where = f"{len(evaluated)} folds" if len(summary.folds) > 1 else evaluated[0].held_out
    table = _table(f"all held-out steps together · {steps} steps, {where}")
    for each in summary.pooled:
        table.add_row(_name(each.metric), *change_cells(each))
    return table


def _means(summary: GrounderSummary) -> Table | None:
    if not summary.means:
        return None
    table = _table(f"mean of {len(summary.means[0].base.values)} folds")
    for each in summary.means:
        table.add_row(
            _name(each.metric),
            mean_text(each.base, ".1f"),
            mean_text(each.tuned, ".1f"),
            mean_text(each.difference, "+.1f"),
            "-",
        )
    return table


def _folds(summary: GrounderSummary) -> Table | None:
    if len(summary.folds) < 2:
        return None
    table = Table(title=Text("step accuracy by fold"), title_style="bold", title_justify="left")
    for heading in ("held out", "train", "test", "base", "tuned", "difference", "status"):
        table.add_column(heading, justify="left" if heading in ("held out", "status") else "right", overflow="fold")
    for fold in summary.folds:
        change = next((each for each in fold.metrics if each.metric == "step_accuracy"), None)
        cells = ("-", "-", "-") if change is None else change_cells(change)[:3]
        table.add_row(fold.held_out, f"{fold.train_steps}", f"{fold.test_steps}", *cells, fold.status)
    return table


def _table(title: str) -> Table:
    table = Table(title=Text(title), title_style="bold", title_justify="left")
    table.add_column("metric", overflow="fold")
    for heading in ("base", "tuned", "difference, points", "p"):
        table.add_column(heading, justify="right", overflow="fold")
    return table


def _name(metric: str) -> str:
    return _NAMES.get(metric, metric.replace("_", " "))


def training_lines(trained: TrainedGrounder) -> list[Text]:
    """What stands below the tables: what the intervals are, where the adapters lie, and the signature."""
    summary, lines = trained.summary, []
    if summary.pooled:
        lines.append(
            Text(f"intervals  95 % over tasks, bootstrap of {summary.resamples:,} draws, seed {summary.seed}; paired")
        )
    if summary.means:
        lines.append(Text("means      every fold counts alike; 95 % Student's intervals over folds"))
    lines += [Text(f"adapter    {trained.folder / fold.adapter}") for fold in summary.folds if fold.adapter]
    done = sum(fold.status == "complete" for fold in summary.folds)
    if len(summary.folds) > 1:
        lines.append(Text(f"folds      {done} of {len(summary.folds)} complete"))
    if (trained.folder / "report.html").is_file():
        lines.append(Text(f"report     {trained.folder / 'report.html'}"))
    lines.append(Text(f"signature  {summary.signature}"))
    lines.append(Text(f"run folder {trained.folder}"))
    return lines
