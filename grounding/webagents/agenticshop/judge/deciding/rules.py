"""Any rule to a finding; several together in three-valued logic: an open part leaves open only what hangs on it."""

from __future__ import annotations

from collections.abc import Sequence

from grounding.webagents.agenticshop.judge import conditions as asked
from grounding.webagents.agenticshop.judge.deciding import attributes, forms, measures, names, opinions, prices, terms
from grounding.webagents.agenticshop.judge.deciding.shown import Finding, Shown, open_question
from grounding.webagents.agenticshop.judge.deciding.words import words

VERSION = 2
"""Goes up when the same rule decides otherwise on the same page: part of the rule judge's identity."""


def decide(rule: asked.Rule, page: Shown) -> Finding:
    """Whether a page satisfies a rule, why, and on which words that rests."""
    match rule:
        case asked.AllOf():
            return _all(rule, page)
        case asked.AnyOf():
            return _any(rule, page)
    found = _one(rule, page)
    if found.silent and not page.fact_by_fact:
        return open_question(f"{found.reason}, as far as somebody wrote down what it says", found.quote)
    return found


def _one(rule: asked.Rule, page: Shown) -> Finding:
    match rule:
        case asked.PriceWithin():
            return prices.price(rule, page)
        case asked.UnitPriceWithin():
            return prices.unit_price(rule, page)
        case asked.Discounted():
            return prices.discounted(rule, page)
        case asked.ShippingWithin():
            return prices.shipping(rule, page)
        case asked.RatingWithin() | asked.RatingShown():
            return opinions.rating(rule, page)
        case asked.RatingCountWithin():
            return opinions.rating_count(rule, page)
        case asked.ReviewsShown():
            return opinions.reviews(rule, page)
        case asked.ReviewsMention():
            return opinions.mentions(rule, page)
        case asked.BrandIs():
            return names.brand(rule, page)
        case asked.SellerIs():
            return names.seller(rule, page)
        case asked.TermStated():
            return terms.stated(rule, page)
        case asked.ArrivesWithin():
            return terms.arrives(rule, page)
        case asked.ReturnsAccepted():
            return terms.returns(rule, page)
        case asked.WarrantyAtLeast():
            return terms.warranty(rule, page)
        case asked.InStock():
            return terms.in_stock(rule, page)
        case asked.Offered():
            return forms.offered(rule, page)
        case asked.FormsAtLeast():
            return forms.forms(rule, page)
        case asked.AttributeIs():
            return attributes.attribute(rule, page)
        case asked.AttributeStated():
            return attributes.stated(rule, page)
        case asked.MeasureWithin():
            return measures.measure(rule, page)
        case asked.PicturesWithin():
            return forms.pictures(rule, page)
        case asked.WordsStated():
            return words(rule, page)
        case asked.AllOf() | asked.AnyOf():
            raise TypeError("several rules are decided one by one")


def _all(rule: asked.AllOf, page: Shown) -> Finding:
    found = [decide(each, page) for each in rule.rules]
    against = [each for each in found if each.satisfied is False]
    if against:
        return _joined(False, against)
    open_ones = [each for each in found if each.satisfied is None]
    return _joined(None, open_ones) if open_ones else _joined(True, found)


def _any(rule: asked.AnyOf, page: Shown) -> Finding:
    found = [decide(each, page) for each in rule.rules]
    for each in found:
        if each.satisfied:
            return each
    open_ones = [each for each in found if each.satisfied is None]
    return _joined(None, open_ones) if open_ones else _joined(False, found)


def _joined(satisfied: bool | None, found: Sequence[Finding]) -> Finding:
    quotes = [each.quote for each in found if each.quote]
    return Finding(
        satisfied=satisfied,
        reason=", and ".join(dict.fromkeys(each.reason for each in found)),
        quote=quotes[0] if quotes else "",
    )
