"""Replies of a model: read where they say all that was asked for, `unparsed` otherwise."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.records import Failure
from grounding.webagents.personalwab.construction.reading import read_instruction_reply, read_profile_reply
from grounding.webagents.personalwab.construction.wording import construction_prompts
from grounding.webagents.personalwab.records import Profile
from webagents.personalwab.construction.raw import PROFILE

PROMPTS = construction_prompts()
WHOLE = json.dumps(PROFILE)


def profile(text: str) -> Profile:
    found = read_profile_reply(PROMPTS, text)
    assert isinstance(found, Profile), found
    return found


@pytest.mark.parametrize(
    "text",
    [
        WHOLE,
        f"```json\n{WHOLE}\n```",
        f"Here is my profile: {WHOLE} I hope it helps.",
        json.dumps({"user_profile": PROFILE}),
        json.dumps({key.upper().replace(" ", "_"): value for key, value in PROFILE.items()}),
        json.dumps({"Basic": dict(list(PROFILE.items())[:6]), "Personal": dict(list(PROFILE.items())[6:])}),
    ],
)
def test_the_same_profile_in_many_coats(text: str) -> None:
    found = profile(text)
    assert (found.gender, found.brand_preference, found.interaction_complexity) == ("Female", "Acme, Bora", "Low")
    assert (found.tone_and_style, found.focus_aspect) == ("cheerful", "Price")


def test_a_level_may_come_with_its_description() -> None:
    described = PROMPTS.choices.diversity["Low"]
    said = {**PROFILE, "Diversity Preference": described, "Price Sensitivity": "high: A Price-Conscious Shopper"}
    found = profile(json.dumps(said))
    assert (found.diversity_preference, found.price_sensitivity) == ("Low", "High")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"Age": None}, "the profile says nothing of Age"),
        ({"Tone and Style": "  "}, "the profile says nothing of Tone and Style"),
        ({"Price Sensitivity": "Sometimes"}, "Price Sensitivity is 'Sometimes': expected High, Medium or Low"),
        ({"Shopping Interest": "x" * 2001}, "Shopping Interest has 2001 characters"),
    ],
)
def test_a_profile_with_something_amiss_is_unparsed(change: dict[str, Any], why: str) -> None:
    found = read_profile_reply(PROMPTS, json.dumps({**PROFILE, **change}))
    assert isinstance(found, Failure)
    assert found.kind == "unparsed"
    assert found.message.startswith(why)


@pytest.mark.parametrize("text", ["", "I like tea.", "{", "[1]", WHOLE[:-5], "}{"])
def test_what_is_no_json_object_is_unparsed(text: str) -> None:
    assert read_profile_reply(PROMPTS, text) == Failure(kind="unparsed", message="the reply holds no JSON object")


@given(st.text())
def test_no_reply_raises(text: str) -> None:
    assert isinstance(read_profile_reply(PROMPTS, text), Profile | Failure)
    assert isinstance(read_profile_reply(PROMPTS, "{" + text + "}"), Profile | Failure)
    assert isinstance(read_instruction_reply(text, cut_off=False), str | Failure)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Find me\n  tea.", "Find me tea."),
        ('"Find me tea."', "Find me tea."),
        ("Search Request: Find me tea.", "Find me tea."),
        ('"Tea" or "coffee"', '"Tea" or "coffee"'),
        ("Find 'tea'", "Find 'tea'"),
    ],
)
def test_an_instruction_is_its_words(text: str, said: str) -> None:
    assert read_instruction_reply(text, cut_off=False) == said


@pytest.mark.parametrize(
    ("text", "cut_off", "why"),
    [("...", False, "is empty"), ("", False, "is empty"), ("Find", True, "cut off"), ("a " * 1500, False, "2999")],
)
def test_what_is_no_instruction_is_unparsed(text: str, cut_off: bool, why: str) -> None:
    found = read_instruction_reply(text, cut_off=cut_off)
    assert isinstance(found, Failure)
    assert (found.kind, why in found.message) == ("unparsed", True)
