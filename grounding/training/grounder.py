"""The training of a grounder: options in; every split trained, given a card, and evaluated before and after.

What is done already is not done again.
"""

import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from grounding.atomic import flush_tree
from grounding.cards import AdapterRule, EndpointCard, GrounderCard, WeightsRule, find_card, read_card
from grounding.cards.identity import card_identity
from grounding.cards.places import models_dir
from grounding.cards.tuned import ADAPTER_CONFIG, ADAPTER_WEIGHTS, CARD_FILE, adapter_facts, checkpoint_sha256
from grounding.data import load_dataset
from grounding.errors import UserError
from grounding.grounders import BUILTIN
from grounding.grounders.hf.loading import HfOptions, fetch, local_folder
from grounding.options import EvalOptions
from grounding.records import Dataset
from grounding.run.folder import RunFolder
from grounding.run.scorebook import ScoredClicks, read_run, scored_tasks
from grounding.scoring.scored import ScoredTask
from grounding.training.examples import GrounderExample, prepare, trained_card
from grounding.training.loop import free_memory
from grounding.training.options import GrounderOptions
from grounding.training.recipes import GrounderRecipe, Method, check_batches, read_recipe, stage_methods
from grounding.training.records import (
    OUTPUT,
    AskedRun,
    Trained,
    TrainingFolder,
    TrainStage,
    asked_run,
    common,
    devices_of,
    read_record,
    write_record,
)
from grounding.training.results import FoldOutcome, GrounderSummary, changes, fold_means, write_page
from grounding.training.split import Split, make_split, parse_hold_out, participants
from grounding.training.stage import run_stage
from grounding.training.trainers import supervised

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")
_MOST_CHARS = 80
_HASH_CHARS = 8


def slug(text: str) -> str:
    return _NOT_IN_NAMES.sub("-", text).strip("-.")[:_MOST_CHARS] or "tuned"


_HEAD = b"# Written by grounding train. The folder can be moved and is a grounder: grounding eval --grounder FOLDER\n"
_OF_WEIGHTS = ("config.json", "generation_config.json", "*.safetensors", "*.safetensors.index.json")
"""What of a model's folder belongs to the weights; everything else is how texts and pictures are prepared."""


def write_tuned(folder: Path, output: Path, card: GrounderCard, *, base: Path) -> GrounderCard:
    """Make the folder of a tuned model from the output of a stage, whole or not at all.

    Low-rank weights are copied. Whole weights are linked where the file system can, and get the tokenizer, template and
    picture settings of the base: those in the output served the training.

    Args:
        folder: Where to; it may be moved later.
        output: What the stage left.
        card: The tuned model's card, whose ``adapter`` says what was tuned. Its name gets a part of the weights' hash,
            so that a server that has others under the same folder is found out.
        base: The folder of the weights that were tuned.

    Returns:
        The card, as the evaluation reads it.

    Raises UserError: the output holds no weights, or the disk failed.
    """
    new, rule = folder.with_name(f".{folder.name}.new"), card.adapter
    assert rule is not None, "the card says what was tuned"
    try:
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        fields: dict[str, Any]
        if (output / ADAPTER_WEIGHTS).is_file():
            shutil.copyfile(output / ADAPTER_WEIGHTS, new / ADAPTER_WEIGHTS)
            # PEFT's configuration without a folder of the machine that trained.
            said = read_record(output / ADAPTER_CONFIG, dict[str, Any]) | {"base_model_name_or_path": rule.base}
            write_record(new / ADAPTER_CONFIG, said)
            facts = adapter_facts(new)
            sha256, fields = facts.sha256, {}
            fields["adapter"] = msgspec.structs.replace(rule, sha256=facts.sha256, rank=facts.rank)
        elif (output / "config.json").is_file() and any(output.glob("*.safetensors")):
            for path in {path for pattern in _OF_WEIGHTS for path in output.glob(pattern)}:
                link(path, new / path.name)
            for path in sorted(base.iterdir()):
                of_weights = any(path.match(pattern) for pattern in _OF_WEIGHTS)
                if not of_weights and path.suffix in (".json", ".jinja", ".txt", ".model"):
                    shutil.copyfile(path, new / path.name)
            sha256 = checkpoint_sha256(new)
            fields = {"adapter": None, "weights": WeightsRule(sha256=sha256)}
        else:
            raise UserError(f"{output}: holds neither {ADAPTER_WEIGHTS} nor a model; train again with --fresh")
        name = f"{card.name}-{sha256[:_HASH_CHARS]}"
        content = msgspec.yaml.encode(msgspec.structs.replace(card, name=name, model=name, **fields))
        (new / CARD_FILE).write_bytes(_HEAD + content)
        flush_tree(new)
        shutil.rmtree(folder, ignore_errors=True)
        new.replace(folder)
    except OSError as error:
        raise UserError(f"{folder}: the tuned model can't be written: {error.strerror}") from error
    return read_card(folder / CARD_FILE, GrounderCard)


def link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


LEAVE_ONE_OUT, FOLDS, ADAPTER, EVALUATION = "leave-one-out", "folds", "adapter", "evaluation"

# `grounding eval` with these options, to a scored run folder; what is answered already is not asked again.
Evaluate = Callable[[EvalOptions], ScoredClicks]
ScoredPair = tuple[tuple[ScoredTask, ...], tuple[ScoredTask, ...]]
"""The scored tasks of one fold's held-out steps, of the base model and of the tuned one."""


@dataclass(frozen=True, kw_only=True)
class Fold:
    """One split with its examples; ``below`` is its folder, seen from the run's."""

    name: str
    below: str
    split: Split
    train: tuple[GrounderExample, ...]
    test: tuple[GrounderExample, ...]


@dataclass(frozen=True, kw_only=True)
class OpenedTraining:
    """What is trained, on what, and how.

    ``asked_card`` is what the user named, ``card`` the card of that name and ``trained`` the one whose prompt is
    trained, with a place for the history. ``checkpoint`` is the folder of the weights, ``tuned`` where a tuned card
    finds them again. A training that leaves one out has a folder for each fold, any other is its only one.
    """

    asked_card: str
    options: GrounderOptions
    card: GrounderCard
    trained: GrounderCard
    checkpoint: Path
    tuned: AdapterRule
    recipe: GrounderRecipe
    dataset: Dataset
    run: AskedRun
    folds: tuple[Fold, ...]


def open_training(
    asked_card: str, options: GrounderOptions, *, weights: bool = True, command: str = ""
) -> OpenedTraining:
    """Find and check everything. Downloads weights where they are not on this disk; writes nothing. Raises UserError:
    something is missing or wrong, or a split shares something; says what.
    """
    devices = devices_of(options)
    card = find_card(asked_card, models_dir() / "grounders", GrounderCard, builtin=tuple(BUILTIN), kind="grounder")
    if card.serving.how in ("in-process", "recorded"):
        raise UserError(f"{card.name} ({card.title}) can't be trained: {card.serving.reason}")
    recipe, recipe_text = read_recipe(options.recipe, GrounderRecipe, options.overrides)
    stage_methods(recipe)
    if card.adapter is not None and (recipe.lora is None or card.adapter.rank not in (None, recipe.lora.rank)):
        raise UserError(
            f"card {card.name} is an adapter of rank {card.adapter.rank}, which it keeps when it is tuned on, and "
            f"the recipe says otherwise; give --set lora.rank={card.adapter.rank}"
        )
    history_file = "auto" if recipe.history else None
    dataset = load_dataset(options.dataset, options.data_dir, questions=options.questions, history=history_file)
    splits = _splits(options, dataset)
    try:
        named = None if options.model is None else local_folder(options.model)
        checkpoint = fetch(card, HfOptions(model_path=options.model or ""), weights=weights)
    except UserError as error:
        raise UserError(str(error).replace("--model-path", "--model")) from error
    wanted = options.model or card.checkpoint
    found_again = wanted if local_folder(wanted) is None else str(checkpoint.resolve())
    base = card.adapter.base if card.adapter is not None else card.model
    trained = trained_card(card, history=recipe.history)
    folds = []
    for name, split in splits.items():
        train, test = (prepare(dataset.sessions, side, trained, recipe) for side in (split.train, split.test))
        if recipe.grpo is not None and (options.processes or options.accelerate_config is None):
            check_batches(recipe.grpo, prompts=len(train), processes=options.processes or 1)
        if recipe.sft is not None and not supervised(trained, train):
            raise UserError(f"stage sft: none of {len(train)} examples has an answer that is a hit")
        below = f"{FOLDS}/{name}" if options.leave_one_out else "."
        folds.append(Fold(name=name, below=below, split=split, train=train, test=test))
    base_sha256 = checkpoint_sha256(checkpoint)
    what = LEAVE_ONE_OUT if options.leave_one_out else f"without-{folds[0].name}"
    run = asked_run(
        (f"train-{slug(card.name)}", slug(dataset.name), what),
        recipe,
        recipe_text,
        options,
        command,
        kind="grounder",
        devices=devices,
        card=card.name,
        identity=card_identity(trained, checkpoint=base_sha256),
        # The identity says which weights they are; where they lie makes no other run.
        model=options.model if options.model is not None and named is None else card.model,
        dataset=dataset.name,
        fingerprint=dataset.fingerprint,
        select=_select(options),
        split=f"{LEAVE_ONE_OUT} participant" if options.leave_one_out else folds[0].split.text,
    )
    return OpenedTraining(
        asked_card=asked_card,
        options=options,
        card=card,
        trained=trained,
        checkpoint=checkpoint,
        tuned=AdapterRule(
            base=base,
            checkpoint="" if found_again == base else found_again,
            revision=card.checkpoint_revision if options.model is None else "main",
            base_sha256=base_sha256,
        ),
        recipe=recipe,
        dataset=dataset,
        run=run,
        folds=tuple(folds),
    )


def _splits(options: GrounderOptions, dataset: Dataset) -> dict[str, Split]:
    held_out = parse_hold_out(options.hold_out, ("participant", "task"))
    if options.leave_one_out is not None and held_out:
        raise UserError("--hold-out names one split and --leave-one-out makes them all: give one of them")
    everyone = [held_out]
    if options.leave_one_out is not None:
        everyone = [(("participant", name),) for name in participants(dataset.sessions)]
    found: dict[str, Split] = {}
    for number, held in enumerate(everyone):
        name = slug("_".join(f"{kind}-{each}" for kind, each in held))
        found[f"{name}.{number}" if name in found else name] = make_split(
            dataset.sessions,
            held,
            dataset=dataset.name,
            fingerprint=dataset.fingerprint,
            shared=options.shared,
            test_limit=options.test_limit,
        )
    return found


def _select(options: GrounderOptions) -> str:
    said = {name: getattr(options, name) for name in ("questions", "test_limit", "shared")}
    asked = [f"{name.replace('_', '-')}={value}" for name, value in said.items() if value not in (None, "refuse")]
    return ";".join(asked) or "all"


def stage_of(opened: OpenedTraining, method: Method, fold: Path, recipe: GrounderRecipe) -> TrainStage:
    """A stage of a fold; GRPO goes on from the output of SFT, which needn't be there yet."""
    rule = recipe.grpo if method == "grpo" else recipe.sft
    assert rule is not None, "the methods are those that the recipe has rules for"
    card = opened.trained
    model, adapter = str(opened.checkpoint.resolve()), "" if card.adapter is None else card.adapter.path
    if method == "grpo" and recipe.sft is not None:
        output = str(fold.resolve() / "stages" / "sft" / OUTPUT)
        model, adapter = (model, output) if recipe.lora is not None else (output, "")
    return TrainStage(
        **common(recipe, opened.options),
        name=method,
        method=method,
        model=model,
        adapter=adapter,
        optimisation=rule.optimisation,
        vision=recipe.vision,
        card=card,
        grpo=recipe.grpo if method == "grpo" else None,
    )


def run_training(opened: OpenedTraining, evaluate: Evaluate) -> Trained[GrounderSummary]:
    """Train and evaluate every fold, or go on where it stopped; a fold that is complete is not trained again.

    ``summary.json`` and ``report.html`` are written after every fold.

    Raises UserError: another process is at work there, or something can't go on; what was done is kept.
    """
    outcomes = {fold.name: _outcome(fold, "waiting") for fold in opened.folds}
    scores: list[ScoredPair] = []
    with opened.run.begun({fold.below: fold.split for fold in opened.folds}) as folder:
        for fold in opened.folds:
            outcomes[fold.name], found, stopped = _run_fold(opened, fold, evaluate)
            scores += [found] if found else []
            summary = GrounderSummary(
                status="complete" if all(one.status == "complete" for one in outcomes.values()) else "partial",
                signature=opened.run.info.signature,
                folds=tuple(outcomes.values()),
                # Over the held-out steps of all folds together; intervals over all their tasks.
                pooled=changes(
                    *([task for pair in scores for task in pair[side]] for side in (0, 1)), seed=opened.options.seed
                ),
                means=fold_means([one.metrics for one in outcomes.values() if one.metrics]),
                seed=opened.options.seed,
            )
            folder.write_summary(summary)
            folder.change(status=summary.status, stopped=stopped)
            write_page(folder.path)
            if stopped:
                break
    info = TrainingFolder(opened.run.path).read_info()
    return Trained(folder=opened.run.path, info=info, summary=summary)


def _outcome(fold: Fold, status: str, **known: object) -> FoldOutcome:
    steps = {"train_steps": len(fold.train), "test_steps": len(fold.split.test)}
    said = {"name": fold.name, "held_out": fold.split.text, "folder": fold.below, "status": status, **steps, **known}
    return msgspec.convert(said, FoldOutcome)


def _run_fold(opened: OpenedTraining, fold: Fold, evaluate: Evaluate) -> tuple[FoldOutcome, ScoredPair | None, str]:
    path = opened.run.path / fold.below
    for method in stage_methods(opened.recipe):
        stage, folder = stage_of(opened, method, path, opened.recipe), path / "stages" / method
        # SFT learns only where a gold answer is a hit.
        gold = fold.train if method == "grpo" else tuple(one for one, _ in supervised(opened.trained, fold.train))
        result = run_stage(folder, stage, gold, fold.test, display=opened.options.display)
        if result.status == "partial":
            return _outcome(fold, "partial"), None, result.stopped
    card = _tuned_card(opened, fold, path / ADAPTER, folder / OUTPUT)
    if opened.options.no_evaluate:
        return _outcome(fold, "complete", adapter=ADAPTER), None, ""
    free_memory()
    runs = [RunFolder(run.parent).read_info() for run in sorted((path / EVALUATION).glob("*/run.json"))]
    done = {run.asked.grounder: run.run_id for run in runs if run.status == "complete"}

    def scored(asked: GrounderCard, grounder: str) -> ScoredClicks:
        # Of a run that is complete nothing is loaded.
        if asked.name in done:
            return read_run(path / EVALUATION / done[asked.name])
        return evaluate(_eval_options(opened, fold, grounder, asked))

    base = scored(opened.card, opened.asked_card)
    known = {"adapter": ADAPTER, "base_run": f"{EVALUATION}/{base.folder.name}"}
    if base.info.stopped:
        return _outcome(fold, "partial", **known), None, base.info.stopped
    tuned = scored(card, str(path / ADAPTER))
    pair = (scored_tasks(base), scored_tasks(tuned))
    known |= {"tuned_run": f"{EVALUATION}/{tuned.folder.name}"}
    status = "complete" if {base.summary.status, tuned.summary.status} == {"complete"} else "partial"
    metrics = changes(*pair, seed=opened.options.seed)
    return msgspec.structs.replace(_outcome(fold, status, **known), metrics=metrics), pair, tuned.info.stopped


def _tuned_card(opened: OpenedTraining, fold: Fold, adapter: Path, output: Path) -> GrounderCard:
    """The tuned model's card; written where it is not there yet. What others state of the base model, its aliases, its
    price and its own endpoint are not the tuned model's.
    """
    if (adapter / CARD_FILE).is_file():
        return read_card(adapter / CARD_FILE, GrounderCard)
    card, recipe, dataset, held_out = opened.trained, opened.recipe, opened.dataset.name, fold.split.text
    told = f"{recipe.history} earlier steps" if recipe.history and card.uses_history else "no earlier steps"
    made = msgspec.structs.replace(
        card,
        name=slug(f"{card.name}-{dataset}-without-{held_out}"),
        title=f"{card.title}, tuned on {dataset} without {held_out.replace('=', ' ')}",
        revision="main",
        aliases=(),
        extends="",
        published=(),
        disagreements=(),
        price=None,
        retires=None,
        successor=None,
        endpoint=EndpointCard(how_to_serve="grounding serve FOLDER --port 8000, with this card's folder"),
        source=f"grounding train grounder, run {opened.run.info.run_id}; prompt and image rule: "
        f"{card.source or card.name}",
        verified=None,
        notes=f"Recipe {recipe.name}; told {told} of the session in training.",
        weights=None,
        adapter=opened.tuned,
    )
    return write_tuned(adapter, output, made, base=opened.checkpoint)


def _eval_options(opened: OpenedTraining, fold: Fold, grounder: str, card: GrounderCard) -> EvalOptions:
    asked = opened.options
    history = opened.recipe.history if card.uses_history else None
    people = [name for kind, _, name in (held.partition("=") for held in fold.split.held_out) if kind == "participant"]
    whole = len(people) == len(fold.split.held_out)
    return EvalOptions(
        dataset=asked.dataset,
        data_dir=asked.data_dir,
        questions=asked.questions,
        grounder=grounder,
        backend="hf",
        model_path=asked.model if card is opened.card else None,
        dtype=opened.recipe.precision.dtype,
        device=asked.device,
        batch_size=asked.batch_size,
        history=history,
        history_scope=opened.recipe.history_scope if history else "session",
        participant=tuple(people) if whole else (),
        sample_id=() if whole else fold.split.test,
        limit=asked.test_limit,
        seed=asked.seed,
        no_probe=True,  # The card is the asked one, or it with other weights: nothing new about its coordinates.
        log_dir=opened.run.path / fold.below / EVALUATION,
        display=asked.display,
        command=opened.run.info.command,
    )
