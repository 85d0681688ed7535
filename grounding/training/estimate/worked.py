"""What a real run would take: GTA1-7B tuned by GRPO on RealWebAssist, leaving one participant out at a time.

    python -m grounding.training.estimate.worked

prints every term for several machines. The pictures are taken to be of 1920 x 1080, the card's limits and the recipe
``grpo-gta1`` are those of the package, and the model's sizes those of its published ``config.json``.
"""

from __future__ import annotations

import msgspec

from grounding.card_schema import GrounderCard
from grounding.cards import find_card
from grounding.places import models_dir
from grounding.records import Record, Size
from grounding.training.estimate.devices import KnownDevice, known_device
from grounding.training.estimate.duration import Duration, estimate_time
from grounding.training.estimate.fits import Fit, assess, refusal_lines
from grounding.training.estimate.load import (
    ExampleShape,
    Rollouts,
    Sharding,
    Strategy,
    TrainingLoad,
    example_shape,
    training_load,
)
from grounding.training.estimate.memory import MemoryEstimate, estimate_memory
from grounding.training.estimate.render import render_estimate
from grounding.training.estimate.shapes import ModelShape, TextShape, VisionShape
from grounding.training.grounder.policy import tunes_vision
from grounding.training.grounder.records import GrounderRecipe
from grounding.training.recipes import read_recipe

GTA1_7B = ModelShape(
    name="GTA1-7B",
    model_type="qwen2_5_vl",
    text=TextShape(
        layers=28,
        width=3584,
        inner=18944,
        heads=28,
        kv_heads=4,
        head_width=128,
        vocabulary=152064,
        qkv_bias=True,
    ),
    vision=VisionShape(
        kind="qwen2_5_vl",
        layers=32,
        width=1280,
        inner=3420,
        heads=16,
        out_width=3584,
        whole_attention=4,
        window_px=112,
    ),
)
"""Salesforce/GTA1-7B-2507 has the sizes of Qwen/Qwen2.5-VL-7B-Instruct: from the ``config.json`` of both."""

CARD = "gta1-7b-2507"
STEPS, PARTICIPANTS = 1714, 10
"""RealWebAssist as released: steps with a click, which alone can be learned from, and participants."""

SCREEN = Size(width=1920, height=1080)
TEXT_TOKENS = 700
"""Assumed: the card's system text, ten earlier steps in words, the instruction, the template's marks."""


class WorkedRun(Record, frozen=True, kw_only=True):
    """All folds on one machine. ``notes`` say what would help where it doesn't fit."""

    machine: str
    estimate: MemoryEstimate
    fit: Fit
    duration: Duration
    notes: tuple[str, ...] = ()


def worked_example(card: GrounderCard, completion_tokens: int) -> ExampleShape:
    """One step of RealWebAssist as the card shows it to the model."""
    rule = card.image
    limits = {"min_pixels": rule.min_pixels, "max_pixels": rule.max_pixels}
    return example_shape(
        GTA1_7B,
        text_tokens=TEXT_TOKENS,
        completion_tokens=completion_tokens,
        picture=SCREEN,
        **{name: value for name, value in limits.items() if value is not None},
    )


def worked_load(recipe: GrounderRecipe, example: ExampleShape, sharding: Sharding) -> TrainingLoad:
    """The recipe's stage of GRPO on some devices, with as many replies a step as the recipe has on one.

    Raises:
        ValueError: the recipe has no stage of GRPO.
    """
    rule = recipe.grpo
    if rule is None:
        raise ValueError("no stage of GRPO")
    each = max(1, rule.optimisation.accumulation // sharding.devices) if recipe.lora is not None else None
    optimisation = rule.optimisation
    if each is not None:
        optimisation = msgspec.structs.replace(optimisation, accumulation=each)
    at_once = rule.generate_at_once
    load = training_load(
        "grpo",
        example,
        optimisation,
        recipe.precision,
        lora=recipe.lora,
        vision=recipe.vision,
        beta=rule.beta,
        rollouts=Rollouts(
            generations=rule.generations,
            steps_per_generation=None if at_once is None else max(1, at_once // optimisation.batch),
            iterations=rule.iterations,
        ),
        sharding=sharding,
        tower_outside=not tunes_vision(recipe.lora, vision=recipe.vision),
    )
    if recipe.lora is None and sharding.weight_shards == 1:
        # Weights tuned whole lie in float32: a step of 1e-6 is lost in bfloat16.
        load = msgspec.structs.replace(load, weights="float32")
    return load


def worked_run(
    device: KnownDevice,
    count: int,
    *,
    recipe: str = "grpo-gta1",
    strategy: Strategy = "ddp",
    reply_tokens: float = 12.0,
) -> WorkedRun:
    """The whole job on ``count`` devices of a kind: ten folds, each trained on nine participants' steps.

    Args:
        device: The kind.
        count: How many.
        recipe: A bundled recipe.
        strategy: How they share.
        reply_tokens: How long a reply is; that of a point is about a dozen tokens, whatever the recipe allows.
    """
    asked = read_recipe(recipe, GrounderRecipe).recipe
    rule = asked.grpo
    if rule is None:
        raise ValueError(f"recipe {recipe} has no stage of GRPO")
    card = find_card(CARD, models_dir() / "grounders", GrounderCard, builtin=(), kind="grounder")
    example = worked_example(card, rule.max_new_tokens or 32)
    load = worked_load(asked, example, Sharding(strategy=strategy, devices=count))
    machine = device.machine(count)
    estimate = estimate_memory(GTA1_7B, load, device_bytes=device.memory_bytes)
    fit = assess(estimate, machine)
    duration = estimate_time(
        GTA1_7B,
        load,
        device.speed(),
        examples=STEPS * (PARTICIPANTS - 1),
        epochs=rule.optimisation.epochs,
        reply_tokens=reply_tokens,
    )
    notes = () if fit.fits else tuple(refusal_lines(estimate, machine, fit)[1:])
    words = f"{count} x {device.name}" + (f" ({strategy})" if count > 1 else "")
    return WorkedRun(machine=words, estimate=estimate, fit=fit, duration=duration, notes=notes)


def main() -> None:
    """Print the calculation for several machines."""
    plans: tuple[tuple[str, int, str, Strategy], ...] = (
        ("H100", 8, "grpo-gta1", "ddp"),
        ("H200", 8, "grpo-gta1", "ddp"),
        ("H200", 1, "grpo-gta1", "ddp"),
        ("RTX 4090", 1, "grpo-gta1", "ddp"),
        ("H100", 8, "grpo-gta1-full", "zero3"),
    )
    for name, count, recipe, strategy in plans:
        run = worked_run(known_device(name), count, recipe=recipe, strategy=strategy)
        each = STEPS * (PARTICIPANTS - 1) // PARTICIPANTS
        print(f"# {run.machine}, recipe {recipe}: {PARTICIPANTS} folds of about {each:,} steps, one after the other\n")
        print(render_estimate(run.estimate, fit=run.fit, duration=run.duration))
        print("\n".join(run.notes) + "\n" if run.notes else "")


if __name__ == "__main__":
    main()
