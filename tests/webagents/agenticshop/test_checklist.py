from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding.webagents.agenticshop.checklist import lint_checklist, lint_tasks
from grounding.webagents.agenticshop.item_words import REASONS, FlagReason
from grounding.webagents.agenticshop.loader import load_curation
from grounding.webagents.agenticshop.records import DIMENSIONS, ChecklistItem

from .made import made_task

REAL = Path(__file__).resolve().parents[4] / "shared" / "data" / "agenticshop"


def items(*texts: str) -> tuple[ChecklistItem, ...]:
    return tuple(
        ChecklistItem(dimension="functional_requirements", number=number, text=text)
        for number, text in enumerate(texts)
    )


def reasons(text: str) -> list[FlagReason]:
    return [flag.reason for flag in lint_checklist(items(text))]


@pytest.mark.parametrize(
    "text",
    [
        "Price is at most $20",
        "Total price (item and shipping) is between $10 and $20",
        "Average rating is 4.5 stars or higher",
        "Brand is one of: Alder, Birch, or Cedar and Sons",
        "Brand is Easy Spirit",
        "Material is cotton, linen, or hemp",
        "Listing states the length, such as 20 cm, 30 cm, and 40 cm",
        "Dimensions are listed and fall within 12 and 16 inches",
        'Listing says "ships fresh and is fast"',
        "Warranty terms are stated on the listing or on the manufacturer's website",
        "Price per ounce is displayed on the page",
        "Listed price is within the user's budget range of $20 to $30",
        "Seller is a reputable source (the maker's own store)",
        "Listing explicitly states fast shipping",
        "Reviews mention the fit if available",
        "Size chart is shown so that the fit can be judged and compared with other products",
    ],
)
def test_items_that_are_one_thing_on_the_page(text: str) -> None:
    assert reasons(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Listing shows the capacity and includes a warranty", "compound"),
        ("Page lists materials, weave type, and care instructions", "compound"),
        ("Rating is 4.0 or higher with at least 10 reviews", "compound"),
        ("Rating is at least 3; rating is at least 4 for gifts", "compound"),
        ("Seller offers a 12-month warranty and a 30-day return window", "compound"),
        ("If the price exceeds $25, the warranty covers a lifetime", "conditional"),
        ("When lights are included, they are warm white", "conditional"),
        ("Packaging looks attractive", "subjective"),
        ("Seller is reputable", "subjective"),
        ("Details justify the price", "subjective"),
        ("Colours match the user's taste", "history"),
        ("Cost is similar to previously purchased packs", "history"),
        ("Price divided by number of pieces is under $1", "calculation"),
        ("Price per ounce is at most $2", "calculation"),
        ("Price is lower than typical OEM replacements", "comparison"),
        ("Quality is competitive with other brands", "comparison"),
        ("Third-party tests confirm the capacity", "elsewhere"),
        ("Shipping cost is shown at checkout", "elsewhere"),
        ("Reviews contain no reports of broken parts", "absence"),
    ],
)
def test_items_that_raise_a_flag(text: str, expected: FlagReason) -> None:
    assert expected in reasons(text)


def test_a_flag_says_what_raised_it() -> None:
    (flag,) = lint_checklist(items("If the price exceeds $25, the warranty covers a lifetime"))
    assert (flag.item, flag.kind, flag.words) == (
        "functional_requirements/0",
        "uncheckable",
        "if the price exceeds $25",
    )
    assert flag.sentence == "holds only under a condition: if the price exceeds $25"


@pytest.mark.parametrize(
    ("first", "second", "repeated"),
    [
        ("Made in USA", "made in  USA.", True),
        ("Noise under load is measured in dBA by reviews", "Reviews report measured noise under load (dBA)", True),
        ("Return policy allows refunds within 30 days", "Refund policy: returns accepted within 60 days", False),
        ("Price is at most $20", "Price with shipping is at most $25", False),
        ("Brand is Alder", "Brand is Birch", False),
        ("Material is oak", "Rating is at least 4", False),
    ],
)
def test_repetitions(first: str, second: str, repeated: bool) -> None:
    found = [flag for flag in lint_checklist(items(first, second)) if flag.reason == "duplicate"]
    assert [flag.item for flag in found] == (["functional_requirements/1"] if repeated else [])
    assert [flag.other for flag in found] == (["functional_requirements/0"] if repeated else [])


def test_counts() -> None:
    checklist = items("Packaging looks attractive and has a handle", "Price is at most $20", "Price is at most $20")
    tasks = [made_task("u1", checklist=checklist), made_task("u1", "attribute_specific", checklist=checklist)]
    tasks.append(made_task("u2", checklist=items("Price is at most $20")))
    lint = lint_tasks(tasks)
    assert (lint.checklists, lint.items, lint.flagged) == (2, 4, 2)
    assert lint.by_dimension == {**dict.fromkeys(DIMENSIONS, 0), "functional_requirements": 4}
    assert lint.by_reason == {"duplicate": 1, "compound": 1, "subjective": 1}
    assert lint.by_kind == {"duplicate": 1, "compound": 1, "uncheckable": 1}


@settings(max_examples=40)
@given(
    st.lists(
        st.text(max_size=60) | st.sampled_from(["if a, b and is c", "((((", "a, b, and c", '"', "\u2019\u2019"]),
        max_size=5,
    )
)
def test_any_words_are_read(texts: list[str]) -> None:
    checklist = items(*texts)
    for flag in lint_checklist(checklist):
        assert flag.item in {item.id for item in checklist}
        assert flag.reason in REASONS
        assert flag.sentence


@pytest.mark.parametrize(
    "text", ["(" * 20_000, "a, " * 6_600, "and " * 5_000, "if " * 6_000, "no a " * 4_000, '"' * 20_000]
)
def test_long_items_take_no_time(text: str) -> None:
    # A pattern that went back and forth over such a text would take hours.
    lint_checklist(items(text))


@pytest.mark.skipif(not REAL.is_dir(), reason="the release's samples are not here")
def test_the_released_checklists() -> None:
    lint = lint_tasks(load_curation("agenticshop", REAL).tasks)
    assert (lint.checklists, lint.items) == (25, 482)
    assert list(lint.by_dimension.values()) == [70, 63, 59, 112, 78, 100]
    assert 100 <= lint.flagged <= 130
    assert set(lint.by_reason) == set(REASONS)
