"""Planners: instruction, screenshot and history in, one explicit instruction (a Plan) out."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

from grounding.budget import Budget
from grounding.cards import PlannerCard, find_card
from grounding.chat import ChatOptions, open_chat
from grounding.errors import UserError
from grounding.planners.base import Planner
from grounding.planners.raw import RawInstruction
from grounding.planners.replay import SavedPlans, read_plans
from grounding.records import Record

__all__ = ["BUILTIN", "BuiltPlanner", "Planner", "build_planner", "read_plans"]

BUILTIN = {
    "none": "the user's own words, unchanged",
    "replay": "plans saved earlier: --plans FILE",
}
ENTRY_POINTS = "grounding.planners"


class BuiltPlanner(Record, frozen=True, kw_only=True):
    """A planner ready to be asked; ``card`` and ``base_url`` are there when a chat model stands behind it."""

    planner: Planner
    card: PlannerCard | None = None
    base_url: str = ""

    @property
    def uses_history(self) -> bool:
        """Whether plans depend on what happened before."""
        return self.card is not None and self.card.uses_history


def build_planner(
    name: str,
    *,
    plans: Path | None,
    cards: Path,
    options: ChatOptions,
    budget: Budget,
    on_retry: Callable[[], None],
) -> BuiltPlanner:
    """Make the planner that a user named: built in, installed by another package, a bundled card, or a card's path.

    Raises:
        UserError: nothing is called so, or something it needs is missing; says what.
    """
    if name == "replay" or (plans is not None and name == "none"):
        if plans is None:
            raise UserError("--planner replay needs the file of saved plans: --plans FILE")
        return BuiltPlanner(planner=SavedPlans(plans))
    if plans is not None:
        raise UserError(f"--plans replays saved plans and --planner {name} makes new ones: give one of the two")
    if name == "none":
        return BuiltPlanner(planner=RawInstruction())
    for found in entry_points(group=ENTRY_POINTS, name=name):
        return BuiltPlanner(planner=found.load()())
    card = find_card(name, cards, PlannerCard, builtin=tuple(BUILTIN), kind="planner")
    opened = open_chat(card, options, flag="--planner-base-url", budget=budget, on_retry=on_retry)
    from grounding.planners.chat import ChatPlanner

    return BuiltPlanner(planner=ChatPlanner(opened.model), card=card, base_url=opened.base_url)
