"""The stages of a grounder's training: their folders written, and their trainers made from the folders alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from grounding.cards import GrounderCard
from grounding.errors import UserError
from grounding.training.grounder.examples import EXAMPLES_FILE, HELD_OUT_FILE, read_examples, write_examples
from grounding.training.grounder.grpo import build_grpo
from grounding.training.grounder.recipe import check_batches, check_held_out, stage_methods
from grounding.training.grounder.records import GrounderExample, GrounderRecipe, GrounderStage
from grounding.training.grounder.sft import build_sft, supervised
from grounding.training.loop.here import OUTPUT
from grounding.training.loop.records import StageContext, StagePlan

STAGE_FILE = "grounder.json"


def plan_grounder(
    folder: Path,
    recipe: GrounderRecipe,
    *,
    card: GrounderCard,
    model: Path,
    train: Sequence[GrounderExample],
    held_out: Sequence[GrounderExample],
    seed: int,
    processes: int | None = 1,
) -> tuple[StagePlan, ...]:
    """Write the folder of every stage, and say what the loop has to know of each.

    A second stage goes on from the output of the first, which needn't be there yet. Files that are there already are
    written again.

    Args:
        folder: The run's folder; stages lie in ``stages/<name>``.
        recipe: How to train.
        card: As it is trained (``examples.trained_card``). One with an adapter is tuned on from there.
        model: The folder of the checkpoint.
        train: The examples to learn from.
        held_out: Those that are measured; the recipe says how many of them.
        seed: Of everything that is drawn.
        processes: On how many devices; None where only a file of accelerate's knows, and batches are checked later.

    Returns:
        The stages in their order; ``build_grounder_trainer`` makes the trainer of each.

    Raises:
        UserError: the recipe contradicts itself or the card, or there are too few examples.
    """
    check_card(card)
    methods = stage_methods(recipe)
    measured = tuple(held_out) if recipe.held_out is not None else ()
    if recipe.held_out is not None:
        measured = spread_out(held_out, recipe.held_out.examples)
    adapter = "" if card.adapter is None else card.adapter.path
    if card.adapter is not None and recipe.lora is None:
        raise UserError(f"card {card.name} is an adapter: it is tuned on as one, and the recipe has lora: null")
    if card.adapter is not None and recipe.lora is not None and card.adapter.rank not in (None, recipe.lora.rank):
        raise UserError(
            f"card {card.name} is an adapter of rank {card.adapter.rank}, which it keeps when it is tuned on, and the "
            f"recipe says {recipe.lora.rank}; give --set lora.rank={card.adapter.rank}"
        )
    checkpoint = str(model.resolve())
    plans = []
    for method in methods:
        place = folder.resolve() / "stages" / method
        stage = GrounderStage(
            name=method,
            method=method,
            card=card,
            model=checkpoint,
            adapter=adapter,
            lora=recipe.lora,
            vision=recipe.vision,
            precision=recipe.precision,
            seed=seed,
            sft=recipe.sft if method == "sft" else None,
            grpo=recipe.grpo if method == "grpo" else None,
            held_out=recipe.held_out if measured else None,
        )
        plans.append(_write_stage(place, stage, recipe, train, measured, processes))
        output = str(place / OUTPUT)
        checkpoint, adapter = (checkpoint, output) if recipe.lora is not None else (output, "")
    return tuple(plans)


def _write_stage(
    place: Path,
    stage: GrounderStage,
    recipe: GrounderRecipe,
    train: Sequence[GrounderExample],
    held_out: Sequence[GrounderExample],
    processes: int | None,
) -> StagePlan:
    generations = 1
    if stage.grpo is not None:
        rule, learned, measured = stage.grpo, tuple(train), tuple(held_out)
        optimisation, generations = rule.optimisation, rule.generations
        if processes is not None:
            check_batches(rule, prompts=len(learned), processes=processes)
        if processes is not None and stage.held_out is not None:
            check_held_out(stage.held_out, processes=processes)
    elif stage.sft is not None:
        optimisation = stage.sft.optimisation
        learned = tuple(each.example for each in supervised(stage.card, train))
        measured = tuple(each.example for each in supervised(stage.card, held_out))
    else:
        raise UserError(f"stage {stage.name}: has neither a rule for SFT nor one for GRPO")
    if not learned:
        raise UserError(f"stage {stage.name}: there is no example to learn from")
    place.mkdir(parents=True, exist_ok=True)
    write_examples(place / EXAMPLES_FILE, learned)
    write_examples(place / HELD_OUT_FILE, measured)
    (place / STAGE_FILE).write_bytes(msgspec.json.format(msgspec.json.encode(stage), indent=2) + b"\n")
    every = stage.held_out.every_steps if stage.held_out is not None and measured else None
    return StagePlan(
        folder=str(place),
        name=stage.name,
        method=stage.method,
        optimisation=optimisation,
        saving=recipe.saving,
        precision=recipe.precision,
        seed=stage.seed,
        examples=len(learned),
        generations=generations,
        held_out_every_steps=every,
        sample_every_steps=recipe.sample_every_steps,
    )


def build_grounder_trainer(context: StageContext) -> Any:
    """The trainer of a stage, from its folder.

    Raises:
        UserError: a file of the stage or the checkpoint is missing or damaged, or packages are.
    """
    stage = read_stage(context.folder)
    examples = read_examples(context.folder / EXAMPLES_FILE)
    held_out = read_examples(context.folder / HELD_OUT_FILE)
    build = build_sft if stage.method == "sft" else build_grpo
    return build(context, stage, examples, held_out)


def read_stage(folder: Path) -> GrounderStage:
    """What a stage's folder says about the training.

    Raises:
        UserError: the file is not there or damaged.
    """
    path = folder / STAGE_FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=GrounderStage)
    except (OSError, msgspec.DecodeError) as error:
        raise UserError(f"{path}: this stage of training can't be read: {error}; train anew with --fresh") from error


def check_card(card: GrounderCard) -> None:
    """Make sure that a card's model can be tuned here.

    Raises:
        UserError: its answer is no text, or its weights are not ones that run in this process.
    """
    if card.serving.how in ("in-process", "recorded"):
        raise UserError(f"{card.name} ({card.title}) can't be trained: {card.serving.reason}")


def spread_out(examples: Sequence[GrounderExample], most: int) -> tuple[GrounderExample, ...]:
    """At most so many examples, evenly over the whole list: the same ones each time.

    >>> spread_out([], 3)
    ()
    """
    if len(examples) <= most:
        return tuple(examples)
    return tuple(examples[place * len(examples) // most] for place in range(most))
