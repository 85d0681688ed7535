"""The tokens of a whole request: estimate and bound."""

from __future__ import annotations

import msgspec
from fakes.make import grounder_card, planner_card
from hypothesis import given
from hypothesis import strategies as st

from grounding.llm.tokens import MOST_PER_REQUEST, request_tokens
from grounding.llm.wire import ImagePart, Message, TextPart
from grounding.records import ImageSizes, Size

FULL_HD = Size(width=1920, height=1080)
SIZES = ImageSizes(original=FULL_HD, sent=FULL_HD, model=Size(width=1932, height=1092))
TILES = {"rule": "openai_tiles", "base": 85, "per_tile": 170}
PICTURE = ImagePart(url_json=msgspec.Raw(b'""'))
REPLIES = {"low": 10, "expected": 100, "high": 1000, "source": "a test"}


def said(*texts: str, pictures: int = 1) -> tuple[Message, ...]:
    return (Message(role="user", parts=(*map(lambda text: TextPart(text=text), texts), *[PICTURE] * pictures)),)


def test_text_pictures_and_reply() -> None:
    card = planner_card(image_tokens=TILES, output_tokens=REPLIES)
    found = request_tokens(card, said("Click the button", "now"), SIZES, {"max_completion_tokens": 4000})
    assert found.text == 3 + 1 + 4 + 3
    assert (found.images, found.output, found.output_most) == (1105, 100, 4000)
    assert found.input_most is not None
    assert found.input_most >= 1105 + len("Click the buttonnow")
    assert (found.input, found.expected) == (1116, 1216)


def test_the_rule_of_the_family_where_the_card_has_none() -> None:
    found = request_tokens(grounder_card(family="qwen2_5_vl"), said("x"), SIZES, {"max_tokens": 32})
    assert found.images == 2691 + 2


@given(st.lists(st.text(), max_size=5))
def test_the_bound_is_no_less_than_the_bytes(texts: list[str]) -> None:
    found = request_tokens(planner_card(image_tokens=TILES), said(*texts), SIZES, {})
    size = sum(len(text.encode("utf-8", "replace")) for text in texts)
    assert found.input_most is not None
    assert found.input_most >= size + 1105 + MOST_PER_REQUEST
