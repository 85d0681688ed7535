"""The one stage of a run over a shop: a task in, the episode of an agent out."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

from grounding.journal import Journal
from grounding.records import Failure
from grounding.webagents.personalwab.agents.base import ShopAgent
from grounding.webagents.personalwab.episode import run_episode, view_of
from grounding.webagents.personalwab.functions import WebFunctions
from grounding.webagents.personalwab.records import Episode, Product, ShopTask, Track
from grounding.webagents.personalwab.users.base import SimulatedUser


class EpisodeStage:
    """Lets the agent work on each task."""

    name = "act"
    item_type = ShopTask
    record_type = Episode

    def __init__(
        self,
        agent: ShopAgent,
        functions: WebFunctions,
        user: SimulatedUser | None,
        products: Mapping[str, Product],
        journal: Journal[Episode],
        *,
        track: Track,
        max_steps: int,
        shop: str,
    ) -> None:
        self._agent = agent
        self._functions = functions
        self._user = user
        self._products = products
        self._track: Track = track
        self._max_steps = max_steps
        self.journal = journal
        self.max_concurrency = agent.max_concurrency
        heard = "" if user is None else user.identity
        self._made_by = (agent.identity, functions.identity, heard, track, max_steps, shop)

    @property
    def identity(self) -> str:
        """Agent, web, user, track, limit and shop."""
        return msgspec.json.encode(self._made_by).decode()

    def item_id(self, item: ShopTask) -> str:
        """The task's id."""
        return item.id

    def key(self, item: ShopTask, earlier: None) -> str:  # noqa: ARG002
        """Agent, web, user, track, limit, shop and task."""
        return hashlib.sha256(msgspec.json.encode((*self._made_by, item))).hexdigest()[:32]

    def failed(self, item: ShopTask, key: str, failure: Failure) -> Episode:
        """The episode of a task that nobody could work on."""
        return Episode(task_id=item.id, key=key, failure=failure)

    async def run(self, item: ShopTask, earlier: None, key: str) -> Episode:  # noqa: ARG002
        """Play the episode."""
        return await run_episode(
            self._agent,
            self._functions,
            self._user,
            item,
            view_of(item, self._products.get(item.target_asin)),
            track=self._track,
            max_steps=self._max_steps,
            key=key,
            on_broken_off=self.journal.append,
        )
