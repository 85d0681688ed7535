"""Which models a recipe makes, and which stages they go through; what two of them have in common is one stage. Pure."""

from __future__ import annotations

from grounding.records import Record
from grounding.training.puma.records import PumaRecipe, Variant
from grounding.training.records import StageInfo


class VariantPlan(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One model: a row of the paper's table 5 or 6. ``sft`` and ``dpo`` name its stages, "" for none.

    ``tokens`` is the length of its memory, ``told`` whether it has one, ``parameters`` whether its SFT learns
    parameters beside functions.
    """

    name: str
    variant: Variant
    tokens: int
    told: bool
    parameters: bool
    sft: str
    dpo: str


def plan_variants(recipe: PumaRecipe) -> tuple[VariantPlan, ...]:
    """The models of a recipe, in its order.

    ``full`` is made at every length of memory (table 6), the ablations at the longest (table 5). The SFT on functions
    stays in all of them: the paper's row without SFT still names the right function (0.994).
    """
    longest = max(recipe.memory.tokens)
    several = len(set(recipe.memory.tokens)) > 1
    plans = []
    for variant in dict.fromkeys(recipe.variants):
        lengths = sorted(set(recipe.memory.tokens), reverse=True) if variant == "full" else [longest]
        for tokens in lengths:
            suffix = f"-{tokens}" if several else ""
            own = {"no-memory": "-no-memory", "no-sft": "-no-sft"}.get(variant, "")
            plans.append(
                VariantPlan(
                    name=f"{variant}{suffix}",
                    variant=variant,
                    tokens=tokens,
                    told=variant != "no-memory",
                    parameters=variant != "no-sft",
                    sft=f"sft{own}{suffix}",
                    dpo="" if variant == "no-dpo" else f"dpo{own}{suffix}",
                )
            )
    return tuple(plans)


def stage_infos(plans: tuple[VariantPlan, ...]) -> tuple[StageInfo, ...]:
    """All stages of these models, each once, in the order in which they are run."""
    found: dict[str, StageInfo] = {}
    for plan in plans:
        found.setdefault(plan.sft, StageInfo(name=plan.sft, method="sft"))
        if plan.dpo:
            found.setdefault(plan.dpo, StageInfo(name=plan.dpo, method="dpo"))
    return tuple(found.values())
