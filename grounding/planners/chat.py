"""The planner of a card: a chat model is shown the step, and its whole reply is the plan."""

from __future__ import annotations

from grounding.chat import ChatModel
from grounding.records import Failure, Plan, Query


class ChatPlanner:
    """Asks a chat model for the plan."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self.name = model.card.name

    @property
    def identity(self) -> str:
        """The model's identity."""
        return self._model.identity

    @property
    def max_concurrency(self) -> int:
        """The model's connections, and the pictures made ready for the next requests."""
        return self._model.max_concurrency

    async def plan(self, query: Query) -> Plan:
        """Ask once; an empty reply or a refusal is ``unparsed``, kept in full."""
        asked = await self._model.ask(query)
        if asked.completion is None:
            return Plan(step_id=query.step_id, key=query.key, text=None, failure=asked.failure)
        said = asked.completion
        failure = None
        if said.refused:
            failure = Failure(kind="unparsed", message="the model refused")
        elif not said.text.strip():
            failure = Failure(kind="unparsed", message=f"the reply is empty (finish reason: {said.finish_reason})")
        return Plan(
            step_id=query.step_id,
            key=query.key,
            text=None if failure else said.text.strip(),
            raw=said.text,
            failure=failure,
            call=asked.call,
        )

    async def check(self) -> None:
        """Ask the endpoint whether it serves the model."""
        await self._model.check()

    async def aclose(self) -> None:
        """Close the model's connections."""
        await self._model.aclose()
