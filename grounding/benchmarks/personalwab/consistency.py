"""Does a profile fit its user? The two tasks of the paper (section 4.2 and A.1): drawn, asked, scored and printed.

- ``users``: the user among four others, shown by their behaviours; top-1 accuracy.
- ``items``: three products that the user bought among seven that the user did not; NDCG@5 and Recall@5.
"""

import math
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from rich.table import Table

from grounding.benchmarks.asking import AskedFigures, Asking, Rounds, StoredAnswer, ask_and_figure, new_progress
from grounding.benchmarks.calls import fill
from grounding.benchmarks.personalwab.construction import chance_rank
from grounding.benchmarks.personalwab.loader import read_shop
from grounding.benchmarks.personalwab.prompts import wording
from grounding.benchmarks.personalwab.records import ShopDataset
from grounding.console import wide_console
from grounding.errors import UserError
from grounding.records import Failure, Record
from grounding.scoring.intervals import bootstrap

OTHER_USERS, BOUGHT, NOT_BOUGHT, AT = 4, 3, 7, 5
BEHAVIOURS, SHOWN_CHARS = 20, 300  # A candidate's newest behaviours, and characters of one review, that are shown.

Kind = Literal["users", "items"]
Order = tuple[int, ...]


class ProfileQuestion(Record, frozen=True, kw_only=True):
    """A profile and candidates (users or products) as they are shown; ``right`` are places of the right, from 0."""

    kind: Kind
    user_id: str
    candidates: tuple[str, ...]
    right: Order

    @property
    def id(self) -> str:
        return f"{self.kind}/{self.user_id}"


class Ranking(StoredAnswer, frozen=True, kw_only=True):
    order: Order = ()


class ConsistencyFigure(Record, frozen=True, omit_defaults=False):
    task: str
    measure: str
    value: float | None
    n: int
    chance: float
    low: float | None
    high: float | None


class Consistency(AskedFigures, frozen=True, kw_only=True, omit_defaults=False):
    figures: tuple[ConsistencyFigure, ...]


def draw_questions(dataset: ShopDataset, *, seed: int, limit: int | None = None) -> tuple[ProfileQuestion, ...]:
    """Both questions for every user with a profile and enough products; the first by chance where ``limit`` is given.
    Raises UserError where there are too few users or products to ask about anybody.
    """
    users = dataset.users
    active = sorted(user.id for user in users.values() if user.behaviours)
    described = [name for name in active if users[name].profile is not None]
    if len(active) <= OTHER_USERS or not described:
        having = f"{len(active)} users with behaviours, {len(described)} of them with a profile"
        raise UserError(f"{having}: it takes at least {OTHER_USERS + 1} and a profile")
    pool, asked = sorted(dataset.products), []

    def ask(kind: Kind, name: str, right: list[str], wrong: list[str], chance: random.Random) -> None:
        candidates = [*right, *wrong]
        chance.shuffle(candidates)
        places = tuple(place for place, one in enumerate(candidates) if one in right)
        asked.append(ProfileQuestion(kind=kind, user_id=name, candidates=tuple(candidates), right=places))

    for name in sorted(described, key=lambda one: chance_rank(seed, one))[:limit]:
        chance = random.Random(chance_rank(seed, f"questions/{name}"))
        others = chance.sample([other for other in active if other != name], OTHER_USERS)
        ask("users", name, [name], others, chance)
        bought = list(dict.fromkeys(one.asin for one in users[name].behaviours))
        # A few to spare are drawn, because a pool is much larger than anybody's purchases.
        drawn = chance.sample(pool, min(len(pool), NOT_BOUGHT + len(bought)))
        rest = [asin for asin in drawn if asin not in bought][:NOT_BOUGHT]
        if len(bought) >= BOUGHT and len(rest) == NOT_BOUGHT:
            ask("items", name, chance.sample(bought, BOUGHT), rest, chance)
    return tuple(asked)


def question_text(prompts: Any, dataset: ShopDataset, question: ProfileQuestion) -> str:
    def line(template: str, asin: str, **said: str) -> str:
        product = dataset.products[asin]
        category = product.categories[-1] if product.categories else str(product.main_category)
        sold = {"title": product.title, "store": str(product.store), "price": str(product.price)}
        return fill(template, category=category, **sold, **said)

    parts = []
    for number, name in enumerate(question.candidates, start=1):
        if question.kind == "items":
            parts.append(line(prompts.item_entry, name, number=str(number)))
            continue
        lines = [fill(prompts.user_heading, number=str(number))]
        for one in dataset.users[name].oldest_first[-BEHAVIOURS:]:
            text = " ".join(f"{one.review.title}. {one.review.text}".split())[:SHOWN_CHARS]
            lines.append(line(prompts.user_entry, one.asin, rating=str(one.review.rating), text=text))
        parts.append("\n".join(lines))
    profile = dataset.users[question.user_id].profile
    told = "\n".join(f"- {name}: {said}" for name, said in profile.told.items()) if profile else ""
    template, between = (prompts.items, "\n") if question.kind == "items" else (prompts.users, "\n\n")
    return fill(template, profile=told, count=str(len(parts)), candidates=between.join(parts))


def read_ranking(question: ProfileQuestion, text: str) -> dict[str, Order] | Failure:
    count = len(question.candidates)
    if question.kind == "users":
        numbers = sorted({int(number) for number in re.findall(r"(?<![\d.])\d{1,3}(?![\d.]*\d)", text)})
        expected, fits = f"the number of one of {count} shoppers and nothing else", len(numbers) == 1
    else:
        lists = re.findall(r"\[[\d\s,]+\]", text)
        numbers = [int(number) for number in re.findall(r"\d{1,6}", lists[-1])] if lists else []
        expected = f"a JSON list of the {count} products' numbers, each once"
        fits = AT <= len(numbers) == len(set(numbers))
    if not fits or not all(1 <= number <= count for number in numbers):
        return Failure(kind="unparsed", message=f"expected {expected}")
    return {"order": tuple(number - 1 for number in numbers)}


def _gain(ranks: Iterable[int]) -> float:
    return sum(1 / math.log2(rank + 2) for rank in ranks)


def ndcg(order: Sequence[int], right: Sequence[int]) -> float:
    """Normalised discounted cumulative gain of the first five places, with a gain of 1 for each right one."""
    gain = _gain(rank for rank, one in enumerate(order[:AT]) if one in right)
    return gain / _gain(range(min(AT, len(right))))


SHOWN = BOUGHT + NOT_BOUGHT
MEASURES: tuple[tuple[Kind, str, float, Callable[[Order, Order], float]], ...] = (
    ("users", "top-1 accuracy", 1 / (1 + OTHER_USERS), lambda order, right: float(order[:1] == right)),
    ("items", f"NDCG@{AT}", BOUGHT / SHOWN * _gain(range(AT)) / _gain(range(BOUGHT)), ndcg),
    ("items", f"Recall@{AT}", AT / SHOWN, lambda order, right: len({*order[:AT]} & {*right}) / len(right)),
)  # The question, the measure, what it is by chance (every place holds a right one equally often), and how it is had.


def consistency_figures(
    questions: Sequence[ProfileQuestion], rankings: Mapping[str, Ranking], *, seed: int
) -> tuple[ConsistencyFigure, ...]:
    """The three measures, from answers by the questions' ids: ``unparsed`` is wrong, an error or no answer left out."""
    found = []
    for kind, name, chance, measure in MEASURES:
        values = [
            measure(ranking.order, one.right)
            for one in questions
            if one.kind == kind and (ranking := rankings.get(one.id)) is not None
            if ranking.failure is None or ranking.failure.kind == "unparsed"
        ]
        column = np.array(values).reshape(-1, 1)
        (sure,) = bootstrap(column, np.ones_like(column), seed=seed, most=[1.0])
        mean = float(column.mean()) if values else None
        low, high = (None, None) if sure is None else (sure.low, sure.high)
        found.append(ConsistencyFigure(kind, name, mean, len(values), chance, low, high))
    return tuple(found)


def judge_profiles(
    data_dir: Path, asking: Asking, *, out: Path, users: int | None, seed: int
) -> tuple[Consistency, Rounds]:
    with new_progress(asking.display, "questions").phase("reading the data set"):
        dataset = read_shop(data_dir, name=data_dir.resolve().name)
    questions = draw_questions(dataset, seed=seed, limit=users)
    prompts = wording("consistency")
    about: dict[str, Any] = {
        "dataset": dataset.name,
        "fingerprint": dataset.fingerprint,
        "prompts": prompts.label,
        "seed": seed,
    }
    return ask_and_figure(
        asking,
        questions,
        out=out,
        names=("consistency.json", "replies.jsonl"),
        unit="questions",
        kept=Ranking,
        question=partial(question_text, prompts, dataset),
        read=read_ranking,
        figures=partial(consistency_figures, questions, seed=seed),
        made=partial(Consistency, **about),
    )


def print_consistency(shown: Consistency, answers: Rounds) -> None:
    console = wide_console(100)
    heads = ("task", "measure", "value", "users", "95 % interval", "by chance")
    table = Table(*heads, title=f"{shown.dataset} · profiles judged by {shown.by}", title_justify="left")
    for one in shown.figures:
        value = "\u2013" if one.value is None else f"{one.value:.3f}"
        interval = "\u2013" if one.low is None or one.high is None else f"[{one.low:.3f}, {one.high:.3f}]"
        table.add_row(one.task, one.measure, value, f"{one.n}", interval, f"{one.chance:.3f}")
    console.print(table)
    for line in answers.below_figures:
        console.print(line, soft_wrap=True, highlight=False)
