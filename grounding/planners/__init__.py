"""Planners: instruction, screenshot and history in, one explicit instruction (a Plan) out."""

import sys
from collections.abc import Callable
from importlib.metadata import entry_points

from grounding.cards import PlannerCard
from grounding.cards.functions import FunctionPlanner, is_function
from grounding.cards.places import models_dir
from grounding.errors import UserError
from grounding.llm.anymodel import find_planner
from grounding.llm.budget import Budget
from grounding.llm.chat import ChatOptions, open_chat
from grounding.options import EvalOptions
from grounding.planners.base import Planner, RawInstruction, SavedPlans, read_plans
from grounding.planners.prompts import has_retired, prompted, refusal, today_utc, warning
from grounding.records import Record

__all__ = ["BUILTIN", "BuiltPlanner", "Planner", "build_planner", "read_plans"]
BUILTIN = {
    "none": "the user's own words, unchanged",
    "replay": "plans saved earlier: --plans FILE",
}
ENTRY_POINTS = "grounding.planners"
_FLAG = "--planner-base-url"


class BuiltPlanner(Record, frozen=True, kw_only=True):
    planner: Planner
    card: PlannerCard | None = None
    base_url: str = ""


def build_planner(
    options: EvalOptions,
    chat: ChatOptions,
    *,
    budget: Budget,
    on_retry: Callable[[], None],
    card: PlannerCard | None = None,
) -> BuiltPlanner:
    """Make the planner that a user named: built in, a function, another package's, a card's, any model at an address.
    ``card`` is taken instead of the one that goes by the name, with the prompt and the model that are in it.
    """
    name, plans = options.planner, options.plans
    if name == "replay" or (plans is not None and name == "none"):
        if plans is None:
            raise UserError("--planner replay needs the file of saved plans: --plans FILE")
        _asks_no_model("replay", options)
        return BuiltPlanner(planner=SavedPlans(plans))
    if plans is not None:
        raise UserError(f"--plans replays saved plans and --planner {name} makes new ones: give one of the two")
    own: Planner | None = RawInstruction() if name == "none" else FunctionPlanner(name) if is_function(name) else None
    for found in entry_points(group=ENTRY_POINTS, name=name):
        own = own or found.load()()
    if own is not None:
        _asks_no_model(own.name, options)
        return BuiltPlanner(planner=own)
    if card is None:
        card = find_planner(
            name,
            chat.base_url,
            flag=_FLAG,
            model=options.planner_model,
            name_flag="--planner-model",
            builtin=tuple(BUILTIN),
            kind="planner",
        )
        prompts = models_dir() / "prompts" / "planners"
        card = prompted(card, options.planner_prompt, prompts, ahead=options.plan_ahead)
    own_address, today = chat.base_url is not None, today_utc()
    try:
        opened = open_chat(card, chat, flag=_FLAG, budget=budget, on_retry=on_retry)
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


def _asks_no_model(name: str, options: EvalOptions) -> None:
    if options.plan_ahead:
        raise UserError(f"--plan-ahead: the planner {name} asks no model by a card; leave it out")
    for flag, value in (("--planner-prompt", options.planner_prompt), ("--planner-model", options.planner_model)):
        if value is not None:
            raise UserError(f"{flag} {value}: the planner {name} asks no model by a card; leave it out")
