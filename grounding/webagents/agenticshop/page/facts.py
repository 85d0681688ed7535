"""Facts of a product page and of its rendering as lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grounding.report.html.content import Fact
from grounding.webagents.agenticshop.page.content import MOST_TEXT, ShownFact
from grounding.webagents.agenticshop.page.words import cut
from grounding.webagents.agenticshop.records import Money, ProductFacts, RenderedPage

MOST_REVIEWS = 8
MOST_LINES = 40


def shown_facts(facts: ProductFacts) -> tuple[ShownFact, ...]:
    """Every fact that is known, with where it was found."""
    sources = {one.field: one for one in facts.sources}
    found = []
    for field, name, text in _lines(facts):
        source = sources.get(field)
        found.append(
            ShownFact(
                name=name,
                text=cut(text, MOST_TEXT),
                source="" if source is None else source.source,
                quote="" if source is None else cut(source.quote, MOST_TEXT),
            )
        )
    return tuple(found)


def _lines(facts: ProductFacts) -> Iterator[tuple[str, str, str]]:
    """Field, name and words of each fact that is known."""
    for field in ("title", "brand", "seller"):
        if getattr(facts, field):
            yield field, field, getattr(facts, field)
    if facts.categories:
        yield "categories", "categories", " > ".join(facts.categories)
    for field, name in (("price", "price"), ("list_price", "price struck out"), ("shipping", "shipping")):
        if (money := getattr(facts, field)) is not None:
            yield field, name, money_text(money)
    if facts.total is not None and facts.shipping is not None and facts.shipping.amount:
        yield "total", "price and shipping", money_text(facts.total)
    if facts.shipping_text:
        yield "shipping_text", "shipping, in words", facts.shipping_text
    for field in ("delivery_text", "returns_text", "warranty_text"):
        if getattr(facts, field):
            yield field, field.removesuffix("_text"), getattr(facts, field)
    if facts.availability != "unknown":
        yield "availability", "availability", facts.availability.replace("_", " ")
    if facts.rating is not None:
        yield "rating", "rating", f"{facts.rating:g} of 5"
    if facts.rating_count is not None:
        yield "rating_count", "ratings", f"{facts.rating_count:,}"
    if facts.features:
        yield "features", "features", _list(facts.features)
    if facts.attributes:
        yield "attributes", "attributes", _list([f"{one.name}: {one.value}" for one in facts.attributes])
    if facts.variants:
        kinds = []
        for one in facts.variants:
            more = [] if one.price is None else [money_text(one.price)]
            more += [] if one.availability == "unknown" else [one.availability.replace("_", " ")]
            kinds.append(f"{one.name} ({', '.join(more)})" if more else one.name)
        yield "variants", "variants", _list(kinds)
    if facts.description:
        yield "description", "description", facts.description
    if facts.reviews:
        said = [
            " ".join(part for part in (_stars(one.rating), one.title, cut(one.text, 400)) if part)
            for one in facts.reviews[:MOST_REVIEWS]
        ]
        more = [f"… {len(facts.reviews) - MOST_REVIEWS} more"] if len(facts.reviews) > MOST_REVIEWS else []
        yield "reviews", f"reviews that can be read ({len(facts.reviews)})", _list([*said, *more])
    if facts.picture_count is not None:
        yield "picture_count", "pictures", str(facts.picture_count)


def page_facts(page: RenderedPage) -> tuple[Fact, ...]:
    """How a page was fetched."""
    lines = [
        ("led to", page.final_url if page.final_url != page.url else ""),
        ("over", " → ".join(one for one in page.redirects if one != page.url)),
        ("status", "" if page.status is None else str(page.status)),
        ("title", page.title),
        ("fetched", f"{page.fetched_at}, {page.seconds:.1f} s" if page.fetched_at else ""),
        ("closed", ", ".join(page.dismissed)),
        ("refused requests", str(page.blocked_requests) if page.blocked_requests else ""),
        ("data for machines", ", ".join(dict.fromkeys(one.source for one in page.data))),
        ("document", f"{page.html_file} (SHA-256 {page.html_sha256[:16]}…)" if page.html_file else ""),
        ("no page", "" if page.failure is None else f"{page.failure.kind}: {page.failure.message}"),
    ]
    return tuple(Fact(name=name, text=cut(text, MOST_TEXT)) for name, text in lines if text)


def money_text(money: Money) -> str:
    """An amount with its currency.

    >>> money_text(Money(amount=12.5, currency="EUR"))
    '12.50 EUR'
    """
    return f"{money.amount:,.2f} {money.currency}".rstrip()


def _stars(rating: float | None) -> str:
    return "" if rating is None else f"[{rating:g}/5]"


def _list(lines: Sequence[str]) -> str:
    more = [f"… {len(lines) - MOST_LINES} more"] if len(lines) > MOST_LINES else []
    return "\n".join([*lines[:MOST_LINES], *more])
