"""Planners: instruction, screenshot and history in, one explicit instruction (a Plan) out."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

import msgspec

from grounding.budget import Budget
from grounding.cards import PlannerCard, find_card
from grounding.chat import ChatOptions, open_chat
from grounding.errors import UserError
from grounding.planners.base import Planner
from grounding.planners.prompts import prompted
from grounding.planners.raw import RawInstruction
from grounding.planners.replay import SavedPlans, read_plans
from grounding.planners.retirement import has_retired, refusal, today_utc, warning
from grounding.records import Record

__all__ = ["BUILTIN", "BuiltPlanner", "Planner", "build_planner", "read_plans", "with_model"]

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
    """Make the planner that a user named: built in, installed by another package, a bundled card, or a card's path.

    Args:
        name: Which planner.
        plans: Saved plans to replay.
        cards: The folder of bundled cards.
        options: What the user set for chat models.
        budget: The run's money.
        on_retry: Called before each further try.
        prompts: The folder of named prompts; ``prompts/planners`` beside the folder of cards where None.
        prompt: Which prompt to ask with: a name or a path. None for the card's own, else ``official``.
        model: The name of the model at the endpoint, instead of the card's.
        ahead: Whether it is asked once for all actions of an instruction.
        today: The day by which models retire; by the clock where None.
        card: Taken instead of the one that goes by the name, with the prompt and the model that are in it.

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
    for found in entry_points(group=ENTRY_POINTS, name=name):
        _asks_no_model(name, prompt, model, ahead)
        return BuiltPlanner(planner=found.load()())
    if card is not None:
        return _build_chat(card, options, budget, on_retry, today or today_utc())
    card = find_card(name, cards, PlannerCard, builtin=tuple(BUILTIN), kind="planner")
    card = prompted(card, prompt, prompts or cards.parent / "prompts" / "planners", ahead=ahead)
    card = with_model(card, model, options.base_url, flag=_FLAG, name_flag="--planner-model")
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


def with_model(card: PlannerCard, model: str | None, base_url: str | None, *, flag: str, name_flag: str) -> PlannerCard:
    """The card with the name of the model that is asked: the user's, the card's, or the only one at the endpoint.

    Args:
        card: The card.
        model: The name that the user gave.
        base_url: The address that the user gave.
        flag: The option for the address, for messages.
        name_flag: The option for the name, for messages.

    Raises:
        UserError: nobody names it, and the endpoint can't be asked or serves several.
    """
    if card.model and model is None:
        return card
    if model is None:
        from grounding.llm import only_model

        model = only_model(card, base_url, flag=flag, name_flag=name_flag)
    if card.model:
        return msgspec.structs.replace(card, model=model)
    return msgspec.structs.replace(card, model=model, name=f"{card.name}:{model}", title=f"{card.title} ({model})")
