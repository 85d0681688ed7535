"""Does a query belong to its user, or to another of the same file? Users with needs in, doubts and their reasons out.

The release writes queries beside users by their places in two lists that need not be in one order; in its samples three
of five grocery users carry another's query. Nothing but words is needed to see that.

How well a query fits a user is between 0 and 1: the weighted share of the query's words that occur in what is said of
the user (product type, situation, context, checklist), and once more of those that occur in product type and situation
alone. A word weighs the more, the fewer users of the file it is said of, and the less, the more queries share it.

Two things raise a doubt:

- ``exchanged``: giving the file's queries to its users in the best possible way (an assignment problem) moves this
  query to another user, and those that move gain ``MIN_GAIN`` each on average.
- ``fits_another``: nobody's query need move, but another user's words fit this one better by ``MIN_MARGIN``.

A query that three or more users share, as all do in open exploration, says nothing of anybody and is not looked at.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal

import numpy as np

from grounding.records import Record
from grounding.webagents.agenticshop.assignment import Table, best_assignment, cycles
from grounding.webagents.agenticshop.records import DIMENSIONS, CurationTask, Scenario

MIN_GAIN = 0.12
MIN_MARGIN = 0.25
MIN_LOSS = 0.03
"""A query that is moved only to make room for another is no doubt: it must itself fit better where it goes.

The three were set on the release. Its nine exchanged queries (three in each grocery file) would move with average gains
of 0.24 to 0.53, and no query of the four other files would move. Queries made of the titles of the 50 raw grocery
histories, none exchanged and the title's own review taken out, move with average gains of 0.09 at most.
"""

MAX_USERS = 2_000
"""More in one file are not compared: the table has the square of that many entries."""

MAX_ASSIGNED = 500
"""More are compared one by one only, without looking for the best assignment."""

SHARED_BY = 3

DoubtKind = Literal["exchanged", "fits_another"]


class PairFit(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How well one user's query fits that user, and which other user of the file it fits best.

    ``other`` is that one's task id, "" where there is no other. ``margin`` is above 0 where the other fits better.
    """

    task_id: str
    own: float
    other: str
    best_other: float

    @property
    def margin(self) -> float:
        """How much better the other user fits."""
        return self.best_other - self.own


class PairingDoubt(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A query that looks like another user's. ``like`` is the task whose user it fits, ``fit`` and ``own`` how well.

    ``gain`` is what the users of the exchange gain on average, 0 for ``fits_another``.
    """

    task_id: str
    kind: DoubtKind
    like: str
    own: float
    fit: float
    gain: float = 0.0


class PairingReport(Record, frozen=True, kw_only=True):
    """What was found in one file. ``fits`` are those of the queries that were looked at, in the file's order.

    ``passed_over`` counts the queries that too many users share; ``why_not`` says why nothing was looked at.
    """

    scenario: Scenario
    fits: tuple[PairFit, ...] = ()
    doubts: tuple[PairingDoubt, ...] = ()
    passed_over: int = 0
    why_not: str = ""


def check_pairing(tasks: Sequence[CurationTask]) -> tuple[PairingReport, ...]:
    """Look for queries that belong to another user, scenario by scenario. Asks no model."""
    by_scenario: dict[Scenario, list[CurationTask]] = {}
    for task in tasks:
        by_scenario.setdefault(task.scenario, []).append(task)
    return tuple(_check(scenario, of_one) for scenario, of_one in by_scenario.items())


def _check(scenario: Scenario, tasks: list[CurationTask]) -> PairingReport:
    if len(tasks) > MAX_USERS:
        return PairingReport(scenario=scenario, why_not=f"{len(tasks):,} users; at most {MAX_USERS:,} are compared")
    shared = Counter(_plain(task.query) for task in tasks)
    looked_at = [task for task in tasks if shared[_plain(task.query)] < SHARED_BY and _content(task.query)]
    passed_over = len(tasks) - len(looked_at)
    if len(looked_at) < 2:
        reason = "there is nobody else to compare with" if len(tasks) < 2 else "its users share their query"
        return PairingReport(scenario=scenario, passed_over=passed_over, why_not=reason)
    fit = fit_table(looked_at)
    doubts = _doubts(looked_at, fit)
    return PairingReport(scenario=scenario, fits=_fits(looked_at, fit), doubts=tuple(doubts), passed_over=passed_over)


def fit_table(tasks: Sequence[CurationTask]) -> Table:
    """How well the query of column j fits the user of row i, 0 to 1."""
    said = [_words(_said_of(task)) for task in tasks]
    heads = [_words(f"{task.product_type or ''} {task.situation}") for task in tasks]
    queries = [_content(task.query) for task in tasks]
    users = Counter(word for words in said for word in words)
    asked = Counter(word for words in queries for word in words)
    place = {word: number for number, word in enumerate(asked)}
    count = len(tasks)
    known, wanted = np.zeros((count, len(place))), np.zeros((len(place), count))
    for row, (words, head) in enumerate(zip(said, heads, strict=True)):
        for word in words & place.keys():
            known[row, place[word]] = 1 + (word in head)
    for column, words in enumerate(queries):
        weights = {
            word: math.log((count + 1) / (users[word] + 0.5)) * (1 - (asked[word] - 1) / count)
            for word in sorted(words)
        }
        total = 2 * sum(weights.values())
        for word, weight in weights.items():
            wanted[place[word], column] = weight / total if total else 0.0
    table: Table = known @ wanted
    return table


def _fits(tasks: list[CurationTask], fit: Table) -> tuple[PairFit, ...]:
    found = []
    for number, task in enumerate(tasks):
        other = _best_other(fit, number)
        found.append(
            PairFit(
                task_id=task.id,
                own=_rounded(fit[number, number]),
                other=tasks[other].id,
                best_other=_rounded(fit[other, number]),
            )
        )
    return tuple(found)


def _doubts(tasks: list[CurationTask], fit: Table) -> list[PairingDoubt]:
    found = _exchanged(fit) if len(tasks) <= MAX_ASSIGNED else {}
    for number in range(len(tasks)):
        other = _best_other(fit, number)
        if number not in found and fit[other, number] - fit[number, number] >= MIN_MARGIN:
            found[number] = ("fits_another", other, 0.0)
    return [
        PairingDoubt(
            task_id=tasks[number].id,
            kind=kind,
            like=tasks[other].id,
            own=_rounded(fit[number, number]),
            fit=_rounded(fit[other, number]),
            gain=_rounded(gain),
        )
        for number, (kind, other, gain) in sorted(found.items())
    ]


def _exchanged(fit: Table) -> dict[int, tuple[DoubtKind, int, float]]:
    """Queries that the best assignment takes from their users: the user who gets each, and the average gain."""
    assigned = best_assignment(fit)
    found: dict[int, tuple[DoubtKind, int, float]] = {}
    for cycle in cycles(assigned):
        gain = sum(fit[row, assigned[row]] - fit[row, row] for row in cycle) / len(cycle)
        if gain < MIN_GAIN:
            continue
        for row in cycle:
            query = assigned[row]
            if fit[row, query] - fit[query, query] >= MIN_LOSS:
                found[query] = ("exchanged", row, float(gain))
    return found


def _best_other(fit: Table, number: int) -> int:
    others = fit[:, number].copy()
    others[number] = -1
    return int(np.argmax(others))


def _rounded(value: float) -> float:
    return round(float(value), 4)


# --- words ---------------------------------------------------------------------------------------------------------

_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W\d_]+)?")
_POSSESSIVE = re.compile(r"['\u2019]s$")
_ENDINGS = (("ies", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("es", "e"), ("s", ""))
_MIN_STEM_CHARS = 3
_ASKING = frozenset(
    {"a", "about", "an", "and", "any", "are", "as", "at", "be", "but", "buy", "by", "can", "check", "checking", "for"}
    | {"find", "from", "get", "getting", "good", "has", "have", "i", "in", "into", "is", "it", "looking", "my", "need"}
    | {"new", "nice", "of", "on", "or", "out", "purchase", "searching", "shopping", "so", "some", "that", "the"}
    | {"thinking", "this", "to", "up", "want", "wants", "with"}
)
"""What one says to ask for a thing, whatever it is."""


def _words(text: str) -> set[str]:
    return {_stem(_POSSESSIVE.sub("", word)) for word in _WORD.findall(text.casefold())}


def _content(query: str) -> set[str]:
    return _words(" ".join(word for word in _WORD.findall(query.casefold()) if word not in _ASKING))


def _stem(word: str) -> str:
    """A word without its ending, roughly: enough that one thing and several are one word."""
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _MIN_STEM_CHARS and not word.endswith("ss"):
            return word[: len(word) - len(ending)] + instead
    return word


def _plain(query: str) -> str:
    return " ".join(query.casefold().split())


def _said_of(task: CurationTask) -> str:
    paragraphs = [getattr(task.context, dimension) for dimension in DIMENSIONS]
    items = [item.text for item in task.checklist]
    return " ".join([task.product_type or "", task.situation, *paragraphs, *items])
