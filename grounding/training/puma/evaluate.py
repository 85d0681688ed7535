"""Models under PersonalWAB's own agent: each by a run as ``grounding eval --agent puma-local`` makes it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from grounding.records import Record
from grounding.training.puma.asked import PumaTraining
from grounding.training.puma.plan import VariantPlan
from grounding.training.puma.records import PumaRecipe
from grounding.webagents.personalwab.options import ShopOptions
from grounding.webagents.personalwab.scorebook import ShopScored
from grounding.webagents.personalwab.shelf import Shelf

BASE = "base"
EvaluateShop = Callable[[ShopOptions, Shelf], ShopScored]


class EvaluatedModel(Record, frozen=True, kw_only=True):
    """A model's run over the test. ``plan`` is None for the base model."""

    name: str
    plan: VariantPlan | None
    scored: ShopScored


def evaluation_options(
    folder: Path, model: Path, asked: PumaTraining, recipe: PumaRecipe, plan: VariantPlan | None
) -> ShopOptions:
    """What ``grounding eval`` is asked for one model, the base with the longest memory of the recipe.

    All are asked for the function too, and reviews by the reading that candidates were scored by.
    """
    told = plan is None or plan.told
    return ShopOptions(
        dataset=asked.dataset,
        data_dir=asked.data_dir,
        split="test",
        agent="puma-local",
        model_path=model,
        functions=Path("model"),
        memory_length=recipe.memory.length if told else 0,
        memory_tokens=max(recipe.memory.tokens) if plan is None else plan.tokens,
        search=asked.search,
        search_index=asked.search_index,
        preset=recipe.candidates.scoring,
        participant=asked.test_users,
        limit=asked.eval_limit,
        seed=asked.seed,
        log_dir=folder / "evaluation" / (BASE if plan is None else plan.name),
        display=asked.display,
        command=asked.command,
    )
