"""Agents without a model: rules on words, the floor; and one that knows the target, the ceiling of the web.

In the multi-turn track the rules show what they found, and search again with the user's own words in it.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from grounding.benchmarks.personalwab.agents.chat import Given, Play, ShopAgent, function_call
from grounding.benchmarks.personalwab.prompts import FUNCTION_OF
from grounding.benchmarks.personalwab.records import Behaviour, FunctionCall, Product, TaskType, Turn
from grounding.benchmarks.personalwab.web import terms

LONGEST_SEQUENCE, SHOWN, MOST_TRIES = 30, 3, 3
SATISFIED = ("yes", "perfect", "great", "that is the one")
_REVIEW = re.compile(r"\b(reviews?|feedback|testimonial|write[- ]?up|share my (thoughts|experience))\b", re.I)
_RECOMMEND = re.compile(
    r"\b(recommend\w*|suggest\w*|ideas?|inspir\w+|something new|surprise me|explore|discover|what else|"
    r"(might|would|could) (like|enjoy|love)|my (taste|style)s?)\b",
    re.I,
)
_SEARCH = re.compile(r"\b(find|search\w*|look(ing)? for|need|want to buy|where can i)\b", re.I)
_ASKING = re.compile(
    r"\b(can|could|would|will) you|please|help me|i('m| am)|i('d| would) like|looking for|searching for|"
    r"find|search|show|need|want|get|some|something|really|just|thanks?|thank you|hey|hi|hello\b",
    re.I,
)
_SENTENCES = re.compile(r"(?<=[.!?])\s+")


class RuleAgent(ShopAgent):
    def __init__(self, given: Given) -> None:
        self._memory, self._products = given.memory, given.memory.dataset.products
        self.identity = f"rules:1|{given.memory.identity}"

    async def start(self, play: Play) -> None:
        view = play.view
        play.predicted = meant_by(view.instruction, reviewed=view.review_product is not None)
        play.memory = self._memory.recall(play.view, predicted=play.predicted)

    async def move(self, play: Play) -> Turn:
        turns = play.turns
        if not turns or play.track == "single":
            return Turn(call=self._call(play, ()))
        last, tries = turns[-1], sum(turn.call.name not in ("respond", "stop") for turn in turns)
        if last.call.name == "respond":
            if (last.user_reply or "").lower().startswith(SATISFIED) or tries >= MOST_TRIES:
                return Turn(call=function_call("stop"))
            return Turn(call=self._call(play, [turn.user_reply or "" for turn in turns if turn.call.name == "respond"]))
        if play.predicted == "review" or len(turns) + 2 > play.max_steps:
            return Turn(call=function_call("stop"))
        titles = [self._products[asin].title for asin in last.observation.asins[:SHOWN]] if last.observation else []
        asked = f"Is it one of these? {'; '.join(titles)}"
        nothing = "I found nothing. Could you tell me more about what you want?"
        return Turn(call=function_call("respond", content=asked if titles else nothing))

    def _call(self, play: Play, replies: Sequence[str]) -> FunctionCall:
        past, words = play.memory.chosen, play.view.instruction
        if play.predicted == "review":
            # The first sentence of the user's shortest review, and what the request says of the product: whole
            # sentences without the asking.
            texts = [one.review.text.strip() for one in past if one.review.text.strip()]
            opening = _SENTENCES.split(min(texts, key=len))[0] if texts else ""
            thought = " ".join(one for one in _SENTENCES.split(words) if not _REVIEW.search(one)) or words
            return function_call("add_product_review", review=f"{opening} {thought}".strip())
        if play.predicted == "recommend":
            category = meant_category(" ".join([words, *replies]), past, self._products)
            fits = [one for one in past if (self._products[one.asin].main_category or "") == category]
            in_time = sorted(fits, key=lambda one: one.review.timestamp_ms)[-LONGEST_SEQUENCE:]
            return function_call("get_recommendations_by_history", product_sequence=[one.asin for one in in_time])
        wanted = [" ".join(_ASKING.sub(" ", text).split()) or text for text in (words, *replies)]
        category = meant_category(words, past, self._products)
        return function_call("search_product_by_query", query=" ".join([*wanted, category]).strip())


def meant_by(instruction: str, *, reviewed: bool) -> TaskType:
    if reviewed or (_REVIEW.search(instruction) and not _SEARCH.search(instruction.split(".")[0])):
        return "review"
    return "recommend" if _RECOMMEND.search(instruction) else "search"


def meant_category(instruction: str, past: Sequence[Behaviour], products: Mapping[str, Product]) -> str:
    """The category of the past purchases that the words fit best; of the newest where none does; "" without a past."""
    wanted = set(terms(instruction))
    fits: Counter[str] = Counter()
    for product in (products[one.asin] for one in past):
        category = product.main_category or ""
        fits[category] += len(wanted.intersection(terms(f"{product.title} {category}")))
    if fits.total():
        return fits.most_common(1)[0][0]
    newest = max(past, key=lambda one: one.review.timestamp_ms, default=None)
    return "" if newest is None else products[newest.asin].main_category or ""


class ShopOracle(ShopAgent):
    """Tries what could bring the target up, and makes the call that ranks it highest: a ceiling of the web, not 1."""

    identity = "oracle:1"

    def __init__(self, given: Given) -> None:
        self._dataset, self._functions = given.memory.dataset, given.functions
        self._tasks = {task.id: task for task in self._dataset.tasks}

    async def start(self, play: Play) -> None:
        play.predicted = self._tasks[play.view.task_id].type

    async def move(self, play: Play) -> Turn:
        if play.turns:
            return Turn(call=function_call("stop"))
        task = self._tasks[play.view.task_id]
        name, product = FUNCTION_OF[task.type], self._dataset.products[task.target_asin]
        if task.type == "review":
            return Turn(call=function_call(name, review=task.target_review.text if task.target_review else ""))
        if task.type == "search":
            store = product.store or ""
            more = " ".join([product.title, store, *product.features])
            queries = [product.title, f"{product.title} {store}", product.asin, more]
            calls = [function_call(name, query=query) for query in queries]
        else:
            bought = self._dataset.users[task.user_id].oldest_first
            past = [one.asin for one in bought if one.review.timestamp_ms < task.timestamp_ms]
            alike = [asin for asin in past if self._dataset.products[asin].main_category == product.main_category]
            last = LONGEST_SEQUENCE
            ways = [[product.asin], past[-last:], alike[-last:], [*past, product.asin][-last:], past[-1:], alike[-1:]]
            calls = [function_call(name, product_sequence=way) for way in ways]

        def worth(call: FunctionCall) -> float:
            seen = self._functions.call(call)
            return -seen.asins.index(task.target_asin) if task.target_asin in seen.asins else float("-inf")

        return Turn(call=max(calls, key=worth))
