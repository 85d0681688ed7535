"""A model's reply to typed facts, or why there are none: ``unparsed``, never a guess. Pure.

The types are held strictly: a price in words is no number. What the facts rest on is looked for in the page's own text
and data, and what is not there says so in its source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

import msgspec

from grounding.records import Failure, Record
from grounding.webagents.agenticshop.records import (
    Attribute,
    Availability,
    CustomerReview,
    FactSource,
    Money,
    PageClass,
    ProductFacts,
    RenderedPage,
    Variant,
)

NOT_FOUND = "not in the page's text or data: "
"""Begins the quote of a fact that nothing on the page bears out; it may still be in a picture."""

MAX_REPLY_CHARS = 400_000
MAX_TEXT_CHARS = 5_000
MAX_WORDS_CHARS = 500
MAX_ENTRIES = 200

_FENCE = re.compile(r"```[a-zA-Z]*\s*(.*?)```", re.DOTALL)
_THINKING = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)

_Amount = Annotated[float, msgspec.Meta(ge=0, le=100_000_000)]
_Code = Annotated[str, msgspec.Meta(pattern=r"^([A-Z]{3})?$")]
_Stars = Annotated[float, msgspec.Meta(ge=0, le=5)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000)]


class _Money(msgspec.Struct, frozen=True):
    amount: _Amount
    currency: _Code = ""


class _Review(msgspec.Struct, frozen=True):
    text: str
    title: str | None = None
    rating: _Stars | None = None


class _Attribute(msgspec.Struct, frozen=True):
    name: str
    value: str


class _Variant(msgspec.Struct, frozen=True):
    name: str
    price: _Money | None = None
    availability: Availability | None = None


class _Quote(msgspec.Struct, frozen=True):
    field: str
    quote: str


class _Facts(msgspec.Struct, frozen=True):
    title: str | None = None
    brand: str | None = None
    seller: str | None = None
    categories: tuple[str, ...] = ()
    price: _Money | None = None
    list_price: _Money | None = None
    shipping: _Money | None = None
    shipping_text: str | None = None
    delivery_text: str | None = None
    returns_text: str | None = None
    warranty_text: str | None = None
    availability: Availability | None = None
    rating: _Stars | None = None
    rating_count: _Count | None = None
    reviews: tuple[_Review, ...] = ()
    description: str | None = None
    features: tuple[str, ...] = ()
    attributes: tuple[_Attribute, ...] = ()
    variants: tuple[_Variant, ...] = ()
    quotes: tuple[_Quote, ...] = ()


class _Reply(msgspec.Struct, frozen=True):
    page_class: PageClass
    class_reason: str | None = None
    facts: _Facts | None = None


class ReadReply(Record, frozen=True, kw_only=True):
    """What a model said of a page: its class, why, and the facts where it has any."""

    page_class: PageClass
    reason: str = ""
    facts: ProductFacts | None = None


def read_reply(text: str, page: RenderedPage) -> ReadReply | Failure:
    """Read a reply, whatever stands around its JSON.

    Args:
        text: The reply, which may think aloud or put the JSON in a fence of code.
        page: What it is about, in whose text and data the quotes and numbers are looked for.
    """
    if len(text) > MAX_REPLY_CHARS:
        return _unparsed(f"the reply has {len(text)} characters; at most {MAX_REPLY_CHARS} are read")
    why = "the reply holds no JSON object"
    for candidate in _candidates(_THINKING.sub("", text)):
        try:
            said = msgspec.json.decode(candidate, type=_Reply)
        except (msgspec.ValidationError, msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
            if isinstance(error, msgspec.ValidationError):
                why = f"the reply's JSON is not of the form that was asked for: {error}"
            continue
        if said.page_class == "product" and said.facts is None:
            return _unparsed("the reply calls the page a product's and says nothing of the product")
        facts = _facts(said.facts, page) if said.page_class == "product" and said.facts is not None else None
        return ReadReply(page_class=said.page_class, reason=_cut(said.class_reason, 300), facts=facts)
    return _unparsed(why)


def _candidates(text: str) -> Iterator[str]:
    for match in _FENCE.finditer(text):
        yield match[1].strip()
    first, last = text.find("{"), text.rfind("}")
    if 0 <= first < last:
        yield text[first : last + 1]


def _facts(said: _Facts, page: RenderedPage) -> ProductFacts:
    return ProductFacts(
        title=_cut(said.title, MAX_WORDS_CHARS),
        brand=_cut(said.brand, 120),
        seller=_cut(said.seller, 120),
        categories=tuple(_cut(one, 120) for one in said.categories[:12]),
        price=_money(said.price),
        list_price=_money(said.list_price),
        shipping=_money(said.shipping),
        shipping_text=_cut(said.shipping_text, MAX_WORDS_CHARS),
        delivery_text=_cut(said.delivery_text, MAX_WORDS_CHARS),
        returns_text=_cut(said.returns_text, MAX_WORDS_CHARS),
        warranty_text=_cut(said.warranty_text, MAX_WORDS_CHARS),
        availability=said.availability or "unknown",
        rating=said.rating,
        rating_count=said.rating_count,
        reviews=tuple(
            CustomerReview(text=_cut(one.text, MAX_TEXT_CHARS), title=_cut(one.title, 300), rating=one.rating)
            for one in said.reviews[:MAX_ENTRIES]
            if one.text.strip()
        ),
        description=_cut(said.description, MAX_TEXT_CHARS),
        features=tuple(_cut(one, MAX_WORDS_CHARS) for one in said.features[:MAX_ENTRIES]),
        attributes=tuple(
            Attribute(name=_cut(one.name, 120), value=_cut(one.value, MAX_WORDS_CHARS))
            for one in said.attributes[:MAX_ENTRIES]
        ),
        variants=tuple(
            Variant(name=_cut(one.name, 200), price=_money(one.price), availability=one.availability or "unknown")
            for one in said.variants[:MAX_ENTRIES]
        ),
        sources=_sources(said, page),
    )


def _money(said: _Money | None) -> Money | None:
    return None if said is None else Money(amount=said.amount, currency=said.currency)


def _cut(text: str | None, most: int) -> str:
    return " ".join((text or "").split())[:most].encode("utf-8", "replace").decode()


# --- what the facts rest on ---------------------------------------------------------------------------------------


def _sources(said: _Facts, page: RenderedPage) -> tuple[FactSource, ...]:
    """A source for each quote, and for each number and the brand, found or not."""
    evidence = " ".join([page.title, page.text, *(block.json for block in page.data)])
    squashed = _squashed(evidence)
    numbers = numbers_in(evidence)
    found = []
    for one in said.quotes[:MAX_ENTRIES]:
        quote = _cut(one.quote, 240)
        if quote:
            there = _squashed(quote) in squashed
            found.append(
                FactSource(field=_cut(one.field, 40), source="model", quote=quote if there else NOT_FOUND + quote)
            )
    stated: list[tuple[str, float | None]] = [
        ("price", said.price.amount if said.price else None),
        ("list_price", said.list_price.amount if said.list_price else None),
        # Nothing is the number of "free".
        ("shipping", said.shipping.amount or None if said.shipping else None),
        ("rating", said.rating),
        ("rating_count", said.rating_count or None),
    ]
    quoted = {one.field for one in found}
    for field, number in stated:
        if number is None:
            continue
        if not _states(numbers, number, scales=field == "rating"):
            found.append(FactSource(field=field, source="model", quote=f"{NOT_FOUND}{number:g}"))
        elif field not in quoted:
            found.append(FactSource(field=field, source="model", quote=f"{number:g}"))
    if said.brand and _squashed(said.brand) not in squashed:
        found.append(FactSource(field="brand", source="model", quote=NOT_FOUND + _cut(said.brand, 120)))
    return tuple(dict.fromkeys(found))


def _states(numbers: frozenset[float], number: float, *, scales: bool) -> bool:
    """Whether a number is among those of the page; a rating may be there on a scale of ten or a hundred."""
    wanted = [number, *((number * 2, number * 20) if scales else ())]
    return any(round(one, 2) in numbers for one in wanted)


_DIGITS = re.compile(r"\d[\d.,'\u2019\u00a0\u202f]{0,20}\d|\d")


def numbers_in(text: str) -> frozenset[float]:
    """All numbers of a text, in every way in which points and commas may be meant."""
    found: set[float] = set()
    for match in _DIGITS.finditer(text[:2_000_000]):
        said = re.sub(r"['\u2019\u00a0\u202f]", "", match[0])
        for plain in (said.replace(",", ""), said.replace(".", "").replace(",", "."), re.sub(r"[.,]", "", said)):
            if re.fullmatch(r"\d{1,15}(?:\.\d{1,6})?", plain):
                found.add(round(float(plain), 2))
    return frozenset(found)


def _squashed(text: str) -> str:
    return "".join(text.split()).casefold()


def is_unverified(source: FactSource) -> bool:
    """Whether a model's fact was looked for on the page and not found."""
    return source.source == "model" and source.quote.startswith(NOT_FOUND)


def _unparsed(why: str) -> Failure:
    return Failure(kind="unparsed", message=why)
