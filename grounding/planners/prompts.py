"""Planners' prompts: named, versioned files that any planner's card can be asked with."""

import datetime
import re
import sys
from pathlib import Path

from grounding.cards import ChatCard, PlannerCard, PromptCard, prompt_file, read_card
from grounding.errors import UserError
from grounding.llm.wire import Completion
from grounding.records import Failure, Record

DEFAULT_PROMPT = "official"
AHEAD_PROMPT = "ahead"


def read_prompts(folder: Path) -> tuple[PromptCard, ...]:
    """The prompts of a folder, in order of file names."""
    return tuple(read_card(path, PromptCard) for path in sorted(folder.glob("*.yaml")))


def prompted(card: PlannerCard, name: str | None, folder: Path, *, ahead: bool = False) -> PlannerCard:
    """The card with the prompt that was asked for, else its own, else the usual one. With ``ahead`` the prompt has to
    ask for all actions of an instruction, and without it for the next one.
    """
    wanted = "instruction" if ahead else "step"
    if name is None and card.user and (card.plan.covers == wanted or not ahead):
        found = card
    else:
        usual = AHEAD_PROMPT if ahead else DEFAULT_PROMPT
        found = card.with_prompt(read_card(prompt_file(name or usual, folder, flag="--planner-prompt"), PromptCard))
    if found.plan.covers != wanted:
        which = f"--planner-prompt {name}" if name else f"the prompt in the card of {card.name}"
        raise UserError(
            f"{which} asks for the next action only, and --plan-ahead needs a list of all of them: leave it out, or "
            "give a prompt whose plan covers the instruction (field plan.covers)"
            if ahead
            else f"{which} asks for all actions of an instruction at once: add --plan-ahead, or choose another prompt"
        )
    return found


SOON_DAYS = 60  # How long before its last day a model's end is told: vendors give at least this much notice.


def today_utc() -> datetime.date:
    return datetime.datetime.now(datetime.UTC).date()


def has_retired(card: ChatCard, today: datetime.date) -> bool:
    """Whether the vendor's own endpoint no longer has the model."""
    return card.retires is not None and card.retires <= today


def refusal(card: ChatCard, option: str = "--planner", address_flag: str = "--planner-base-url") -> str:
    instead = f"use {option} {card.successor}, or " if card.successor else "use "
    plans = ", or plans made earlier with --plans FILE" if option == "--planner" else ""
    return (
        f"{card.name} ({card.title}) retired on {card.retires}: {card.endpoint.base_url} no longer has {card.model}; "
        f"{instead}another endpoint that has it with {address_flag} URL{plans}"
    )


def warning(card: ChatCard, today: datetime.date, *, own_address: bool) -> str:
    """What to tell about a model that has retired elsewhere or retires soon; empty where there is nothing to tell.
    ``own_address``: the user named an address, so that the vendor's date need not apply.
    """
    if card.retires is None:
        return ""
    instead = f"; its successor here is {card.successor}" if card.successor else ""
    if card.retires <= today:
        return f"{card.name} retired on {card.retires} at its vendor{instead}" if own_address else ""
    days = (card.retires - today).days
    if own_address or days > SOON_DAYS:
        return ""
    return f"{card.name} retires on {card.retires}, in {days} day{'' if days == 1 else 's'}{instead}"


def check_card(
    card: ChatCard, *, own_address: bool, option: str, address_flag: str, cost_limit: float | None = None
) -> None:
    """See that a chat model can still be asked; says on standard error what is odd about it. ``own_address`` as for
    :func:`warning`; ``option`` names another model, such as ``--judge``, ``address_flag`` an address.
    """
    today = today_utc()
    if has_retired(card, today) and not own_address:
        raise UserError(refusal(card, option, address_flag))
    if told := warning(card, today, own_address=own_address):
        print(f"grounding: {told}", file=sys.stderr, flush=True)
    if cost_limit is not None and card.price is None:
        raise UserError(f"--cost-limit: the card of {card.name} states no price (field price), so no limit can be kept")


MAX_LINE_CHARS = 400
"""A reply without the tags it was asked for is still the plan where it is one line of at most this length."""
MAX_REFUSAL_CHARS = 250  # A longer reply is not taken for a refusal, however it begins.
_THINKING = re.compile(r"<(think|thinking)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)

# Five of the 1,714 plans that RealWebAssist released for gpt-4o are refusals in words; all begin like this.
_REFUSAL = re.compile(
    r"\W*(?:(?:i'?m|i am)(?: very| so)? sorry\W+|sorry\W+|unfortunately\W+)?(?:but )?"
    r"(?:i (?:can'?t|cannot|can not|won'?t|will not)|i(?:'m| am) (?:unable|not able))\b",
    re.IGNORECASE,
)


class Outcome(Record, frozen=True, kw_only=True):
    """The plan in a reply, or why there is none: exactly one of the two."""

    text: str | None = None
    failure: Failure | None = None


def plan_outcome(card: PlannerCard, said: Completion) -> Outcome:
    """Take the plan out of a reply by the card's rule; never an empty plan, and never a refusal for a plan."""
    if said.refused:
        return _none("the model refused")
    if said.filtered:
        return _none(f"the vendor's content filter stopped the reply (finish reason: {said.finish_reason})")
    whole = said.text.strip()
    spoken = _THINKING.sub("", said.text).strip() if card.plan.drop_thinking else whole
    if not spoken:
        return _none(_why_empty(card, said, thought=bool(whole)))
    if len(spoken) <= MAX_REFUSAL_CHARS and _REFUSAL.match(spoken.replace("\u2019", "'")):
        return _none("the model refused, in words")
    if card.plan.within is None:
        return Outcome(text=spoken)
    return _marked(card.plan.within, spoken, said)


def _marked(within: str, spoken: str, said: Completion) -> Outcome:
    found = [match[1].strip() for match in re.finditer(within, spoken)]
    found = [text for text in found if any(character.isalnum() for character in text)]
    if found:
        return Outcome(text=found[-1])
    if said.finish_reason == "length":
        return _none("the reply was cut off before the plan (finish reason: length): raise the card's token limit")
    if "\n" not in spoken and len(spoken) <= MAX_LINE_CHARS and "<" not in spoken:
        return Outcome(text=spoken)
    return _none("the reply does not mark a plan as the prompt asks")


def _why_empty(card: PlannerCard, said: Completion, *, thought: bool) -> str:
    if said.finish_reason != "length":
        return f"the reply is empty (finish reason: {said.finish_reason})"
    reasoned, used = (said.usage.reasoning_tokens, said.usage.output_tokens) if said.usage else (0, 0)
    if reasoned:
        what = f"{reasoned} reasoning tokens used up the reply"
    elif thought:
        what = "thinking used up the reply"
    else:  # A vendor that doesn't tell its reasoning from the reply.
        what = f"{used} tokens were used up before its first word"
    limit = next((name for name in ("max_completion_tokens", "max_tokens") if name in card.parameters), None)
    now = f"now {card.parameters[limit]}" if limit else "now the server's limit"
    return f"the reply is empty: {what}; raise {limit or 'max_tokens'} in the card ({now})"


def _none(why: str) -> Outcome:
    return Outcome(failure=Failure(kind="unparsed", message=why))
