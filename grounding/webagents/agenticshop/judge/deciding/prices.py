"""Rules on what a product costs. Amounts are never converted: another currency is no answer."""

from __future__ import annotations

import re

from grounding.webagents.agenticshop.judge.conditions import (
    Discounted,
    PriceWithin,
    ShippingWithin,
    UnitPriceWithin,
    money_words,
)
from grounding.webagents.agenticshop.judge.deciding.shown import Finding, Shown, open_question, silent
from grounding.webagents.agenticshop.records import Money

_DOLLARS = frozenset({"CAD", "AUD", "NZD", "HKD", "SGD", "MXN"})
_PACK = re.compile(
    r"\b(?:pack|set|box|bag|case|bundle|carton) of (\d{1,4})\b|\b(\d{1,4})[- ]?(?:pack|count|ct|pcs|pieces|piece "
    r"set)\b",
    re.IGNORECASE,
)
_COUNTED = frozenset(
    {
        "number of items",
        "number of pieces",
        "unit count",
        "pack size",
        "package quantity",
        "quantity",
        "count",
        "pieces",
        "pack quantity",
    }
)
_ONE_NUMBER = re.compile(
    r"(?:pack of |set of )?(\d{1,4})(?:[ -]?(?:pack|count|ct|pcs|pieces?|items?|units?))?", re.IGNORECASE
)


def price(rule: PriceWithin, page: Shown) -> Finding:
    """The price, with shipping or without."""
    paid = page.facts.price
    if paid is None:
        return silent("what it costs")
    other = other_currency(paid, rule.currency)
    if other:
        return open_question(other, page.quote("price", said(paid)))
    alone = _compare(
        rule, paid, page.quote("price", said(paid), f"{paid.amount:.2f}", f"{paid.amount:g}"), "the price is"
    )
    if rule.basis == "price":
        return alone
    whole = _total(rule, paid, page)
    if rule.basis == "total":
        return whole
    if alone.satisfied is whole.satisfied:
        return alone
    return open_question(
        f"{alone.reason}, but {whole.reason}: the item doesn't say whether shipping counts", alone.quote
    )


def _total(rule: PriceWithin, paid: Money, page: Shown) -> Finding:
    total = page.facts.total
    quote = page.quote("shipping", page.facts.shipping_text) or page.quote("price", said(paid))
    if total is not None:
        return _compare(rule, total, quote, "price and shipping together are")
    if page.facts.shipping is not None:
        return open_question("price and shipping are in different currencies", quote)
    if rule.bounds.above(paid.amount):
        # Shipping can only add to it.
        return Finding(
            satisfied=False, reason=f"the price alone is {said(paid)}", quote=page.quote("price", said(paid))
        )
    return silent("what shipping costs")


def _compare(rule: PriceWithin, paid: Money, quote: str, what: str) -> Finding:
    return Finding(satisfied=rule.bounds.holds(paid.amount), reason=f"{what} {said(paid)}", quote=quote)


def unit_price(rule: UnitPriceWithin, page: Shown) -> Finding:
    """The price of one piece; without a stated number, only what holds for any number is decided."""
    paid = page.facts.price
    if paid is None:
        return silent("what it costs")
    quote = page.quote("price", said(paid), f"{paid.amount:.2f}", f"{paid.amount:g}")
    other = other_currency(paid, rule.currency)
    if other:
        return open_question(other, quote)
    counts = piece_counts(page)
    if len(counts) > 1:
        numbers = ", ".join(str(each) for each in sorted(counts))
        return open_question(f"the page names several numbers of pieces: {numbers}", quote)
    if not counts:
        one = rule.bounds.holds(paid.amount)
        if one and rule.bounds.low is None:
            return Finding(
                satisfied=True, reason=f"the whole costs {said(paid)}, so one piece costs no more", quote=quote
            )
        if rule.bounds.low is not None and rule.bounds.below(paid.amount):
            return Finding(satisfied=False, reason=f"the whole costs only {said(paid)}", quote=quote)
        return open_question(f"the price is {said(paid)} and the page doesn't say for how many pieces", quote)
    number = counts.pop()
    each = Money(amount=paid.amount / number, currency=paid.currency)
    reason = f"{said(paid)} for {number} {'piece' if number == 1 else 'pieces'} is {said(each)} for one"
    return Finding(satisfied=rule.bounds.holds(round(each.amount, 4)), reason=reason, quote=quote)


def piece_counts(page: Shown) -> set[int]:
    """The numbers of pieces that title and table of facts name."""
    found = {int(each[1] or each[2]) for each in _PACK.finditer(page.facts.title)}
    for line in page.facts.attributes:
        if " ".join(line.name.lower().split()) in _COUNTED:
            number = _ONE_NUMBER.fullmatch(line.value.strip())
            if number is not None:
                found.add(int(number[1]))
    return {number for number in found if number > 0}


def shipping(rule: ShippingWithin, page: Shown) -> Finding:
    """What shipping costs."""
    cost = page.facts.shipping
    if cost is None:
        if page.facts.shipping_text:
            quote = page.quote("shipping_text", page.facts.shipping_text) or page.facts.shipping_text
            return Finding(
                satisfied=False, reason="the page doesn't say what shipping of this order costs", quote=quote
            )
        return silent("what shipping costs")
    quote = page.quote("shipping", page.facts.shipping_text) or page.quote("shipping_text", page.facts.shipping_text)
    other = other_currency(cost, rule.currency) if cost.amount else ""
    if other:
        return open_question(other, quote)
    what = "shipping is free" if not cost.amount else f"shipping costs {said(cost)}"
    return Finding(satisfied=rule.bounds.holds(cost.amount), reason=what, quote=quote)


def discounted(rule: Discounted, page: Shown) -> Finding:
    """Whether it costs less than its list price."""
    paid, before = page.facts.price, page.facts.list_price
    if paid is None:
        return silent("what it costs")
    if before is None:
        return silent("what it cost before")
    quote = page.quote("list_price", said(before), f"{before.amount:.2f}")
    if before.currency != paid.currency or before.amount <= 0:
        return open_question("the two prices can't be compared", quote)
    percent = 100 * (1 - paid.amount / before.amount)
    enough = percent > 0 and percent >= rule.percent - 1e-9
    return Finding(
        satisfied=enough, reason=f"{said(paid)} instead of {said(before)} is {max(0.0, percent):.1f}% less", quote=quote
    )


def other_currency(paid: Money, asked: str) -> str:
    """Why an amount of the page can't be held against one of the item; "" where it can."""
    if not asked or not paid.currency or paid.currency == asked or {paid.currency, asked} == {"$", "USD"}:
        return ""
    if asked == "$" and paid.currency in _DOLLARS:
        return f"the page's price is in {paid.currency}, and the item doesn't say which dollar it means"
    return f"the page's price is in {paid.currency} and the item's in {asked}: prices are not converted"


def said(amount: Money) -> str:
    """An amount as pages write it, where its sign is known."""
    signs = {"USD": "$", "EUR": "€", "GBP": "£"}
    if amount.currency in signs:
        return f"{signs[amount.currency]}{amount.amount:.2f}"
    return money_words(amount.amount, amount.currency)
