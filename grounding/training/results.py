"""What a training came to: figures before and after, in the terminal and as ``report.html``. Curves are TensorBoard's.

Pooled, a fold counts by its steps; in the mean of folds every fold counts alike. RealWebAssist says of its fine-tuned
model that it "enumerated different train/test splits and reported the averaged performance" (section 4.1), which leaves
open which of the two it reports: both are given.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec
from rich.console import Console

# importing the module registers the paper's metrics
import grounding.scoring.metrics  # noqa: F401
from grounding.atomic import atomic_write
from grounding.benchmarks.personalwab.records import TaskType
from grounding.benchmarks.personalwab.rows import interval, share
from grounding.benchmarks.personalwab.scoring import ShopRule, ShopScores
from grounding.console import say
from grounding.errors import UserError
from grounding.records import Record
from grounding.report.compare import p_text
from grounding.report.groups import estimate_text, table_of
from grounding.scoring.intervals import RESAMPLES, alike
from grounding.scoring.metrics import estimate, registered
from grounding.scoring.paired import Difference, common_tasks, compare
from grounding.scoring.scored import Estimate, ScoredTask
from grounding.training.records import METRICS, RESULT, Metrics, StageResult, TrainingFolder, read_lines, read_record

if TYPE_CHECKING:
    from grounding.training.grounder import OpenedTraining

Status = Literal["partial", "complete"]


class MetricChange(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A metric of the base model and of the tuned one over the same held-out steps, with 95 % intervals over tasks.
    ``difference`` is tuned minus base, paired by task, in the metric's unit (percentage points).
    """

    metric: str
    base: Estimate
    tuned: Estimate
    difference: Difference


class MetricMean(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A metric's mean over the ``folds`` in which it has a value, and that of tuned minus base in each fold.

    ``low`` and ``high`` are the difference's 95 % interval by Student, as for independent values (folds share training
    data: a little narrow); None where folds are all alike.
    """

    metric: str
    folds: int
    base: float
    tuned: float
    difference: float
    low: float | None = None
    high: float | None = None


class FoldOutcome(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One fold in the summary; folders are relative to the run's. ``train_steps`` and ``test_steps`` are scored steps.
    ``metrics`` is empty where the fold was not evaluated (yet).
    """

    name: str
    held_out: str
    folder: str
    status: Literal["waiting", "partial", "complete"]
    train_steps: int
    test_steps: int
    adapter: str = ""
    base_run: str = ""
    tuned_run: str = ""
    metrics: tuple[MetricChange, ...] = ()


class GrounderSummary(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The content of a training run's ``summary.json``.

    A run that holds out one thing is a single fold in its own folder. ``pooled`` is over the held-out steps of all
    folds that were evaluated, ``means`` over those folds; there are none with fewer than two.
    """

    schema: Literal[2] = 2
    status: Status
    signature: str
    folds: tuple[FoldOutcome, ...]
    pooled: tuple[MetricChange, ...] = ()
    means: tuple[MetricMean, ...] = ()
    seed: int = 0
    resamples: int = RESAMPLES


def changes(base: Sequence[ScoredTask], tuned: Sequence[ScoredTask], *, seed: int = 0) -> tuple[MetricChange, ...]:
    mine, theirs = common_tasks(tuned, base)
    if not mine:
        return ()
    # Where no step follows another only the accuracy of steps means anything.
    alone = all(scored.step.independent for task in mine for scored in task.steps)
    metrics = [each for each in registered() if each.per_step or not alone]
    before, after = (estimate(metrics, tasks, seed=seed) for tasks in (theirs, mine))
    found = compare(metrics, mine, theirs, seed=seed).metrics
    return tuple(
        MetricChange(metric=name, base=before[name], tuned=after[name], difference=found[name])
        for name in (each.name for each in metrics)
    )


def fold_means(folds: Sequence[tuple[MetricChange, ...]]) -> tuple[MetricMean, ...]:
    """The means over folds of what each fold has; nothing with fewer than two folds."""
    from scipy import stats

    found = []
    for name in dict.fromkeys(each.metric for fold in folds for each in fold) if len(folds) > 1 else ():
        values = [(each.base.value, each.tuned.value) for fold in folds for each in fold if each.metric == name]
        pairs = [(base, tuned) for base, tuned in values if base is not None and tuned is not None]
        if pairs:
            gains = [tuned - base for base, tuned in pairs]
            means = (fmean(one) for one in (*zip(*pairs, strict=True), gains))
            said: dict[str, Any] = dict(zip(("base", "tuned", "difference"), means, strict=True))
            if not alike(min(gains), max(gains)):
                sure = stats.ttest_1samp(gains, 0.0).confidence_interval(0.95)
                said |= {"low": float(sure.low), "high": float(sure.high)}
            found.append(MetricMean(metric=name, folds=len(pairs), **said))
    return tuple(found)


BASE, TUNED = "base", "tuned"


class PumaSummary(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The content of ``summary.json`` of a training of PUMA.

    Of the SFT's ``examples``, ``cut`` lost their end. Of ``tasks``, so many ``pairs`` came, and none where there was a
    ``single`` different candidate, the best and the worst are worth the same (``equal``), or they leave no room for the
    parameter (``too_long``); of the candidates ``drawn``, some ``repeated``. ``preferred`` is the share of
    ``held_out_pairs`` whose better text DPO raised more than the worse one (0.5 where it begins: both alike).
    ``figures`` are those of the base and of the tuned model in the ``reading`` that the recipe scores by, ``runs`` the
    folders of their evaluations.
    """

    schema: Literal[3] = 3
    status: Status
    signature: str
    reading: ShopRule
    examples: int = 0
    cut: int = 0
    pairs: dict[str, int] | None = None
    held_out_pairs: int = 0
    preferred: float | None = None
    figures: dict[str, ShopScores] = msgspec.field(default_factory=dict)
    runs: dict[str, str] = msgspec.field(default_factory=dict)
    labels_without: int = 0
    labels_cost_usd: float | None = None
    stopped: str = ""


_PAGE_WIDTH = 140
_WHY = {
    "participant": "in other tasks of who is tested",
    "task": "of a task that is tested",
    "screenshot": "over a screenshot that is tested",
    "limit": "beyond the limit",
}
_FIGURES = (
    *("loss", "reward", "kl", "clip_ratio/region_mean", "rewards/accuracies", "grad_norm", "completions/mean_length"),
    *("mean_token_accuracy", "entropy"),
)


def print_split(console: Console, opened: OpenedTraining) -> None:
    table = table_of(f"{opened.dataset.name} · {opened.card.name}", ["held out"], ("train on", "test on", "left out"))
    for fold in opened.folds:
        left = ", ".join(f"{len(ids)} {_WHY[reason]}" for reason, ids in fold.split.left_out.items()) or "-"
        table.add_row(fold.split.text, f"{len(fold.train)} steps", f"{len(fold.split.test)} steps", left)
    console.print(table)


def print_run(console: Console, path: Path) -> None:
    """Print what came of a training run, from its folder alone. Raises UserError: it is no training run's folder, or
    damaged.
    """
    info = TrainingFolder(path).read_info()
    stopped = f", {info.stopped}" if info.stopped else ""
    say(console, f"{info.asked.card} · {info.asked.dataset} · {info.asked.split}: {info.status}{stopped}", "bold")
    if (path / "summary.json").is_file():
        if info.asked.kind == "puma":
            _print_puma(console, read_record(path / "summary.json", PumaSummary))
        else:
            _print_grounder(console, path, read_record(path / "summary.json", GrounderSummary))
    for stage in sorted([*path.glob(f"stages/*/{RESULT}"), *path.glob(f"folds/*/stages/*/{RESULT}")]):
        _print_stage(console, stage.parent, path)
    say(console, f"curves     tensorboard --logdir {path}")
    say(console, f"signature  {info.signature}")
    say(console, f"run folder {path}")


def write_page(path: Path) -> None:
    """Write ``report.html``; a page that can't be made must not cost what was trained."""
    console = Console(record=True, width=_PAGE_WIDTH, file=io.StringIO())
    try:
        print_run(console, path)
        atomic_write(path / "report.html", console.export_html(inline_styles=True).encode())
    except (UserError, OSError) as error:
        print(f"grounding: warning: {path}: report.html was not written: {error}", file=sys.stderr, flush=True)


def _print_grounder(console: Console, path: Path, summary: GrounderSummary) -> None:
    heads = ("base", "tuned", "difference, points", "p")
    if summary.pooled:
        evaluated = [fold for fold in summary.folds if fold.metrics]
        steps = sum(fold.test_steps for fold in evaluated)
        where = f"{len(evaluated)} folds" if len(summary.folds) > 1 else evaluated[0].held_out
        table = table_of(f"all held-out steps together · {steps} steps, {where}", ["metric"], heads)
        for each in summary.pooled:
            table.add_row(each.metric.replace("_", " "), *_cells(each))
        console.print(table)
    if summary.means:
        table = table_of(f"mean of {summary.means[0].folds} folds", ["metric"], heads[:3])
        for mean in summary.means:
            sure = "" if mean.low is None else f" [{mean.low:+.1f}, {mean.high:+.1f}]"
            cells = (f"{mean.base:.1f}", f"{mean.tuned:.1f}", f"{mean.difference:+.1f}{sure}")
            table.add_row(mean.metric.replace("_", " "), *cells)
        console.print(table)
    if len(summary.folds) > 1:
        headings = ("train", "test", "base", "tuned", "difference", "status")
        table = table_of("step accuracy by fold", ["held out"], headings)
        for fold in summary.folds:
            change = next((each for each in fold.metrics if each.metric == "step_accuracy"), None)
            cells = ("-", "-", "-") if change is None else _cells(change)[:3]
            table.add_row(fold.held_out, f"{fold.train_steps}", f"{fold.test_steps}", *cells, fold.status)
        console.print(table)
        done = sum(fold.status == "complete" for fold in summary.folds)
        say(console, f"folds      {done} of {len(summary.folds)} complete")
    if summary.pooled:
        words = f"95 % over tasks, bootstrap of {summary.resamples:,} draws, seed {summary.seed}; paired"
        say(console, f"intervals  {words}{'; of means by Student, over folds' if summary.means else ''}")
    for fold in summary.folds:
        for name, below in (("adapter", fold.adapter), ("evaluation", fold.base_run), ("evaluation", fold.tuned_run)):
            if below:
                say(console, f"{name:<10} {path / fold.folder / below}")


def _cells(change: MetricChange) -> tuple[str, str, str, str]:
    difference = estimate_text(change.difference, sign="+")
    return _counted(change.base), _counted(change.tuned), difference, p_text(change.difference.p)


def _counted(found: Estimate) -> str:
    count = f" ({found.k:,}/{found.n:,})" if found.k is not None else f" (n = {found.n:,})"
    return estimate_text(found) + ("" if found.value is None else count)


def _print_puma(console: Console, summary: PumaSummary) -> None:
    heads = ("function", "result", *get_args(TaskType))
    table = table_of(f"before and after · {summary.reading} scoring, result accuracy by type", ["model"], heads)
    for name, found in summary.figures.items():
        by_type = {kind: one.result for kind, one in found.types.items()}
        every = [found.overall.function, found.overall.result, *(by_type.get(kind) for kind in get_args(TaskType))]
        table.add_row(name, *("-" if one is None else f"{share(one)} {interval(one)}" for one in every))
    console.print(table)
    if summary.preferred is not None:
        words = f"{summary.preferred:.3f} of {summary.held_out_pairs} held-out pairs: DPO raised the better text more"
        say(console, f"preferred  {words} (0.5 where it begins)")
    if summary.cut:
        words = f"{summary.cut} of {summary.examples} SFT examples are longer than sft.max_tokens and lose their ends"
        say(console, f"cut        {words}")
    if summary.pairs is not None:
        words = "{pairs} of {tasks} tasks give one; {equal} have a best as good as the worst, {single} one candidate, "
        words += "{too_long} no room; {repeated} of {drawn} repeat"
        say(console, f"pairs      {words.format(**summary.pairs)}")
    if summary.labels_without:
        say(console, f"labels     {summary.labels_without} search tasks got no query and are not learnt from")
    if summary.labels_cost_usd is not None:
        say(console, f"labels     cost ${summary.labels_cost_usd:.4f}")


def _print_stage(console: Console, stage: Path, run: Path) -> None:
    result = read_record(stage / RESULT, StageResult)
    peak = f", at most {result.peak_memory_bytes / 2**30:.2f} GiB" if result.peak_memory_bytes else ""
    words = f"{result.status}, step {result.step} of {result.steps}, {result.wall_s:.0f} s"
    say(console, f"stage {stage.relative_to(run)}: {words} on {result.processes} x {result.device}{peak}")
    lines: tuple[Metrics, ...] = read_lines(stage / METRICS, dict[str, Any])
    for kind in ("train", "held_out"):
        for name in _FIGURES:
            values = [line[name] for line in lines if line["kind"] == kind and name in line]
            if values:
                say(console, f"  {kind:<8} {name:<24} {values[0]:.4g} → {values[-1]:.4g}")
