from __future__ import annotations

import asyncio
import datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.records import Failure
from grounding.webagents.agenticshop.judge.base import judgement_key
from grounding.webagents.agenticshop.judge.bounds import Bounds
from grounding.webagents.agenticshop.judge.conditions import PriceWithin
from grounding.webagents.agenticshop.judge.deciding.delivery import delivery_spans
from grounding.webagents.agenticshop.judge.deciding.rules import decide
from grounding.webagents.agenticshop.judge.deciding.shown import Finding, Shown, shown
from grounding.webagents.agenticshop.judge.parsing.items import read_item
from grounding.webagents.agenticshop.judge.rules import RuleJudge, judged_by_rules
from grounding.webagents.agenticshop.records import Attribute, Money, ProductFacts, RenderedPage, Variant
from grounding.webagents.agenticshop.web.evidence import EvidenceFolder

from .subjects import FACTS, TEXT, extraction, item, items, subject


def said(text: str, text_of_page: str = TEXT, **facts: object) -> Finding:
    rule = read_item(item(text)).rule
    assert rule is not None, text
    page = Shown(facts=msgspec.structs.replace(FACTS, **facts), text=text_of_page, day=datetime.date(2026, 11, 20))
    return decide(rule, page)


YES = [
    "Price is under $50",
    "Price is at most $48",
    "Total price including shipping is at most $52.50",
    "Shipping costs at most $5",
    "Product is on sale",
    "At least 20% off",
    "Average rating is 4.5 stars or higher",
    "Average customer rating is at least 9 out of 10",
    "At least 200 customer reviews",
    "Page shows at least two customer reviews",
    'At least one review mentions "thin stream"',
    "At least one review mentions handle",
    "Brand is Brewster Lane",
    "Brand is BREWSTER LANE Inc",
    "Brand is not Tilda Home",
    "Sold by Kettle House",
    "Delivery takes at most 6 days",
    "Arrives within 4 business days",
    "Ships within 7 days",
    "Returns are accepted for at least 30 days",
    "Return policy is stated on the product page",
    "Warranty is at least 2 years",
    "Product is in stock",
    "Comes in black",
    "Product is available in white",
    "Material is copper",
    "Material is metal",
    "Material is not plastic",
    "Colour is black",
    "Capacity is at least 1 l",
    "Capacity is at most 1200 ml",
    "Weight is at most 1 kg",
    "Induction is no",
    "The capacity of the kettle is stated",
    "Page shows at least two pictures of the product",
    'Description states "stovetop kettle"',
]
NO = [
    "Price is under $48",
    "Total price including shipping is under $50",
    "Shipping is free",
    "At least 30% off",
    "Average rating is 4.7 stars or higher",
    "At least 500 customer reviews",
    "Brand is Brewster",
    "Brand is not Brewster Lane",
    "Seller is Brewster Lane",
    "Delivery takes at most 2 days",
    "Returns are accepted for at least 60 days",
    "Returns are free of charge",
    "Warranty is at least 3 years",
    "Product comes with a lifetime warranty",
    "Comes in red",
    "Comes in blue",
    "Material is oak",
    "Colour is white",
    "Capacity is at least 1.5 l",
    "Weight is under 500 g",
    "Handle material is leather",
    "Induction is yes",
    "Page shows at least four pictures of the product",
    'Product listing explicitly states "Made in USA"',
]
OPEN = [
    # 2 to 4 business days may be 4 days or 6
    "Delivery takes at most 5 days",
    # other words may mean the same
    "At least one review mentions whistling",
    # it is denied
    'Description states "dishwasher safe"',
    "Product is gluten-free",
    # only the table of facts is read
    "Finish is gooseneck",
    # another currency
    "Price is at most €50",
    # how many pieces, nobody says
    "Unit price is under $10",
]


@pytest.mark.parametrize("text", YES)
def test_what_holds(text: str) -> None:
    found = said(text)
    assert found.satisfied is True, found.reason
    assert found.reason


@pytest.mark.parametrize("text", NO)
def test_what_does_not_hold(text: str) -> None:
    found = said(text)
    assert found.satisfied is False, found.reason
    assert found.reason


@pytest.mark.parametrize("text", OPEN)
def test_what_stays_open(text: str) -> None:
    found = said(text)
    assert found.satisfied is None, found.reason
    assert found.reason


@pytest.mark.parametrize(
    "text",
    [
        "Price is under $50",
        "Total price including shipping is under $50",
        "Shipping is free",
        "Rating is at least 1 star",
        "At least 1 review",
        "Brand is Brewster Lane",
        "Brand is not Tilda Home",
        "Seller is Kettle House",
        "Delivery takes at most 99 days",
        "Returns are accepted",
        "Warranty is stated",
        "Product is in stock",
        "Page shows at least one picture",
    ],
)
def test_what_a_page_does_not_say_fails(text: str) -> None:
    rule = read_item(item(text)).rule
    assert rule is not None
    found = decide(rule, Shown(facts=ProductFacts(title="A kettle"), text="A kettle"))
    assert found.satisfied is False
    assert "doesn't say" in found.reason or "no review" in found.reason
    # A description that somebody wrote of a page shows nothing by what it leaves out.
    told = decide(rule, Shown(facts=ProductFacts(title="A kettle"), text="A kettle", fact_by_fact=False))
    assert told.satisfied is None


def test_shipping_that_is_unknown_only_counts_where_it_may_matter() -> None:
    assert said("Total price including shipping is under $50", shipping=None).satisfied is False
    too_much = said("Total price including shipping is under $40", shipping=None)
    assert too_much.satisfied is False
    assert "the price alone is $48.00" in too_much.reason
    assert said("Total product price is at most $50").satisfied is None
    assert said("Total product price is at most $60").satisfied is True


def test_a_dollar_is_not_every_dollar() -> None:
    assert said("Price is under $50", price=Money(amount=48.0, currency="CAD")).satisfied is None
    assert said("Price is under $50", price=Money(amount=48.0)).satisfied is True
    assert said("Price is under 50 CAD", price=Money(amount=48.0, currency="CAD")).satisfied is True


def test_price_of_one_piece() -> None:
    assert said("Unit price is at most $5", title="Mugs, set of 12").satisfied is True
    assert said("Unit price is at most $3", title="Mugs, set of 12").satisfied is False
    two = (Attribute(name="Number of items", value="6"),)
    assert said("Unit price is at most $5", title="Mugs, set of 12", attributes=two).satisfied is None
    # Whatever the number is, one piece costs no more than all.
    assert said("Unit price is at most $50").satisfied is True


def test_qualified_values() -> None:
    faux = (Attribute(name="Material", value="Faux leather"),)
    mixed = (Attribute(name="Material", value="55 % linen, 45 % cotton"),)
    assert said("Material is leather", attributes=faux).satisfied is False
    assert said("Material is linen", attributes=mixed).satisfied is True
    assert said("Material is 100 % linen", attributes=mixed).satisfied is False
    assert said("Material is wood", attributes=(Attribute(name="Material", value="Solid oak"),)).satisfied is True
    assert said("Material is wood", attributes=(Attribute(name="Material", value="Oak look"),)).satisfied is not True
    assert said("Colour is black", attributes=(Attribute(name="Colour", value="Midnight"),)).satisfied is None
    assert said("Material is not plastic", attributes=(Attribute(name="Material", value="Silicone"),)).satisfied is None


@pytest.mark.parametrize(
    ("text", "free"),
    [
        ("Free returns for 60 days", True),
        ("Send it back within 30 days, we pay the postage", True),
        ("30-day returns, return shipping $6.00", False),
        ("Unopened food can be returned within 14 days", False),
        ("Returns within 30 days at your own cost", False),
        ("All sales are final: no returns", False),
        ("Ask us what the postage of returns is", None),
        ("Free returns; a restocking fee of $5 may apply", None),
    ],
)
def test_who_pays_for_returns(text: str, free: bool | None) -> None:
    assert said("Returns are free of charge", returns_text=text).satisfied is free


@pytest.mark.parametrize("joint", [" \u00b7 ", " | ", ". ", "; ", ": "])
def test_all_terms_in_one_line(joint: str) -> None:
    line = f"Delivery in 1 to 2 days{joint}30-day returns, return shipping $6.00 | 2-year warranty"
    terms = {"delivery_text": line, "returns_text": line, "warranty_text": line}
    assert said("Delivery takes at most 2 days", **terms).satisfied is True
    assert said("Delivery takes at most 1 day", **terms).satisfied is False
    assert said("Returns are accepted for at least 30 days", **terms).satisfied is True
    assert said("Returns are accepted for at least 31 days", **terms).satisfied is False
    assert said("Warranty is at least 2 years", **terms).satisfied is True
    assert said("Warranty is at least 3 years", **terms).satisfied is False
    assert said("Returns are free of charge", **terms).satisfied is False


def test_a_row_is_quoted_whole() -> None:
    rows = (Attribute(name="Organic", value="Yes"), Attribute(name="Vegan", value="Yes"))
    found = said("Vegan is yes", "Organic: Yes\nVegan: Yes", attributes=rows)
    assert (found.satisfied, found.quote) == (True, "Vegan: Yes")
    assert said("Pattern is plain", attributes=(Attribute(name="Pattern", value="Striped"),)).satisfied is False


def test_a_resolution_is_one_value() -> None:
    rows = (Attribute(name="Resolution", value="3840 \u00d7 2160"),)
    assert said("Resolution is 3840 x 2160", attributes=rows).satisfied is True
    assert said("Resolution is 1920 \u00d7 1080", attributes=rows).satisfied is False


def test_two_sides_in_one_line_stay_open() -> None:
    sides = (Attribute(name="Height", value="30 x 40 cm"),)
    assert said("Height is at most 35 cm", attributes=sides).satisfied is None
    twice = (Attribute(name="Height", value="30 cm (11.8 in)"),)
    assert said("Height is at most 35 cm", attributes=twice).satisfied is True


def test_words_of_a_neighbour_are_not_the_products() -> None:
    assert said('Listing states "tin mug"').satisfied is None
    assert said('Listing states "tin mug"', text_of_page="Nothing of the sort").satisfied is False


def test_a_form_that_is_sold_out_is_not_to_be_had() -> None:
    sizes = (Variant(name="Size: M", availability="sold_out"), Variant(name="Size: L"))
    assert said("Product is available in size M", variants=sizes).satisfied is False
    assert said("Product is available in size L", variants=sizes).satisfied is True
    assert said("Product is available in size S", variants=sizes).satisfied is False
    assert said("Product is available in more than one size", variants=sizes).satisfied is True


@pytest.mark.parametrize(
    ("text", "low", "high", "business"),
    [
        ("Arrives in 3-5 business days", 3, 5, True),
        ("2-day shipping", 2, 2, False),
        ("Delivered tomorrow", 1, 1, False),
        ("Get it by Tue, Nov 24", 4, 4, False),
        ("Arrives Nov 23 - Nov 25", 3, 5, False),
        ("Delivery: 2 weeks", 14, 14, False),
        ("Estimated delivery 2 Jan", 43, 43, False),
    ],
)
def test_times_of_delivery(text: str, low: float, high: float, business: bool) -> None:
    (span,) = delivery_spans(text, datetime.date(2026, 11, 20))
    assert (span.low_days, span.high_days, span.business, span.dispatch) == (low, high, business, False)


def test_sending_is_not_arriving() -> None:
    assert said("Delivery takes at most 3 days", delivery_text="Ships within 24 hours").satisfied is False
    both = "Ships within 24 hours, arrives in 6 days"
    assert said("Delivery takes at most 6 days", delivery_text=both).satisfied is True
    assert said("Ships within 2 days", delivery_text=both).satisfied is True
    express = "Standard: 6 days; express: 1 day"
    assert said("Delivery takes at most 3 days", delivery_text=express).satisfied is None


def test_several_parts() -> None:
    assert said("Price is under $50 and average rating is at least 4 stars").satisfied is True
    assert said("Price is under $50 and shipping is free").satisfied is False
    # An open part leaves nothing open where the other has failed.
    assert said("Price is at most €50 and shipping is free").satisfied is False
    assert said("Price is at most €50 and average rating is at least 4 stars").satisfied is None
    assert said("Shipping is free or shipping costs at most $5").satisfied is True


@given(
    st.integers(0, 10_000).map(lambda cents: cents / 100),
    st.integers(0, 10_000).map(lambda cents: cents / 100),
    st.booleans(),
)
def test_a_limit_is_kept_or_it_is_not(paid: float, limit: float, strict: bool) -> None:
    rule = PriceWithin(bounds=Bounds(high=limit, high_open=strict), currency="USD")
    page = Shown(facts=ProductFacts(price=Money(amount=paid, currency="USD")))
    assert decide(rule, page).satisfied is (paid < limit if strict else paid <= limit)


# --- the judge ----------------------------------------------------------------------------------------------------

CHECKLIST = items("Price is under $50", "Shipping is free", "It looks nice", "Product is gluten-free")


def test_the_judge_gives_reasons_quotes_and_flags() -> None:
    cheap, shipping, nice, gluten = judged_by_rules(subject(CHECKLIST)).verdicts
    assert (cheap.satisfied, cheap.quote, cheap.flags) == (True, "$48.00 $60.00", ())
    assert "asked is that the price is under $50; the price is $48.00" in cheap.reasoning
    assert (shipping.satisfied, shipping.flags) == (False, ())
    assert shipping.quote.startswith("Shipping $4.50")
    assert (nice.satisfied, nice.flags) == (False, ("undecided",))
    assert (gluten.satisfied, gluten.flags) == (False, ("undecided",))


def test_a_verdict_without_words_to_show_is_flagged() -> None:
    facts = msgspec.structs.replace(FACTS, brand="Elsewhere")
    (verdict,) = judged_by_rules(subject(items("Brand is Elsewhere"), facts=facts)).verdicts
    assert (verdict.satisfied, verdict.flags) == (True, ("no-evidence",))


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"page_class": "error", "facts": None}, "error page"),
        ({"page_class": "blocked", "facts": None}, "whether its visitor is human"),
        ({"page_class": "listing", "facts": None}, "several products"),
        ({"page_class": "other", "facts": None}, "no product's"),
        ({"page": None, "page_class": None, "facts": None}, "no page"),
        (
            {"page": RenderedPage(url="x", failure=Failure(kind="unparsed", message="refused")), "facts": None},
            "can't be had: refused",
        ),
    ],
)
def test_a_page_of_no_product_satisfies_nothing(more: dict[str, object], reason: str) -> None:
    judged = judged_by_rules(subject(items("Price is under $50", "Brand is not Tilda Home", "It looks nice"), **more))
    assert [(one.satisfied, one.flags) for one in judged.verdicts] == [(False, ())] * 3
    assert reason in judged.verdicts[0].reasoning


def test_a_page_of_which_nothing_was_read_is_left_open() -> None:
    judged = judged_by_rules(subject(items("Price is under $50"), facts=None))
    assert judged.verdicts[0].flags == ("undecided",)


def test_an_extraction_that_failed_is_not_judged() -> None:
    failure = Failure(kind="error", message="the browser is gone")
    judged = judged_by_rules(subject(CHECKLIST, failure=failure))
    assert judged.failure == failure
    assert {one.flags for one in judged.verdicts} == {("missing",)}


def test_the_key_hangs_on_checklist_and_evidence_and_not_on_rank() -> None:
    judge, first = RuleJudge(), subject(CHECKLIST)
    key = judgement_key(judge.identity, first)
    other_rank = msgspec.structs.replace(first, product_id="explicit_title/u1/2")
    assert judgement_key(judge.identity, other_rank) == key
    assert judgement_key("another judge", first) != key
    assert judgement_key(judge.identity, subject(CHECKLIST[:2])) != key
    assert judgement_key(judge.identity, subject(CHECKLIST, facts=ProductFacts())) != key
    page = extraction().page
    assert page is not None
    later = msgspec.structs.replace(page, fetched_at="2026-11-20T23:00:00+00:00", seconds=9.0)
    assert judgement_key(judge.identity, subject(CHECKLIST, page=later)) == key
    next_day = msgspec.structs.replace(page, fetched_at="2026-11-21T00:00:00+00:00")
    assert judgement_key(judge.identity, subject(CHECKLIST, page=next_day)) != key


def test_the_judge_answers_as_a_judge_does(tmp_path) -> None:  # type: ignore[no-untyped-def]
    judge = RuleJudge()
    judged = asyncio.run(judge.judge(subject(CHECKLIST), EvidenceFolder(tmp_path), "thekey"))
    assert (judged.step_id, judged.key, judged.judge) == ("explicit_title/u1/0/rules", "thekey", "rules")
    assert [one.item for one in judged.verdicts] == [one.id for one in CHECKLIST]
    assert "reading.1 deciding.2" in judge.identity


def test_what_rules_look_at() -> None:
    assert shown(extraction(page_class=None)).fact_by_fact is False  # type: ignore[union-attr]
    assert shown(extraction(facts=None)) is None


def test_a_row_is_quoted_from_the_table_by_whole_words() -> None:
    text = "The lighter sister without noise cancelling, no case.\nNoise cancelling\tNo\nNoise cancelling: Yes"
    page = Shown(facts=ProductFacts(), text=text)
    assert page.row("Noise cancelling", "No") == "Noise cancelling\tNo"
    assert page.row("noise cancelling", "yes") == "Noise cancelling: Yes"
    assert page.row("Noise", "cell") == "Noise: cell"
