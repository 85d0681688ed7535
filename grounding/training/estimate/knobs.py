"""What would make a stage smaller, and by how much. Pure."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from grounding.records import Record
from grounding.training.estimate.load import ExampleShape, Sharding, TrainingLoad
from grounding.training.estimate.memory import estimate_memory
from grounding.training.estimate.optimiser import optimiser_rule
from grounding.training.estimate.shapes import ModelShape
from grounding.training.records import LoraRule

_LEAST_SHARE = 0.01
"""A change that saves less than this is not worth a line."""


class Knob(Record, frozen=True, kw_only=True):
    """A change to a stage. ``same``: what is learned stays the same (but for rounding); ``load`` is the stage then."""

    words: str
    load: TrainingLoad
    bytes: int
    saved_bytes: int
    same: bool


_LEAST_PATCHES = 1024
"""A picture of fewer patches shows no writing any more."""

_Change = tuple[str, bool, Callable[[TrainingLoad], TrainingLoad | None]]


def knobs(shape: ModelShape, load: TrainingLoad, *, devices: int, device_bytes: int | None = None) -> tuple[Knob, ...]:
    """Every change that helps, alone, the one that saves most first.

    Args:
        shape: The model.
        load: The stage as it is.
        devices: How many devices there are.
        device_bytes: What one of them has in all; see ``estimate_memory``.
    """
    before = estimate_memory(shape, load, device_bytes=device_bytes).bytes
    found = []
    for words, same, change in _changes(devices):
        changed = change(load)
        if changed is None:
            continue
        size = estimate_memory(shape, changed, device_bytes=device_bytes).bytes
        if before - size > _LEAST_SHARE * before:
            found.append(Knob(words=words, load=changed, bytes=size, saved_bytes=before - size, same=same))
    return tuple(sorted(found, key=lambda knob: knob.bytes))


def way_out(
    shape: ModelShape, load: TrainingLoad, free_bytes: int, *, devices: int, device_bytes: int | None = None
) -> tuple[Knob, ...] | None:
    """Changes that together make a stage fit, as few as are found; those that leave the result alone come first.

    Each step takes the change that saves most; the same one (half the batch) may come again. None where all together
    are not enough.
    """
    taken: list[Knob] = []
    for allowed in (True, False):
        taken, current = [], load
        while True:
            offered = knobs(shape, current, devices=devices, device_bytes=device_bytes)
            offered = tuple(knob for knob in offered if knob.same or not allowed)
            if not offered:
                break
            enough = [knob for knob in offered if knob.bytes <= free_bytes]
            # Among changes that are enough, one that doesn't change what is learned.
            best = next((knob for knob in enough if knob.same), enough[0] if enough else offered[0])
            taken.append(best)
            current = best.load
            if best.bytes <= free_bytes:
                return tuple(taken)
    return None


def _changes(devices: int) -> tuple[_Change, ...]:
    return (
        ("half of optimisation.batch and twice optimisation.accumulation", True, _half_batch),
        ("precision.gradient_checkpointing=true (about a third more time)", True, _checkpointing),
        ("half as many replies written at once (grpo.generate_at_once)", True, _half_at_once),
        ("replies written by a vLLM server on other devices (grpo.use_vllm=server)", True, _server),
        ("adapters of rank 16 instead of all weights (lora)", False, _adapters),
        ("precision.dtype=bfloat16 instead of float32", False, _bfloat16),
        ("pictures of half the pixels (the card's max_pixels)", False, _half_pictures),
        ("optimisation.optimiser=adamw_8bit (needs bitsandbytes)", False, _eight_bits),
        ("no reference model (grpo.beta=0)", False, _no_reference),
        (
            f"weights split over the {devices} devices (FSDP by --accelerate-config)",
            True,
            lambda load: _split(load, devices),
        ),
    )


def _half_batch(load: TrainingLoad) -> TrainingLoad | None:
    if load.batch < 2:
        return None
    half, rollouts = load.batch // 2, load.rollouts
    if rollouts is not None and rollouts.steps_per_generation is not None:
        at_once = load.batch * rollouts.steps_per_generation
        rollouts = msgspec.structs.replace(rollouts, steps_per_generation=-(-at_once // half))
    accumulation = -(-load.batch * load.accumulation // half)
    return msgspec.structs.replace(load, batch=half, accumulation=accumulation, rollouts=rollouts)


def _checkpointing(load: TrainingLoad) -> TrainingLoad | None:
    return None if load.checkpointing else msgspec.structs.replace(load, checkpointing=True)


def _half_at_once(load: TrainingLoad) -> TrainingLoad | None:
    """Where the model writes the replies itself: as few at once as make whole groups over all devices."""
    rollouts = load.rollouts
    if rollouts is None or rollouts.engine != "transformers":
        return None
    half = (rollouts.steps_per_generation or load.accumulation) // 2
    if not half or half * load.batch * load.sharding.devices % rollouts.generations:
        return None
    return msgspec.structs.replace(load, rollouts=msgspec.structs.replace(rollouts, steps_per_generation=half))


def _server(load: TrainingLoad) -> TrainingLoad | None:
    if load.rollouts is None or load.rollouts.engine == "vllm_server" or load.device == "cpu":
        return None
    return msgspec.structs.replace(load, rollouts=msgspec.structs.replace(load.rollouts, engine="vllm_server"))


def _adapters(load: TrainingLoad) -> TrainingLoad | None:
    if load.lora is not None:
        return None
    return msgspec.structs.replace(load, lora=LoraRule(), weights=load.compute, adapters="float32")


def _bfloat16(load: TrainingLoad) -> TrainingLoad | None:
    if load.compute != "float32" or load.device == "cpu":
        return None
    weights = load.weights if load.lora is None else "bfloat16"
    return msgspec.structs.replace(load, weights=weights, compute="bfloat16")


def _half_pictures(load: TrainingLoad) -> TrainingLoad | None:
    example = load.example
    if example.patches < _LEAST_PATCHES * max(1, example.pictures):
        return None
    less = example.patches // 8
    smaller = ExampleShape(
        prompt_tokens=max(1, example.prompt_tokens - less),
        completion_tokens=example.completion_tokens,
        patches=example.patches - 4 * less,
        pictures=example.pictures,
    )
    return msgspec.structs.replace(load, example=smaller)


def _eight_bits(load: TrainingLoad) -> TrainingLoad | None:
    if load.device == "cpu" or optimiser_rule(load.optimiser).kind == "adamw_8bit":
        return None
    return msgspec.structs.replace(load, optimiser="adamw_8bit")


def _no_reference(load: TrainingLoad) -> TrainingLoad | None:
    if load.method != "grpo" or not load.keeps_reference:
        return None
    return msgspec.structs.replace(load, beta=0.0)


def _split(load: TrainingLoad, devices: int) -> TrainingLoad | None:
    if devices < 2 or load.sharding.weight_shards > 1 or load.device == "cpu":
        return None
    weights = load.compute if load.lora is None else load.weights
    return msgspec.structs.replace(load, weights=weights, sharding=Sharding(strategy="fsdp", devices=devices))
