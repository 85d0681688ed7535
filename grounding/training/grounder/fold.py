"""One split: trained stage by stage, given a card, and evaluated on what it held out. Goes on where it stopped."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from grounding.cards import GrounderCard, read_card
from grounding.records import Record
from grounding.training.adapters import TunedFrom, write_tuned
from grounding.training.folder import TrainingFolder
from grounding.training.grounder.evaluate import Evaluate, EvaluationPlan, evaluate_fold, fold_scores
from grounding.training.grounder.fit import StageFit
from grounding.training.grounder.opening import OpenedFold, OpenedTraining
from grounding.training.grounder.pooled import FoldOutcome, FoldScores, changes
from grounding.training.grounder.stages import build_grounder_trainer, plan_grounder
from grounding.training.loop.records import StagePlan, StageResult
from grounding.training.loop.stage import run_stage
from grounding.tuned import CARD_FILE

ADAPTER = "adapter"
RECIPE = "recipe.yaml"
SPLIT = "split.json"
ESTIMATE = "estimate.json"


class FoldEnd(Record, frozen=True, kw_only=True):
    """How a fold ended for now. ``scores`` is None where it was not evaluated in full."""

    outcome: FoldOutcome
    scores: FoldScores | None = None
    stopped: str = ""


def run_fold(opened: OpenedTraining, fold: OpenedFold, evaluate: Evaluate, fits: Sequence[StageFit] = ()) -> FoldEnd:
    """Train, write the card, evaluate; what is done already is not done again.

    The folder must be held by the caller, where it is the run's own too.

    Raises:
        UserError: a stage or the evaluation can't go on; what was done is kept.
    """
    folder = TrainingFolder(fold.path)
    started = time.monotonic()
    begin(folder, opened, fold, fits)
    outcome = waiting(opened, fold)
    try:
        trained = _train(opened, fold, folder)
        if trained.status == "partial":
            return FoldEnd(outcome=msgspec.structs.replace(outcome, status="partial"), stopped=trained.stopped)
        card = _card(opened, fold, folder, trained)
        outcome = msgspec.structs.replace(outcome, adapter=_below(opened, fold.path / ADAPTER))
        if not opened.asked.evaluates:
            return FoldEnd(outcome=msgspec.structs.replace(outcome, status="complete"))
        return _evaluated(opened, fold, outcome, card, evaluate)
    finally:
        info = folder.read_info()
        folder.write_info(msgspec.structs.replace(info, wall_s=info.wall_s + time.monotonic() - started))


def begin(folder: TrainingFolder, opened: OpenedTraining, fold: OpenedFold, fits: Sequence[StageFit] = ()) -> None:
    """Describe a fold in its folder: how it trains and on what, and the memory that it was estimated to take.

    Started before, its times and stages are kept.

    Raises:
        UserError: the folder holds something else, or can't be written.
    """
    folder.path.mkdir(parents=True, exist_ok=True)
    info = fold.info
    if (folder.path / "run.json").exists():
        before = folder.read_info()
        info = msgspec.structs.replace(
            info, started_at=before.started_at, wall_s=before.wall_s, stages=before.stages or info.stages
        )
    folder.write_info(info)
    folder.replace(RECIPE, opened.recipe_text.encode())
    if fits:
        folder.replace(ESTIMATE, msgspec.json.format(msgspec.json.encode(list(fits)), indent=1))
    folder.replace(SPLIT, msgspec.json.format(msgspec.json.encode(fold.split), indent=1))


def is_trained(fold: OpenedFold) -> bool:
    """Whether a fold's tuned model is there, so that at most its evaluation is left."""
    return (fold.path / ADAPTER / CARD_FILE).is_file()


def waiting(opened: OpenedTraining, fold: OpenedFold) -> FoldOutcome:
    """A fold that has not begun."""
    return FoldOutcome(
        name=fold.name,
        held_out=fold.split.text,
        folder=_below(opened, fold.path),
        status="waiting",
        train_steps=len(fold.train.examples),
        test_steps=len(fold.split.test.step_ids),
    )


def stage_plans(opened: OpenedTraining, fold: OpenedFold) -> tuple[StagePlan, ...]:
    """Write the stages' folders and say what the loop has to know of each.

    Raises:
        UserError: the recipe contradicts the card or the number of examples.
    """
    plans = plan_grounder(
        fold.path,
        opened.recipe,
        card=opened.trained,
        model=opened.checkpoint,
        train=fold.train.examples,
        held_out=fold.test.examples,
        seed=opened.asked.seed,
        # Without a number the file of accelerate's says it, and the batches are checked when the trainer is made.
        processes=opened.asked.launch.processes or (None if opened.asked.launch.accelerate_config else 1),
    )
    return tuple(msgspec.structs.replace(plan, device=opened.asked.device) for plan in plans)


def _train(opened: OpenedTraining, fold: OpenedFold, folder: TrainingFolder) -> StageResult:
    result: StageResult | None = None
    for plan in stage_plans(opened, fold):
        result = run_stage(plan, build_grounder_trainer, launch=opened.asked.launch, display=opened.asked.display)
        folder.note_stage(plan.name, result)
        if result.status == "partial":
            break
    if result is None:
        raise AssertionError("a recipe without stages is refused when it is read")
    return result


def _card(opened: OpenedTraining, fold: OpenedFold, folder: TrainingFolder, trained: StageResult) -> GrounderCard:
    """The tuned model's card; written where it is not there yet."""
    adapter = folder.path / ADAPTER
    if is_trained(fold):
        return read_card(adapter / CARD_FILE, GrounderCard)
    tuned = TunedFrom(
        card=opened.trained,
        checkpoint=opened.checkpoint_named,
        revision=opened.card.checkpoint_revision if opened.asked.model is None else "main",
        base_sha256=opened.base_sha256,
        dataset=opened.dataset.name,
        held_out=fold.split.text,
        run_id=fold.info.run_id,
        recipe=opened.recipe.name,
        history=opened.recipe.history,
    )
    return write_tuned(adapter, Path(trained.output or ""), tuned, base=opened.checkpoint)


def _evaluated(
    opened: OpenedTraining, fold: OpenedFold, outcome: FoldOutcome, card: GrounderCard, evaluate: Evaluate
) -> FoldEnd:
    plan = EvaluationPlan(
        asked=opened.asked,
        recipe=opened.recipe,
        split=fold.split,
        fold=fold.path,
        base_card=opened.card,
        checkpoint=opened.checkpoint,
        tuned_card=card,
        adapter=fold.path / ADAPTER,
    )
    _let_go()
    evaluated = evaluate_fold(plan, evaluate)
    outcome = msgspec.structs.replace(outcome, base_run=_below(opened, evaluated.base.folder))
    if evaluated.tuned is None:
        return FoldEnd(outcome=msgspec.structs.replace(outcome, status="partial"), stopped=evaluated.stopped)
    scores = fold_scores(fold.name, evaluated)
    outcome = msgspec.structs.replace(
        outcome,
        status="complete" if evaluated.is_complete else "partial",
        tuned_run=_below(opened, evaluated.tuned.folder),
        metrics=changes(scores.base, scores.tuned, seed=opened.asked.seed),
    )
    return FoldEnd(outcome=outcome, scores=scores, stopped=evaluated.stopped)


def _let_go() -> None:
    """Give the trainer's memory back, which the models that are evaluated need; it hangs on itself in circles."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()


def _below(opened: OpenedTraining, path: Path) -> str:
    """A folder below the run's own, as the summary names it."""
    return path.resolve().relative_to(opened.path.resolve()).as_posix()
