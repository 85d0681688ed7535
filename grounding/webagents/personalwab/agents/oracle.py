"""The ceiling: an agent that knows the target, and asks the web for it in the ways that it can be asked."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from grounding.webagents.personalwab.agents.base import TASK_FUNCTIONS, Move, Offline, Started
from grounding.webagents.personalwab.functions import WebFunctions
from grounding.webagents.personalwab.records import FunctionCall, ShopDataset, ShopTask, TaskView, Track, Turn

LAST = 30


class Oracle(Offline):
    """Tries what could bring the target up, and makes the call that ranks it highest.

    A search is for the target's own words; a recommendation is asked for from the target and from the user's purchases,
    because what comes back is the recommender's: a ceiling of the web, not 1.
    """

    name = "oracle"
    identity = "oracle:1"

    def __init__(self, dataset: ShopDataset, functions: WebFunctions) -> None:
        self._dataset = dataset
        self._functions = functions
        self._tasks = {task.id: task for task in dataset.tasks}

    async def start(self, view: TaskView, *, track: Track, max_steps: int) -> Started:
        """Know what is wanted."""
        return Started(track=track, max_steps=max_steps, predicted=self._tasks[view.task_id].type)

    async def move(self, started: Started, view: TaskView, turns: Sequence[Turn]) -> Move:  # noqa: ARG002
        """The best call there is, then the end."""
        if turns:
            return Move(call=FunctionCall(name="stop", arguments="{}"))
        task = self._tasks[view.task_id]
        return Move(call=max(self._ways(task), key=lambda call: self._worth(task, call)))

    def _ways(self, task: ShopTask) -> list[FunctionCall]:
        product = self._dataset.products[task.target_asin]
        if task.type == "review":
            written = task.target_review.text if task.target_review else ""
            return [_call("add_product_review", review=written)]
        if task.type == "search":
            more = " ".join([product.title, product.store, *product.features])
            queries = [product.title, f"{product.title} {product.store}", product.asin, more]
            return [_call("search_product_by_query", query=query) for query in queries]
        user = self._dataset.users[task.user_id]
        past = [one.asin for one in user.behaviours if one.review.timestamp_ms < task.timestamp_ms]
        alike = [asin for asin in past if self._dataset.products[asin].main_category == product.main_category]
        ways = [[product.asin], past[-LAST:], alike[-LAST:], [*past, product.asin][-LAST:], past[-1:], alike[-1:]]
        return [_call("get_recommendations_by_history", product_sequence=way) for way in ways]

    def _worth(self, task: ShopTask, call: FunctionCall) -> float:
        seen = self._functions.call(call, allowed=TASK_FUNCTIONS)
        return -seen.asins.index(task.target_asin) if task.target_asin in seen.asins else float("-inf")


def _call(name: str, **arguments: object) -> FunctionCall:
    return FunctionCall(name=name, arguments=msgspec.json.encode(arguments).decode())
