"""From choices to the paper's table 2: how often what stands for a user prefers what the user rated higher. Pure.

A question that is asked in both orders is worth the mean of both; a tie is worth a half, a reply that can't be read
nothing. Questions with an error or without an answer are left out. Users weigh alike: the accuracy of a cell is the
mean over users of the mean over their questions. The 95 % interval is a bootstrap over users, or Wilson's where every
user has one question that is right or wrong; none where all users have the same accuracy, because that is too few users
and not certainty. ``average`` is the mean of the domains' accuracies, as in the paper, its interval from draws of users
within each domain.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from grounding.records import Record
from grounding.scoring.intervals import Interval, resampled_sums, wilson
from grounding.webagents.agenticshop.reliability.alignment.records import (
    REPRESENTATIONS,
    Choice,
    Comparison,
    Representation,
)

AVERAGE = "average"
Matrix = npt.NDArray[np.float64]


class AlignmentFigure(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One cell. ``accuracy`` is None where nothing was answered; ``ties`` and ``unparsed`` count replies.

    ``same_choice`` is the share of questions with both orders answered in which both chose the same product.
    """

    representation: Representation
    domain: str
    accuracy: float | None
    interval: Interval | None
    users: int
    questions: int
    ties: int
    unparsed: int
    same_choice: float | None


class _Question(Record, frozen=True, kw_only=True):
    domain: str
    user: str
    worth: float
    choices: tuple[str, ...]
    ties: int
    unparsed: int


def alignment_figures(
    comparisons: Sequence[Comparison], choices: Mapping[str, Choice], *, seed: int = 0
) -> tuple[AlignmentFigure, ...]:
    """A cell for every representation and domain that there are comparisons of, and the averages.

    Args:
        comparisons: What was asked.
        choices: Answers by the comparisons' ids.
        seed: Seed of the intervals.
    """
    domains = list(dict.fromkeys(one.pair.domain for one in comparisons))
    found = []
    for representation in REPRESENTATIONS:
        of_one = [one for one in comparisons if one.described.representation == representation]
        questions = _questions(of_one, choices)
        cells = {domain: [one for one in questions if one.domain == domain] for domain in domains}
        users = {domain: _by_user(cell) for domain, cell in cells.items()}
        for domain, cell in cells.items():
            accuracy = float(users[domain].mean()) if cell else None
            found.append(_figure(representation, domain, cell, accuracy, _interval(cell, users[domain], seed)))
        filled = [worth for worth in users.values() if len(worth)]
        mean = float(np.mean([worth.mean() for worth in filled])) if filled else None
        found.append(_figure(representation, AVERAGE, questions, mean, _average(filled, seed)))
    return tuple(found)


def _questions(comparisons: Sequence[Comparison], choices: Mapping[str, Choice]) -> list[_Question]:
    grouped: dict[str, list[tuple[Comparison, Choice]]] = {}
    for one in comparisons:
        choice = choices.get(one.id)
        if choice is not None and (choice.failure is None or choice.failure.kind == "unparsed"):
            grouped.setdefault(one.question, []).append((one, choice))
    return [
        _Question(
            domain=answered[0][0].pair.domain,
            user=answered[0][0].pair.user,
            worth=float(np.mean([_worth(choice) for _, choice in answered])),
            choices=tuple(choice.chosen for _, choice in answered if choice.chosen is not None),
            ties=sum(choice.tie for _, choice in answered),
            unparsed=sum(choice.failure is not None for _, choice in answered),
        )
        for answered in grouped.values()
    ]


def _worth(choice: Choice) -> float:
    return 0.5 if choice.tie else float(choice.chosen == "higher")


def _by_user(questions: Sequence[_Question]) -> Matrix:
    """The mean worth of each user's questions."""
    users: dict[tuple[str, str], list[float]] = {}
    for one in questions:
        users.setdefault((one.domain, one.user), []).append(one.worth)
    return np.array([np.mean(worth) for worth in users.values()])


def _figure(
    representation: Representation,
    domain: str,
    questions: Sequence[_Question],
    accuracy: float | None,
    interval: Interval | None,
) -> AlignmentFigure:
    twice = [one.choices for one in questions if len(one.choices) == 2]
    return AlignmentFigure(
        representation=representation,
        domain=domain,
        accuracy=accuracy,
        interval=interval,
        users=len({(one.domain, one.user) for one in questions}),
        questions=len(questions),
        ties=sum(one.ties for one in questions),
        unparsed=sum(one.unparsed for one in questions),
        same_choice=sum(len(set(pair)) == 1 for pair in twice) / len(twice) if twice else None,
    )


def _interval(questions: Sequence[_Question], users: Matrix, seed: int) -> Interval | None:
    if not len(users):
        return None
    if len(questions) == len(users) and set(users.tolist()) <= {0.0, 1.0}:
        sure = wilson(int(users.sum()), len(users))
        return Interval(low=sure.low / 100, high=sure.high / 100)
    return _average([users], seed)


def _average(domains: Sequence[Matrix], seed: int) -> Interval | None:
    """Percentiles of the mean over domains of means over users, users drawn within each domain."""
    if not domains:
        return None
    drawn = [
        resampled_sums(worth[:, np.newaxis], seed + place)[:, 0] / len(worth) for place, worth in enumerate(domains)
    ]
    low, high = np.quantile(np.mean(drawn, axis=0), [0.025, 0.975])
    if math.isclose(low, high, abs_tol=1e-12):
        return None
    return Interval(low=float(low), high=float(high))
