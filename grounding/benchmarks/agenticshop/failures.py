"""The failure kinds of the paper's appendix D, counted in stored runs. Pure but for reading them.

The authors found them by hand; here a rule decides each, from the agent's trace, what it said of its products, and the
pages. So a count is where to look first, and no judgement: ``definition`` says the rule, and every case is listed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from rich.console import Console
from rich.text import Text

from grounding.benchmarks.agenticshop.extraction.prices import find_prices
from grounding.benchmarks.agenticshop.figures import looked_at
from grounding.benchmarks.agenticshop.records import (
    COUNTED_PRODUCTS,
    Curated,
    Curation,
    CurationTask,
    Extraction,
    product_id,
)
from grounding.benchmarks.agenticshop.scorebook import CurationScored
from grounding.benchmarks.agenticshop.table import NOTHING, drawn, row_name
from grounding.benchmarks.agenticshop.verdicts import PlaceVerdict, words
from grounding.records import Record
from grounding.report.html.content import SummaryTable

DETAILED_WORDS = 8
"""So many words about a product are an explanation."""

LONG_QUERY_WORDS = 9
"""A query of more words joins several attributes in one search."""

_QUERY = re.compile(
    r'^search(?: for|ed)?:? +"?(?P<plain>[^"]+)|"(?:query|text)": *"(?P<json>[^"]+)"|\btype\b[^;:]*[;:] *(?P<typed>.+)',
    re.IGNORECASE,
)
_KINDS = {
    "URL hallucination": (
        "links", "a named link whose page is not there; brought: the agent's own search had it"),
    "response hallucination: page": (
        "invalid links", f"a product whose page is not there is explained in {DETAILED_WORDS} words or more"),
    "response hallucination: price": (
        "stated prices", "the price that the agent states is not the one on the product's page"),
    "biased query rewriting": ("searches", "a search names a brand that the user's query does not"),
    "overcomplicated query": ("searches", f"a search has more than {LONG_QUERY_WORDS} words"),
    "premature termination": (
        "tasks", "the answer names a list of products in a product's place, or fewer than three products"),
    "distraction by promotion": (
        "stated prices", "the price that the agent states is on the product's page, of something else"),
    "insufficient exploration": ("tasks", "every page of the trace is of one site, and a product fails an item"),
}  # fmt: skip
"""Each kind with what is counted and its rule, in the order of the paper."""


class Failures(Record, frozen=True, kw_only=True):
    """One kind of failure in one run: how many of how many, and what was seen in each case. ``of``: what is counted."""

    kind: str
    definition: str
    of: str
    count: int
    total: int
    cases: tuple[tuple[str, str], ...] = ()


class _Case(NamedTuple):
    kind: str
    where: str
    seen: str
    is_failure: bool


class _Seen(NamedTuple):
    """A product that an agent named, with what became of it."""

    id: str
    product: Curated
    extraction: Extraction | None
    verdict: PlaceVerdict


def failures_of(run: CurationScored) -> tuple[Failures, ...]:
    """All kinds, in the order of the paper."""
    stored, tasks = run.stored, {task.id: task for task in run.stored.tasks}
    places = {
        product_id(one.task, one.rank): one for task in run.verdicts.get(run.summary.headline, ()) for one in task
    }
    answered = [(tasks[one.step_id], one) for one in stored.curations if one.failure is None]
    brands = {words(one.facts.brand) for one in stored.extractions if one.facts is not None}
    brands |= {words(task.target.brand) for task, _ in answered if task.target}
    cases: list[_Case] = []
    for task, curation in answered:
        pairs = zip(curation.products, stored.answers[task.id].extractions, strict=False)
        named = [
            _Seen(name, product, extraction, places[name])
            for product, extraction in pairs
            if (name := product_id(task.id, product.rank)) in places
        ]
        cases += [case for one in named for case in _of_product(one, curation)]
        cases += _of_task(task, curation, named, brands - {()})
    found = []
    for kind, (of, definition) in _KINDS.items():
        mine = [one for one in cases if one.kind == kind]
        bad = tuple((one.where, one.seen[:300]) for one in mine if one.is_failure)
        found.append(Failures(kind=kind, of=of, definition=definition, count=len(bad), total=len(mine), cases=bad))
    return tuple(found)


def _of_product(one: _Seen, curation: Curation) -> Iterator[_Case]:
    url, said = one.product.url, one.product.reasoning
    invalid = one.verdict.link == "invalid"
    if looked_at([one.verdict]):
        brought = any(url in (step.url, *step.cited_urls) for step in curation.trace)
        yield _Case(
            "URL hallucination", one.id, f"{url} ({'brought' if brought else 'in no step of the trace'})", invalid
        )
    if invalid:
        yield _Case("response hallucination: page", one.id, said, len(said.split()) >= DETAILED_WORDS)
    prices = find_prices(f"{one.product.name} {said}")
    stated = next((price.amount for price in prices if price.kind == "current"), None)
    facts = None if one.extraction is None else one.extraction.facts
    if facts is not None and facts.price is not None and stated is not None:
        page = None if one.extraction is None else one.extraction.page
        shown = [price.amount for line in (page.text if page else "").splitlines() for price in find_prices(line)]
        right = _has([facts.price.amount, *([facts.total.amount] if facts.total else [])], stated)
        beside = _has(shown, stated)
        text = f"states {stated:g}, the page {facts.price.amount:g}"
        yield _Case("response hallucination: price", one.id, text, not right and not beside)
        yield _Case("distraction by promotion", one.id, text, not right and beside)


def _has(amounts: Sequence[float], wanted: float) -> bool:
    return any(abs(amount - wanted) < 0.005 for amount in amounts)


def _of_task(
    task: CurationTask, curation: Curation, named: Sequence[_Seen], brands: set[tuple[str, ...]]
) -> Iterator[_Case]:
    asked = set(words(task.query))
    for query in queries_of(curation):
        said = set(words(query))
        biased = any(set(brand) <= said and not set(brand) <= asked for brand in brands)
        yield _Case("biased query rewriting", task.id, query, biased)
        yield _Case("overcomplicated query", task.id, query, len(query.split()) > LONG_QUERY_WORDS)
    lists = [one.product.url for one in named if one.verdict.page_class == "listing"]
    few = len(curation.products) < COUNTED_PRODUCTS
    seen = ", ".join(lists) or f"{len(curation.products)} products"
    yield _Case("premature termination", task.id, seen, few or bool(lists))
    sites = {urlsplit(step.url).hostname for step in curation.trace if step.url.startswith("http")}
    if sites:
        failed = any(not item.satisfied for one in named for item in one.verdict.decided)
        yield _Case("insufficient exploration", task.id, ", ".join(sorted(map(str, sites))), len(sites) == 1 and failed)


def queries_of(curation: Curation) -> tuple[str, ...]:
    """What an agent searched for, in the words of its trace, each once."""
    matches = (_QUERY.search(step.action) for step in curation.trace)
    found = (match["plain"] or match["json"] or match["typed"] for match in matches if match is not None)
    return tuple(dict.fromkeys(query.strip(" \"'[]") for query in found if query.strip()))


def print_failures(console: Console, runs: Sequence[CurationScored]) -> None:
    """Print how often each kind occurs in each run, and by which rule."""
    columns = [failures_of(run) for run in runs]
    rows = [(f"{row[0].kind}, of {row[0].of}", *map(_share, row)) for row in zip(*columns, strict=True)]
    heads = ("failure", *(row_name(run) for run in runs))
    console.print(drawn(SummaryTable(title="failures by kind (appendix D)", heads=heads, rows=tuple(rows))))
    for one in columns[0]:
        console.print(Text(f"{one.kind}: {one.definition}"), soft_wrap=True, highlight=False)


def _share(one: Failures) -> str:
    return f"{one.count} of {one.total} ({one.count / one.total:.0%})" if one.total else NOTHING
