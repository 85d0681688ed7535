"""A task of the browsing agent, played with a real browser against small shops and a model behind a real server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from fakes import make
from fakes.browsing_model import browsing_model
from fakes.chat_server import Behaviour, ChatServer, answering, reply

from grounding.budget import Budget
from grounding.webagents.agenticshop.agents.browsing.opening import (
    BrowsingAgent,
    BrowsingLimits,
    PointFinder,
    open_browsing_agent,
)
from grounding.webagents.agenticshop.records import Curation, ShopperView
from grounding.webagents.agenticshop.web.browser import WebBrowser
from grounding.webagents.agenticshop.web.evidence import EvidenceFolder
from grounding.webagents.asking import Opened
from webagents.agenticshop.agents.small_shop import VIEW
from webagents.agenticshop.agents.staged import Stage

CARD = {
    "price": {"input_usd": 10.0, "output_usd": 10.0, "date": "2026-01-01"},
    "plan": {"drop_thinking": True},
}
"""A reply of the fake server takes 1,000 tokens in and 10 out: $0.0101."""

REPLY_USD = 0.0101
Doing = Callable[[BrowsingAgent], Awaitable[Curation]]


def says(*actions: str, kind: str = "information_seeking") -> list[Behaviour]:
    """Replies of a model, one action each."""
    return [reply(f"THOUGHT: because\nKIND: {kind}\nACTION: {action}") for action in actions]


def browse(
    stage: Stage,
    tmp_path: Path,
    *script: Behaviour,
    view: ShopperView = VIEW,
    grounder: PointFinder | None = None,
    default: Behaviour | None = None,
    budget: Budget | None = None,
    card: dict[str, Any] | None = None,
    web: WebBrowser | None = None,
    doing: Doing | None = None,
    **limits: Any,
) -> tuple[Curation, ChatServer]:
    """One task; the model says what is in the script, then what the fake that reads the list says."""

    async def run(server: ChatServer) -> Curation:
        model_card = make.planner_card(**(CARD if card is None else card))
        opened = Opened(model=make.model(model_card, server.base_url, budget=budget), card=model_card)
        agent = open_browsing_agent(opened, limits=BrowsingLimits(**limits), grounder=grounder)
        agent.use(web or stage.web, EvidenceFolder(tmp_path / "evidence"))
        try:
            return await (doing(agent) if doing else agent.curate(view, "key"))
        finally:
            await agent.aclose()

    with ChatServer(default or answering(browsing_model)) as server:
        server.script(*script)
        return stage.run(run(server)), server
