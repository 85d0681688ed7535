"""Queries for search tasks, written by a chat model (paper, A.3: gpt-4o-mini), kept as they come and asked for once."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from grounding.attended import attended
from grounding.budget import Budget
from grounding.chat import NO_PICTURES
from grounding.journal import Journal
from grounding.planners.outcomes import plan_outcome
from grounding.records import Call, Failure, Record
from grounding.training.puma.asked import PumaTraining
from grounding.training.puma.inputs import Inputs
from grounding.webagents.asking import Opened, last_answer, new_progress, open_model, run_stage
from grounding.webagents.filling import fill
from grounding.webagents.personalwab.pumaprompts import puma_prompts
from grounding.webagents.personalwab.records import ShopTask
from grounding.wire import Message, TextPart

LABELS = "labels.jsonl"


class WrittenQuery(Record, frozen=True, kw_only=True):
    """A line of ``labels.jsonl``: the query for a task or why there is none, and what it took."""

    step_id: str
    key: str
    text: str = ""
    raw: str = ""
    failure: Failure | None = None
    call: Call | None = None


class QueryStage:
    """Asks for queries; the release's prompt stands in the system message, and no other is sent."""

    name = "labels"

    def __init__(self, opened: Opened, inputs: Inputs, journal: Journal[WrittenQuery]) -> None:
        self._opened = opened
        self._inputs = inputs
        self.journal = journal
        self.max_concurrency = opened.model.max_concurrency

    def item_id(self, item: ShopTask) -> str:
        """The task's id."""
        return item.id

    def key(self, item: ShopTask, earlier: None) -> str:  # noqa: ARG002
        """Model and prompt."""
        parts = (self._opened.model.identity, self._prompt(item))
        return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:32]

    async def run(self, item: ShopTask, earlier: None, key: str) -> WrittenQuery:  # noqa: ARG002
        """Ask for one query."""
        message = Message(role="system", parts=(TextPart(text=self._prompt(item)),))
        asked = await self._opened.model.send(lambda: (message,), NO_PICTURES)
        if asked.completion is None:
            failure = asked.failure or Failure(kind="error", message="no reply")
            return WrittenQuery(step_id=item.id, key=key, failure=failure, call=asked.call)
        outcome = plan_outcome(self._opened.card, asked.completion)
        return WrittenQuery(
            step_id=item.id,
            key=key,
            text=(outcome.text or "").strip(),
            raw=asked.completion.text,
            failure=outcome.failure,
            call=asked.call,
        )

    def _prompt(self, task: ShopTask) -> str:
        memory = self._inputs.remembered(task).text
        return fill(puma_prompts().search_label, instruction=task.instruction, memory=memory)


class Labelled(Record, frozen=True, kw_only=True):
    """The queries by task id, how many tasks have none, what all cost, and why asking stopped early."""

    queries: dict[str, str]
    without: int
    cost_usd: float | None
    stopped: str = ""


def write_queries(folder: Path, asked: PumaTraining, tasks: Sequence[ShopTask], inputs: Inputs) -> Labelled:
    """Have the chat model write what isn't written yet; ``labels.jsonl`` in the folder keeps every reply.

    Args:
        folder: The run's.
        asked: Names the model, its address and the limit of cost.
        tasks: Those of type search are asked about.
        inputs: What is told of their past.

    Raises:
        UserError: the model can't be asked, or the disk failed.
    """
    budget, progress = Budget(asked.cost_limit), new_progress(asked.display, "queries")
    opened = open_model(
        str(asked.labels_model),
        asked.chat,
        model=None,
        cost_limit=asked.cost_limit,
        budget=budget,
        progress=progress,
        option="--labels-model",
        flag="--labels-base-url",
    )
    searches = [task for task in tasks if task.type == "search"]
    journal = Journal(folder / LABELS, WrittenQuery)
    try:
        budget.take_up(one.call for one in journal.every() if one.call is not None)
        stage = QueryStage(opened, inputs, journal)

        async def ask() -> str:
            try:
                return (await run_stage(stage, searches, progress, opened.model.check)).stopped
            finally:
                await opened.model.aclose()

        stopped = attended(ask, folder)
        answers = {task.id: last_answer(stage, task) for task in searches}
        costs = [one.call.cost_usd for one in journal.every() if one.call and one.call.cost_usd is not None]
    finally:
        journal.close()
    queries = {id_: one.text for id_, one in answers.items() if one is not None and one.failure is None}
    return Labelled(
        queries=queries, without=len(searches) - len(queries), cost_usd=sum(costs) if costs else None, stopped=stopped
    )
