"""A training run's folder to the content of its page. Reads only: the run may be going on, have failed, or be half."""

from __future__ import annotations

import shlex
from pathlib import Path

from grounding.records import Record
from grounding.training.folder import TrainingFolder, TrainingInfo
from grounding.training.grounder.pooled import GrounderSummary
from grounding.training.page.content import Fact, FoldCurves, Span, Table, TrainingPage
from grounding.training.page.estimates import estimate_tables
from grounding.training.page.folds import fold_curves
from grounding.training.page.pictures import Pictures
from grounding.training.page.results import (
    evaluation_rows,
    lead_of,
    read_split,
    read_summary,
    result_tables,
    spans_of,
    split_tables,
)
from grounding.training.page.samples import cut
from grounding.training.page.stages import duration, stage_part, warnings_of

MOST_RECIPE = 60_000
MOST_STAGES = 24

_KINDS = {"grounder": "Grounder", "puma": "Web agent (PUMA)"}


def gather_training(path: Path) -> TrainingPage:
    """Everything that the page of a training run shows.

    Raises:
        UserError: the folder is not that of a training run, or its ``run.json`` is damaged.
        OSError: a file is there and can't be read.
    """
    info = TrainingFolder(path).read_info()
    pictures = Pictures()
    # A stage's name is that of its folder; one that would lead elsewhere is none.
    stages = [stage for stage in info.stages if Path(stage.name).name == stage.name]
    parts = tuple(
        stage_part(path / "stages" / stage.name, stage, pictures, place)
        for place, stage in enumerate(stages[:MOST_STAGES])
    )
    asked = info.asked
    told = _of_grounder(path) if asked.kind == "grounder" else _of_agent(path, asked.dataset)
    return TrainingPage(
        title=f"{cut(asked.card, 200)} trained on {cut(asked.dataset, 200)}",
        status=_status(info),
        lead=" ".join(part for part in (_lead(info), told.lead) if part),
        warnings=(*_warnings(info), *warnings_of(parts), *pictures.problems[:3]),
        results=told.results,
        spans=told.spans,
        span_unit=told.span_unit,
        facts=_facts(path, info),
        stages=parts,
        folds=told.folds,
        split=told.split,
        estimate=estimate_tables(path, stages),
        recipe=_recipe(path),
        use=told.use,
        images=pictures.sources,
    )


class _Told(Record, frozen=True, kw_only=True):
    """What a grounder's training has to say and an agent's, each in its own files."""

    lead: str = ""
    results: tuple[Table, ...] = ()
    spans: tuple[Span, ...] = ()
    span_unit: str = "%"
    folds: tuple[FoldCurves, ...] = ()
    split: tuple[Table, ...] = ()
    use: tuple[Fact, ...] = ()


def _of_grounder(path: Path) -> _Told:
    summary, split = read_summary(path), read_split(path)
    tables = () if split is None else split_tables(split)
    if summary is None:
        return _Told(split=tables)
    evaluations = evaluation_rows(summary, path)
    return _Told(
        lead=lead_of(summary),
        results=(*result_tables(summary, path), *(() if evaluations is None else (evaluations,))),
        spans=spans_of(summary),
        folds=fold_curves(path, [fold.folder for fold in summary.folds]) if len(summary.folds) > 1 else (),
        split=tables,
        use=_use(path, summary),
    )


def _of_agent(path: Path, dataset: str) -> _Told:
    # The shop's packages are only loaded for pages that need them.
    from grounding.training.page.agents import (
        agent_lead,
        agent_spans,
        agent_split,
        agent_summary,
        agent_tables,
        agent_use,
    )

    summary, split = agent_summary(path), agent_split(path)
    if summary is None:
        return _Told(split=split)
    return _Told(
        lead=agent_lead(summary),
        results=agent_tables(summary, path),
        spans=agent_spans(summary),
        span_unit="",
        split=split,
        use=agent_use(summary, path, dataset),
    )


def _status(info: TrainingInfo) -> str:
    return {"started": "going on, or it died", "partial": "partial", "complete": "complete"}[info.status]


def _lead(info: TrainingInfo) -> str:
    asked = info.asked
    stages = ", then ".join(stage.method.upper() for stage in info.stages)
    parts = [
        stages,
        f"recipe {cut(asked.recipe_name, 100)}",
        f"held out: {cut(asked.split.removeprefix('held out: '), 300)}" if asked.split else "",
    ]
    return f"{_KINDS[asked.kind]}: {'; '.join(part for part in parts if part)}; seed {asked.seed}."


def _warnings(info: TrainingInfo) -> tuple[str, ...]:
    found = []
    if info.status == "started":
        found.append("the run is going on, or it died: its figures are not final")
    if info.stopped:
        found.append(f"stopped before the end: {cut(info.stopped, 500)}; the same command goes on with it")
    elif info.status == "partial":
        found.append("the run is not at its end; the same command goes on with it")
    return tuple(found)


def _facts(path: Path, info: TrainingInfo) -> tuple[Fact, ...]:
    asked = info.asked
    versions = ", ".join(f"{cut(name, 40)} {cut(version, 40)}" for name, version in list(info.versions.items())[:30])
    facts = [
        ("base model", asked.model),
        ("data", f"{asked.dataset} ({asked.fingerprint}){f', {asked.select}' if asked.select else ''}"),
        ("held out", asked.split),
        ("recipe", asked.recipe_name),
        ("time", duration(info.wall_s)),
        ("started", info.started_at),
        ("command", info.command),
        ("signature", info.signature),
        ("versions", versions),
        ("folder", str(path)),
    ]
    return tuple(Fact(name=name, text=cut(text)) for name, text in facts if text)


def _use(path: Path, summary: GrounderSummary) -> tuple[Fact, ...]:
    """Commands that take what was trained; nothing where there is no adapter yet."""
    made = [fold.adapter for fold in summary.folds if fold.adapter and ".." not in Path(fold.adapter).parts]
    if not made:
        return ()
    adapter = shlex.quote(str(path / made[0]))
    several = f" (one of {len(made)}: each fold has its own)" if len(made) > 1 else ""
    return (
        Fact(name=f"evaluate, in this process{several}", text=f"grounding eval --grounder {adapter} --backend hf"),
        Fact(name="serve by vLLM", text=f"grounding serve {adapter}"),
        Fact(name="evaluate by that server", text=f"grounding eval --grounder {adapter}"),
    )


def _recipe(path: Path) -> str:
    try:
        with (path / "recipe.yaml").open(encoding="utf-8", errors="replace") as file:
            return cut(file.read(MOST_RECIPE + 1), MOST_RECIPE)
    except FileNotFoundError:
        return ""
