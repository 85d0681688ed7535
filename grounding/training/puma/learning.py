"""One variant of PUMA from a base model to a trained one: SFT, merge, candidates, pairs, DPO, and what they measure.

Every step leaves its result in the run's folder and is passed over where it stands there already.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from grounding.errors import UserError
from grounding.options import Display
from grounding.records import Record
from grounding.training.loop.records import Builder, Launch, StagePlan, StageResult
from grounding.training.loop.stage import run_stage
from grounding.training.puma.candidates import candidate_batches, draw_candidates
from grounding.training.puma.drawing import Drawer
from grounding.training.puma.inputs import Inputs
from grounding.training.puma.labels import function_examples, label_of, parameter_examples
from grounding.training.puma.models import merge
from grounding.training.puma.pairs import make_pairs
from grounding.training.puma.preference import likelihoods, preference
from grounding.training.puma.records import (
    PairCounts,
    PreferenceChange,
    PreferencePair,
    PumaRecipe,
    SftExample,
    StageModel,
    TaskCandidates,
)
from grounding.training.puma.shop import LearntShop
from grounding.training.puma.split import PumaSplit
from grounding.training.puma.stages import build_dpo, build_sft, write_stage
from grounding.training.records import Method, Optimisation
from grounding.webagents.personalwab.agents.localmodel import folder_hash
from grounding.webagents.personalwab.records import ShopTask

CANDIDATES, COUNTS, PREFERENCE = "candidates.jsonl", "pairs.json", "preference.json"
Told = Callable[[str], None]
RecordT = TypeVar("RecordT", bound=Record)


class StageStopped(Exception):
    """A stage was broken off by the user; ``name`` says which, ``result`` how far it is."""

    def __init__(self, name: str, result: StageResult) -> None:
        super().__init__(name)
        self.name = name
        self.result = result


class PairFile(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The content of ``pairs.json``: what became of the candidates on both sides."""

    train: PairCounts
    held_out: PairCounts


@dataclass(frozen=True)
class Learning:
    """What all steps of a run have in common.

    Attributes:
        stages: The folder of all stages.
        base: The base model, a folder or a name on the hub.
        shop: The shop.
        split: Who trains.
        recipe: How.
        queries: Written queries by task id, where a chat model writes them.
        seed: The run's.
        launch: On how many devices stages run.
        display: How progress is shown.
        device: ``cpu`` to stay there.
        note: Told of every stage that ended, whole or not.
        told: Told in words what is being done.
    """

    stages: Path
    base: str
    shop: LearntShop
    split: PumaSplit
    recipe: PumaRecipe
    queries: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    launch: Launch | None = None
    display: Display | None = None
    device: Literal["cpu"] | None = None
    note: Callable[[str, StageResult], None] = lambda _name, _result: None
    told: Told = lambda _words: None

    def inputs(self, count: Callable[[str], int], *, tokens: int, told: bool) -> Inputs:
        """What the model is told, with or without a memory."""
        return Inputs(
            self.shop.dataset,
            count=count,
            embed=self.shop.embed,
            length=self.recipe.memory.length,
            tokens=tokens,
            told=told,
        )

    def tune(self, name: str, inputs: Inputs, *, parameters: bool) -> str:
        """The SFT: on functions, and on parameters where ``parameters``; returns the folder of the merged model.

        Raises:
            StageStopped: the user broke it off.
        """
        train, held = self.shop.sides(self.split)
        rule = self.recipe.sft
        model = StageModel(
            base=self.base, lora=self.recipe.lora, precision=self.recipe.precision, max_tokens=rule.max_tokens
        )
        folder = self.stages / name
        examples = self._examples(train, inputs, parameters=parameters)
        write_stage(folder, model, examples, self._examples(held, inputs, parameters=parameters))
        result = self._run(name, "sft", rule.optimisation, len(examples), build_sft)
        return str(merge(self.base, Path(str(result.output)), folder / "merged", self.recipe.precision))

    def _examples(self, tasks: Sequence[ShopTask], inputs: Inputs, *, parameters: bool) -> list[SftExample]:
        made = function_examples(tasks, inputs)
        if parameters:
            products = self.shop.dataset.products
            made += parameter_examples(tasks, inputs, products, self.recipe.labels, self.queries)
        return made

    def pair(self, name: str, tuned: str, inputs: Inputs) -> tuple[list[PreferencePair], list[PreferencePair]]:
        """Draw, score and pair candidates of a tuned model, of the tasks that train and of those that are held out."""
        rule, folder = self.recipe.candidates, self.stages / name
        folder.mkdir(parents=True, exist_ok=True)
        train, held = self.shop.sides(self.split)
        prompts = [(task, prompt) for task in (*train, *held) if (prompt := inputs.parameter(task)) is not None]
        batches = list(candidate_batches(prompts, inputs.count, rule))
        self.told(f"{name}: drawing {rule.count} candidates of each of {len(prompts)} tasks")
        drawn = draw_candidates(
            folder / CANDIDATES,
            batches,
            lambda: Drawer(tuned, rule, self.recipe.precision),
            self.shop.scorer(rule.scoring),
            rule,
            identity=_weights(tuned),
            seed=self.seed,
            labels=self._labels((*train, *held), inputs) if rule.with_label else None,
            told=lambda done, total: self.told(f"{name}: {done} of {total} tasks have candidates"),
        )
        pairs, counts = self._pairs(train, drawn, inputs)
        held_pairs, held_counts = self._pairs(held, drawn, inputs)
        write_json(folder / COUNTS, PairFile(train=counts, held_out=held_counts))
        return pairs, held_pairs

    def _labels(self, tasks: Sequence[ShopTask], inputs: Inputs) -> dict[str, str]:
        products = self.shop.dataset.products
        return {task.id: label_of(task, inputs, products, self.recipe.labels, self.queries) for task in tasks}

    def _pairs(
        self, tasks: Sequence[ShopTask], drawn: Mapping[str, TaskCandidates], inputs: Inputs
    ) -> tuple[list[PreferencePair], PairCounts]:
        dpo = self.recipe.dpo
        with_any = [task for task in tasks if task.id in drawn]

        def prompt_of(task: ShopTask) -> str | None:
            return inputs.parameter(task, most_tokens=min(dpo.prompt_tokens, dpo.max_tokens - 1))

        return make_pairs(with_any, drawn, prompt_of, least_gap=dpo.least_gap)

    def prefer(self, name: str, tuned: str, pairs: Sequence[PreferencePair], held_out: Sequence[PreferencePair]) -> str:
        """DPO; returns the folder of its output, adapters or a model.

        Raises:
            StageStopped: the user broke it off.
        """
        rule = self.recipe.dpo
        model = StageModel(
            base=tuned,
            lora=self.recipe.lora,
            precision=self.recipe.precision,
            max_tokens=rule.max_tokens,
            beta=rule.beta,
        )
        write_stage(self.stages / name, model, pairs, held_out)
        result = self._run(name, "dpo", rule.optimisation, len(pairs), build_dpo)
        return str(result.output)

    def measure(self, name: str, tuned: str, output: str, held_out: Sequence[PreferencePair]) -> PreferenceChange:
        """The preference of the held-out pairs before and after DPO; kept in the stage's folder."""
        path = self.stages / name / PREFERENCE
        if path.is_file():
            return read_json(path, PreferenceChange)
        is_adapter = (Path(output) / "adapter_config.json").is_file()
        model, adapter = (tuned, output) if is_adapter else (output, None)
        precision, most = self.recipe.precision, self.recipe.dpo.max_tokens
        before = likelihoods(tuned, None, held_out, precision, most)
        after = likelihoods(model, adapter, held_out, precision, most)
        change = PreferenceChange(
            before=preference(before), after=preference(after, before), pairs_before=before, pairs_after=after
        )
        write_json(path, change)
        return change

    def _run(self, name: str, method: Method, optimisation: Optimisation, examples: int, build: Builder) -> StageResult:
        plan = StagePlan(
            folder=str((self.stages / name).resolve()),
            name=name,
            method=method,
            optimisation=optimisation,
            saving=self.recipe.saving,
            precision=self.recipe.precision,
            seed=self.seed,
            examples=examples,
            held_out_every_steps=self.recipe.held_out_every_steps,
            device=self.device,
        )
        result = run_stage(plan, build, launch=self.launch, display=self.display)
        self.note(name, result)
        if result.status != "complete":
            raise StageStopped(name, result)
        return result


def _weights(model: str) -> str:
    """What tells one model from another: a folder's bytes, or a name on the hub."""
    return folder_hash(Path(model)) if Path(model).is_dir() else model


def write_json(path: Path, record: Record) -> None:
    """Replace a file of one record."""
    new = path.with_name(f".{path.name}.new")
    new.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n")
    new.replace(path)


def read_json(path: Path, record_type: type[RecordT]) -> RecordT:
    """Read a file of one record.

    Raises:
        UserError: it is damaged.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=record_type)
    except (OSError, msgspec.DecodeError) as error:
        raise UserError(f"{path}: damaged ({error}); delete it to have it made again") from None
