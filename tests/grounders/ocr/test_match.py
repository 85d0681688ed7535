from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.grounders.ocr.candidates import fit
from grounding.grounders.ocr.instruction import parse
from grounding.grounders.ocr.match import TextChoice, choose
from grounding.grounders.ocr.screen import Screen, TextLine
from tests.grounders.ocr.screens import SIZE, line, screen, shop


def chosen(instruction: str, on: Screen | None = None) -> TextChoice:
    choice = choose(parse(instruction), on or shop())
    assert choice is not None
    return choice


@pytest.mark.parametrize(
    ("instruction", "text"),
    [
        ("um can you please click on sign in", "Sign in"),
        ("log in", "Sign in"),
        ("open my basket", "Cart"),
        ("click on the red sweater", "Red Wool Sweater"),
        ("okay, the cheaper one", "Straw Hat"),
        ("the cheapest shirt", "Striped Summer Shirt"),
        ("most expensive item", "Green Rain Jacket"),
        ("the highest rated one", "Red Wool Sweater"),
        ("the one with the most reviews", "Leather Belt"),
        ("yeah I think the second one", "Red Wool Sweater"),
        ("the fifth product", "Leather Belt"),
        ("the last one", "Straw Hat"),
        ("Buy the one that's $35.00", "Leather Belt"),
        ("click on the search bar", "Search products"),
        ("Search for hats", "Search products"),
        ("under $25", "Under $25"),
        ("Click the checkbox next to 'Over $50'", "Over $50"),
        ("go to the second tab", "Mail inbox"),
        ("switch to the news tab", "News today"),
        ("the address bar", "shop.example/search?q=shirt"),
        ("open a new tab", "+"),
        ("show me the terms", "Terms"),
    ],
)
def test_the_text_that_is_meant(instruction: str, text: str) -> None:
    choice = chosen(instruction)
    assert text in (choice.chosen.text, choice.chosen.line.text)


@pytest.mark.parametrize(
    ("instruction", "card"),
    [
        ("Click the 'Add to cart' button in the card of 'Leather Belt'", 4),
        ("Click 'Add to cart' below 'Red Wool Sweater'", 1),
        ("add to cart for the rain jacket", 2),
        ("add the third one to the cart", 2),
        ("the second 'Add to cart' button", 1),
        ("the last 'Add to cart'", 5),
        ("Click 'Add to cart' at the bottom left", 3),
        ("click 'Add to cart' for the $19.99 one", 3),
        ("add to cart", 0),
    ],
)
def test_one_of_several_equal_buttons(instruction: str, card: int) -> None:
    centre = chosen(instruction).chosen.box.center
    left, top = 250 + 260 * (card % 3), 320 + 200 * (card // 3)
    assert left < centre.x_px < left + 250
    assert top < centre.y_px < top + 200


def test_the_back_arrow_is_left_of_the_address() -> None:
    choice = chosen("go back")
    assert choice.rule == "browser"
    assert choice.chosen.box.center.x_px < 60
    assert 50 < choice.chosen.box.center.y_px < 70


@pytest.mark.parametrize(
    ("instruction", "cross_px"),
    [
        ("close the second tab", 404),
        ("close the mail tab", 404),
        ("Click the close button of the tab 'News today'", 614),
        ("close this tab", 194),
    ],
)
def test_the_cross_of_a_tab(instruction: str, cross_px: int) -> None:
    # "Shop results" is the tab that is shown: the page says so, too.
    made = screen(*shop().lines, line("Results", 250, 250, letter_px=14))
    assert abs(chosen(instruction, made).chosen.box.center.x_px - cross_px) < 6


def test_a_cross_that_was_not_read_is_where_that_of_another_tab_is() -> None:
    lines = [line for line in shop().lines if not (line.text == "X" and line.box.left_px == 400)]
    assert abs(chosen("close the second tab", screen(*lines)).chosen.box.center.x_px - 404) < 6


def test_a_field_is_below_its_caption_unless_the_text_is_in_it() -> None:
    made = screen(line("First name", 100, 100), line("Last name", 400, 100))
    centre = chosen("Click the 'First name' field", made).chosen.box.center
    assert 120 < centre.y_px < 150
    assert chosen("Click 'First name'", made).chosen.box.center.y_px == 106
    framed = TextLine(
        text="First name",
        box=made.lines[0].box,
        confidence=1.0,
        words=made.lines[0].words,
        framed=True,
    )
    assert chosen("Click the 'First name' field", screen(framed)).chosen.box == framed.box
    filled = screen(*made.lines, line("Ada", 112, 128))
    assert chosen("Click the 'First name' field", filled).chosen.text == "Ada"


def test_a_counter_has_its_signs_beside_its_number() -> None:
    made = screen(
        line("Adults", 100, 100),
        line("2", 300, 100),
        line("Children", 100, 140),
        line("0", 300, 140),
    )
    plus = chosen("Click the plus button next to 'Children'", made)
    assert plus.rule == "stepper"
    assert 320 < plus.chosen.box.center.x_px < 350
    assert plus.chosen.box.center.y_px == 146
    assert chosen("Click the minus button next to 'Adults'", made).chosen.box.center.x_px < 290


def test_a_dialogue_is_closed_by_its_own_cross() -> None:
    made = screen(*shop().lines, line("x", 900, 250), line("Subscribe to our letter", 500, 260))
    assert chosen("close the popup", made).chosen.box.center.y_px > 200


anywhere = st.builds(
    line,
    st.text(min_size=1, max_size=20).filter(lambda text: bool(text.strip())),
    st.floats(0, SIZE.width - 200),
    st.floats(0, SIZE.height - 20),
)
said = st.one_of(
    st.text(max_size=80),
    st.sampled_from(["the second one", "cheapest", "go back", "close the tab", "third tab", "top right", "$5 one"]),
    st.sampled_from(["search for a hat", "the best rated hat", "'a' under 'b'", "next to 'a'", "last", "new tab"]),
)


@given(said, st.lists(anywhere, min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_any_words_on_any_screen_get_an_answer_inside_it_whatever_the_order_of_lines(
    text: str, lines: list, rng: random.Random
) -> None:
    choice = choose(parse(text), screen(*lines))
    assert choice is not None
    centre = choice.chosen.box.center
    assert 0 <= centre.x_px <= SIZE.width
    assert 0 <= centre.y_px <= SIZE.height
    shuffled = list(lines)
    rng.shuffle(shuffled)
    again = choose(parse(text), screen(*shuffled))
    assert again is not None
    assert again.chosen.box == choice.chosen.box


def score(phrase: str, text: str) -> float:
    return fit(phrase, tuple(text.split())).score


@pytest.mark.parametrize(
    ("phrase", "better", "worse"),
    [
        ("add to cart", "Add to cart", "Tap Add to cart to buy this and many other things"),
        ("add to cart", "Add to cart", "Cart"),
        ("add to cart", "Ad to cart", "A"),
        ("sign in", "Signin", "Sign up"),
        ("log in", "Sign in", "Blog"),
        ("basket", "Cart (2)", "Brand"),
        ("under $50", "Under $50", "Under $25"),
        ("wireless keyboard", "Wireless Keyboard K380", "Wireless Mouse"),
        ("april 22", "22", "April"),
        ("review", "Reviews", "Preview window"),
        ("+", "+", "A+ rated"),
        ("four stars", "4 stars and up", "3 stars and up"),
    ],
)
def test_the_better_text_wins(phrase: str, better: str, worse: str) -> None:
    assert score(phrase, better) > score(phrase, worse)


@given(st.text(max_size=60), st.lists(st.text(min_size=1, max_size=12), max_size=8))
def test_a_fit_is_a_share_and_its_words_are_there(phrase: str, words: list[str]) -> None:
    found = fit(phrase, tuple(words))
    assert 0.0 <= found.score <= 1.0
    assert 0 <= found.first <= found.last <= max(0, len(words) - 1)
