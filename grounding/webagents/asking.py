"""What building and judging share: opening a chat model by its card, and running one stage to its end or a stop."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from grounding.budget import Budget
from grounding.cards import Json, PlannerCard, PlanRule, find_card
from grounding.chat import ChatModel, ChatOptions, open_chat
from grounding.display import OutcomeProgress
from grounding.errors import UserError
from grounding.journal import Journal, Keyed
from grounding.options import Display
from grounding.places import models_dir
from grounding.planners import with_model
from grounding.planners.retirement import has_retired, today_utc, warning
from grounding.records import Record
from grounding.runner import Done, Runner, Stage

ItemT = TypeVar("ItemT")
INTERRUPTED = "interrupted"
COLOURS = {"done": "green", "unparsed": "magenta", "error": "red"}
FLAG = "--base-url"


class Opened(Record, frozen=True, kw_only=True):
    """A chat model and the card that its replies are read by."""

    model: ChatModel
    card: PlannerCard


class Tally(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How many items there are, and their last answers by what they are; the rest was not asked about."""

    items: int
    done: int = 0
    unparsed: int = 0
    error: int = 0

    @property
    def complete(self) -> bool:
        """Whether nothing is left to be asked."""
        return self.done + self.unparsed == self.items


class Asked(Record, frozen=True, kw_only=True):
    """What became of one run of a stage: how many answers it made, and why it stopped before the end."""

    answers: int
    stopped: str = ""


def new_progress(display: Display | None, unit: str) -> OutcomeProgress:
    """The progress of one stage."""
    return OutcomeProgress(display, COLOURS, ("done",), unit)


def open_model(
    name: str,
    chat: ChatOptions,
    *,
    model: str | None,
    cost_limit: float | None,
    budget: Budget,
    progress: OutcomeProgress,
    option: str,
    flag: str = FLAG,
    min_output_tokens: int = 0,
) -> Opened:
    """Open the chat model of a card, whose own prompt takes no part.

    Args:
        name: The card's name or path.
        chat: What the user set.
        model: The model's name at its server, instead of the card's.
        cost_limit: The limit that has to be kept.
        budget: The money.
        progress: Told of tries.
        option: The option that named the card, for messages.
        flag: The option that takes its address, for messages.
        min_output_tokens: How long replies must be able to be; a card's lower ``max_tokens`` is raised.

    Raises:
        UserError: there is no such card, it can't do what is asked, or its address or key is missing.
    """
    card = find_card(name, models_dir() / "planners", PlannerCard, builtin=(), kind="planner")
    own_address = chat.base_url is not None
    if has_retired(card, today_utc()) and not own_address:
        instead = f"{option} {card.successor}, or " if card.successor else ""
        raise UserError(
            f"{card.name} ({card.title}) retired on {card.retires}: {card.endpoint.base_url} no longer has "
            f"{card.model}; use {instead}another endpoint that has it with {flag} URL"
        )
    told = warning(card, today_utc(), own_address=own_address)
    if told:
        print(f"grounding: {told}", file=sys.stderr, flush=True)
    if chat.temperature is not None and "temperature" not in card.takes:
        raise UserError(f"--temperature: {card.name} takes no temperature; leave it out")
    if chat.seed is not None and "seed" not in card.takes:
        chat = msgspec.structs.replace(chat, seed=None)
    if cost_limit is not None and card.price is None:
        raise UserError(f"--cost-limit: the card of {card.name} states no price (field price), so no limit can be kept")
    card = with_model(card, model, chat.base_url, flag=flag, name_flag="--model")
    card = msgspec.structs.replace(
        card,
        system=None,
        user=(),
        prefill=None,
        no_history="",
        no_goal="",
        strip_suffix="",
        prompt="",
        plan=PlanRule(drop_thinking=True),
        parameters=_with_room(card, min_output_tokens),
    )
    opened = open_chat(card, chat, flag=flag, budget=budget, on_retry=progress.retried)
    return Opened(model=opened.model, card=card)


def _with_room(card: PlannerCard, tokens: int) -> dict[str, Json]:
    """A card's parameters with replies of at least so many tokens; cards are made for plans, which are short."""
    raised = {
        name: max(tokens, value)
        for name in ("max_tokens", "max_completion_tokens")
        if isinstance(value := card.parameters.get(name), int)
    }
    return {**card.parameters, **raised}


async def run_stage(
    stage: Stage[ItemT], items: Sequence[ItemT], progress: OutcomeProgress, check: Callable[[], Awaitable[None]]
) -> Asked:
    """Take all items through one stage.

    Args:
        stage: The stage.
        items: What it works on.
        progress: Shows how far it is.
        check: Called before the first question, if there is one to ask.

    Raises:
        OSError: an answer can't be written.
        UserError: the writer can't go on, and the user can put it right.
    """
    asked = 0

    def told(done: Done) -> None:
        nonlocal asked
        if done.source == "stored":
            progress.kept()
        else:
            asked += 1

    def through(_item: ItemT, last: Any) -> None:
        progress.count(last.failure.kind if last is not None and last.failure else "done")

    if any(_answer(stage, item) is None for item in items):
        await check()
    with progress.steps(len(items)):
        stopped = await Runner[ItemT]((stage,), on_record=told, on_item=through).run(items)
    return Asked(answers=asked, stopped=stopped.reason if stopped else "")


def tally(stage: Stage[ItemT], items: Iterable[ItemT]) -> Tally:
    """Count the answers that a stage's journal holds to the questions as they are asked now."""
    counts = {"done": 0, "unparsed": 0, "error": 0}
    total = 0
    for item in items:
        total += 1
        last = last_answer(stage, item)
        if last is not None:
            counts[last.failure.kind if last.failure else "done"] += 1
    return Tally(items=total, **counts)


def last_answer(stage: Stage[ItemT], item: ItemT) -> Any:
    """The last answer to a question as it is asked now, whatever it says; None where there is none."""
    journal: Journal[Any] = stage.journal
    found: Keyed | None = journal.last(stage.item_id(item))
    return found if found is not None and found.key == stage.key(item, None) else None


def _answer(stage: Stage[ItemT], item: ItemT) -> Any:
    return stage.journal.settled(stage.item_id(item), stage.key(item, None))
