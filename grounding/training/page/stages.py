"""A stage of a run folder to its part of a page: facts, curves, samples."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median

import msgspec

from grounding.training.loop.records import StageResult
from grounding.training.page.axes import figure_text
from grounding.training.page.charts import draw
from grounding.training.page.content import Chart, Fact, SampleSet, StagePart, Table
from grounding.training.page.measures import is_main, measure_of, rank
from grounding.training.page.pictures import Pictures
from grounding.training.page.reading import PACE, Metrics, read_metrics
from grounding.training.page.samples import cut, sample_sets
from grounding.training.records import StageInfo

MOST_MORE = 40
"""Figures of the trainer's own that are drawn below the main ones."""

_METHODS = {
    "sft": "supervised fine-tuning (SFT)",
    "grpo": "group-relative policy optimisation (GRPO)",
    "dpo": "direct preference optimisation (DPO)",
}


def stage_part(folder: Path, info: StageInfo, pictures: Pictures, place: int) -> StagePart:
    """Everything that a page shows of a stage.

    Args:
        folder: The stage's folder; it may not be there yet.
        info: What ``run.json`` says about it.
        pictures: Makes the screenshots of its samples.
        place: Its number on the page, which makes the names of its charts.

    Raises:
        OSError: a file of it can't be read.
    """
    metrics = read_metrics(folder / "metrics.jsonl")
    result = read_result(folder)
    charts = _charts(metrics, place)
    main = tuple(chart for field, chart in charts if is_main(field))
    more = [chart for field, chart in charts if not is_main(field)]
    tables, candidates = _of_pairs(folder, info)
    return StagePart(
        name=info.name,
        method=info.method,
        state=info.status,
        status=_STATES.get(info.status, info.status),
        stopped="" if result is None else cut(result.stopped, 300),
        facts=_facts(info, result, metrics),
        charts=main,
        more=tuple(more[:MOST_MORE]),
        tables=tables,
        samples=(*candidates, *sample_sets(folder, pictures)),
        notes=_notes(metrics, len(more)),
    )


def _of_pairs(folder: Path, info: StageInfo) -> tuple[tuple[Table, ...], tuple[SampleSet, ...]]:
    """What stands in the folder of a stage that learns from pairs, and the candidates that these are made of."""
    if info.method != "dpo":
        return (), ()
    # The shop's packages are only loaded for pages that need them.
    from grounding.training.page.agents import candidate_samples, stage_tables

    candidates = candidate_samples(folder)
    return stage_tables(folder), () if candidates is None else (candidates,)


def read_result(folder: Path) -> StageResult | None:
    """What came of a stage; None where it has not ended, or says it in another version's words."""
    try:
        return msgspec.json.decode((folder / "result.json").read_bytes(), type=StageResult)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def _charts(metrics: Metrics, place: int) -> list[tuple[str, Chart]]:
    steps = [step for both in metrics.figures.values() for one in both for step in (one.steps[0], one.steps[-1])]
    if not steps:
        return []
    bounds = (min(steps), max(steps))
    main = sorted((item for item in metrics.figures.items() if is_main(item[0])), key=lambda item: rank(item[0]))
    rest = [item for item in metrics.figures.items() if not is_main(item[0])]
    # A figure's name may be anything: the chart's is its number.
    return [
        (field, draw(measure_of(field), both, bounds=bounds, identifier=f"chart-{place}-{number}"))
        for number, (field, both) in enumerate([*main, *rest[: MOST_MORE + 1]])
    ]


_STATES = {"waiting": "not begun", "running": "going on, or it died", "partial": "stopped before its end"}


def _facts(info: StageInfo, result: StageResult | None, metrics: Metrics) -> tuple[Fact, ...]:
    step, steps = (result.step, result.steps) if result is not None else (info.step, info.steps)
    wall_s = result.wall_s if result is not None else info.wall_s
    facts = [Fact(name="", text=_METHODS[info.method])]
    if steps:
        facts.append(Fact(name="", text=f"{step:,} of {steps:,} steps of the optimiser"))
    if wall_s:
        pace = metrics.figures.get(PACE)
        known = [value for value in pace[0].values if value is not None] if pace else []
        each = f", {figure_text(median(known), 3)} s a step (median)" if known else ""
        facts.append(Fact(name="", text=f"{duration(wall_s)}{each}"))
    if result is not None:
        where = f"{result.processes} processes on {result.device}" if result.processes > 1 else f"on {result.device}"
        facts.append(Fact(name="", text=cut(where, 100)))
        if result.peak_memory_bytes:
            facts.append(Fact(name="peak memory", text=f"{result.peak_memory_bytes / 2**30:.2f} GiB"))
    return tuple(facts)


def _notes(metrics: Metrics, more: int) -> tuple[str, ...]:
    notes = []
    if metrics.damaged:
        lines = "1 line" if metrics.damaged == 1 else f"{metrics.damaged:,} lines"
        notes.append(f"{lines} of metrics.jsonl can't be read and are not in the curves.")
    if metrics.repeated:
        notes.append(f"metrics.jsonl has {metrics.repeated:,} steps more than once: the last line of each counts.")
    if more > MOST_MORE:
        notes.append(f"The trainer has more figures; {MOST_MORE} are drawn, metrics.jsonl has all.")
    return tuple(notes)


def duration(seconds: float) -> str:
    """A time in words.

    >>> duration(42.25), duration(3725), duration(200_000)
    ('42.2 s', '1 h 02 min', '2 d 08 h')
    """
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    if minutes < 120:
        return f"{minutes // 60} h {minutes % 60:02d} min" if minutes >= 60 else f"{minutes} min"
    hours = round(seconds / 3600) if minutes >= 2880 else minutes // 60
    return f"{hours // 24} d {hours % 24:02d} h" if hours >= 48 else f"{hours} h {minutes % 60:02d} min"


def warnings_of(parts: Sequence[StagePart]) -> tuple[str, ...]:
    """What a reader must know of the stages before believing their curves."""
    return tuple(f"stage {part.name}: {note}" for part in parts for note in part.notes)
