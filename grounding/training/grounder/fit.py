"""What each stage of a grounder's training takes, from its examples and the checkpoint's config.json; runs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from grounding.cards import GrounderCard
from grounding.chat import render_messages
from grounding.errors import UserError
from grounding.pictures import Picture, picture_sizes
from grounding.records import Record
from grounding.tokens.requests import output_limit
from grounding.tokens.texts import text_tokens
from grounding.training.estimate import (
    Duration,
    ExampleShape,
    Fit,
    Machine,
    MemoryEstimate,
    ModelShape,
    Rollouts,
    Sharding,
    TrainingLoad,
    assess,
    check_fits,
    estimate_memory,
    estimate_time,
    example_shape,
    read_shape,
    speed_of,
    this_machine,
    training_load,
)
from grounding.training.grounder.opening import OpenedFold, OpenedTraining
from grounding.training.grounder.policy import tunes_vision
from grounding.training.grounder.recipe import stage_methods
from grounding.training.grounder.records import GrounderExample, GrounderRecipe, GrpoRule
from grounding.training.loop.records import Launch
from grounding.training.records import Method
from grounding.wire import TextPart

SFT_TOKENS = 32
"""Tokens of a written answer, at most: a box of four numbers of four digits takes about 25."""

DEFAULT_REPLY_TOKENS = 256


class StageFit(Record, frozen=True, kw_only=True):
    """One stage: the memory that it needs on each device, what there is, and the time where the device is known."""

    name: Method
    estimate: MemoryEstimate
    fit: Fit
    duration: Duration | None = None


def stage_fits(opened: OpenedTraining) -> tuple[StageFit, ...]:
    """Every stage held against this machine, with the longest example of all folds.

    Raises:
        UserError: the checkpoint's config or the file for accelerate can't be read.
    """
    cpu = opened.asked.device == "cpu"
    machine = this_machine(cpu=cpu)
    found = []
    for name, estimate in _estimates(opened, machine):
        duration = _duration(opened, name, estimate, machine)
        found.append(StageFit(name=name, estimate=estimate, fit=assess(estimate, machine), duration=duration))
    return tuple(found)


def _duration(opened: OpenedTraining, method: Method, estimate: MemoryEstimate, machine: Machine) -> Duration | None:
    """The time of all folds together; None on a device whose speed isn't known."""
    speed, recipe = speed_of(machine), opened.recipe
    rule = recipe.grpo if method == "grpo" else recipe.sft
    if speed is None or rule is None:
        return None
    examples = sum(fold.train.counted.examples for fold in opened.folds)
    epochs = rule.optimisation.epochs
    if rule.optimisation.max_steps is not None:
        drawn = estimate.load.batch * estimate.load.accumulation * estimate.load.sharding.devices
        prompts = drawn / (recipe.grpo.generations if method == "grpo" and recipe.grpo is not None else 1)
        epochs = len(opened.folds) * rule.optimisation.max_steps * prompts / examples
    return estimate_time(estimate.shape, estimate.load, speed, examples=examples, epochs=epochs)


def refuse_what_does_not_fit(opened: OpenedTraining) -> None:
    """Nothing, where every stage fits.

    Raises:
        UserError: one doesn't; says what it needs, what there is and what helps.
    """
    machine = this_machine(cpu=opened.asked.device == "cpu")
    for name, estimate in _estimates(opened, machine):
        try:
            check_fits(estimate, machine)
        except UserError as error:
            raise UserError(f"stage {name}: {error}\nTo try all the same: --force") from error


def _estimates(opened: OpenedTraining, machine: Machine) -> list[tuple[Method, MemoryEstimate]]:
    shape = read_shape(opened.checkpoint, name=opened.card.name)
    sharding = sharding_of(opened.asked.launch)
    device_bytes = machine.devices[0].total_bytes if machine.kind == "cuda" else None
    found = []
    for method in stage_methods(opened.recipe):
        example = longest_example(shape, opened.trained, opened.folds, reply_tokens(opened, method))
        load = stage_load(opened.recipe, method, example, sharding, machine.kind)
        found.append((method, estimate_memory(shape, load, device_bytes=device_bytes)))
    return found


def reply_tokens(opened: OpenedTraining, method: Method) -> int:
    """The longest reply of a stage: what may be generated, or what a gold answer takes."""
    rule = opened.recipe.grpo
    if method != "grpo" or rule is None:
        return SFT_TOKENS
    return rule.max_new_tokens or output_limit(opened.trained.parameters) or DEFAULT_REPLY_TOKENS


def longest_example(
    shape: ModelShape, card: GrounderCard, folds: Sequence[OpenedFold], completion_tokens: int
) -> ExampleShape:
    """The example with the most tokens among those that are trained on; words are estimated, pictures counted."""
    rule = card.image
    limits = {} if rule.resize == "none" else {"min_pixels": rule.min_pixels, "max_pixels": rule.max_pixels}
    most: ExampleShape | None = None
    seen: dict[str, int] = {}
    for fold in folds:
        for each in fold.train.examples:
            if each.step.id not in seen:
                seen[each.step.id] = prompt_text_tokens(card, each)
                found = example_shape(
                    shape,
                    text_tokens=seen[each.step.id],
                    completion_tokens=completion_tokens,
                    picture=each.step.screenshot.size,
                    **{name: value for name, value in limits.items() if value is not None},
                )
                if most is None or found.tokens > most.tokens:
                    most = found
    if most is None:
        raise UserError("no step that can be trained on is left")
    return most


_TEMPLATE_TOKENS = 20
"""Marks of roles and pictures that a chat template puts between the texts."""


def prompt_text_tokens(card: GrounderCard, example: GrounderExample) -> int:
    """About how many tokens the words of a prompt take."""
    sizes = picture_sizes(example.step.screenshot.size, card.image)
    messages = render_messages(card, example.query, Picture(url_json=msgspec.Raw(b'""'), sizes=sizes))
    texts = [part.text for message in messages for part in message.parts if isinstance(part, TextPart)]
    return sum(map(text_tokens, texts)) + _TEMPLATE_TOKENS


def stage_load(
    recipe: GrounderRecipe,
    method: Method,
    example: ExampleShape,
    sharding: Sharding,
    device: Literal["cuda", "cpu"],
) -> TrainingLoad:
    """What a stage of a recipe puts on a device. Whole weights lie in float32, as the training loads them."""
    rule = recipe.grpo if method == "grpo" else None
    trained_by = rule if rule is not None else recipe.sft
    if trained_by is None:
        raise UserError(f"recipe {recipe.name}: has no stage {method}")
    load = training_load(
        method,
        example,
        trained_by.optimisation,
        recipe.precision,
        lora=recipe.lora,
        vision=recipe.vision,
        beta=rule.beta if rule is not None else 0.0,
        rollouts=None if rule is None else _rollouts(rule, device),
        sharding=sharding,
        device=device,
        copies=None if sharding.strategy == "zero3" else "float32",
        tower_outside=not tunes_vision(recipe.lora, vision=recipe.vision),
    )
    if recipe.lora is None and sharding.strategy in ("ddp", "zero2"):
        load = msgspec.structs.replace(load, weights="float32")
    return load


def _rollouts(rule: GrpoRule, device: str) -> Rollouts:
    engines: dict[str, Literal["transformers", "vllm_colocate", "vllm_server"]] = {
        "never": "transformers",
        "colocate": "vllm_colocate",
        "server": "vllm_server",
        "auto": "vllm_colocate" if device == "cuda" and _has_vllm() else "transformers",
    }
    batch = rule.optimisation.batch
    return Rollouts(
        generations=rule.generations,
        steps_per_generation=None if rule.generate_at_once is None else max(1, rule.generate_at_once // batch),
        iterations=rule.iterations,
        engine=engines[rule.use_vllm],
        vllm_memory=min(rule.vllm_memory, 0.99),
        vllm_tensor_parallel=rule.vllm_tensor_parallel,
    )


def _has_vllm() -> bool:
    import importlib.util

    return importlib.util.find_spec("vllm") is not None


def sharding_of(launch: Launch) -> Sharding:
    """How a launch spreads a model, by the file of ``accelerate config`` where there is one.

    Raises:
        UserError: the file can't be read.
    """
    if launch.accelerate_config is None:
        return Sharding(devices=launch.processes or 1)
    path = Path(launch.accelerate_config)
    try:
        said: Any = msgspec.yaml.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError) as error:
        raise UserError(f"--accelerate-config {path}: can't be read: {error}") from error
    if not isinstance(said, dict):
        raise UserError(f"--accelerate-config {path}: expected what `accelerate config` writes, a mapping")
    devices = launch.processes or int(said.get("num_processes") or 1)
    kind = str(said.get("distributed_type") or "NO").upper()
    stage = int((said.get("deepspeed_config") or {}).get("zero_stage") or 0) if kind == "DEEPSPEED" else 0
    strategy: Literal["ddp", "zero2", "zero3", "fsdp"] = "ddp"
    if kind == "FSDP":
        strategy = "fsdp"
    elif stage in (1, 2):
        strategy = "zero2"
    elif stage == 3:
        strategy = "zero3"
    return Sharding(strategy=strategy, devices=devices)
