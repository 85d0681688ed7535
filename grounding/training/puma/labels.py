"""Heuristic labels (paper, section 5.2): a task and its memory in, the parameter that the SFT learns out. Pure.

Search: a chat model writes the query (``labelling``), or it is made of the instruction's and the memory's own words.
Recommendation: the most recent products of the target's category, in the memory (paper) or in the whole history
(release, PUMA/prepare_param_data.py), the latest last, as the web function asks for. Review: the user's own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from grounding.training.puma.inputs import Inputs
from grounding.training.puma.records import LabelRule, SftExample
from grounding.webagents.personalwab.agents.words import meant_category
from grounding.webagents.personalwab.records import Behaviour, Product, ShopTask
from grounding.webagents.personalwab.verdicts import FUNCTION_OF

BETWEEN = ", "

_WORD = re.compile(r"[^\W_]+(?:['\-.][^\W_]+)*")
_ASKED_BY = (
    "a am an and any anything are at be but can cheers could could've do don't find for from get give good have "
    "hello help here hey hi i i'd i'll i'm if in is it it's just know like look looking me my need nothing of on "
    "one or please really search should show some someone something something's sort thank thanks that the there "
    "thing think this to want was what where will with would you your"
)
"""Words of asking, which say nothing of what is asked for."""

_ASKING = frozenset(_ASKED_BY.split())


def function_examples(tasks: Sequence[ShopTask], inputs: Inputs) -> list[SftExample]:
    """Instruction and function, of every task."""
    return [
        SftExample(
            task=task.id,
            user=task.user_id,
            kind="function",
            type=task.type,
            prompt=inputs.function(task),
            completion=FUNCTION_OF[task.type],
        )
        for task in tasks
    ]


def parameter_examples(
    tasks: Sequence[ShopTask],
    inputs: Inputs,
    products: Mapping[str, Product],
    rule: LabelRule,
    queries: Mapping[str, str],
) -> list[SftExample]:
    """Instruction, memory, function and parameter, of every task that has a label.

    Args:
        tasks: The tasks.
        inputs: What the model is told of them.
        products: The shop's.
        rule: How labels are made.
        queries: Written queries by the search task's id, where ``rule`` has a model write them.
    """
    examples = []
    for task in tasks:
        label = label_of(task, inputs, products, rule, queries)
        prompt = inputs.parameter(task)
        if label and prompt is not None:
            examples.append(
                SftExample(
                    task=task.id, user=task.user_id, kind="parameter", type=task.type, prompt=prompt, completion=label
                )
            )
    return examples


def label_of(
    task: ShopTask,
    inputs: Inputs,
    products: Mapping[str, Product],
    rule: LabelRule,
    queries: Mapping[str, str],
) -> str:
    """The label of one task; "" where there is none."""
    match task.type:
        case "review":
            return "" if task.target_review is None else task.target_review.text.strip()
        case "recommend":
            past = inputs.remembered(task).chosen if rule.recommend == "memory" else inputs.past(task)
            asins = same_category(past, products, products[task.target_asin].main_category)[-rule.most :]
            if not asins and rule.fallback == "target":
                asins = [task.target_asin]
            return BETWEEN.join(asins)
    if rule.search == "model":
        return queries.get(task.id, "").strip()
    return words_query(task, inputs.remembered(task).chosen, products)


def words_query(task: ShopTask, remembered: Sequence[Behaviour], products: Mapping[str, Product]) -> str:
    """A query of the instruction's words that say what is looked for, and the category that the memory speaks for."""
    category = meant_category(task.instruction, remembered, dict(products))
    words = [word for word in _WORD.findall(task.instruction) if word.lower() not in _ASKING]
    return " ".join([*words, category]).strip()


def same_category(past: Sequence[Behaviour], products: Mapping[str, Product], category: str) -> list[str]:
    """The ASINs of a category, oldest first, each once at its latest place."""
    in_time = sorted(past, key=lambda one: one.review.timestamp_ms)
    fits = [one.asin for one in in_time if products[one.asin].main_category == category]
    return list(dict.fromkeys(reversed(fits)))[::-1]
