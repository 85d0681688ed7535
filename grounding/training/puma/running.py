"""A whole training of PUMA: labels, stages, models, evaluations and a summary; what is done is not done again."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from grounding.attended import INTERRUPTED
from grounding.interrupts import terminated_like_interrupted
from grounding.records import Record
from grounding.training.folder import TrainingFolder, TrainingInfo
from grounding.training.loop.records import StageResult
from grounding.training.page.page import training_page
from grounding.training.puma.evaluate import BASE, EvaluatedModel, EvaluateShop, evaluation_options
from grounding.training.puma.finishing import finish_model
from grounding.training.puma.inputs import Inputs
from grounding.training.puma.labelling import Labelled, write_queries
from grounding.training.puma.learning import COUNTS, Learning, PairFile, StageStopped, read_json
from grounding.training.puma.models import load_tokenizer
from grounding.training.puma.opening import OpenedPuma
from grounding.training.puma.outcome import ModelOutcome, PumaSummary, below, kind_figures, trained_outcome
from grounding.training.puma.plan import VariantPlan
from grounding.webagents.personalwab.shelf import Shelf

MODELS = "models"


class TrainedPuma(Record, frozen=True, kw_only=True):
    """A training as it stands, with the runs that evaluated it."""

    folder: Path
    info: TrainingInfo
    summary: PumaSummary
    evaluated: tuple[EvaluatedModel, ...] = ()
    set_aside: Path | None = None


def run_puma(opened: OpenedPuma, evaluate: EvaluateShop) -> TrainedPuma:
    """Train and evaluate every model of the recipe, or go on where it stopped.

    ``summary.json`` is written after every model.

    Raises:
        UserError: another process is at work there, or something can't go on; what was done is kept.
    """
    folder = TrainingFolder(opened.path)
    set_aside = folder.set_aside() if opened.asked.fresh else None
    folder.create()
    started = time.monotonic()
    try:
        info = _begin(folder, opened)
        run = _Run(folder, opened, evaluate)
        try:
            with terminated_like_interrupted():
                run.everything()
        except KeyboardInterrupt:
            run.stopped = INTERRUPTED
        summary = run.summary()
        folder.write_summary(summary)
        info = msgspec.structs.replace(
            folder.read_info(),
            status=summary.status,
            stopped=summary.stopped,
            wall_s=info.wall_s + time.monotonic() - started,
        )
        folder.write_info(info)
        training_page(opened.path)
    finally:
        folder.release()
    return TrainedPuma(
        folder=opened.path, info=info, summary=summary, evaluated=tuple(run.evaluated), set_aside=set_aside
    )


def _begin(folder: TrainingFolder, opened: OpenedPuma) -> TrainingInfo:
    info = opened.info
    if (folder.path / "run.json").exists():
        before = folder.read_info()
        info = msgspec.structs.replace(
            info, started_at=before.started_at, wall_s=before.wall_s, stages=before.stages or info.stages
        )
    folder.write_info(info)
    folder.replace("recipe.yaml", opened.recipe_text.encode())
    folder.replace("split.json", msgspec.json.format(msgspec.json.encode(opened.split), indent=1))
    return info


class _Run:
    """The work of one run, and what has come of it so far."""

    def __init__(self, folder: TrainingFolder, opened: OpenedPuma, evaluate: EvaluateShop) -> None:
        self._folder, self._opened, self._evaluate = folder, opened, evaluate
        self._shelf = Shelf()
        self._outcomes: dict[str, ModelOutcome] = {}
        self._labelled = Labelled(queries={}, without=0, cost_usd=None)
        self.evaluated: list[EvaluatedModel] = []
        self.stopped = ""

    def everything(self) -> None:
        """Labels, then each model from base to evaluation."""
        opened = self._opened
        tokenizer = load_tokenizer(str(opened.base))

        def count(text: str) -> int:
            return len(tokenizer(text)["input_ids"])

        learning = self._learning({})
        if opened.recipe.labels.search == "model":
            self._label(learning.inputs(count, tokens=max(opened.recipe.memory.tokens), told=True))
            if self.stopped:
                return
            learning = self._learning(self._labelled.queries)
        if opened.asked.evaluates == "both":
            self._measure(opened.base, None)
        for plan in opened.plans:
            if self.stopped:
                return
            inputs = learning.inputs(count, tokens=plan.tokens, told=plan.told)
            try:
                model, outcome = self._trained(learning, plan, inputs)
            except StageStopped as stopped:
                self.stopped = stopped.result.stopped or INTERRUPTED
                return
            self._outcomes[plan.name] = outcome
            if opened.asked.evaluates != "none":
                self._measure(model, plan)
            self._folder.write_summary(self.summary())

    def summary(self) -> PumaSummary:
        """What there is so far."""
        opened = self._opened
        wanted = [plan.name for plan in opened.plans] + ([BASE] if opened.asked.evaluates == "both" else [])
        runs = all(one.scored.summary.status == "complete" for one in self.evaluated)
        evaluated = opened.asked.evaluates == "none" or all(
            self._outcomes[name].figures for name in wanted if name in self._outcomes
        )
        whole = all(name in self._outcomes for name in wanted) and runs and evaluated and not self.stopped
        order = [BASE, *(plan.name for plan in opened.plans)]
        return PumaSummary(
            status="complete" if whole else "partial",
            signature=opened.info.signature,
            reading=opened.recipe.candidates.scoring,
            models=tuple(self._outcomes[name] for name in order if name in self._outcomes),
            labels_without=self._labelled.without,
            labels_cost_usd=self._labelled.cost_usd,
            stopped=self.stopped,
        )

    def _learning(self, queries: dict[str, str]) -> Learning:
        opened = self._opened
        return Learning(
            stages=self._folder.path.resolve() / "stages",
            base=str(opened.base),
            shop=opened.shop,
            split=opened.split,
            recipe=opened.recipe,
            queries=queries,
            seed=opened.asked.seed,
            launch=opened.asked.launch,
            display=opened.asked.display,
            device=opened.asked.device,
            note=self._note,
            told=_tell(opened.asked.display),
        )

    def _note(self, name: str, result: StageResult) -> None:
        self._folder.note_stage(name, result)

    def _label(self, inputs: Inputs) -> None:
        train, held = self._opened.shop.sides(self._opened.split)
        self._labelled = write_queries(self._folder.path, self._opened.asked, (*train, *held), inputs)
        self.stopped = self._labelled.stopped

    def _trained(self, learning: Learning, plan: VariantPlan, inputs: Inputs) -> tuple[Path, ModelOutcome]:
        """Take one model through its stages; one without a pair to prefer stays what the SFT made of it."""
        opened = self._opened
        tuned = learning.tune(plan.sft, inputs, parameters=plan.parameters)
        output, pairs, change = "", None, None
        if plan.dpo:
            train, held = learning.pair(plan.dpo, tuned, inputs)
            pairs = read_json(learning.stages / plan.dpo / COUNTS, PairFile)
            if train:
                output = learning.prefer(plan.dpo, tuned, train, held)
                change = learning.measure(plan.dpo, tuned, output, held)
            else:
                learning.told(f"{plan.dpo}: no pair has a better and a worse parameter; the model stays as it is")
        model = finish_model(
            self._folder.path.resolve() / MODELS / plan.name,
            plan,
            tuned=tuned,
            output=output,
            base=opened.info.asked.model,
            kind=opened.recipe.output,
            precision=opened.recipe.precision,
            memory_length=inputs.memory_length,
            dataset=opened.shop.dataset.name,
        )
        return model, trained_outcome(plan, model, self._folder.path, pairs, change)

    def _measure(self, model: Path, plan: VariantPlan | None) -> None:
        """Evaluate a model by PersonalWAB's own agent."""
        opened = self._opened
        name = BASE if plan is None else plan.name
        options = evaluation_options(self._folder.path, model, opened.asked, opened.recipe, plan)
        one = EvaluatedModel(name=name, plan=plan, scored=self._evaluate(options, self._shelf))
        self.evaluated.append(one)
        before = self._outcomes.get(name, ModelOutcome(name=name, memory_tokens=options.memory_tokens or 0))
        self._outcomes[name] = msgspec.structs.replace(
            before,
            run=below(one.scored.folder, self._folder.path),
            figures=kind_figures(one, opened.recipe.candidates.scoring),
        )
        if one.scored.info.stopped:
            self.stopped = one.scored.info.stopped


def _tell(display: Any) -> Callable[[str], None]:
    def say(words: str) -> None:
        if display != "none":
            print(words, file=sys.stderr, flush=True)

    return say
