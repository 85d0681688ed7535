"""Decides the items of our own checklists from the truth about a product, by the rule that stands beside each.

A rule is a subject, a relation and a value: ``total <= 22 USD``, ``brand = Brasso|Norrvik``, ``attr Material ~ oak``,
``form = M``, ``review ~ sleep|calm``. ``=`` compares whole texts, ``~`` looks for a regular expression, ``|`` separates
what will do, ``?`` asks whether a page says it at all. Items without a rule need eyes and are not decided.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from grounding.benchmarks.agenticshop.records import Money, ProductFacts

_RULE = re.compile(
    r"(?P<subject>[a-z]+)(?: (?P<name>.+?))??(?: (?P<relation><=|>=|!=|!~|=|~|>|\?)(?: (?P<value>.+))?)?$"
)
_RANGE = re.compile(r"price (\d+)\.\.(\d+) ([A-Z]{3})$")
_NUMBER = re.compile(r"\d+(?:[., ]\d+)*")


def decide(rule: str, facts: ProductFacts) -> bool:
    """Whether a rule holds for a product; what its page doesn't say never does."""
    between = _RANGE.fullmatch(rule)
    if between:
        low, high, currency = between.groups()
        return decide(f"price >= {low} {currency}", facts) and decide(f"price <= {high} {currency}", facts)
    found = _RULE.fullmatch(rule)
    if found is None:
        raise ValueError(f"not a rule: {rule!r}")
    subject, name, relation, value = (
        found["subject"],
        found["name"] or "",
        found["relation"] or "",
        found["value"] or "",
    )
    if subject in ("contact", "terms"):
        # Every page of every shop has both, in its head or foot.
        return True
    if subject == "stock":
        return facts.availability == "in_stock"
    if subject == "list":
        return bool(facts.list_price and facts.price and facts.list_price.amount > facts.price.amount)
    if subject in ("price", "total", "shipping") and relation != "?":
        return _money(
            {"price": facts.price, "total": facts.total, "shipping": facts.shipping}[subject], relation, value
        )
    return _said(_texts(subject, name, facts), relation, value)


def _texts(subject: str, name: str, facts: ProductFacts) -> list[str]:
    attributes = {line.name: line.value for line in facts.attributes}
    texts: dict[str, Iterable[str]] = {
        "attr": (attributes[one] for one in name.split("|") if one in attributes),
        "brand": (facts.brand,),
        "shop": (facts.seller,),
        "form": (one.name for one in facts.variants),
        "forms": (str(len(facts.variants)),),
        "rating": () if facts.rating is None else (str(facts.rating),),
        "count": (str(facts.rating_count or 0),),
        "reviews": (str(len(facts.reviews)),),
        "pictures": (str(facts.picture_count or 0),),
        "review": (f"{one.title} {one.text}" for one in facts.reviews),
        "delivery": (_last_days(facts.delivery_text),),
        "returns": (facts.returns_text,),
        "warranty": (facts.warranty_text,),
        "shipping": (facts.shipping_text,),
        "text": (" ".join((facts.title, facts.description, *facts.features, *attributes.values())),),
    }
    return [text for text in texts[subject] if text.strip()]


def _said(texts: list[str], relation: str, value: str) -> bool:
    if relation == "?":
        return bool(texts)
    if relation in ("<=", ">="):
        numbers = [_number(text) for text in texts]
        bound = float(value)
        return any(one is not None and (one <= bound if relation == "<=" else one >= bound) for one in numbers)
    if relation in ("=", "!="):
        wanted = {one.casefold() for one in value.split("|")}
        return any(text.casefold() in wanted for text in texts) == (relation == "=") and bool(texts)
    return any(re.search(value, text, re.IGNORECASE) for text in texts) == (relation == "~") and bool(texts)


def _money(amount: Money | None, relation: str, value: str) -> bool:
    bound, _, currencies = value.partition(" ")
    if amount is None or (currencies and amount.currency not in currencies.split("|")):
        return False
    return amount.amount <= float(bound) if relation == "<=" else amount.amount >= float(bound)


def _number(text: str) -> float | None:
    found = _NUMBER.search(text)
    return None if found is None else float(found[0].replace(" ", "").replace(",", "."))


def _last_days(text: str) -> str:
    """The later end of a span of days, as the number that it begins with; weeks are turned to days."""
    numbers = re.findall(r"\d+", text)
    if not numbers:
        return ""
    return str(int(numbers[-1]) * (7 if "week" in text else 1))
