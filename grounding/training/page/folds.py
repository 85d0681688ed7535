"""The curves of a run's folds in one drawing: what is the same in all of them, and how far they lie apart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from grounding.training.folder import TrainingFolder, is_training_run
from grounding.training.page.charts import draw
from grounding.training.page.content import Chart, FoldCurves
from grounding.training.page.measures import is_main, measure_of, rank
from grounding.training.page.reading import KINDS, Metrics, read_metrics
from grounding.training.page.series import Series, joined_series

MOST_FOLDS = 50


def fold_curves(folder: Path, folds: Sequence[str]) -> tuple[FoldCurves, ...]:
    """Each stage of the folds, in the order of the first fold that has it; nothing of fewer than two folds.

    Args:
        folder: The run's folder.
        folds: The folds' folders, relative to it.

    Raises:
        UserError: a fold's ``run.json`` is damaged.
        OSError: a file of a fold can't be read.
    """
    stages: dict[str, list[Metrics]] = {}
    for name in folds[:MOST_FOLDS]:
        path = folder / name
        if Path(name).is_absolute() or ".." in Path(name).parts or not is_training_run(path):
            continue
        for stage in TrainingFolder(path).read_info().stages:
            if Path(stage.name).name == stage.name:
                metrics = read_metrics(path / "stages" / stage.name / "metrics.jsonl")
                if metrics.figures:
                    stages.setdefault(stage.name, []).append(metrics)
    found = []
    for place, (name, runs) in enumerate(stages.items()):
        charts = _charts(runs, place)
        if len(runs) > 1 and charts:
            found.append(FoldCurves(stage=name, runs=len(runs), charts=charts))
    return tuple(found)


def _charts(runs: Sequence[Metrics], place: int) -> tuple[Chart, ...]:
    names = sorted({name for run in runs for name in run.figures if is_main(name)}, key=lambda name: (rank(name), name))
    figures = {name: both for name in names if (both := _joined(runs, name))}
    steps = [step for both in figures.values() for one in both for step in (one.steps[0], one.steps[-1])]
    return tuple(
        draw(measure_of(name), both, bounds=(min(steps), max(steps)), identifier=f"folds-{place}-{number}")
        for number, (name, both) in enumerate(figures.items())
    )


def _joined(runs: Sequence[Metrics], name: str) -> tuple[Series, ...]:
    found = []
    for kind in KINDS:
        own = [one for run in runs for one in run.figures.get(name, ()) if one.kind == kind]
        line = joined_series(kind, own) if len(own) > 1 else None
        if line is not None:
            found.append(line)
    return tuple(found)
