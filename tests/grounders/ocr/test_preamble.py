from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.grounders.ocr.instruction import parse
from grounding.grounders.ocr.preamble import essential


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
