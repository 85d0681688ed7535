"""What an agent did besides its score: links that lead nowhere, targets found, what its steps were for. Pure.

The paper's table 6 has lost its headings in print; what each column is taken for stands at the field.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from grounding.records import Record
from grounding.webagents.agenticshop.records import SCENARIOS, BehaviourKind, Curation, Scenario
from grounding.webagents.agenticshop.scenarios import intent_of
from grounding.webagents.agenticshop.scores.figures import Estimate, Parts, estimates, share_of
from grounding.webagents.agenticshop.scores.judged import TaskVerdicts, user_of
from grounding.webagents.agenticshop.scores.verdicts import PlaceVerdict

KINDS: tuple[BehaviourKind, ...] = ("information_seeking", "alternative_evaluation", "purchase_decision", "other")


class AttributionFigures(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Errors of attribution of some tasks (paper, table 6).

    ``products`` is how many were named, ``blocked`` how many pages wanted to see a human: they are no error of the
    agent's and can't be judged. Shares:

    - ``error``: of the named products whose page could be looked at, those whose page is not there or no product's;
    - ``invalid`` and ``irrelevant``: of those errors, the pages that are not there, and those that are no product's;
    - ``no_review``: of the product pages, those without a single rating or review;
    - ``over_budget``: of the products that fail an item on the price, and of which price and budget are known, those
      that cost more than the budget.
    """

    products: int
    blocked: int
    error: Estimate
    invalid: Estimate
    irrelevant: Estimate
    no_review: Estimate
    over_budget: Estimate


class Behaviours(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What the steps of an agent were for (paper, figure 5), and how many there were.

    ``shares`` are over the steps that say so, ``labelled`` of ``steps``. ``steps_per_task`` is the mean over
    the tasks that were answered.
    """

    steps: int
    labelled: int
    shares: dict[BehaviourKind, Estimate]
    steps_per_task: float | None


def attribution_figures(tasks: Sequence[TaskVerdicts], *, seed: int = 0) -> AttributionFigures:
    """The errors of attribution of tasks, each given as one judge's verdicts over its places."""
    named = [one for places in tasks for one in places if one.url]
    found = estimates(tasks, (_error, _invalid, _irrelevant, _no_review, _over_budget), user_of, seed=seed)
    return AttributionFigures(
        products=len(named),
        blocked=sum(one.outcome == "blocked" for one in named),
        error=found[0],
        invalid=found[1],
        irrelevant=found[2],
        no_review=found[3],
        over_budget=found[4],
    )


def search_success(tasks: Sequence[TaskVerdicts], *, seed: int = 0) -> dict[Scenario, Estimate]:
    """How often one of the products is of the target's brand and type (paper, table 5), where a target is known."""

    def found(places: TaskVerdicts) -> Parts:
        said = [one.found for one in places if one.found is not None]
        return Parts(above=float(any(said)), below=float(bool(said)))

    figures = {}
    for scenario in SCENARIOS:
        if intent_of(scenario) == "target_finding":
            of_scenario = [places for places in tasks if places[0].scenario == scenario]
            (estimate,) = estimates(of_scenario, (found,), user_of, seed=seed)
            if estimate.value is not None:
                figures[scenario] = estimate
    return figures


def behaviours(curations: Sequence[Curation], user_by_task: dict[str, str], *, seed: int = 0) -> Behaviours:
    """What the steps of curations were for; ``user_by_task`` says whose each is."""
    answered = [one for one in curations if one.failure is None]

    def kind(wanted: BehaviourKind) -> list[Estimate]:
        def measure(one: Curation) -> Parts:
            return share_of([step for step in one.trace if step.kind], lambda step: step.kind == wanted)

        return list(estimates(answered, (measure,), lambda one: user_by_task[one.step_id], seed=seed))

    steps = [step for one in answered for step in one.trace]
    labelled = sum(bool(step.kind) for step in steps)
    return Behaviours(
        steps=len(steps),
        labelled=labelled,
        shares={name: kind(name)[0] for name in KINDS} if labelled else {},
        steps_per_task=len(steps) / len(answered) if answered else None,
    )


def seconds_per_task(curations: Sequence[Curation]) -> float | None:
    """How long the tasks took that were answered, on average; None where there is none."""
    answered = [one.seconds for one in curations if one.failure is None]
    return math.fsum(answered) / len(answered) if answered else None


def _looked_at(places: TaskVerdicts) -> list[PlaceVerdict]:
    return [one for one in places if one.url and one.outcome in ("judged", "not-product", "unreachable")]


def _error(places: TaskVerdicts) -> Parts:
    return share_of(_looked_at(places), lambda one: bool(one.attribution))


def _invalid(places: TaskVerdicts) -> Parts:
    return share_of([one for one in places if one.attribution], lambda one: one.attribution == "invalid")


def _irrelevant(places: TaskVerdicts) -> Parts:
    return share_of([one for one in places if one.attribution], lambda one: one.attribution == "irrelevant")


def _no_review(places: TaskVerdicts) -> Parts:
    pages = [one for one in places if one.outcome == "judged"]
    return share_of(pages, lambda one: None if one.has_reviews is None else not one.has_reviews)


def _over_budget(places: TaskVerdicts) -> Parts:
    return share_of([one for one in places if _fails_price(one)], lambda one: one.over_budget)


def _fails_price(one: PlaceVerdict) -> bool:
    prices = [item for item in one.items if item.dimension == "price_sensitivity" and "undecided" not in item.flags]
    return one.outcome == "judged" and any(not item.satisfied for item in prices)
