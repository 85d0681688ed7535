"""Which products rest on a page that a search brought."""

from __future__ import annotations

import pytest

from grounding.webagents.agenticshop.agents.search.backing import backing, comparable
from grounding.webagents.agenticshop.records import Curated, Curation, TraceStep

PAGE = "https://a.test/p/1"
REDIRECT = "https://vertexaisearch.cloud.google.com/grounding-api-redirect/x"


def curation(url: str, *steps: TraceStep) -> Curation:
    return Curation(step_id="s", key="k", products=(Curated(rank=0, url=url),), trace=steps)


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (TraceStep(action="cite", cited_urls=(PAGE,)), "cited"),
        (TraceStep(action="search: x", cited_urls=(PAGE,)), "found"),
        (TraceStep(action=f"open: {PAGE}", url=PAGE), "found"),
        (TraceStep(action="search: x", cited_urls=("https://a.test/other",)), "site"),
        (TraceStep(action="search: x", cited_urls=("https://www.a.test/other",)), "site"),
        (TraceStep(action="sources", cited_urls=(REDIRECT,), observation="a.test"), "site"),
        (TraceStep(action="sources", cited_urls=(REDIRECT,), observation="b.test"), "none"),
        (TraceStep(action="search: x", cited_urls=("https://b.test/",), observation="a.test"), "none"),
        (TraceStep(action="search: x"), "none"),
    ],
)
def test_a_product_is_backed_by_what_was_found(step: TraceStep, said: str) -> None:
    assert backing(curation(PAGE, step)) == (said,)


def test_a_redirect_given_as_a_product_is_found_as_it_is() -> None:
    assert backing(curation(REDIRECT, TraceStep(action="sources", cited_urls=(REDIRECT,)))) == ("found",)


@pytest.mark.parametrize(
    "same", [PAGE + "/", PAGE + "#reviews", PAGE + "?utm_source=openai", "HTTPS://A.TEST/p/1", f" {PAGE} "]
)
def test_addresses_that_lead_to_the_same_place_are_the_same(same: str) -> None:
    assert comparable(same) == comparable(PAGE)


@pytest.mark.parametrize(
    "other", ["https://a.test/p/2", PAGE + "?colour=red", "http://a.test/p/1", "nonsense", "http://["]
)
def test_others_are_not(other: str) -> None:
    assert comparable(other) != comparable(PAGE)
    assert backing(curation(other)) == ("none",)
