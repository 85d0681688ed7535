from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.grounders.ocr.instruction import Parsed, essential, parse


def texts(query: Parsed) -> list[str]:
    return [phrase.text for phrase in query.phrases]


@pytest.mark.parametrize(
    ("instruction", "phrase"),
    [
        ("um, can you please click on the sign in button", "sign in"),
        ("Okay so click orders", "orders"),
        ("click write a review", "write a review"),
        ("let's go with four stars and up", "4 stars and up"),
        ("terms of use", "terms of use"),
        ("under fifty dollars", "under $50"),
        ("March the 22nd", "march 22"),
        ("see all reviews", "all reviews"),
    ],
)
def test_only_words_that_may_be_on_the_screen_are_left(instruction: str, phrase: str) -> None:
    assert phrase in texts(parse(instruction))


@pytest.mark.parametrize(
    ("instruction", "targets", "contexts"),
    [
        ("Click the 'Add to cart' button", ["Add to cart"], []),
        ("Click 'Add to cart' in the card of 'Blue Shirt'", ["Add to cart"], [("Blue Shirt", "near")]),
        ("In the 'Filters' panel, click 'Brand'", ["Brand"], [("Filters", "near")]),
        ("Click the “+” button to the right of “Children”", ["+"], [("Children", "right")]),
        ("Click '10' under 'April 2025'", ["10"], [("April 2025", "below")]),
        ("Click the checkbox next to 'Breakfast included'", [], [("Breakfast included", "near")]),
        ("Click the field below 'Email'", [], [("Email", "below")]),
        ("Select **Women's boots** from the list", ["Women's boots"], []),
        ("Click the link labelled 'Don't know'", ["Don't know"], []),
        ('The correct element is the "Done" button', ["Done"], []),
    ],
)
def test_quotes_are_targets_or_contexts(instruction: str, targets: list[str], contexts: list[tuple[str, str]]) -> None:
    query = parse(instruction)
    assert texts(query) == targets
    assert [(context.text, context.relation) for context in query.contexts if context.text[0].isupper()] == contexts
    assert query.exact == bool(targets)


@pytest.mark.parametrize(
    ("instruction", "preference"),
    [
        ("okay, the cheaper one", "cheapest"),
        ("the least expensive lamp", "cheapest"),
        ("the most expensive", "dearest"),
        ("the highest rated one", "best rated"),
        ("whichever has the most reviews", "most reviewed"),
        ("sort by price", ""),
    ],
)
def test_preferences(instruction: str, preference: str) -> None:
    assert parse(instruction).preference == preference


@pytest.mark.parametrize(
    ("instruction", "widget"),
    [
        ("let's go back", "back"),
        ("Click the browser's back button", "back"),
        ("go to the third tab", "tab"),
        ("open a new tab", "new tab"),
        ("close the popup", "close"),
        ("click on the address bar", "address bar"),
        ("I'd go to the search bar", "search field"),
        ("search for headphones", "search field"),
        ("click the search button", ""),
        ("add it to the cart", ""),
    ],
)
def test_widgets(instruction: str, widget: str) -> None:
    assert parse(instruction).widget == widget


@given(st.text(max_size=200))
def test_any_text_can_be_parsed(text: str) -> None:
    query = parse(text)
    assert all(phrase.text for phrase in query.phrases)
    assert parse(text) == query


@pytest.mark.parametrize(
    ("reply", "rest"),
    [
        ('The correct element to interact with is the "Dates" field.', 'the "Dates" field.'),
        ('To go from "Stays" to "Flights," you should click on "Flights".', 'you should click on "Flights".'),
        ('Based on the page, the correct element is "Sort by".', '"Sort by".'),
        ('Based on the instruction "Click Search," the correct element is "Find".', '"Find".'),
        ("click sign in", "click sign in"),
        ("go to the cart, please", "go to the cart, please"),
        ("", ""),
    ],
)
def test_what_leads_up_to_the_answer_is_dropped(reply: str, rest: str) -> None:
    assert essential(reply) == rest


def test_the_users_own_words_are_no_target() -> None:
    query = parse('To follow the instruction "Click on maps", choose the link titled "Road maps" above "Weather".')
    assert [phrase.text for phrase in query.phrases] == ["Road maps"]
    assert [context.relation for context in query.contexts] == ["above"]


@given(st.text(max_size=300))
def test_any_text_has_an_essence_that_is_no_longer(text: str) -> None:
    assert len(essential(text)) <= len(text)
