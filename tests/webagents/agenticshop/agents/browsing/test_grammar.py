"""What a model answers, read strictly where it matters and kindly where it does not."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.webagents.agenticshop.agents.browsing.grammar import (
    Back,
    Click,
    Finish,
    Goto,
    Mistake,
    Note,
    Scroll,
    Type,
    action_text,
    read_reply,
)


def reply(action: str, thought: str = "why not", kind: str = "information_seeking") -> str:
    return f"THOUGHT: {thought}\nKIND: {kind}\nACTION: {action}"


@pytest.mark.parametrize(
    ("written", "action"),
    [
        ("click 12", Click(target=12)),
        ("click [12]", Click(target=12)),
        ("CLICK 12.", Click(target=12)),
        ("`click 12`", Click(target=12)),
        ('click "the blue button"', Click(target="the blue button")),
        ("click \u201cthe blue button\u201d", Click(target="the blue button")),
        ('type 4 "desk lamp"', Type(target=4, text="desk lamp")),
        ('type 4 "desk lamp" enter', Type(target=4, text="desk lamp", enter=True)),
        ('type 4 "desk lamp" [enter]', Type(target=4, text="desk lamp", enter=True)),
        ('type "search box" "a \\"good\\" lamp" enter', Type(target="search box", text='a "good" lamp', enter=True)),
        ("scroll down", Scroll(down=True)),
        ("scroll up", Scroll(down=False)),
        ("back", Back()),
        ("go back", Back()),
        ("goto http://kettle.mall.test/", Goto(url="http://kettle.mall.test/")),
        ('goto "https://shop.example/a?b=c"', Goto(url="https://shop.example/a?b=c")),
        ('note "the second lamp costs $30"', Note(text="the second lamp costs $30")),
    ],
)
def test_every_form_of_the_grammar(written: str, action: object) -> None:
    assert read_reply(reply(written)).action == action


def test_thought_and_kind_come_along() -> None:
    read = read_reply("THOUGHT: too\ndear\n**KIND:** Alternative evaluation\n**ACTION:** click 3\nThat is all.")
    assert (read.thought, read.kind, read.action) == ("too dear", "alternative_evaluation", Click(target=3))


def test_the_last_action_counts() -> None:
    assert read_reply("ACTION: click 1\nTHOUGHT: no, rather\nACTION: click 2").action == Click(target=2)


def test_a_kind_of_no_known_name_is_none() -> None:
    assert read_reply(reply("back", kind="wandering")).kind == ""
    assert read_reply("ACTION: back").kind == ""


def product(url: str = "https://shop.example/p/1", **more: str) -> dict[str, str]:
    return {"product_name": "Lamp", "product_url": url, "reasoning": "fits", **more}


@pytest.mark.parametrize("around", ["{}", "```json\n{}\n```", "finishing:\n{}\nDone."])
def test_finish_takes_the_products(around: str) -> None:
    products = [product(), product("https://shop.example/p/2")]
    for body in ({"products": products}, products):
        read = read_reply(reply("finish " + around.replace("{}", json.dumps(body, indent=1))))
        assert isinstance(read.action, Finish)
        assert [one.url for one in read.action.products] == ["https://shop.example/p/1", "https://shop.example/p/2"]
        assert [one.rank for one in read.action.products] == [0, 1]
        assert read.action.products[0].name == "Lamp"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("", "no line ACTION"),
        ("buy 12", "no action begins with 'buy'"),
        ("click", "none of the forms"),
        ("click twelve", "none of the forms"),
        ("type 4 desk lamp", "none of the forms"),
        ('click ""', "empty"),
        ("goto shop.example", "no address"),
        ("goto file:///etc/passwd", "no address"),
        ("goto javascript:alert(1)", "no address"),
        ("finish", "as JSON"),
        ("finish {}", "not as they should be"),
        ('finish {"products": []}', "no product"),
        ('finish {"products": [{"product_name": "x"}]}', "not as they should be"),
        ('finish {"products": [{"product_url": "/p/1"}]}', "no address"),
        ('note "' + "x" * 201 + '"', "201 characters"),
    ],
)
def test_what_is_wrong_is_said(written: str, said: str) -> None:
    with pytest.raises(Mistake, match=said):
        read_reply(reply(written))


@given(st.text(max_size=300))
def test_any_text_is_an_answer_or_a_mistake(text: str) -> None:
    for whole in (text, reply(text), reply("finish " + text)):
        with suppress(Mistake):
            assert action_text(read_reply(whole).action)


SHORT = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "Zs")), min_size=1, max_size=40).filter(
    str.strip
)


@given(st.one_of(st.integers(0, 999), SHORT), SHORT, st.booleans())
def test_what_is_written_is_read_back(target: int | str, text: str, enter: bool) -> None:
    shown = str(target) if isinstance(target, int) else json.dumps(target)
    read = read_reply(reply(f"type {shown} {json.dumps(text)}{' enter' if enter else ''}")).action
    assert isinstance(read, Type)
    assert read.enter is enter
    assert read.text == " ".join(text.split())
    assert read.target == (target if isinstance(target, int) else " ".join(target.split()))
