"""What each stage of PUMA takes, from its recipe and the base model's config.json alone; runs nothing."""

from __future__ import annotations

from grounding.errors import UserError
from grounding.records import Record
from grounding.training.estimate import (
    ExampleShape,
    Fit,
    MemoryEstimate,
    assess,
    check_fits,
    estimate_memory,
    read_shape,
    this_machine,
    training_load,
)
from grounding.training.estimate.machine import Machine
from grounding.training.grounder.fit import sharding_of
from grounding.training.puma.opening import OpenedPuma
from grounding.training.records import Method, Optimisation

PARAMETER_TOKENS = 256
"""A parameter takes at most as much as may be drawn (PUMA: 256); the rest of an example is its prompt."""


class StageFit(Record, frozen=True, kw_only=True):
    """One stage: the memory that it needs on each device, and what there is."""

    name: Method
    estimate: MemoryEstimate
    fit: Fit


def stage_fits(opened: OpenedPuma) -> tuple[StageFit, ...]:
    """Both stages held against this machine, each with the longest example that its recipe lets through.

    Raises:
        UserError: the model's config or the file for accelerate can't be read.
    """
    machine = this_machine(cpu=opened.asked.device == "cpu")
    return tuple(
        StageFit(name=name, estimate=estimate, fit=assess(estimate, machine))
        for name, estimate in _estimates(opened, machine)
    )


def refuse_what_does_not_fit(opened: OpenedPuma) -> None:
    """Nothing, where both stages fit.

    Raises:
        UserError: one doesn't; says what it needs, what there is and what helps.
    """
    machine = this_machine(cpu=opened.asked.device == "cpu")
    for name, estimate in _estimates(opened, machine):
        try:
            check_fits(estimate, machine)
        except UserError as error:
            raise UserError(f"stage {name}: {error}\nTo try all the same: --force") from error


def _estimates(opened: OpenedPuma, machine: Machine) -> list[tuple[Method, MemoryEstimate]]:
    recipe = opened.recipe
    stages: list[tuple[Method, Optimisation, int, float]] = [
        ("sft", recipe.sft.optimisation, recipe.sft.max_tokens, 0.0)
    ]
    if any(plan.dpo for plan in opened.plans):
        stages.append(("dpo", recipe.dpo.optimisation, recipe.dpo.max_tokens, recipe.dpo.beta))
    shape = read_shape(opened.base, name=opened.info.asked.card)
    device_bytes = machine.devices[0].total_bytes if machine.kind == "cuda" else None
    found: list[tuple[Method, MemoryEstimate]] = []
    for method, optimisation, tokens, beta in stages:
        parameter = min(PARAMETER_TOKENS, tokens // 2)
        load = training_load(
            method,
            ExampleShape(prompt_tokens=tokens - parameter, completion_tokens=parameter),
            optimisation,
            recipe.precision,
            lora=recipe.lora,
            beta=beta,
            sharding=sharding_of(opened.asked.launch),
            device=machine.kind,
        )
        found.append((method, estimate_memory(shape, load, device_bytes=device_bytes)))
    return found
