"""Putting the browsing agent together from what a user asked for."""

from __future__ import annotations

from grounding.errors import UserError
from grounding.webagents.agenticshop.agents.browsing.agent import MAX_CONCURRENCY, START_URL, BrowsingAgent
from grounding.webagents.agenticshop.agents.browsing.limits import BrowsingLimits
from grounding.webagents.agenticshop.agents.browsing.pointing import PointFinder
from grounding.webagents.agenticshop.agents.browsing.prompts import browsing_prompts
from grounding.webagents.asking import Opened

__all__ = ["BrowsingAgent", "BrowsingLimits", "PointFinder", "open_browsing_agent"]


def open_browsing_agent(
    opened: Opened,
    *,
    limits: BrowsingLimits | None = None,
    grounder: PointFinder | None = None,
    prompts: str = "browsing",
    start_url: str = START_URL,
    max_concurrency: int = MAX_CONCURRENCY,
) -> BrowsingAgent:
    """Put the agent together. Starts no browser and sends nothing.

    Args:
        opened: The chat model, which has to take pictures.
        limits: The bounds of a task; the usual ones where None.
        grounder: What finds elements that the model describes in words; None where the model names numbers.
        prompts: The wording, or the path of a YAML file.
        start_url: Where a task begins that names no shops.
        max_concurrency: How many tasks are worked on at once.

    Raises:
        UserError: a limit leaves no room, there is no such wording, or a limit in dollars has no price to count with.
    """
    limits = (limits or BrowsingLimits()).checked()
    if limits.max_usd is not None and opened.card.price is None:
        raise UserError(
            f"the card of {opened.card.name} states no price (field price), so no limit of ${limits.max_usd:g} for a "
            "task can be kept: leave the limit out, or state the price"
        )
    return BrowsingAgent(
        opened,
        browsing_prompts(prompts),
        limits,
        finder=grounder,
        start_url=start_url,
        max_concurrency=max_concurrency,
    )
