"""Verdicts of one judge to the paper's figures: by scenario, by dimension, all and successes alone. Pure.

The score of a task is the share of satisfied items, meant over its three places (paper, section 3.4.2; a place without
a product's page has 0). A scenario's is the mean over its users, and so is that over all tasks. *Success* leaves only
tasks of which all three places hold a product's page (paper, appendix C).

Of a dimension there are two figures: ``pooled`` counts all items alike, ``macro`` is the mean over tasks of each task's
share; a task whose checklist has nothing in a dimension is in neither.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from grounding.records import Record
from grounding.webagents.agenticshop.records import (
    DIMENSIONS,
    SCENARIOS,
    Dimension,
    Scenario,
    VerdictFlag,
)
from grounding.webagents.agenticshop.scores.figures import Estimate, Parts, estimates
from grounding.webagents.agenticshop.scores.official import OfficialFigures, official_figures
from grounding.webagents.agenticshop.scores.verdicts import PlaceVerdict

TaskVerdicts = tuple[PlaceVerdict, ...]
"""The verdicts over all places of one task."""

NOTHING = Parts(above=0.0, below=0.0)


class ScenarioScore(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The figures of some tasks. ``successes`` are the tasks in ``success``. ``official`` is the release's reading."""

    tasks: int
    successes: int
    all: Estimate
    success: Estimate
    official: OfficialFigures


class DimensionScore(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The figures of one dimension over all tasks, and over successes alone."""

    pooled: Estimate
    macro: Estimate
    success_pooled: Estimate
    success_macro: Estimate


class JudgeScores(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Everything that one judge's verdicts add up to.

    ``satisfied`` of ``items`` are over the products that were judged; ``flags`` count what is odd about verdicts.
    """

    judge: str
    scenarios: dict[Scenario, ScenarioScore]
    overall: ScenarioScore
    dimensions: dict[Dimension, DimensionScore]
    products: int
    items: int
    satisfied: int
    flags: dict[VerdictFlag, int]


def judge_scores(judge: str, tasks: Sequence[TaskVerdicts], *, seed: int = 0) -> JudgeScores:
    """The figures of one judge over tasks, each given as the verdicts over its places."""
    judged = [one for places in tasks for one in places if one.outcome == "judged"]
    items = [item for one in judged for item in one.items]
    flags = Counter(flag for item in items for flag in item.flags)
    by_scenario: dict[Scenario, list[TaskVerdicts]] = {scenario: [] for scenario in SCENARIOS}
    for places in tasks:
        by_scenario[places[0].scenario].append(places)
    return JudgeScores(
        judge=judge,
        scenarios={scenario: _score(found, seed) for scenario, found in by_scenario.items() if found},
        overall=_score(tasks, seed),
        dimensions={dimension: _dimension(tasks, dimension, seed) for dimension in DIMENSIONS},
        products=len(judged),
        items=len(items),
        satisfied=sum(item.satisfied for item in items),
        flags=dict(sorted(flags.items())),
    )


def user_of(places: TaskVerdicts) -> str:
    """Whose task it is; one user's tasks are drawn together."""
    return places[0].user


def task_score(places: TaskVerdicts) -> float:
    """The score of one task, 0 to 1."""
    return sum(one.share for one in places) / len(places)


def is_success(places: TaskVerdicts) -> bool:
    """Whether all places of a task hold a product's page."""
    return all(one.outcome == "judged" for one in places)


def _score(tasks: Sequence[TaskVerdicts], seed: int) -> ScenarioScore:
    every, success = estimates(tasks, (_all, _only(_all)), user_of, seed=seed)
    return ScenarioScore(
        tasks=len(tasks),
        successes=sum(is_success(places) for places in tasks),
        all=every,
        success=success,
        official=official_figures(tasks),
    )


def _all(places: TaskVerdicts) -> Parts:
    return Parts(above=task_score(places), below=1.0)


def _only(measure: Callable[[TaskVerdicts], Parts]) -> Callable[[TaskVerdicts], Parts]:
    return lambda places: measure(places) if is_success(places) else NOTHING


def _dimension(tasks: Sequence[TaskVerdicts], dimension: Dimension, seed: int) -> DimensionScore:
    def pooled(places: TaskVerdicts) -> Parts:
        said = [item.satisfied for one in places for item in one.items if item.dimension == dimension]
        return Parts(above=float(sum(said)), below=float(len(said)))

    def macro(places: TaskVerdicts) -> Parts:
        parts = pooled(places)
        return Parts(above=parts.above / parts.below, below=1.0) if parts.below else NOTHING

    found = estimates(tasks, (pooled, macro, _only(pooled), _only(macro)), user_of, seed=seed)
    return DimensionScore(pooled=found[0], macro=found[1], success_pooled=found[2], success_macro=found[3])


def by_task(verdicts: Sequence[PlaceVerdict]) -> tuple[TaskVerdicts, ...]:
    """Verdicts of one judge, put together by task, in their order."""
    found: dict[str, list[PlaceVerdict]] = {}
    for one in verdicts:
        found.setdefault(one.task, []).append(one)
    return tuple(tuple(sorted(places, key=lambda one: one.rank)) for places in found.values())
