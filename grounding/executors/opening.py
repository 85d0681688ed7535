"""A recipe to the planner or grounder that it stands for, made as the writer makes its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from grounding.budget import Budget
from grounding.building import grounder_card, grounder_of, planner_of
from grounding.card_schema import GrounderCard
from grounding.executors.recipe import Recipe
from grounding.grounders.base import KeepsFiles
from grounding.planner_card import PlannerCard
from grounding.records import Plan, Prediction, Query, Record


class Asker(Record, frozen=True, kw_only=True):
    """A planner or a grounder, whichever it is.

    ``keep_in`` is there for one that leaves something to look at in a folder.
    """

    name: str
    identity: str
    max_concurrency: int
    ask: Callable[[Query], Awaitable[Plan | Prediction]]
    check: Callable[[], Awaitable[None]]
    aclose: Callable[[], Awaitable[None]]
    keep_in: Callable[[Path], None] | None = None


def open_asker(recipe: Recipe, budget: Budget, on_retry: Callable[[], None], *, base_url: str = "") -> Asker:
    """Make what a recipe says; asks nothing of any model, and knows no data set.

    Args:
        recipe: What to make.
        budget: What its requests are paid from.
        on_retry: Called before each further try of a request.
        base_url: The address of the server beside it, instead of the recipe's.

    Raises:
        UserError: something that it needs is missing here; says what.
    """
    address, card = base_url or recipe.base_url or None, recipe.card
    if recipe.room == "planner":
        planner = planner_of(
            recipe.options,
            base_url=address,
            budget=budget,
            on_retry=on_retry,
            card=card if isinstance(card, PlannerCard) else None,
            max_connections=recipe.max_connections,
        ).planner
        return Asker(
            name=planner.name,
            identity=planner.identity,
            max_concurrency=planner.max_concurrency,
            ask=planner.plan,
            check=planner.check,
            aclose=planner.aclose,
        )
    grounder = grounder_of(
        recipe.options,
        card=card if isinstance(card, GrounderCard) else grounder_card(recipe.options),
        base_url=address,
        sessions=(),
        budget=budget,
        on_retry=on_retry,
        max_connections=recipe.max_connections,
    ).grounder
    return Asker(
        name=grounder.name,
        identity=grounder.identity,
        max_concurrency=grounder.max_concurrency,
        ask=grounder.ground,
        check=grounder.check,
        aclose=grounder.aclose,
        keep_in=grounder.keep_in if isinstance(grounder, KeepsFiles) else None,
    )
