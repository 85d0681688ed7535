"""The two stages of a click benchmark: plan, then ground. Steps in, plans and predictions out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import msgspec

from grounding.grounders.base import Grounder
from grounding.history import history_window
from grounding.journal import Journal
from grounding.planners.base import Planner
from grounding.records import HistoryEntry, Plan, Prediction, Query, Record, Session, Step


class StepItem(Record, frozen=True, kw_only=True):
    """A step on its way through the stages, with the history that models may be told."""

    step: Step
    history: tuple[HistoryEntry, ...] = ()


def step_items(sessions: Sequence[Session], selected: frozenset[str], history: int) -> Iterator[StepItem]:
    """The selected steps in session order, each with its history window over the whole session.

    Steps over equal screenshots follow one another, at the place of the first: a server that keeps what it made of a
    picture then finds it again, however small its cache.
    """
    by_screenshot: dict[str, list[tuple[Session, int]]] = {}
    for session in sessions:
        for position, step in enumerate(session.steps):
            if step.id in selected:
                by_screenshot.setdefault(step.screenshot.sha256, []).append((session, position))
    for steps in by_screenshot.values():
        for session, position in steps:
            yield StepItem(step=session.steps[position], history=history_window(session.steps, position, history))


def _key(*parts: object) -> str:
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:32]


class PlanStage:
    """Asks the planner for each step."""

    name = "plan"

    def __init__(self, planner: Planner, journal: Journal[Plan]) -> None:
        self._planner = planner
        self.journal = journal
        self.max_concurrency = planner.max_concurrency
        self._identity = planner.identity

    def item_id(self, item: StepItem) -> str:
        """The step's id."""
        return item.step.id

    def key(self, item: StepItem, earlier: None) -> str:  # noqa: ARG002
        """Planner, words, picture and history."""
        return _key(self._identity, item.step.id, item.step.instruction, item.step.screenshot.sha256, item.history)

    async def run(self, item: StepItem, earlier: None, key: str) -> Plan:  # noqa: ARG002
        """Ask the planner."""
        return await self._planner.plan(
            Query(
                step_id=item.step.id,
                key=key,
                screenshot=item.step.screenshot,
                instruction=item.step.instruction,
                history=item.history,
            )
        )


class GroundStage:
    """Asks the grounder to follow each plan."""

    name = "ground"

    def __init__(self, grounder: Grounder, journal: Journal[Prediction], *, uses_history: bool) -> None:
        self._grounder = grounder
        self.journal = journal
        self.max_concurrency = grounder.max_concurrency
        self._identity = grounder.identity
        self._uses_history = uses_history

    def item_id(self, item: StepItem) -> str:
        """The step's id."""
        return item.step.id

    def _history(self, item: StepItem) -> tuple[HistoryEntry, ...]:
        return item.history if self._uses_history else ()

    def key(self, item: StepItem, earlier: Plan) -> str:
        """Grounder, plan, picture, and the history where the grounder is told it."""
        return _key(self._identity, item.step.id, earlier.text, item.step.screenshot.sha256, self._history(item))

    async def run(self, item: StepItem, earlier: Plan, key: str) -> Prediction:
        """Ask the grounder."""
        return await self._grounder.ground(
            Query(
                step_id=item.step.id,
                key=key,
                screenshot=item.step.screenshot,
                instruction=earlier.text or "",
                history=self._history(item),
            )
        )
