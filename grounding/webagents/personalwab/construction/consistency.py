"""Does a profile fit its user? The two tasks of the paper (section 4.2 and A.1), drawn and scored. Pure.

- ``users``: the user among four others, shown by their behaviours; top-1 accuracy.
- ``items``: three products that the user bought among seven that the user did not; NDCG@5 and Recall@5.

Candidates and their order are drawn by chance from a seed and the user's id, so they are the same for every judge. The
figures have a 95 % interval: Wilson's for the accuracy, a bootstrap over users for the others.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from grounding.errors import UserError
from grounding.records import Call, Failure, Record
from grounding.scoring.intervals import bootstrap, wilson
from grounding.webagents.personalwab.construction.sampling import chance_rank
from grounding.webagents.personalwab.records import Product, ShopUser

OTHER_USERS, BOUGHT, NOT_BOUGHT, AT = 4, 3, 7, 5

Kind = Literal["users", "items"]


class Question(Record, frozen=True, kw_only=True):
    """One profile and candidates in the order in which they are shown; ``right`` are the places (from 0) of the right.

    Candidates are ids of users or of products.
    """

    kind: Kind
    user_id: str
    candidates: tuple[str, ...]
    right: tuple[int, ...]

    @property
    def id(self) -> str:
        """Unique in a set of questions."""
        return f"{self.kind}/{self.user_id}"


class Questions(Record, frozen=True, kw_only=True):
    """All questions, and how many users there are none about."""

    asked: tuple[Question, ...]
    without_profile: int
    too_few: int


class Ranking(Record, frozen=True, kw_only=True):
    """A judge's answer: places of candidates, the best first; perhaps not all of them. Or why there is none."""

    step_id: str
    key: str
    order: tuple[int, ...] = ()
    raw: str = ""
    failure: Failure | None = None
    call: Call | None = None


class ConsistencyFigure(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One measure over ``n`` users; ``k`` of them right, where right or wrong is all there is."""

    task: Kind
    measure: str
    value: float | None
    n: int
    chance: float
    k: int | None = None
    low: float | None = None
    high: float | None = None


def draw_questions(
    users: Mapping[str, ShopUser], products: Mapping[str, Product], *, seed: int, limit: int | None = None
) -> Questions:
    """Both questions for every user with a profile and enough products; the first by chance where ``limit`` is given.

    Raises:
        UserError: there are too few users or products to ask about anybody.
    """
    active = sorted(user.id for user in users.values() if user.behaviours)
    described = [name for name in active if users[name].profile is not None]
    if len(active) <= OTHER_USERS or not described:
        raise UserError(
            f"{len(active)} users with behaviours, {len(described)} of them with a profile: it takes at least "
            f"{OTHER_USERS + 1} and a profile"
        )
    pool = sorted(products)
    asked: list[Question] = []
    too_few = 0
    queue = sorted(described, key=lambda name: chance_rank(seed, name))
    for name in queue[:limit]:
        chance = random.Random(chance_rank(seed, f"questions/{name}"))
        others = chance.sample([other for other in active if other != name], OTHER_USERS)
        asked.append(_shuffled("users", name, [name], others, chance))
        bought = list(dict.fromkeys(one.asin for one in users[name].behaviours))
        rest = _not_bought(pool, set(bought), chance)
        if len(bought) < BOUGHT or len(rest) < NOT_BOUGHT:
            too_few += 1
            continue
        asked.append(_shuffled("items", name, chance.sample(bought, BOUGHT), rest, chance))
    return Questions(asked=tuple(asked), without_profile=len(users) - len(described), too_few=too_few)


def _not_bought(pool: Sequence[str], bought: set[str], chance: random.Random) -> list[str]:
    """Seven products by chance; drawn with a few to spare, because a pool is much larger than anybody's purchases."""
    drawn = chance.sample(pool, min(len(pool), NOT_BOUGHT + len(bought)))
    return [asin for asin in drawn if asin not in bought][:NOT_BOUGHT]


def _shuffled(kind: Kind, user_id: str, right: list[str], wrong: list[str], chance: random.Random) -> Question:
    candidates = [*right, *wrong]
    chance.shuffle(candidates)
    places = tuple(place for place, one in enumerate(candidates) if one in right)
    return Question(kind=kind, user_id=user_id, candidates=tuple(candidates), right=places)


def ndcg(order: Sequence[int], right: Sequence[int], at: int = AT) -> float:
    """Normalised discounted cumulative gain of the first ``at`` places, with a gain of 1 for each right one.

    >>> ndcg([0, 1, 2], [0, 1, 2]), ndcg([3, 4], [0])
    (1.0, 0.0)
    """
    gain = sum(1 / math.log2(rank + 2) for rank, one in enumerate(order[:at]) if one in right)
    return gain / sum(1 / math.log2(rank + 2) for rank in range(min(at, len(right))))


def recall(order: Sequence[int], right: Sequence[int], at: int = AT) -> float:
    """The share of the right ones that are among the first ``at``."""
    return len(set(order[:at]) & set(right)) / len(right)


def consistency_figures(
    questions: Sequence[Question], rankings: Mapping[str, Ranking], *, seed: int
) -> tuple[ConsistencyFigure, ...]:
    """The three measures.

    Args:
        questions: What was asked.
        rankings: Answers by the questions' ids. One that can't be read (``unparsed``) is wrong; a question with an
            error or without any answer is left out.
        seed: Seeds the bootstrap.
    """
    answered: dict[Kind, list[tuple[Question, tuple[int, ...]]]] = {"users": [], "items": []}
    for question in questions:
        ranking = rankings.get(question.id)
        if ranking is not None and (ranking.failure is None or ranking.failure.kind == "unparsed"):
            answered[question.kind].append((question, ranking.order if ranking.failure is None else ()))
    among, items = answered["users"], answered["items"]
    hits = sum(bool(order) and order[0] in question.right for question, order in among)
    sure = wilson(hits, len(among)) if among else None
    values = np.array([[ndcg(order, one.right), recall(order, one.right)] for one, order in items]).reshape(-1, 2)
    intervals = bootstrap(values, np.ones_like(values), seed=seed)
    shown = BOUGHT + NOT_BOUGHT
    by_chance = (_ndcg_by_chance(), AT / shown)
    return (
        ConsistencyFigure(
            task="users",
            measure="top-1 accuracy",
            value=hits / len(among) if among else None,
            n=len(among),
            k=hits,
            chance=1 / (1 + OTHER_USERS),
            low=sure.low / 100 if sure else None,
            high=sure.high / 100 if sure else None,
        ),
        *(
            ConsistencyFigure(
                task="items",
                measure=f"{name}@{AT}",
                value=float(values[:, column].mean()) if items else None,
                n=len(items),
                chance=by_chance[column],
                low=interval.low if interval else None,
                high=interval.high if interval else None,
            )
            for column, (name, interval) in enumerate(zip(("NDCG", "Recall"), intervals, strict=True))
        ),
    )


def _ndcg_by_chance() -> float:
    """Every place holds a right one with the same chance."""
    share = BOUGHT / (BOUGHT + NOT_BOUGHT)
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(AT, BOUGHT)))
    return share * sum(1 / math.log2(rank + 2) for rank in range(AT)) / ideal
