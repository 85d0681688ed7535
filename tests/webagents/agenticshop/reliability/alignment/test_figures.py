"""From choices to accuracies, by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.records import Failure
from grounding.scoring.intervals import wilson
from grounding.webagents.agenticshop.reliability.alignment.comparing import (
    choose_by_overlap,
    content_words,
    overlap_score,
    read_choice,
)
from grounding.webagents.agenticshop.reliability.alignment.figures import alignment_figures
from grounding.webagents.agenticshop.reliability.alignment.records import (
    Choice,
    Comparison,
    Described,
    RatedPair,
    Representation,
)
from webagents.agenticshop.reliability.alignment.test_drawing import as_review


def comparison(user: str, order: str, domain: str = "Home", kind: Representation = "checklist") -> Comparison:
    pair = RatedPair(domain=domain, user=user, number=0, lower=0, higher=1, first="lower", in_context=False)
    return Comparison(
        pair=pair,
        described=Described(representation=kind, variant="", text="crimson enamel"),
        lower=as_review("a plastic thing", 1.0),
        higher=as_review("a crimson thing", 5.0),
        order="lower" if order == "lower" else "higher",
    )


def said(one: Comparison, chosen: str, failure: Failure | None = None) -> Choice:
    if failure is not None:
        return Choice(step_id=one.id, key="k", failure=failure)
    if chosen == "tie":
        return Choice(step_id=one.id, key="k", tie=True)
    return Choice(step_id=one.id, key="k", chosen="higher" if chosen == "higher" else "lower")


def test_both_orders_ties_and_replies_that_cannot_be_read() -> None:
    asked = [comparison(user, order) for user in ("a", "b", "c", "d", "e") for order in ("lower", "higher")]
    unparsed, error = Failure(kind="unparsed", message="?"), Failure(kind="error", message="503")
    # a: right in both orders; b: always the first one; c: a tie and right; d: unreadable and right; e: errors.
    answers = ["higher", "higher", "lower", "higher", "tie", "higher", "", "higher", "", ""]
    failures = [None] * 6 + [unparsed, None, error, error]
    choices = {one.id: said(one, word, failed) for one, word, failed in zip(asked, answers, failures, strict=True)}
    figures = {(one.representation, one.domain): one for one in alignment_figures(asked, choices)}
    found = figures["checklist", "Home"]
    assert found.accuracy == pytest.approx((1 + 0.5 + 0.75 + 0.5) / 4)
    assert (found.users, found.questions, found.ties, found.unparsed) == (4, 4, 1, 1)
    # Only a and b chose something in both orders: a the same product, b not.
    assert found.same_choice == pytest.approx(1 / 2)
    assert figures["checklist", "average"].accuracy == found.accuracy
    assert figures["query", "Home"].accuracy is None
    assert figures["query", "Home"].interval is None


def test_the_average_is_over_domains_and_few_users_have_no_interval() -> None:
    asked = [comparison(f"u{n}", "lower") for n in range(8)] + [comparison("v", "lower", "Food")]
    choices = {one.id: said(one, "higher" if n % 4 else "lower") for n, one in enumerate(asked)}
    figures = {one.domain: one for one in alignment_figures(asked, choices) if one.representation == "checklist"}
    assert figures["Home"].accuracy == 6 / 8
    assert figures["Food"].accuracy == 0.0
    assert figures["average"].accuracy == pytest.approx((6 / 8 + 0) / 2)
    sure = wilson(6, 8)
    assert figures["Home"].interval is not None
    assert figures["Home"].interval.low == pytest.approx(sure.low / 100)
    ties = {one.id: said(one, "tie") for one in asked}
    halves = {one.domain: one for one in alignment_figures(asked, ties) if one.representation == "checklist"}
    assert (halves["Home"].accuracy, halves["Home"].interval) == (0.5, None)


def test_overlap_prefers_shared_words_whatever_the_order() -> None:
    asked = [comparison("a", order) for order in ("lower", "higher")]
    assert {one.chosen for one in choose_by_overlap(asked).values()} == {"higher"}


@given(st.text("abc \n-", max_size=60), st.text("abc \n-", max_size=60))
def test_overlap_is_a_share_and_the_same_both_ways(one: str, two: str) -> None:
    assert 0 <= overlap_score(one, two) <= 1 + 1e-12
    assert overlap_score(one, two) == pytest.approx(overlap_score(two, one))
    if content_words(one):
        assert overlap_score(one, one) == pytest.approx(1)


@pytest.mark.parametrize(
    ("text", "choice"), [("1", 1), (" 2.\n", 2), ("Product 1", 1), ("**2**", 2), ("1: it is cheaper by 10", 1)]
)
def test_choices_are_read(text: str, choice: int) -> None:
    assert read_choice(text) == choice


@pytest.mark.parametrize("text", ["", "3", "1 or 2", "12", "both", "1.5 litres", "product one"])
def test_what_is_no_choice(text: str) -> None:
    assert isinstance(read_choice(text), Failure)
