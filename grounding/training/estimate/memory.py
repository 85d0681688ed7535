"""How much memory a stage of training takes on one device, term by term, from the model's config alone. Pure."""

from __future__ import annotations

from typing import Literal

from grounding.records import Record
from grounding.training.estimate.adapters import Trained, trained
from grounding.training.estimate.load import DTYPE_BYTES, TrainingLoad
from grounding.training.estimate.modules import parameters
from grounding.training.estimate.numbers import Group, groups, is_split, weight_bytes
from grounding.training.estimate.optimiser import optimiser_rule, state_bytes, step_bytes
from grounding.training.estimate.passes import gradient_terms, pass_terms
from grounding.training.estimate.rollout import generation_terms, vllm_term
from grounding.training.estimate.shapes import ModelShape
from grounding.training.estimate.terms import Term, term, total

PhaseName = Literal["generation", "forward and backward", "optimiser step"]

CONTEXT_BYTES = 1024**3
"""Assumed: what CUDA, its libraries' workspaces and NCCL take of a device before anything is stored (about 1 GiB)."""

FRAGMENTATION = 0.10
"""Assumed: what the allocator can't give out because of gaps, as a share of what is stored."""


class Phase(Record, frozen=True, kw_only=True):
    """One part of a step, and what is there during it besides what is always there."""

    name: PhaseName
    terms: tuple[Term, ...]

    @property
    def bytes(self) -> int:
        """All its terms together."""
        return total(self.terms)


class MemoryEstimate(Record, frozen=True, kw_only=True):
    """What one device needs. ``always`` is there all the time; of the phases the largest counts.

    ``overhead`` are assumptions, never measured here: the device's own context, and gaps.
    """

    shape: ModelShape
    load: TrainingLoad
    trained: Trained
    parameters: int
    always: tuple[Term, ...]
    phases: tuple[Phase, ...]
    overhead: tuple[Term, ...]

    @property
    def peak(self) -> Phase:
        """The phase that takes the most."""
        return max(self.phases, key=lambda phase: phase.bytes)

    @property
    def stored_bytes(self) -> int:
        """The most that is stored at once, without overhead."""
        return total(self.always) + self.peak.bytes

    @property
    def bytes(self) -> int:
        """The most that is needed, overhead included."""
        return self.stored_bytes + total(self.overhead)


def estimate_memory(shape: ModelShape, load: TrainingLoad, *, device_bytes: int | None = None) -> MemoryEstimate:
    """What a stage needs on each of its devices.

    The sum is ``always + max(generation, forward and backward, optimiser step) + overhead``; each term says its
    formula. Exact are weights, adapters, gradients, optimiser states of AdamW, the KV cache and pictures.

    Measured on the CPU only, with torch 2.13, transformers 5 and TRL 1.16, as estimate over measurement: what is kept
    for the backward pass without gradient checkpointing 0.97 to 1.03 (small models of four families); the peak of a
    pass of Llama 2 7B at full size (tensors without contents) 1.00 to 1.11; peaks of small models 0.88 to 1.35. What
    generation needs beyond cache and pictures, splitting over devices, bitsandbytes and the overhead of a GPU are
    approximations or assumptions that no GPU has confirmed.

    Args:
        shape: The model.
        load: The stage.
        device_bytes: The device's whole memory, of which a colocated vLLM takes its share; None where not known
            (then what vLLM needs at least is counted).

    Raises:
        UserError: LoRA's targets or ``also_train`` name what the model doesn't have.
    """
    moved = trained(shape, load.lora, vision=load.vision)
    always = _always(shape, load, moved, device_bytes)
    phases = [
        Phase(name="forward and backward", terms=pass_terms(shape, load, moved)),
        Phase(name="optimiser step", terms=_step(load, moved)),
    ]
    if load.rollouts is not None:
        phases.insert(0, Phase(name="generation", terms=generation_terms(shape, load)))
    stored = total(always) + max(phase.bytes for phase in phases)
    return MemoryEstimate(
        shape=shape,
        load=load,
        trained=moved,
        parameters=parameters(shape),
        always=always,
        phases=tuple(phases),
        overhead=_overhead(load, stored - sum(each.bytes for each in always if each.name == "vLLM")),
    )


def _always(shape: ModelShape, load: TrainingLoad, moved: Trained, device_bytes: int | None) -> tuple[Term, ...]:
    size, counted, parts = weight_bytes(load), parameters(shape), groups(load, moved)
    shards, state_shards = load.sharding.weight_shards, load.sharding.state_shards
    # Trained whole, weights are stored as their group is; with LoRA the model is whole beside what is trained.
    whole = sum(part.numbers * (part.stored - size) for part in parts) if load.lora is None else 0
    words = f"{counted:,} parameters x {size} bytes"
    if whole:
        words = f"{moved.whole:,} trained parameters x {parts[0].stored} bytes + the others x {size} bytes"
    found = [term("weights", counted * size + whole, words, shards, exact=True)]
    if load.lora is not None:
        for part in parts:
            words = f"{part.numbers:,} x {part.stored} bytes"
            found.append(term(part.name, part.numbers * part.stored, words, shards, exact=True))
    if load.keeps_reference:
        own = DTYPE_BYTES[load.compute] if is_split(load) else size
        words = f"a copy: {counted:,} parameters x {own} bytes"
        found.append(term("reference model", counted * own, words, shards, exact=True))
    for part in parts:
        if part.has_copy:
            words = f"DeepSpeed: {part.numbers:,} x {part.moved} bytes besides"
            found.append(term(f"float32 of the {part.name}", part.numbers * part.moved, words, state_shards))
    found += [_states(load, part) for part in parts]
    if load.sharding.devices > 1 and load.sharding.strategy == "ddp":
        buckets = sum(part.numbers * part.gradient for part in parts)
        found.append(term("gradient buckets", buckets, "DDP: a copy of the gradients, to be exchanged"))
    vllm = vllm_term(shape, load, device_bytes)
    return (*found, vllm) if vllm is not None else tuple(found)


def _states(load: TrainingLoad, part: Group) -> Term:
    rule = optimiser_rule(load.optimiser)
    words = {
        "adamw": f"2 x {part.numbers:,} x {part.moved} bytes + 4 bytes x {part.tensors:,} tensors",
        "adamw_8bit": f"2 x {part.numbers:,} x 1 byte + 2 x 4 bytes a block of 256",
        "none": "none kept",
        "factored": "none counted",
        "unknown": f"2 x {part.numbers:,} x {max(4, part.moved)} bytes",
    }[rule.kind]
    note = f"; {rule.note}" if rule.note else ""
    return term(
        f"optimiser states of the {part.name}",
        state_bytes(rule, part.numbers, part.tensors, part.moved),
        f"{load.optimiser}: {words}{note}",
        load.sharding.state_shards,
        exact=rule.kind == "adamw",
    )


def _step(load: TrainingLoad, moved: Trained) -> tuple[Term, ...]:
    rule, parts = optimiser_rule(load.optimiser), groups(load, moved)
    needed = sum(step_bytes(rule, part.numbers, part.moved) for part in parts)
    words = f"{load.optimiser} updates all tensors at once" if needed else f"{load.optimiser} updates in place"
    copies = sum(part.numbers * part.moved for part in parts if part.has_copy)
    if copies:
        words = f"{words}; DeepSpeed: the gradients in float32"
    return (*gradient_terms(load, moved), term("update", needed + copies, words, load.sharding.state_shards))


def _overhead(load: TrainingLoad, stored: int) -> tuple[Term, ...]:
    if load.device == "cpu":
        return (term("gaps", int(FRAGMENTATION * stored), f"assumed: {FRAGMENTATION:.0%} of the above"),)
    return (
        term("CUDA context", CONTEXT_BYTES, "assumed: CUDA, its libraries' workspaces, NCCL"),
        term("gaps", int(FRAGMENTATION * stored), f"assumed: {FRAGMENTATION:.0%} of the above, the allocator's"),
    )
