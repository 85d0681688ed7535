"""How long a stage takes: floating-point operations from the shapes, over what a device does in a second. Pure."""

from __future__ import annotations

from typing import Annotated

import msgspec

from grounding.errors import UserError
from grounding.records import Record
from grounding.training.estimate.activations import vision_in_graph
from grounding.training.estimate.adapters import trained
from grounding.training.estimate.flops import pass_flops
from grounding.training.estimate.load import DTYPE_BYTES, TrainingLoad
from grounding.training.estimate.modules import parameters
from grounding.training.estimate.rollout import kv_bytes
from grounding.training.estimate.shapes import ModelShape

_Share = Annotated[float, msgspec.Meta(gt=0, le=1)]

SPREAD = 2.0
"""How far off an assumed utilisation may be, as a factor each way: real ones of 7B models lie between about half and
twice the assumed."""


class Speed(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What a device does, and how much of it is made use of.

    ``peak_flops`` are dense operations a second in the numbers of calculation, ``memory_bytes_s`` what memory moves.
    ``training``, ``prefill`` and ``decoding`` are the shares of these that are reached in passes with gradients, in
    passes without, and (of the memory) while tokens are generated one by one. ``source`` says whether they were
    measured. ``between_s`` are seconds lost a step (reward, logging, exchange of gradients).
    """

    name: str
    peak_flops: Annotated[float, msgspec.Meta(gt=0)]
    memory_bytes_s: Annotated[float, msgspec.Meta(gt=0)]
    training: _Share = 0.35
    prefill: _Share = 0.40
    decoding: _Share = 0.20
    between_s: Annotated[float, msgspec.Meta(ge=0)] = 1.0
    source: str = "assumed"


class Part(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One kind of work of the whole stage. ``formula`` has its numbers filled in."""

    name: str
    seconds: float
    flops: float
    formula: str


class Duration(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How long a stage takes on all its devices together, start and evaluation not included."""

    steps: tuple[Part, ...]
    optimiser_steps: int
    devices: int
    speed: Speed
    notes: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """The whole stage."""
        return sum(part.seconds for part in self.steps)

    @property
    def low_seconds(self) -> float:
        """With twice the assumed utilisation."""
        return self.seconds / SPREAD

    @property
    def high_seconds(self) -> float:
        """With half the assumed utilisation."""
        return self.seconds * SPREAD

    @property
    def device_hours(self) -> float:
        """Hours times devices."""
        return self.seconds * self.devices / 3600


def estimate_time(
    shape: ModelShape,
    load: TrainingLoad,
    speed: Speed,
    *,
    examples: int,
    epochs: float = 1.0,
    reply_tokens: float | None = None,
) -> Duration:
    """How long a stage takes, from its operations.

    Work on all devices, each shared out evenly:

    * generation (GRPO): one pass over each prompt without gradients, then a token at a time, each of which reads all
      weights once for the sequences that are generated together, and their caches; the reads' time counts, not the
      operations'. A vLLM server's devices are not counted.
    * scoring before learning: with a vLLM, or where a batch is learned from more than once, one pass over each
      completion; with a reference model one more (DPO: one a side of a pair unless precomputed, then one in all).
    * learning: forward F, backward 2F (F where the layer's weights are frozen), and forward again with gradient
      checkpointing; ``iterations`` times for GRPO.

    What devices exchange of split weights and gradients is in the assumed shares of use, not a part of its own.

    Args:
        shape: The model.
        load: The stage; its longest sequence counts for each, so this is an upper bound of the operations.
        speed: The device and how much of it is made use of: measured, or assumed and said so.
        examples: Examples, of GRPO prompts, of DPO pairs.
        epochs: How often each is used.
        reply_tokens: How long the longest of the replies that are written together is expected to be; None for the
            most that may be generated.

    Raises:
        UserError: there is nothing to train on, or LoRA's targets are not in the model.
    """
    if examples < 1 or epochs <= 0:
        raise UserError(f"{examples} examples and {epochs:g} epochs: nothing to train on")
    moved = trained(shape, load.lora, vision=load.vision)
    counted = pass_flops(shape, load.example)
    devices = load.sharding.devices
    prompts = examples * epochs
    generations = load.rollouts.generations if load.rollouts is not None else 1
    iterations = load.rollouts.iterations if load.rollouts is not None else 1
    sequences = prompts * (generations if load.rollouts is not None else 2 if load.method == "dpo" else 1)
    learned = counted.learning(
        whole=load.lora is None,
        checkpointing=load.checkpointing,
        tower=vision_in_graph(load, moved),
        tower_whole=load.lora is None and load.vision,
    )
    reply = load.example.completion_tokens if reply_tokens is None else reply_tokens
    parts = _generation(shape, load, speed, sequences, reply) if load.rollouts is not None else []
    extra = sequences * _scoring_passes(load) / (epochs if load.precomputed else 1)
    if extra:
        parts.append(_compute("scoring and reference", extra, counted.forward, devices, speed, speed.prefill))
    parts.append(_compute("learning", sequences * iterations, learned, devices, speed, speed.training))
    per_step = load.batch * load.accumulation * devices
    passes = sequences * iterations if load.method != "dpo" else prompts
    steps = max(1, round(passes / per_step))
    parts.append(
        Part(
            name="between steps",
            seconds=steps * speed.between_s,
            flops=0.0,
            formula=f"{steps:,} steps x {speed.between_s:g} s",
        )
    )
    return Duration(steps=tuple(parts), optimiser_steps=steps, devices=devices, speed=speed, notes=_notes(speed))


def _notes(speed: Speed) -> tuple[str, ...]:
    return (
        f"{speed.name}: {speed.peak_flops / 1e12:,.0f} TFLOP/s and {speed.memory_bytes_s / 1e12:.2f} TB/s at most",
        f"made use of: {speed.training:.0%} learning, {speed.prefill:.0%} without gradients, {speed.decoding:.0%} of "
        f"what the memory moves while generating ({speed.source})",
    )


def _compute(name: str, passes: float, flops: float, devices: int, speed: Speed, share: float) -> Part:
    whole = passes * flops
    reached = f"{devices} x {speed.peak_flops / 1e12:,.0f} TFLOP/s x {share:.0%}"
    return Part(
        name=name,
        seconds=whole / (devices * speed.peak_flops * share),
        flops=whole,
        formula=f"{passes:,.0f} passes x {flops / 1e12:,.1f} TFLOP / ({reached})",
    )


def _scoring_passes(load: TrainingLoad) -> int:
    """Passes without gradients over each sequence, besides generating."""
    rollouts = load.rollouts
    if rollouts is None:
        return 1 if load.has_reference else 0
    # TRL keeps old probabilities where a vLLM drew the tokens, or where generation and learning are out of step.
    every = (rollouts.steps_per_generation or load.accumulation) * rollouts.iterations
    old = rollouts.engine != "transformers" or load.accumulation % every != 0
    return int(old) + int(load.has_reference)


def _generation(
    shape: ModelShape, load: TrainingLoad, speed: Speed, sequences: float, reply_tokens: float
) -> list[Part]:
    """The first pass over the prompts, and then token by token."""
    rollouts, devices = load.rollouts, load.sharding.devices
    if rollouts is None:
        return []
    prompt = msgspec.structs.replace(load.example, completion_tokens=1)
    flops = pass_flops(shape, prompt).forward
    together = load.generated_at_once
    # vLLM reads a prompt that is asked for several times once, as long as all of it stays in its cache.
    prompts = sequences if rollouts.engine == "transformers" else sequences / rollouts.generations
    first = _compute("reading the prompts", prompts, flops, devices, speed, speed.prefill)
    weights = parameters(shape) * DTYPE_BYTES[load.compute]
    cache = together * load.example.tokens * kv_bytes(shape, load)
    rounds = sequences / (together * devices) * reply_tokens
    seconds = rounds * (weights + cache) / (speed.memory_bytes_s * speed.decoding)
    drawn = Part(
        name="generating",
        seconds=seconds,
        flops=0.0,
        formula=(
            f"{rounds:,.0f} tokens a device in groups of {together} x ({weights / 1e9:,.1f} GB weights + "
            f"{cache / 1e9:,.1f} GB cache) / ({speed.memory_bytes_s / 1e12:.2f} TB/s x {speed.decoding:.0%})"
        ),
    )
    return [first, drawn]
