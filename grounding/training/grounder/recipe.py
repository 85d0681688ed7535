"""What a recipe must keep to before anything is loaded: its stages, and batches that come out even. Pure."""

from __future__ import annotations

from grounding.errors import UserError
from grounding.training.grounder.records import GrounderRecipe, GrpoRule, HeldOutRule
from grounding.training.grounder.rewards import check_terms
from grounding.training.records import Method


def stage_methods(recipe: GrounderRecipe) -> tuple[Method, ...]:
    """The stages of a recipe in their order: SFT, then GRPO.

    Raises:
        UserError: it has none, or contradicts itself.
    """
    methods: list[Method] = [] if recipe.sft is None else ["sft"]
    if recipe.grpo is not None:
        check_terms(recipe.grpo.rewards)
        methods.append("grpo")
        if recipe.grpo.use_vllm == "server" and not recipe.grpo.vllm_server:
            raise UserError("field grpo.vllm_server: use_vllm server needs its address, such as http://127.0.0.1:8000")
    if not methods:
        raise UserError(f"recipe {recipe.name}: neither sft nor grpo is there, so nothing would be trained")
    if recipe.lora is not None and recipe.vision:
        raise UserError("field vision: is for tuning whole weights (lora: null); for adapters set lora.vision")
    return tuple(methods)


def check_batches(rule: GrpoRule, *, prompts: int, processes: int) -> None:
    """Make sure that replies fall into whole groups, and that there are prompts enough for one round of them.

    Args:
        rule: Its batches count replies.
        prompts: How many examples there are.
        processes: On how many devices.

    Raises:
        UserError: a batch would hold part of a prompt's replies; says which numbers would do.
    """
    of_a_step = rule.optimisation.batch * rule.optimisation.accumulation
    at_once = rule.generate_at_once or of_a_step
    if at_once % rule.optimisation.batch:
        raise UserError(
            f"field grpo.generate_at_once: {at_once} is not a multiple of grpo.optimisation.batch "
            f"({rule.optimisation.batch})"
        )
    if of_a_step % at_once and at_once % of_a_step:
        raise UserError(
            f"field grpo.generate_at_once: {at_once} replies at once, {of_a_step} a step (batch x accumulation): one "
            "must be a multiple of the other"
        )
    together = at_once * processes
    if together % rule.generations:
        on = f" on {processes} devices" if processes > 1 else ""
        raise UserError(
            f"field grpo.generations: {together} replies are written at once{on}, which is no multiple of "
            f"{rule.generations} replies to a prompt; make grpo.optimisation.batch x accumulation (or "
            "grpo.generate_at_once) such a multiple"
        )
    if prompts < together // rule.generations:
        raise UserError(
            f"{prompts} examples to train on, and {together // rule.generations} prompts are taken at once: train on "
            "more of the data, or lower grpo.optimisation.accumulation or grpo.generate_at_once"
        )


def check_held_out(rule: HeldOutRule, *, processes: int) -> None:
    """Make sure that held-out replies fall into whole groups too.

    Raises:
        UserError: they don't.
    """
    if rule.batch * processes % rule.generations:
        raise UserError(
            f"field held_out.batch: {rule.batch} x {processes} devices is no multiple of held_out.generations "
            f"({rule.generations})"
        )
