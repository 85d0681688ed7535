"""All splits of a training, one after the other, and what they amount to together."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from grounding.errors import UserError
from grounding.lockedfolder import LockedFolder
from grounding.records import Record
from grounding.training.folder import TrainingFolder, TrainingInfo
from grounding.training.grounder.evaluate import Evaluate
from grounding.training.grounder.fit import StageFit
from grounding.training.grounder.fold import FoldEnd, run_fold, waiting
from grounding.training.grounder.opening import OpenedTraining
from grounding.training.grounder.pooled import FoldScores, GrounderSummary, fold_means, pooled_changes
from grounding.training.page.page import write_training_page


class TrainedGrounder(Record, frozen=True, kw_only=True):
    """A training as it stands: its folder and figures, why it stopped early, and where an earlier run was moved."""

    folder: Path
    info: TrainingInfo
    summary: GrounderSummary
    stopped: str = ""
    set_aside: Path | None = None


def run_training(opened: OpenedTraining, evaluate: Evaluate, *, fits: Sequence[StageFit] = ()) -> TrainedGrounder:
    """Train and evaluate every fold, or go on where it stopped; a fold that is complete is not trained again.

    ``summary.json`` and ``report.html`` are written after every fold.

    Args:
        opened: What is trained.
        evaluate: ``grounding eval``.
        fits: How much memory each stage was estimated to take; kept in every fold's folder.

    Raises:
        UserError: another process is at work there, or something can't go on; what was done is kept.
    """
    folder = TrainingFolder(opened.path)
    set_aside = folder.set_aside() if opened.asked.fresh else None
    folder.create()
    try:
        ended = _run(opened, folder, evaluate, fits)
    finally:
        folder.release()
    return msgspec.structs.replace(ended, set_aside=set_aside)


def _run(
    opened: OpenedTraining, folder: TrainingFolder, evaluate: Evaluate, fits: Sequence[StageFit]
) -> TrainedGrounder:
    started, stopped = time.monotonic(), ""
    before_s = _begin(opened, folder)
    ends: dict[str, FoldEnd] = {fold.name: FoldEnd(outcome=waiting(opened, fold)) for fold in opened.folds}
    summary = summarise(opened, ends)
    for fold in opened.folds:
        with_lock = LockedFolder(fold.path, what="the fold's folder") if opened.is_many else None
        if with_lock is not None:
            with_lock.create()
        try:
            end = run_fold(opened, fold, evaluate, fits)
        finally:
            if with_lock is not None:
                with_lock.release()
        ends[fold.name] = end
        summary = summarise(opened, ends)
        folder.write_summary(summary)
        if opened.is_many:
            _end(TrainingFolder(fold.path), end.outcome.status, end.stopped)
            TrainingFolder(fold.path).write_summary(_alone(opened, end))
            write_page_or_warn(fold.path)
            write_page_or_warn(folder.path)
        stopped = end.stopped
        if stopped:
            break
    info = _end(folder, summary.status, stopped)
    if opened.is_many:
        info = msgspec.structs.replace(info, wall_s=before_s + time.monotonic() - started)
        folder.write_info(info)
    write_page_or_warn(folder.path)
    return TrainedGrounder(folder=opened.path, info=info, summary=summary, stopped=stopped)


def write_page_or_warn(folder: Path) -> None:
    """Write ``report.html``; a page that can't be made must not cost what was trained."""
    try:
        write_training_page(folder)
    except (UserError, OSError) as error:
        print(f"grounding: warning: {folder}: report.html was not written: {error}", file=sys.stderr, flush=True)


def _begin(opened: OpenedTraining, folder: TrainingFolder) -> float:
    """Describe the run above its folds; returns the seconds that it took so far. A single fold describes itself."""
    if not opened.is_many:
        return 0.0
    info = opened.info
    if (folder.path / "run.json").exists():
        before = folder.read_info()
        info = msgspec.structs.replace(info, started_at=before.started_at, wall_s=before.wall_s)
    folder.write_info(info)
    folder.replace("recipe.yaml", opened.recipe_text.encode())
    return info.wall_s


def _end(folder: TrainingFolder, status: Literal["waiting", "partial", "complete"], stopped: str) -> TrainingInfo:
    info = folder.read_info()
    ended: Literal["partial", "complete"] = "complete" if status == "complete" else "partial"
    info = msgspec.structs.replace(info, status=ended, stopped=stopped)
    folder.write_info(info)
    return info


def summarise(opened: OpenedTraining, ends: dict[str, FoldEnd]) -> GrounderSummary:
    """The summary of all folds as they stand."""
    outcomes = tuple(end.outcome for end in ends.values())
    scores: list[FoldScores] = [end.scores for end in ends.values() if end.scores is not None]
    evaluated = [end.outcome.metrics for end in ends.values() if end.scores is not None]
    return GrounderSummary(
        status="complete" if all(each.status == "complete" for each in outcomes) else "partial",
        signature=opened.info.signature,
        folds=outcomes,
        pooled=pooled_changes(scores, seed=opened.asked.seed) if scores else (),
        means=fold_means(evaluated),
        seed=opened.asked.seed,
    )


def _alone(opened: OpenedTraining, end: FoldEnd) -> GrounderSummary:
    """The summary in a fold's own folder."""
    above = end.outcome.folder
    outcome = msgspec.structs.replace(
        end.outcome,
        folder=".",
        **{name: getattr(end.outcome, name).removeprefix(f"{above}/") for name in ("adapter", "base_run", "tuned_run")},
    )
    summary = summarise(opened, {outcome.name: FoldEnd(outcome=outcome, scores=end.scores)})
    fold = next(fold for fold in opened.folds if fold.name == outcome.name)
    return msgspec.structs.replace(summary, signature=fold.info.signature)
