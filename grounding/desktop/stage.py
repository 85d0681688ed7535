"""The one stage of a desktop run: a step and its memory in, what the agent would do out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from grounding.desktop.agents.base import ActQuery, Agent
from grounding.desktop_records import DesktopPrediction, DesktopStep, DesktopTask
from grounding.journal import Journal
from grounding.records import Failure, Record


class DesktopItem(Record, frozen=True, kw_only=True):
    """A step on its way to the agent, with what the agent remembers."""

    step: DesktopStep
    memory: str


def desktop_items(tasks: Sequence[DesktopTask], memory_of: Mapping[str, str]) -> Iterator[DesktopItem]:
    """The steps in order. Each is asked about on its own: nothing of an earlier answer reaches a later question."""
    for task in tasks:
        for step in task.steps:
            yield DesktopItem(step=step, memory=memory_of[step.id])


class ActStage:
    """Asks the agent about each step."""

    name = "act"
    item_type = DesktopItem
    record_type = DesktopPrediction

    def __init__(self, agent: Agent, journal: Journal[DesktopPrediction]) -> None:
        self._agent = agent
        self.journal = journal
        self.max_concurrency = agent.max_concurrency
        self.identity = agent.identity

    def item_id(self, item: DesktopItem) -> str:
        """The step's id."""
        return item.step.id

    def key(self, item: DesktopItem, earlier: None) -> str:  # noqa: ARG002
        """Agent, step, instruction, memory and picture."""
        step = item.step
        parts = (self.identity, step.id, step.second_instruction, item.memory, step.screenshot.sha256)
        return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:32]

    async def run(self, item: DesktopItem, earlier: None, key: str) -> DesktopPrediction:  # noqa: ARG002
        """Ask the agent."""
        return await self._agent.act(self.query(item, key))

    def failed(self, item: DesktopItem, key: str, failure: Failure) -> DesktopPrediction:
        """The answer where the agent could not be asked."""
        return DesktopPrediction(step_id=item.step.id, key=key, action=None, action_text="", failure=failure)

    def query(self, item: DesktopItem, key: str) -> ActQuery:
        """What the agent is asked about a step: never the recorded action."""
        step = item.step
        return ActQuery(
            step_id=step.id,
            key=key,
            screenshot=step.screenshot,
            instruction=step.second_instruction,
            memory=item.memory,
        )
