"""Stored answers to verdicts over the places of a task, and verdicts to the paper's figures and the release's. Pure.

A place that the agent left empty, a page that is not there and a page that is no product's satisfy nothing: the paper's
score (section 3.4.2) goes over all users, products and items. What was not measured (a reply that can't be read, an
item that the judge leaves open) is in no figure and never 0. The paper's table 6 has lost its headings in print; what
each column is taken for stands at the measure.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Literal, TypeVar, get_args

import msgspec
import numpy as np

from grounding.records import Record
from grounding.scoring.intervals import bootstrap
from grounding.scoring.scored import participant_sums

from .records import (
    COUNTED_PRODUCTS,
    DIMENSIONS,
    ROWS,
    SCENARIOS,
    BehaviourKind,
    Curation,
    CurationTask,
    Dimension,
    Extraction,
    ItemVerdict,
    Judgement,
    Money,
    PageClass,
    ProductFacts,
    Reported,
    Scenario,
    Target,
    VerdictFlag,
    product_id,
)

T = TypeVar("T")

PlaceOutcome = Literal[
    "judged", "not-product", "unreachable", "blocked", "not-curated", "unparsed", "missing", "error", "open"
]
"""The first five are measured. ``not-product``: a page of something else. ``unreachable``: no such page. ``blocked``:
the site wanted to see a human. ``not-curated``: the agent named none. ``unparsed``: a model's reply held no facts or no
verdicts, also when asked again. ``missing``: recorded files have none. ``error``: infrastructure failed; asking again
may help. ``open``: not done yet."""

MEASURED: tuple[PlaceOutcome, ...] = get_args(PlaceOutcome)[:5]
UNDECIDED: frozenset[VerdictFlag] = frozenset({"undecided", "missing"})

Link = Literal["", "product", "irrelevant", "invalid", "blocked"]
"""Where a link leads, whoever judges it: ``invalid`` pages are not there, ``irrelevant`` ones are listings and others
that sell nothing (table 6); "" where nobody looked yet, or there is no link."""

WRONG: frozenset[Link] = frozenset({"invalid", "irrelevant"})
_OUTCOME: dict[Link, PlaceOutcome] = {"invalid": "unreachable", "irrelevant": "not-product", "blocked": "blocked"}
_LINKS: dict[PageClass, Link] = {
    "product": "product", "blocked": "blocked", "error": "invalid", "listing": "irrelevant", "other": "irrelevant"
}  # fmt: skip


class PlaceVerdict(Record, frozen=True, kw_only=True):
    """One of the places of a task by one judge; ``items`` is the whole checklist. ``found`` is whether it is the
    target's brand and type (table 5); it, ``over_budget`` and ``has_reviews`` are None where nothing can be said.
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
    def decided(self) -> tuple[ItemVerdict, ...]:
        """The items that were measured: of a judged product those that its judge decided, else all or none."""
        if self.outcome == "judged":
            return tuple(one for one in self.items if UNDECIDED.isdisjoint(one.flags))
        return self.items if self.outcome in MEASURED else ()

    @property
    def share(self) -> float | None:
        """The share of decided items that are satisfied; None where nothing was measured."""
        return mean(one.satisfied for one in self.decided)


TaskVerdicts = tuple[PlaceVerdict, ...]  # The verdicts of one judge over all places of one task.


class StoredRun(Record, frozen=True, kw_only=True):
    """The answers of a run that count, by task, by product, and by judge and product, in the order of the tasks."""

    tasks: tuple[CurationTask, ...]
    curations: dict[str, Curation]
    extractions: dict[str, Extraction]
    judgements: dict[str, dict[str, Judgement]]

    def verdicts(self, judge: str) -> tuple[TaskVerdicts, ...]:
        """The verdicts of a judge over three places a task; those of "" hang on no judge."""
        places, sees_pages = range(COUNTED_PRODUCTS), self.sees_pages(judge)
        return tuple(tuple(_place(self, task, rank, judge, sees_pages) for rank in places) for task in self.tasks)

    def sees_pages(self, judge: str) -> bool:
        """Whether a judge is shown all of a page, so that one that is no product's satisfies nothing unasked."""
        return all(one.condition == "full" for one in self.judgements.get(judge, {}).values())


def _place(run: StoredRun, task: CurationTask, rank: int, judge: str, sees_pages: bool) -> PlaceVerdict:
    name, target, found = product_id(task.id, rank), task.target, None
    curation, extraction = run.curations.get(task.id), run.extractions.get(name)
    judgement = run.judgements.get(judge, {}).get(name)
    curated = curation.products[rank] if curation is not None and rank < len(curation.products) else None
    facts = None if extraction is None else extraction.facts
    reported = None if judgement is None else judgement.reported
    link, why = _link(extraction, reported)
    outcome: PlaceOutcome = "judged"
    if curation is None:
        outcome, why = "open", "not curated yet"
    elif curated is None:
        # What failed, or is not recorded, says nothing of the agent; an answer that names nothing does.
        failed = curation.failure
        outcome = "not-curated" if failed is None or failed.kind == "unparsed" else failed.kind
        why = "" if failed is None else failed.message
    elif extraction is None:
        outcome, why = "open", "not extracted yet"
    elif extraction.failure is not None:
        outcome, why = extraction.failure.kind, extraction.failure.message
    elif link in _OUTCOME and sees_pages:
        # What sees less than the page judges any link, as the release's conditions do.
        outcome = _OUTCOME[link]
    elif judgement is None:
        outcome, why = "open", "not judged yet"
    else:
        failed = judgement.failure
        outcome, why = ("judged", "") if failed is None else (failed.kind, failed.message)
    if target is not None and target.brand and target.product_type and (facts is not None or outcome in MEASURED):
        found = facts is not None and is_of_target(facts, target)
    return PlaceVerdict(
        task=task.id,
        user=task.user,
        scenario=task.scenario,
        rank=rank,
        judge=judge,
        outcome=outcome,
        url="" if curated is None else curated.url,
        link=link,
        page_class=None if extraction is None else extraction.page_class,
        items=_items(task, judgement if outcome == "judged" else None),
        reported=reported,
        over_budget=None if facts is None else spending_limits(task.budget).exceeded_by(facts.total or facts.price),
        has_reviews=None if facts is None else bool(facts.reviews or facts.rating_count),
        found=found,
        reason=why,
    )


def _link(extraction: Extraction | None, reported: Reported | None) -> tuple[Link, str]:
    """Where a product's link leads, and the words for it; of a page that was not kept also by what its judge says."""
    if extraction is None or extraction.failure is not None:
        return "", ""
    page, reported = extraction.page, reported or Reported()
    said = page.failure.message if page is not None and page.failure is not None else extraction.class_reason
    if extraction.page_class is not None:
        return _LINKS[extraction.page_class], said
    if extraction.facts is None or reported.accessible is False:
        return "invalid", reported.reason or said
    return ("irrelevant", reported.reason) if reported.is_product_page is False else ("product", "")


def _items(task: CurationTask, judgement: Judgement | None) -> tuple[ItemVerdict, ...]:
    """The whole checklist; what a judge doesn't decide is not satisfied, whatever it may say beside."""
    missing: tuple[VerdictFlag, ...] = () if judgement is None else ("missing",)
    said = {} if judgement is None else {one.item: one for one in judgement.verdicts}
    found = (said.get(item.id) or ItemVerdict(item=item.id, satisfied=False, flags=missing) for item in task.checklist)
    return tuple(
        ItemVerdict(item=one.item, satisfied=one.satisfied and UNDECIDED.isdisjoint(one.flags), flags=one.flags)
        for one in found
    )


def is_of_target(facts: ProductFacts, target: Target) -> bool:
    """Whether a page's product is of the target's brand and type (table 5; the paper does not say who decided that).

    Of brand and page's brand one begins with the other; where the page names none, it stands in the title. All words of
    the type, without plural endings, stand in title, categories, features or attributes of the page.
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

# --- ratios of sums --------------------------------------------------------------------------------------------------


class FigureValue(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A share from 0 to 1 of ``n`` things (or their weight) and its 95 % interval; None over nothing."""

    value: float | None = None
    n: float = 0.0
    low: float | None = None
    high: float | None = None

    @property
    def ends(self) -> tuple[float, float] | None:
        return None if self.low is None or self.high is None else (self.low, self.high)


Said = Iterable[float | None]
"""What one thing adds to a share: each value counts one; None, of which nothing is known, not at all."""


def share_of(said: Said) -> tuple[float, float]:
    """The sum of what is known, and how much that is."""
    known = [one for one in said if one is not None]
    return float(sum(known)), float(len(known))


def mean(said: Said) -> float | None:
    above, below = share_of(said)
    return above / below if below else None


def estimates(
    things: Sequence[T], users: Sequence[str], measures: Mapping[str, Callable[[T], Said]], *, seed: int = 0
) -> dict[str, FigureValue]:
    """The shares over all things by measure, with intervals; what is of one user is drawn as a whole."""
    parts = np.array([[share_of(measure(one)) for measure in measures.values()] for one in things], dtype=np.float64)
    parts = parts.reshape(len(things), len(measures), 2)
    above, below = (participant_sums(parts[:, :, side], users, "participant") for side in (0, 1))
    intervals = bootstrap(above, below, seed=seed, most=[1.0] * len(measures))
    found = {}
    for name, sums, counts, interval in zip(measures, above.T, below.T, intervals, strict=True):
        n, ends = float(counts.sum()), {} if interval is None else msgspec.structs.asdict(interval)
        found[name] = FigureValue(value=float(sums.sum()) / n if n else None, n=n, **ends)
    return found


def counted(names: Iterable[T]) -> dict[T, int]:
    return dict(sorted(Counter(names).items(), key=lambda one: str(one[0])))


# --- the release's own arithmetic -----------------------------------------------------------------------------------


class OfficialFigures(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The release's figures of one scenario, or of all: per cent, of the reports of so many ``users`` and ``products``.
    None where the judge was not asked for a sum.
    """

    satisfaction_percentage: float | None
    dimensions: dict[Dimension, float]
    users: int
    products: int


def official_figures(tasks: Sequence[TaskVerdicts]) -> OfficialFigures:
    """The release's figures of what judges reported of themselves, bug for bug (``collect_results.py``).

    The mean of the percentages as the judge wrote them over each user's products, then over users, both rounded to four
    decimals. A user with results and no report adds 0, one without any is absent. Dimensions are texts ``x / y``:
    anything else is 0 of 0, and a dimension of nothing is 0, not missing.
    """
    present = [[one for one in places if _has_results(one)] for places in tasks]
    # The release goes through its folders by name.
    ordered = sorted(filter(None, present), key=lambda places: places[0].user)
    reports = [[one.reported for one in places if one.reported] for places in ordered]
    percentage, dimensions, products = None, {}, 0
    if any(one.adds_up for of in reports for one in of):
        products = sum(map(len, reports))
        percentage = _rounded_mean(_rounded_mean(one.satisfaction_percentage or 0.0 for one in of) for of in reports)
        dimensions = {name: _rounded_mean(_dimension_sum(of, name) for of in reports) for name in DIMENSIONS}
    return OfficialFigures(
        satisfaction_percentage=percentage, dimensions=dimensions, users=len(reports), products=products
    )


def _has_results(one: PlaceVerdict) -> bool:
    """Whether the release has a folder of the product: its page was read, or could not be."""
    return one.outcome != "open" and (bool(one.link) or (bool(one.url) and one.outcome in ("unparsed", "error")))


def _dimension_sum(reports: Sequence[Reported], dimension: Dimension) -> float:
    above = below = 0
    for one in reports:
        # Only digits on either side, and blanks around them.
        said = re.fullmatch(r"\s*(\d{1,9})\s*/\s*(\d{1,9})\s*", one.dimensions.get(dimension, ""))
        above, below = (above + int(said[1]), below + int(said[2])) if said else (above, below)
    return round(100 * above / below, 4) if below else 0.0


def _rounded_mean(values: Iterable[float]) -> float:
    total, every = 0.0, list(values)
    for value in every:
        total += value  # As the release adds up: from Python 3.12 on sum() gives other last digits.
    return round(total / max(len(every), 1), 4)


# --- the paper's figures ---------------------------------------------------------------------------------------------


def task_score(places: Sequence[PlaceVerdict]) -> float | None:
    return mean(one.share for one in places)


def is_success(places: TaskVerdicts) -> bool | None:
    """Whether all places hold product pages; None where that hangs on one that was not measured."""
    if any(one.link not in ("", "product") or one.outcome == "not-curated" for one in places):
        return False
    return True if all(one.link == "product" for one in places) else None


def looked_at(one: PlaceVerdict) -> bool:
    return bool(one.url) and one.link in ("product", "irrelevant", "invalid")


def _dimension(dimension: Dimension, by_task: bool, places: TaskVerdicts) -> Said:
    said = [item.satisfied for one in places for item in one.decided if item.dimension == dimension]
    return [mean(said)] if by_task else said


def _found(places: TaskVerdicts) -> Said:
    sought = ROWS[places[0].scenario].intent == "target_finding"
    said = [one.found for one in places if sought and one.found is not None]
    return [any(said)] if said else []


def _fails_price(one: PlaceVerdict) -> bool:
    prices = [item for item in one.decided if item.dimension == "price_sensitivity"]
    return one.outcome == "judged" and any(not item.satisfied for item in prices)


MEASURES: dict[str, Callable[[TaskVerdicts], Said]] = {
    "score": lambda places: [task_score(places)],
    "success": lambda places: [task_score(places)] if is_success(places) else [],
    "unblocked": lambda places: [task_score([one for one in places if one.link != "blocked"])],
    # Of a dimension all items alike, and the mean of the tasks' shares.
    **{dimension: partial(_dimension, dimension, False) for dimension in DIMENSIONS},
    **{f"{dimension}, by task": partial(_dimension, dimension, True) for dimension in DIMENSIONS},
    # Of the named products, those whose page wanted to see a human: no error of the agent's, and shown beside.
    "blocked": lambda places: (one.link == "blocked" for one in places if one.url),
    # Errors of attribution (paper, table 6): of the named products whose page could be looked at, those whose page is
    # not there or no product's; of those errors, the pages that are not there, and those that are no product's.
    "wrong": lambda places: (one.link in WRONG for one in places if looked_at(one)),
    "invalid": lambda places: (one.link == "invalid" for one in places if one.link in WRONG),
    "irrelevant": lambda places: (one.link == "irrelevant" for one in places if one.link in WRONG),
    # Of the product pages, those without a single rating or review.
    "no_review": lambda places: (
        None if one.has_reviews is None else not one.has_reviews for one in places if one.link == "product"
    ),
    # Of the products that fail an item on the price, and of which price and budget are known, those that cost more.
    "over_budget": lambda places: (one.over_budget for one in places if _fails_price(one)),
    # Whether one of the products is of the target's brand and type (table 5), where a target is known.
    "found": _found,
}  # What a task adds to each figure.
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

    def figure(self, name: str, group: str = ALL) -> FigureValue:
        return self.figures.get(group, {}).get(name, FigureValue())

    @property
    def decided(self) -> int:
        """How many items of judged products the judge decided."""
        return self.items - self.flags.get("undecided", 0) - self.flags.get("missing", 0)


def judge_scores(judge: str, tasks: Sequence[TaskVerdicts], *, seed: int = 0) -> JudgeScores:
    places = [one for of_task in tasks for one in of_task]
    judged = [one for one in places if one.outcome == "judged"]
    items = [item for one in judged for item in one.items]
    by_scenario = {str(name): [one for one in tasks if one[0].scenario == name] for name in SCENARIOS}
    groups = {ALL: tasks, **{name: found for name, found in by_scenario.items() if found}}
    return JudgeScores(
        judge=judge,
        figures={
            name: estimates(found, [one[0].user for one in found], MEASURES, seed=seed)
            for name, found in groups.items()
        },
        official={name: official_figures(found) for name, found in groups.items()},
        successes=sum(is_success(one) is True for one in tasks),
        products=len(judged),
        items=len(items),
        satisfied=sum(item.satisfied for item in items),
        flags=counted(flag for item in items for flag in item.flags),
        unmeasured=counted(one.outcome for one in places if one.outcome not in MEASURED),
    )


KINDS: tuple[BehaviourKind, ...] = get_args(BehaviourKind)


class Behaviours(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What the steps of an agent were for (paper, figure 5): ``shares`` of the ``labelled`` of ``steps``."""

    steps: int
    labelled: int
    shares: dict[str, FigureValue]
    steps_per_task: float | None


def _steps(kind: BehaviourKind, curation: Curation) -> Said:
    return (step.kind == kind for step in curation.trace if step.kind)


def behaviours(run: StoredRun, *, says_why: bool = True, seed: int = 0) -> Behaviours:
    """What the steps were for; no figure where nobody asks the agent that (``says_why``)."""
    user_of = {task.id: task.user for task in run.tasks}
    answered = [one for one in run.curations.values() if one.failure is None]
    labelled = sum(bool(step.kind) for one in answered for step in one.trace) if says_why else 0
    measures = {str(kind): partial(_steps, kind) for kind in KINDS if labelled}
    return Behaviours(
        steps=sum(len(one.trace) for one in answered),
        labelled=labelled,
        shares=estimates(answered, [user_of[one.step_id] for one in answered], measures, seed=seed),
        steps_per_task=mean(len(one.trace) for one in answered),
    )


# What a sign in a user's own words means: the released users shop in US dollars.
CURRENCIES = {"$": "USD", "US$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR"}
_AMOUNT = re.compile(
    r"(?P<sign>(?:US)?[$€£¥₹]\s?|\b[A-Z]{3}\s)?(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?P<after>\s?[$€£¥₹]|\s(?:USD|EUR|GBP|JPY|INR|CAD|AUD|CHF)\b)?"
)
_RANGE = re.compile(r"^\s*(?:[-\u2010-\u2015]|to|and|up to)\s*$", re.IGNORECASE)
_AT_LEAST = re.compile(
    r"\b(?:over|above|at least|from|(?<!no )(?<!not )more than|starting at|no less than|minimum of)\s*$", re.IGNORECASE
)


class SpendingLimits(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The least and the most that a user wants to spend, None where nobody says; ``currency`` is ISO 4217, or ""."""

    low: float | None = None
    high: float | None = None
    currency: str = ""

    def exceeded_by(self, paid: Money | None) -> bool | None:
        """Whether an amount is over the limit; None where there is no limit, no amount, or not one currency."""
        if self.high is None or paid is None or not self.currency or paid.currency != self.currency:
            return None
        return paid.amount > self.high


def spending_limits(words: str | None) -> SpendingLimits:
    """The first amount, or range of amounts, that is marked with a currency; a bare number only where none is.

    >>> spending_limits("around $10-$20 for multi-packs")
    SpendingLimits(low=10.0, high=20.0, currency='USD')
    >>> spending_limits("under 1,200 € including shipping")
    SpendingLimits(low=None, high=1200.0, currency='EUR')
    >>> spending_limits("at least $40").low, spending_limits("mid-range").high
    (40.0, None)
    """
    words = words or ""
    found = [(one, float(one["number"].replace(",", ""))) for one in _AMOUNT.finditer(words)]
    marked = [(one, value) for one, value in found if one["sign"] or one["after"]]
    if not found:
        return SpendingLimits()
    first, amount = (marked or found)[0]
    said = (first["sign"] or first["after"] or "").strip()
    currency = CURRENCIES.get(said, said)
    # In "$10-20" only the first is marked; a range is one whole.
    for (one, low), (other, high) in pairwise(found):
        if first in (one, other) and _RANGE.match(words[one.end() : other.start()]):
            return SpendingLimits(low=min(low, high), high=max(low, high), currency=currency)
    side = "low" if _AT_LEAST.search(words[: first.start()]) else "high"
    return SpendingLimits(**{side: amount}, currency=currency)
