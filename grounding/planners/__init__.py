"""Planners: instruction, screenshot and history in, one explicit instruction (a Plan) out."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

from grounding.cards import PlannerCard
from grounding.cards.functions import FunctionPlanner, is_function
from grounding.errors import UserError
from grounding.llm.anymodel import find_planner
from grounding.llm.budget import Budget
from grounding.llm.chat import ChatOptions, open_chat
from grounding.planners.base import Planner, RawInstruction
from grounding.planners.prompts import has_retired, prompted, refusal, today_utc, warning
from grounding.planners.replay import SavedPlans, read_plans
from grounding.records import Record

__all__ = ["BUILTIN", "BuiltPlanner", "Planner", "build_planner", "read_plans"]
BUILTIN = {
    "none": "the user's own words, unchanged",
    "replay": "plans saved earlier: --plans FILE",
}
ENTRY_POINTS = "grounding.planners"
_FLAG = "--planner-base-url"


class BuiltPlanner(Record, frozen=True, kw_only=True):
    """A planner ready to be asked; ``card`` and ``base_url`` are there when a chat model stands behind it."""

    planner: Planner
    card: PlannerCard | None = None
    base_url: str = ""

    @property
    def uses_history(self) -> bool:
        """Whether the planner says that its plans depend on what happened before."""
        return "history" in getattr(self.planner, "reads", ())


def build_planner(
    name: str,
    *,
    plans: Path | None,
    cards: Path,
    options: ChatOptions,
    budget: Budget,
    on_retry: Callable[[], None],
    prompts: Path | None = None,
    prompt: str | None = None,
    model: str | None = None,
    ahead: bool = False,
    today: datetime.date | None = None,
    card: PlannerCard | None = None,
) -> BuiltPlanner:
    """Make the planner that a user named: built in, a function, another package's, a card's, any model at an address.

    ``prompt`` is a name or a path, None for the card's own, else ``official``; ``ahead``: it is asked once for all
    actions of an instruction; ``card`` is taken instead of the one that goes by the name, with the prompt and the model
    that are in it.

    Raises:
        UserError: nothing is called so, or something it needs is missing; says what.
    """
    if name == "replay" or (plans is not None and name == "none"):
        if plans is None:
            raise UserError("--planner replay needs the file of saved plans: --plans FILE")
        _asks_no_model("replay", prompt, model, ahead)
        return BuiltPlanner(planner=SavedPlans(plans))
    if plans is not None:
        raise UserError(f"--plans replays saved plans and --planner {name} makes new ones: give one of the two")
    if name == "none":
        _asks_no_model("none", prompt, model, ahead)
        return BuiltPlanner(planner=RawInstruction())
    if is_function(name):
        planner = FunctionPlanner(name)
        _asks_no_model(planner.name, prompt, model, ahead)
        return BuiltPlanner(planner=planner)
    for found in entry_points(group=ENTRY_POINTS, name=name):
        _asks_no_model(name, prompt, model, ahead)
        return BuiltPlanner(planner=found.load()())
    if card is not None:
        return _build_chat(card, options, budget, on_retry, today or today_utc())
    card = find_planner(
        name,
        options.base_url,
        flag=_FLAG,
        model=model,
        name_flag="--planner-model",
        builtin=tuple(BUILTIN),
        kind="planner",
        cards=cards,
    )
    card = prompted(card, prompt, prompts or cards.parent / "prompts" / "planners", ahead=ahead)
    return _build_chat(card, options, budget, on_retry, today or today_utc())


def _build_chat(
    card: PlannerCard,
    options: ChatOptions,
    budget: Budget,
    on_retry: Callable[[], None],
    today: datetime.date,
) -> BuiltPlanner:
    own_address = options.base_url is not None
    try:
        opened = open_chat(card, options, flag=_FLAG, budget=budget, on_retry=on_retry)
    except UserError as error:
        # Whoever has no key yet should not get one for a model that is gone.
        if has_retired(card, today) and not own_address:
            raise UserError(refusal(card)) from error
        raise
    told = warning(card, today, own_address=own_address)
    if told:
        print(f"grounding: {told}", file=sys.stderr, flush=True)
    from grounding.planners.chat import ChatPlanner

    planner = ChatPlanner(card, opened.model, today=None if own_address else today)
    return BuiltPlanner(planner=planner, card=card, base_url=opened.base_url)


def _asks_no_model(name: str, prompt: str | None, model: str | None, ahead: bool) -> None:
    if ahead:
        raise UserError(f"--plan-ahead: the planner {name} asks no model by a card; leave it out")
    for flag, value in (("--planner-prompt", prompt), ("--planner-model", model)):
        if value is not None:
            raise UserError(f"{flag} {value}: the planner {name} asks no model by a card; leave it out")
