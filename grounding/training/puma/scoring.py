"""What a sampled parameter is worth: the real web function is called with it, and its answer judged as in a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grounding.records import Record
from grounding.webagents.personalwab.agents.base import TASK_FUNCTIONS
from grounding.webagents.personalwab.agents.parameters import parameter_of, read_parameter
from grounding.webagents.personalwab.episode import view_of
from grounding.webagents.personalwab.functions import WebFunctions
from grounding.webagents.personalwab.records import Episode, Product, ShopTask, Turn
from grounding.webagents.personalwab.similarity import review_similarity
from grounding.webagents.personalwab.verdicts import ShopRule, judge_shop, review_pairs


class Drawn(Record, frozen=True, kw_only=True):
    """A task and a parameter that was drawn for it, as the model wrote it."""

    task: ShopTask
    text: str


class ResultScorer:
    """Scores parameters by the result accuracy of the web's answer. ``identity`` names web and reading."""

    def __init__(self, functions: WebFunctions, products: Mapping[str, Product], rule: ShopRule) -> None:
        self._functions = functions
        self._products = dict(products)
        self._rule = rule
        self.identity = f"result:1|{functions.identity}|{rule}"

    def scores(self, drawn: Sequence[Drawn]) -> list[float]:
        """The result accuracy of each, for the task's own function; reviews are compared in one go.

        A text that stands for no call of the function (it talks, stops, or is refused) is worth 0.
        """
        episodes = [self._episode(one) for one in drawn]
        pairs = list(
            dict.fromkeys(
                pair
                for one, episode in zip(drawn, episodes, strict=True)
                for pair in review_pairs([one.task], {one.task.id: episode})
            )
        )
        likeness = dict(zip(pairs, review_similarity(pairs), strict=True)) if pairs else {}
        return [
            judge_shop(one.task, episode, likeness, rule=self._rule).result
            for one, episode in zip(drawn, episodes, strict=True)
        ]

    def _episode(self, one: Drawn) -> Episode:
        """The episode of an agent that makes this one call."""
        view = view_of(one.task, self._products.get(one.task.target_asin))
        # The release puts ASINs through a set; a seed stands for the order of one.
        shuffle = 0 if self._rule == "official" else None
        call = read_parameter(one.task.type, parameter_of(one.text), view, shuffle_seed=shuffle)
        seen = self._functions.call(call, allowed=TASK_FUNCTIONS)
        return Episode(task_id=one.task.id, key="", turns=(Turn(call=call, observation=seen),), end="terminal-call")
