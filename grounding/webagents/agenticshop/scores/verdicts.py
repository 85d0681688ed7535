"""What became of every product that a curation could have had: one verdict for each of three places of each task. Pure.

A place that the agent left empty, a page that is not there and a page that is no product's satisfy nothing, whatever a
judge may say of them: the paper's definition of its score (section 3.4.2) goes over all users, products and items.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from grounding.records import Failure, Record
from grounding.webagents.agenticshop.records import (
    COUNTED_PRODUCTS,
    Curation,
    CurationTask,
    Dimension,
    Extraction,
    Judgement,
    PageClass,
    Reported,
    Scenario,
    VerdictFlag,
    product_id,
)
from grounding.webagents.agenticshop.scores.matching import is_of_target
from grounding.webagents.agenticshop.spending import spending_limits

PlaceOutcome = Literal["judged", "not-product", "unreachable", "blocked", "not-curated", "not-judged", "error", "open"]
"""``judged``: a product's page, with verdicts. ``not-product``: a page of something else. ``unreachable``: no such
page. ``blocked``: the site wanted to see a human. ``not-curated``: the agent named none. ``not-judged``: a model's
reply held no facts or no verdicts, or recorded files have none. ``error``: infrastructure failed; asking again may
help. ``open``: not done yet."""

Attribution = Literal["", "invalid", "irrelevant"]
"""Table 6: ``invalid`` pages are not there, ``irrelevant`` ones are listings and other pages that sell nothing."""

ATTRIBUTION: dict[PlaceOutcome, Attribution] = {"unreachable": "invalid", "not-product": "irrelevant"}


class ItemResult(Record, frozen=True, kw_only=True):
    """One item of the checklist: whether the product satisfies it, and what is odd about the verdict."""

    dimension: Dimension
    item: str
    satisfied: bool
    flags: tuple[VerdictFlag, ...] = ()


class PlaceVerdict(Record, frozen=True, kw_only=True):
    """One of the places of a task by one judge.

    ``items`` is the whole checklist, nothing satisfied where the outcome is not ``judged``. ``total`` is what the
    product costs with shipping where that is known. ``over_budget``, ``has_reviews`` and ``found`` are None where
    nothing can be said; ``found`` is whether it is the target's brand and type (table 5).
    """

    task: str
    user: str
    scenario: Scenario
    rank: int
    judge: str
    outcome: PlaceOutcome
    url: str = ""
    page_class: PageClass | None = None
    items: tuple[ItemResult, ...] = ()
    reported: Reported | None = None
    over_budget: bool | None = None
    has_reviews: bool | None = None
    found: bool | None = None
    reason: str = ""

    @property
    def id(self) -> str:
        """The product's id."""
        return product_id(self.task, self.rank)

    @property
    def attribution(self) -> Attribution:
        """Which error of attribution this is, if one."""
        return ATTRIBUTION.get(self.outcome, "")

    @property
    def share(self) -> float:
        """The share of items that are satisfied; 0 for an empty checklist."""
        return sum(one.satisfied for one in self.items) / len(self.items) if self.items else 0.0


class Answers(Record, frozen=True, kw_only=True):
    """What is stored of one task: the agent's answer, and the evidence of its products by rank."""

    curation: Curation | None = None
    extractions: tuple[Extraction | None, ...] = ()


def place_verdicts(
    task: CurationTask, answers: Answers, judgements: Mapping[str, Judgement], judge: str
) -> tuple[PlaceVerdict, ...]:
    """The verdicts over a task's three places by one judge.

    Args:
        task: The task with its checklist.
        answers: What is stored of it.
        judgements: What that judge said, by product's id.
        judge: Its name.
    """
    curation = answers.curation
    products = () if curation is None else curation.products[:COUNTED_PRODUCTS]
    found = []
    for rank in range(COUNTED_PRODUCTS):
        product = products[rank] if rank < len(products) else None
        extraction = answers.extractions[rank] if rank < len(answers.extractions) else None
        judgement = judgements.get(product_id(task.id, rank))
        if product is None:
            outcome, reason = _empty(curation)
        else:
            outcome, reason = _outcome(extraction, judgement)
        judged = judgement if outcome == "judged" else None
        found.append(
            PlaceVerdict(
                task=task.id,
                user=task.user,
                scenario=task.scenario,
                rank=rank,
                judge=judge,
                outcome=outcome,
                url="" if product is None else product.url,
                page_class=None if extraction is None else extraction.page_class,
                items=_items(task, judged),
                reported=None if judgement is None else judgement.reported,
                over_budget=_over_budget(task, extraction),
                has_reviews=_has_reviews(extraction),
                found=_found(task, extraction, outcome),
                reason=reason,
            )
        )
    return tuple(found)


def _empty(curation: Curation | None) -> tuple[PlaceOutcome, str]:
    if curation is None:
        return "open", "not curated yet"
    if curation.failure is not None and curation.failure.kind == "error":
        return "error", curation.failure.message
    return "not-curated", "" if curation.failure is None else curation.failure.message


def _outcome(extraction: Extraction | None, judgement: Judgement | None) -> tuple[PlaceOutcome, str]:
    if extraction is None:
        return "open", "not extracted yet"
    if extraction.failure is not None:
        return _failed(extraction.failure)
    if not is_product(extraction):
        return _other_page(extraction)
    if judgement is not None and extraction.page_class is None and judgement.reported is not None:
        # Of a page that was not kept nothing is known but what the judge says that it saw.
        if judgement.reported.accessible is False:
            return "unreachable", judgement.reported.reason
        if judgement.reported.is_product_page is False:
            return "not-product", judgement.reported.reason
    if judgement is None:
        return "open", "not judged yet"
    if judgement.failure is not None:
        return _failed(judgement.failure)
    return "judged", ""


def is_product(extraction: Extraction) -> bool:
    """Whether there is a product to be judged: a product's page, or facts of a page that was not kept."""
    if extraction.page_class is None:
        return extraction.facts is not None
    return extraction.page_class == "product"


def _other_page(extraction: Extraction) -> tuple[PlaceOutcome, str]:
    page = extraction.page
    said = page.failure.message if page is not None and page.failure is not None else extraction.class_reason
    if extraction.page_class in (None, "error"):
        return "unreachable", said
    return ("blocked" if extraction.page_class == "blocked" else "not-product"), said


def _failed(failure: Failure) -> tuple[PlaceOutcome, str]:
    return ("error" if failure.kind == "error" else "not-judged"), failure.message


def _items(task: CurationTask, judgement: Judgement | None) -> tuple[ItemResult, ...]:
    said = {} if judgement is None else {one.item: one for one in judgement.verdicts}
    results = []
    for item in task.checklist:
        verdict = said.get(item.id)
        flags: tuple[VerdictFlag, ...] = () if verdict is None else verdict.flags
        if judgement is not None and verdict is None:
            flags = ("missing",)
        # What a judge doesn't decide is not shown by the page, whatever it may say beside.
        satisfied = verdict is not None and verdict.satisfied and not {"undecided", "missing"} & set(flags)
        results.append(ItemResult(dimension=item.dimension, item=item.id, satisfied=satisfied, flags=flags))
    return tuple(results)


def _over_budget(task: CurationTask, extraction: Extraction | None) -> bool | None:
    limit = spending_limits(task.budget).high
    facts = None if extraction is None else extraction.facts
    if limit is None or facts is None:
        return None
    paid = facts.total or facts.price
    return None if paid is None else paid.amount > limit


def _has_reviews(extraction: Extraction | None) -> bool | None:
    if extraction is None or extraction.facts is None:
        return None
    return bool(extraction.facts.reviews or extraction.facts.rating_count)


def _found(task: CurationTask, extraction: Extraction | None, outcome: PlaceOutcome) -> bool | None:

    if task.target is None or not task.target.brand or not task.target.product_type:
        return None
    if outcome == "open":
        return None
    facts = None if extraction is None else extraction.facts
    return facts is not None and is_of_target(facts, task.target)


def counted_ranks(curation: Curation | None) -> Sequence[int]:
    """The ranks of a curation's products that are scored."""
    return range(0 if curation is None else min(COUNTED_PRODUCTS, len(curation.products)))
