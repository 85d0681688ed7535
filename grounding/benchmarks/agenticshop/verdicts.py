"""What became of every product that a curation could have had: one verdict for each of three places of each task. Pure.

A place that the agent left empty, a page that is not there and a page that is no product's satisfy nothing, whatever a
judge may say of them: the paper's definition of its score (section 3.4.2) goes over all users, products and items. What
was not measured (a reply that can't be read, an item that the judge leaves open) is in no figure and never 0.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Literal

from grounding.benchmarks.agenticshop.records import (
    COUNTED_PRODUCTS,
    Curation,
    CurationTask,
    Extraction,
    ItemVerdict,
    Judgement,
    PageClass,
    ProductFacts,
    Reported,
    Scenario,
    Target,
    VerdictFlag,
    product_id,
)
from grounding.benchmarks.agenticshop.spending import spending_limits
from grounding.records import Record

PlaceOutcome = Literal[
    "judged", "not-product", "unreachable", "blocked", "not-curated", "unparsed", "missing", "error", "open"
]
"""``judged``: with verdicts. ``not-product``: a page of something else. ``unreachable``: no such page. ``blocked``: the
site wanted to see a human. ``not-curated``: the agent named none. These are measured; the others are not, and no figure
counts them. ``unparsed``: a model's reply held no facts or no verdicts, also when asked again. ``missing``: recorded
files have none. ``error``: infrastructure failed; asking again may help. ``open``: not done yet."""

MEASURED = frozenset({"judged", "not-product", "unreachable", "blocked", "not-curated"})
UNDECIDED: frozenset[VerdictFlag] = frozenset({"undecided", "missing"})

Link = Literal["", "product", "irrelevant", "invalid", "blocked"]
"""Where a link leads, whoever judges it: ``invalid`` pages are not there, ``irrelevant`` ones are listings and others
that sell nothing (table 6); "" where nobody looked yet, or there is no link."""

_OUTCOME: dict[Link, PlaceOutcome] = {"invalid": "unreachable", "irrelevant": "not-product", "blocked": "blocked"}


class PlaceVerdict(Record, frozen=True, kw_only=True):
    """One of the places of a task by one judge.

    ``items`` is the whole checklist, nothing satisfied where the outcome is not ``judged``. ``found`` is whether it is
    the target's brand and type (table 5); it, ``over_budget`` and ``has_reviews`` are None where nothing can be said.
    """

    task: str
    user: str
    scenario: Scenario
    rank: int
    judge: str
    outcome: PlaceOutcome
    url: str = ""
    link: Link = ""
    page_class: PageClass | None = None
    items: tuple[ItemVerdict, ...] = ()
    reported: Reported | None = None
    over_budget: bool | None = None
    has_reviews: bool | None = None
    found: bool | None = None
    reason: str = ""

    @property
    def attribution(self) -> Literal["", "invalid", "irrelevant"]:
        """Which error of attribution this is, if one."""
        return self.link if self.link in ("invalid", "irrelevant") else ""

    @property
    def decided(self) -> tuple[ItemVerdict, ...]:
        """The items that were measured: of a judged product those that its judge decided, else all or none."""
        if self.outcome == "judged":
            return tuple(one for one in self.items if UNDECIDED.isdisjoint(one.flags))
        return self.items if self.outcome in MEASURED else ()

    @property
    def share(self) -> float | None:
        """The share of decided items that are satisfied; None where nothing was measured."""
        if self.outcome in MEASURED and self.outcome != "judged":
            return 0.0
        decided = self.decided
        return sum(one.satisfied for one in decided) / len(decided) if decided else None


TaskVerdicts = tuple[PlaceVerdict, ...]
"""The verdicts of one judge over all places of one task."""


class JudgeAnswers(Record, frozen=True, kw_only=True):
    """What is stored of one task: the agent's answer, and the evidence of its products by rank."""

    curation: Curation | None = None
    extractions: tuple[Extraction | None, ...] = ()


def place_verdicts(
    task: CurationTask, answers: JudgeAnswers, judgements: Mapping[str, Judgement], judge: str
) -> TaskVerdicts:
    """The verdicts over a task's three places; ``judgements`` is what that judge said, by product's id."""
    return tuple(_place(task, answers, rank, judgements, judge) for rank in range(COUNTED_PRODUCTS))


def _place(
    task: CurationTask, answers: JudgeAnswers, rank: int, judgements: Mapping[str, Judgement], judge: str
) -> PlaceVerdict:
    curation = answers.curation
    named = curation is not None and rank < len(curation.products)
    extraction = answers.extractions[rank] if named and rank < len(answers.extractions) else None
    judgement = judgements.get(product_id(task.id, rank)) if named else None
    facts = None if extraction is None else extraction.facts
    link, why = _link(extraction, judgement)
    outcome: PlaceOutcome = "judged"
    if curation is None:
        outcome, why = "open", "not curated yet"
    elif not named:
        failed = curation.failure
        outcome = "error" if failed is not None and failed.kind == "error" else "not-curated"
        why = "" if failed is None else failed.message
    elif extraction is None:
        outcome, why = "open", "not extracted yet"
    elif extraction.failure is not None:
        outcome, why = extraction.failure.kind, extraction.failure.message
    elif link in _OUTCOME and (judgement is None or judgement.condition == "full"):
        # What sees less than the page judges any link, as the release's conditions do.
        outcome = _OUTCOME[link]
    elif judgement is None:
        outcome, why = "open", "not judged yet"
    else:
        failed = judgement.failure
        outcome, why = ("judged", "") if failed is None else (failed.kind, failed.message)
    target, found = task.target, None
    if target is not None and target.brand and target.product_type and outcome not in ("open", "error"):
        found = facts is not None and is_of_target(facts, target)
    return PlaceVerdict(
        task=task.id,
        user=task.user,
        scenario=task.scenario,
        rank=rank,
        judge=judge,
        outcome=outcome,
        url=curation.products[rank].url if curation is not None and named else "",
        link=link,
        page_class=None if extraction is None else extraction.page_class,
        items=_items(task, judgement if outcome == "judged" else None),
        reported=None if judgement is None else judgement.reported,
        over_budget=None if facts is None else spending_limits(task.budget).exceeded_by(facts.total or facts.price),
        has_reviews=None if facts is None else bool(facts.reviews or facts.rating_count),
        found=found,
        reason=why,
    )


_LINKS: dict[PageClass, Link] = {
    "product": "product", "blocked": "blocked", "error": "invalid", "listing": "irrelevant", "other": "irrelevant"
}  # fmt: skip


def _link(extraction: Extraction | None, judgement: Judgement | None) -> tuple[Link, str]:
    """Where a product's link leads, and the words for it.

    Of a page that was not kept nothing is known but what was extracted, and what the judge says that it saw.
    """
    if extraction is None or extraction.failure is not None:
        return "", ""
    page = extraction.page
    said = page.failure.message if page is not None and page.failure is not None else extraction.class_reason
    if extraction.page_class is not None:
        return _LINKS[extraction.page_class], said
    reported = None if judgement is None else judgement.reported
    if extraction.facts is None or (reported is not None and reported.accessible is False):
        return "invalid", said if reported is None else reported.reason or said
    if reported is not None and reported.is_product_page is False:
        return "irrelevant", reported.reason
    return "product", ""


def _items(task: CurationTask, judgement: Judgement | None) -> tuple[ItemVerdict, ...]:
    """The whole checklist; what a judge doesn't decide is not satisfied, whatever it may say beside."""
    missing: tuple[VerdictFlag, ...] = () if judgement is None else ("missing",)
    said = {} if judgement is None else {one.item: one for one in judgement.verdicts}
    found = (said.get(item.id) or ItemVerdict(item=item.id, satisfied=False, flags=missing) for item in task.checklist)
    return tuple(
        ItemVerdict(item=one.item, satisfied=one.satisfied and UNDECIDED.isdisjoint(one.flags), flags=one.flags)
        for one in found
    )


# --- is it what was looked for? --------------------------------------------------------------------------------------


def is_of_target(facts: ProductFacts, target: Target) -> bool:
    """Whether a page's product is of the target's brand and type, however they are spelt (paper, table 5).

    The paper does not say who decided that. Here words do: brand and page's brand are equal, or one begins with the
    other; where the page names no brand, it stands in the title. All words of the type, without plural endings, stand
    in title, categories, features or attributes of the page.
    """
    wanted, brand, title = words(target.brand), words(facts.brand), words(facts.title)
    shorter = min(len(wanted), len(brand))
    same = wanted[:shorter] == brand[:shorter]
    if not brand:
        same = any(title[at : at + len(wanted)] == wanted for at in range(len(title) - len(wanted) + 1))
    kind = set(words(target.product_type)) - set(["a", "an", "and", "the", "of", "for", "with", "in", "or", "by"])
    said = [facts.title, *facts.categories, *facts.features, *(f"{one.name} {one.value}" for one in facts.attributes)]
    return bool(wanted) and same and bool(kind) and kind <= set(words(" ".join(said)))


def words(text: str) -> tuple[str, ...]:
    """A text's words in small letters without accents and plural endings.

    >>> words("Crème Brûlée Cups")
    ('creme', 'brulee', 'cup')
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().casefold().replace("'s", "")
    return tuple(_PLURAL.sub("", re.sub(r"(?<=..)ies$", "y", word)) for word in re.findall(r"[a-z0-9]+", plain))


_PLURAL = re.compile(r"(?:(?<=..ch)|(?<=..sh)|(?<=..ss)|(?<=..x))es$|(?<=...)(?<![sui])s$")
