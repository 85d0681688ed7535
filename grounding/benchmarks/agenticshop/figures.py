"""Verdicts of one judge to the paper's figures, with intervals over users, and to the release's. Pure.

The score of a task is the share of satisfied items, meant over its three places (paper, section 3.4.2; a place without
a product's page has 0). A scenario's is the mean over its users, and so is that over all tasks. *Success* leaves only
tasks of which all three places hold a product's page (paper, appendix C); *unblocked* leaves out the places whose site
wanted to see a human, which is no fault of the agent's. Places that were not measured are in none of them, and a task
whose checklist has nothing in a dimension is in no figure of that dimension. The paper's table 6 has lost its headings
in print; what each column is taken for stands at the measure.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeGuard, TypeVar, get_args

import numpy as np

from grounding.benchmarks.agenticshop.records import (
    DIMENSIONS,
    SCENARIOS,
    BehaviourKind,
    Curation,
    Dimension,
    Reported,
    VerdictFlag,
)
from grounding.benchmarks.agenticshop.scenarios import row_of
from grounding.benchmarks.agenticshop.verdicts import MEASURED, PlaceOutcome, PlaceVerdict, TaskVerdicts
from grounding.records import Record
from grounding.scoring.intervals import bootstrap

T = TypeVar("T")
Parts = tuple[float, float]
"""What one thing adds to a share: above the line, and below it; nothing below leaves it out."""

NOTHING: Parts = (0.0, 0.0)


class FigureValue(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A share from 0 to 1 of ``n`` things (or their weight) and its 95 % interval.

    None over nothing, and no interval over fewer than two users.
    """

    value: float | None
    n: float
    low: float | None = None
    high: float | None = None


def estimates(
    things: Sequence[T], measures: Sequence[Callable[[T], Parts]], cluster: Callable[[T], Hashable], *, seed: int = 0
) -> list[FigureValue]:
    """Ratios of sums over things, one for each measure, with percentile bootstrap intervals over clusters.

    ``cluster`` is what is drawn as a whole, such as a thing's user; all measures share the draws.
    """
    places = {name: place for place, name in enumerate(dict.fromkeys(map(cluster, things)))}
    sums = np.zeros((2, len(places), len(measures)))
    for thing in things:
        sums[:, places[cluster(thing)]] += np.transpose([measure(thing) for measure in measures])
    above, below = sums
    intervals = bootstrap(above, below, seed=seed, most=[1.0] * len(measures))
    return [
        FigureValue(
            value=float(of.sum() / n) if (n := float(counted.sum())) else None,
            n=n,
            low=None if interval is None else interval.low,
            high=None if interval is None else interval.high,
        )
        for of, counted, interval in zip(above.T, below.T, intervals, strict=True)
    ]


def share_of(said: Iterable[bool | None]) -> Parts:
    """How many are true, of those of which it is known."""
    known = [one for one in said if one is not None]
    return float(sum(known)), float(len(known))


# --- the release's own arithmetic -----------------------------------------------------------------------------------

_FRACTION = re.compile(r"\s*(\d+)\s*/\s*(\d+)\s*", re.ASCII)


class OfficialFigures(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The release's figures of one scenario, or of all: per cent. None where the judge was not asked for a sum.

    ``users`` is how many stand below the line, ``products`` how many reports there are.
    """

    satisfaction_percentage: float | None
    dimensions: dict[Dimension, float]
    users: int
    products: int


def official_figures(tasks: Sequence[TaskVerdicts]) -> OfficialFigures:
    """The release's figures of what judges reported of themselves, bug for bug (``collect_results.py``).

    The mean of the percentages that the judge wrote over each user's products that have one, then over users, both
    rounded to four decimals. A percentage that was meant as a fraction is averaged as it stands; a user with curated
    products and no report adds 0; a user without curated products is absent. Dimensions are texts ``x / y``: anything
    else is 0 of 0, and a dimension of nothing is 0, not missing.
    """
    present = [[one for one in places if one.outcome not in ("not-curated", "open")] for places in tasks]
    # The release goes through its folders by name.
    present.sort(key=lambda places: places[0].user if places else "")
    reports = [[said for one in places if _adds_up(said := one.reported)] for places in present if places]
    products = sum(map(len, reports))
    percentage, dimensions = None, {}
    if products:
        percentage = _mean([_mean([one.satisfaction_percentage or 0.0 for one in of]) for of in reports])
        dimensions = {name: _mean([_dimension_sum(of, name) for of in reports]) for name in DIMENSIONS}
    return OfficialFigures(
        satisfaction_percentage=percentage, dimensions=dimensions, users=len(reports), products=products
    )


def fraction(text: str) -> tuple[int, int]:
    """What the release reads of ``x / y``: only digits on either side, blanks around them; else 0 of 0.

    >>> fraction(" 2 / 3 "), fraction("2 of 3"), fraction("66%")
    ((2, 3), (0, 0), (0, 0))
    """
    match = _FRACTION.fullmatch(text)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def _adds_up(reported: Reported | None) -> TypeGuard[Reported]:
    """Whether a judge was asked what its verdicts add up to, and said so: our own wording does not ask."""
    return reported is not None and (reported.satisfaction_percentage is not None or bool(reported.dimensions))


def _dimension_sum(reports: Sequence[Reported], dimension: Dimension) -> float:
    # With or without the release's ending of its field.
    texts = (one.dimensions.get(dimension) or one.dimensions.get(f"{dimension}_percentage", "") for one in reports)
    above, below = map(sum, zip(*map(fraction, texts), strict=True)) if reports else (0, 0)
    return round(100 * above / below, 4) if below else 0.0


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 4) if values else 0.0


# --- scores ----------------------------------------------------------------------------------------------------------


def task_score(places: TaskVerdicts) -> float | None:
    """The score of one task, 0 to 1; None where none of its places was measured."""
    shares = [share for one in places if (share := one.share) is not None]
    return sum(shares) / len(shares) if shares else None


def is_success(places: TaskVerdicts) -> bool:
    """Whether all places of a task hold a product's page."""
    return all(one.link == "product" for one in places)


def looked_at(places: Iterable[PlaceVerdict]) -> list[PlaceVerdict]:
    """The places whose link led somewhere that says something of the agent."""
    return [one for one in places if one.url and one.link in ("product", "irrelevant", "invalid")]


def _score(places: TaskVerdicts) -> Parts:
    score = task_score(places)
    return NOTHING if score is None else (score, 1.0)


def _dimension(dimension: Dimension, places: TaskVerdicts) -> Parts:
    return share_of(item.satisfied for one in places for item in one.decided if item.dimension == dimension)


def _by_task(dimension: Dimension, places: TaskVerdicts) -> Parts:
    above, below = _dimension(dimension, places)
    return (above / below, 1.0) if below else NOTHING


def _found(places: TaskVerdicts) -> Parts:
    sought = row_of(places[0].scenario).intent == "target_finding"
    said = [one.found for one in places if sought and one.found is not None]
    return float(any(said)), float(bool(said))


def _fails_price(one: PlaceVerdict) -> bool:
    prices = [item for item in one.items if item.dimension == "price_sensitivity" and "undecided" not in item.flags]
    return one.outcome == "judged" and any(not item.satisfied for item in prices)


MEASURES: dict[str, Callable[[TaskVerdicts], Parts]] = {
    "score": _score,
    "success": lambda places: _score(places) if is_success(places) else NOTHING,
    "unblocked": lambda places: _score(tuple(one for one in places if one.link != "blocked")),
    # Of a dimension all items alike, and the mean of the tasks' shares.
    **{dimension: partial(_dimension, dimension) for dimension in DIMENSIONS},
    **{f"{dimension}, by task": partial(_by_task, dimension) for dimension in DIMENSIONS},
    # Of the named products, those whose page wanted to see a human: no error of the agent's, and shown beside.
    "blocked": lambda places: share_of(one.link == "blocked" for one in places if one.url),
    # Errors of attribution (paper, table 6): of the named products whose page could be looked at, those whose page is
    # not there or no product's; of those errors, the pages that are not there, and those that are no product's.
    "wrong": lambda places: share_of(bool(one.attribution) for one in looked_at(places)),
    "invalid": lambda places: share_of(one.attribution == "invalid" for one in places if one.attribution),
    "irrelevant": lambda places: share_of(one.attribution == "irrelevant" for one in places if one.attribution),
    # Of the product pages, those without a single rating or review.
    "no_review": lambda places: share_of(
        None if one.has_reviews is None else not one.has_reviews for one in places if one.outcome == "judged"
    ),
    # Of the products that fail an item on the price, and of which price and budget are known, those that cost more.
    "over_budget": lambda places: share_of(one.over_budget for one in places if _fails_price(one)),
    # Whether one of the products is of the target's brand and type (table 5), where a target is known.
    "found": _found,
}
"""What a task adds to each figure."""

ALL = "all tasks"


class JudgeScores(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What one judge's verdicts add up to: :data:`MEASURES` and the release's figures of ``all tasks`` and by scenario.

    ``successes`` is how many tasks have three product pages. ``satisfied`` of ``items`` are over the ``products`` that
    were judged; ``flags`` count what is odd about verdicts, ``unmeasured`` the places that are in no figure, by why.
    """

    judge: str
    figures: dict[str, dict[str, FigureValue]]
    official: dict[str, OfficialFigures]
    successes: int
    products: int
    items: int
    satisfied: int
    flags: dict[VerdictFlag, int]
    unmeasured: dict[PlaceOutcome, int]

    @property
    def decided(self) -> int:
        """How many items of judged products the judge decided."""
        return self.items - self.flags.get("undecided", 0) - self.flags.get("missing", 0)


def judge_scores(judge: str, tasks: Sequence[TaskVerdicts], *, seed: int = 0) -> JudgeScores:
    """The figures of one judge over tasks, each given as the verdicts over its places."""
    places = [one for of_task in tasks for one in of_task]
    judged = [one for one in places if one.outcome == "judged"]
    items = [item for one in judged for item in one.items]
    by_scenario = {name: [one for one in tasks if one[0].scenario == name] for name in SCENARIOS}
    groups = {ALL: tasks, **{str(name): found for name, found in by_scenario.items() if found}}
    measures = tuple(MEASURES.values())
    return JudgeScores(
        judge=judge,
        figures={
            name: dict(zip(MEASURES, estimates(found, measures, lambda places: places[0].user, seed=seed), strict=True))
            for name, found in groups.items()
        },
        official={name: official_figures(found) for name, found in groups.items()},
        successes=sum(map(is_success, tasks)),
        products=len(judged),
        items=len(items),
        satisfied=sum(item.satisfied for item in items),
        flags=counted(flag for item in items for flag in item.flags),
        unmeasured=counted(one.outcome for one in places if one.outcome not in MEASURED),
    )


def counted(names: Iterable[T]) -> dict[T, int]:
    """How often each name occurs, by name."""
    return dict(sorted(Counter(names).items(), key=lambda one: str(one[0])))


# --- steps -----------------------------------------------------------------------------------------------------------

KINDS: tuple[BehaviourKind, ...] = get_args(BehaviourKind)


class Behaviours(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What the steps of an agent were for (paper, figure 5), and how many there were.

    ``shares`` are over the steps that say so, ``labelled`` of ``steps``. ``steps_per_task`` is the mean over
    the tasks that were answered.
    """

    steps: int
    labelled: int
    shares: dict[BehaviourKind, FigureValue]
    steps_per_task: float | None


def behaviours(
    curations: Sequence[Curation], user_by_task: Mapping[str, str], *, says_why: bool = True, seed: int = 0
) -> Behaviours:
    """What the steps were for; no figure where nobody asks the agent that (``says_why``)."""
    answered = [one for one in curations if one.failure is None]

    def measure(wanted: BehaviourKind) -> Callable[[Curation], Parts]:
        return lambda one: share_of(step.kind == wanted for step in one.trace if step.kind)

    steps = [step for one in answered for step in one.trace]
    labelled = sum(bool(step.kind) for step in steps) if says_why else 0
    shares = estimates(answered, tuple(map(measure, KINDS)), lambda one: user_by_task[one.step_id], seed=seed)
    return Behaviours(
        steps=len(steps),
        labelled=labelled,
        shares=dict(zip(KINDS, shares, strict=True)) if labelled else {},
        steps_per_task=len(steps) / len(answered) if answered else None,
    )


def seconds_per_task(curations: Sequence[Curation]) -> float | None:
    """How long the tasks took that were answered, on average; None where there is none."""
    answered = [one.seconds for one in curations if one.failure is None]
    return math.fsum(answered) / len(answered) if answered else None
