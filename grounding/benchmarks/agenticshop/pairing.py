"""Does a query belong to its user, or to another of the same file? Users with needs in, doubts and their reasons out.

In the release's samples three of five grocery users carry another's query. How well a query fits a user is between 0
and 1: the weighted share of the query's words that occur in what is said of the user, and once more of those that occur
in product type and situation alone. A word weighs the more, the fewer users of the file it is said of, and the less,
the more queries share it. There is a doubt where giving the file's queries to its users in the best possible way (an
assignment problem) moves a query to another user, and those that move gain ``MIN_GAIN`` each on average.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from grounding.benchmarks.agenticshop.records import DIMENSIONS, CurationTask, Scenario
from grounding.records import Record

MIN_GAIN, MIN_LOSS = 0.12, 0.03
"""A query that is moved only to make room for another is no doubt: it must itself fit better where it goes.

Both were set on the release: its nine exchanged queries would move with average gains of 0.24 to 0.53, no other one;
queries made of titles of the 50 raw grocery histories, none exchanged, with gains of 0.09 at most.
"""

SHARED_BY = 3
"""A query that so many users share, as all do in open exploration, says nothing of anybody and is not looked at."""


class PairingDoubt(Record, frozen=True, kw_only=True, omit_defaults=False):
    """``like`` is the task whose user it fits, ``fit`` and ``own`` how well, ``gain`` what the exchange brings each."""

    task_id: str
    like: str
    own: float
    fit: float
    gain: float


class PairingReport(Record, frozen=True, kw_only=True):
    """``queries`` is how many were looked at: those that are their users' own."""

    scenario: Scenario
    queries: int = 0
    doubts: tuple[PairingDoubt, ...] = ()


def check_pairing(tasks: Sequence[CurationTask]) -> tuple[PairingReport, ...]:
    """Look for queries that belong to another user, scenario by scenario. Asks no model."""
    scenarios = dict.fromkeys(task.scenario for task in tasks)
    return tuple(_check(one, [task for task in tasks if task.scenario == one]) for one in scenarios)


def _check(scenario: Scenario, tasks: list[CurationTask]) -> PairingReport:
    from scipy.optimize import linear_sum_assignment
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    said = [" ".join(task.query.casefold().split()) for task in tasks]
    own = [task for task, query in zip(tasks, said, strict=True) if said.count(query) < SHARED_BY and _asked(query)]
    if len(own) < 2:
        return PairingReport(scenario=scenario)
    fit = _fit(own)
    # Ties between equal sums are broken in favour of the diagonal, by less than any difference that is looked at.
    rows, chosen = linear_sum_assignment(-fit - np.eye(len(fit)) * 1e-9)
    # Users who exchange queries with each other are a component of the graph of who gets whose.
    _, groups = connected_components(coo_array((np.ones(len(rows)), (rows, chosen))))
    gained = fit[rows, chosen] - fit.diagonal()
    doubts = []
    for query, user in sorted(zip(chosen.tolist(), rows.tolist(), strict=True)):
        found = {"own": fit[query, query], "fit": fit[user, query], "gain": gained[groups == groups[user]].mean()}
        if user != query and found["gain"] >= MIN_GAIN and found["fit"] - found["own"] >= MIN_LOSS:
            rounded = {name: round(float(share), 4) for name, share in found.items()}
            doubts.append(PairingDoubt(task_id=own[query].id, like=own[user].id, **rounded))
    return PairingReport(scenario=scenario, queries=len(own), doubts=tuple(doubts))


def _fit(tasks: Sequence[CurationTask]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """How well the query of column j fits the user of row i, 0 to 1."""
    heads = [_words(f"{task.product_type or ''} {task.situation}") for task in tasks]
    told = [
        " ".join([*(getattr(task.context, name) for name in DIMENSIONS), *(item.text for item in task.checklist)])
        for task in tasks
    ]
    said = [head | _words(text) for head, text in zip(heads, told, strict=True)]
    queries = [_asked(task.query) for task in tasks]
    users = Counter(word for words in said for word in words)
    asked = Counter(word for words in queries for word in words)
    count = len(tasks)
    weights = {
        word: math.log((count + 1) / (users[word] + 0.5)) * (1 - (asked[word] - 1) / count) for word in sorted(asked)
    }
    known = np.array(
        [[(one in words) + (one in head) for one in weights] for words, head in zip(said, heads, strict=True)]
    )
    wanted = np.array([[weights[one] * (one in words) for words in queries] for one in weights])
    total = 2 * wanted.sum(axis=0)
    table: np.ndarray[Any, np.dtype[np.float64]] = known @ np.divide(
        wanted, total, out=np.zeros_like(wanted), where=total > 0
    )
    return table


_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W\d_]+)?")
_ENDING = re.compile(r"(?<=...)(?:(?<=i)es|(?<=ss)es|ing|ed|(?<!s)s)$")
_ASKING = re.compile(
    r"\b(?:a|about|an|and|any|are|as|at|be|but|buy|by|can|check|checking|for|find|from|get|getting|good|has|have|i|in|into|"
    r"is|it|looking|my|need|new|nice|of|on|or|out|purchase|searching|shopping|so|some|that|the|thinking|this|to|up|want|"
    r"wants|with)\b"
)  # What one says to ask for a thing, whatever it is.


def _words(text: str) -> set[str]:
    """The words of a text without their endings, roughly: enough that one thing and several are one word."""
    return {_ENDING.sub("", re.sub(r"['\u2019]s$", "", word)) for word in _WORD.findall(text.casefold())}


def _asked(query: str) -> set[str]:
    return _words(_ASKING.sub(" ", query.casefold()))
