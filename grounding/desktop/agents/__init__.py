"""Agents: a screen, an instruction and a memory in, one of the twelve actions of a desktop out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from grounding.budget import Budget
from grounding.cards import ChatCard, GrounderCard, PlannerCard, find_card, read_cards
from grounding.chat import ChatOptions, open_chat
from grounding.desktop.agents.asking import Asking, asking
from grounding.desktop.agents.base import ActQuery, Agent
from grounding.desktop.agents.floors import AlwaysClickCenter, Oracle, RepeatLast
from grounding.desktop_records import DesktopTask
from grounding.errors import UserError
from grounding.options import EvalOptions, PromptStyle
from grounding.places import models_dir
from grounding.records import Record
from grounding.serving.managed import ManagedServers

__all__ = ["BUILTIN_AGENTS", "ActQuery", "Agent", "AgentCard", "BuiltAgent", "agent_card", "build_agent", "is_builtin"]

BUILTIN_AGENTS = {
    "ocr-agent": "does what the memory's words say, on the text of the screen: the offline baseline (alias ocr)",
    "replay": "replies recorded elsewhere: --predictions FILE",
    "always-click-center": "clicks the middle of every screen: a floor (alias center)",
    "repeat-last": "does what was done at the step before: a floor",
    "oracle": "does what was recorded: the ceiling",
}
"""Agents without a model, and what they do."""

_ALIASES = {"ocr": "ocr-agent", "center": "always-click-center"}


STAY = frozenset({"replay", "always-click-center", "repeat-last", "oracle"})
"""Agents that only look something up: there is nothing that others could do for them."""


def stays(name: str) -> bool:
    """Whether an agent of this name is asked in the process that writes the run, wherever the others work."""
    return _ALIASES.get(name, name) in STAY


def is_builtin(name: str) -> bool:
    """Whether an agent of this name works without a model."""
    return _ALIASES.get(name, name) in BUILTIN_AGENTS


class AgentCard(Record, frozen=True, kw_only=True):
    """The model that a name stands for, and how it is asked."""

    card: GrounderCard | PlannerCard
    asking: Asking

    @property
    def grounder(self) -> GrounderCard | None:
        """The card where it is one of a model that one serves oneself."""
        return self.card if isinstance(self.card, GrounderCard) else None


class BuiltAgent(Record, frozen=True, kw_only=True):
    """An agent ready to be asked; ``card`` and the rest are there when a chat model stands behind it."""

    agent: Agent
    card: ChatCard | None = None
    base_url: str = ""
    style: PromptStyle | None = None
    attempts: int = 1
    prompt_label: str = "none"
    image_label: str = "original"


def agent_card(options: EvalOptions) -> AgentCard | None:
    """The model behind an agent's name: a grounder's card, a planner's card, or a path; None for one without a model.

    Raises:
        UserError: nothing is called so, or the card can't be asked in the style; or an option is for models only.
    """
    name = _ALIASES.get(options.grounder, options.grounder)
    if name in BUILTIN_AGENTS:
        usual = EvalOptions()
        for option in ("style", "attempts"):
            if getattr(options, option) != getattr(usual, option):
                raise UserError(f"--{option}: the agent {name} has no prompt; leave it out")
        return None
    card = _card(name)
    return AgentCard(card=card, asking=asking(card, options.style, options.attempts))


def _card(name: str) -> GrounderCard | PlannerCard:
    """Models that answer with places come first; one that plans can act in the benchmark's words as well."""
    grounders, planners = models_dir() / "grounders", models_dir() / "planners"
    if not name.endswith((".yaml", ".yml")):
        for planner in read_cards(planners, PlannerCard):
            if name in (planner.name, planner.model, *planner.aliases) and not _is_grounder(name):
                if not planner.model:
                    raise UserError(f"the agent {name} names no model: give the path of a card (.yaml) of your own")
                return planner
    return find_card(name, grounders, GrounderCard, builtin=tuple(BUILTIN_AGENTS), kind="agent")


def _is_grounder(name: str) -> bool:
    cards = read_cards(models_dir() / "grounders", GrounderCard)
    return any(name in (card.name, card.model, *card.aliases) for card in cards)


def build_agent(
    options: EvalOptions,
    *,
    card: AgentCard | None,
    tasks: Sequence[DesktopTask],
    chat: ChatOptions,
    servers: ManagedServers | None,
    budget: Budget,
    on_retry: Callable[[], None],
    base_url: str = "",
) -> BuiltAgent:
    """Make the agent that a user named: built in, or the model of a card.

    Args:
        options: What the user asked for.
        card: The model behind the name, from :func:`agent_card`.
        tasks: All tasks, which the floors and the ceiling look into.
        chat: How a model is asked.
        servers: Servers that are started for the run, whose address is then taken.
        budget: What may be spent.
        on_retry: Told of every request that is tried again.
        base_url: The address of a server beside a worker, instead of the user's.

    Raises:
        UserError: something that it needs is missing; says what.
    """
    name = _ALIASES.get(options.grounder, options.grounder)
    if options.predictions is not None and name != "replay":
        raise UserError(
            f"--predictions replays recorded replies and --grounder {name} makes new ones: give one of them"
        )
    if card is not None:
        address = base_url or (servers.base_url if servers is not None else "")
        return _chat_agent(card, chat, address, budget, on_retry)
    match name:
        case "replay":
            if options.predictions is None:
                raise UserError("--grounder replay needs the file of recorded replies: --predictions FILE")
            from grounding.desktop.agents.replay import RecordedReplies

            known = {step.id for task in tasks for step in task.steps}
            return BuiltAgent(agent=RecordedReplies(options.predictions, known))
        case "always-click-center":
            return BuiltAgent(agent=AlwaysClickCenter())
        case "repeat-last":
            return BuiltAgent(agent=RepeatLast(tasks))
        case "oracle":
            return BuiltAgent(agent=Oracle(tasks))
    from grounding.desktop.agents.ocr import OcrAgent

    return BuiltAgent(agent=OcrAgent())


def _chat_agent(
    card: AgentCard,
    chat: ChatOptions,
    address: str,
    budget: Budget,
    on_retry: Callable[[], None],
) -> BuiltAgent:
    from grounding.desktop.agents.chat import ChatAgent
    from grounding.signature import image_rule_text

    asked = card.asking
    options = msgspec.structs.replace(chat, base_url=address) if address else chat
    opened = open_chat(asked.card, options, flag="--base-url", budget=budget, on_retry=on_retry)
    return BuiltAgent(
        agent=ChatAgent(asked, opened.model),
        card=asked.card,
        base_url=opened.base_url,
        style=asked.style,
        attempts=asked.attempts,
        prompt_label=f"{asked.style}@{asked.card.prompt_hash}",
        image_label=image_rule_text(asked.card.image),
    )
