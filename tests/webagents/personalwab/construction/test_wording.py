"""What a model is asked: the paper's words, filled once."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.errors import UserError
from grounding.webagents.personalwab.construction.records import Job, ProfileSubject
from grounding.webagents.personalwab.construction.wording import (
    construction_prompts,
    instruction_prompt,
    most_words,
    profile_prompt,
)
from grounding.webagents.personalwab.records import TaskType
from webagents.personalwab.shops import BEHAVIOURS, PRODUCTS, PROFILE

PROMPTS = construction_prompts()
SUBJECT = ProfileSubject(user_id="u", behaviours=BEHAVIOURS[:2])


def job(kind: TaskType = "search") -> Job:
    return Job(id=f"u/3/{kind}", user_id="u", type=kind, split="test", behaviour=BEHAVIOURS[3])


def test_the_choices_are_the_papers() -> None:
    choices = PROMPTS.choices
    assert (len(choices.gender), len(choices.age), len(choices.occupation), len(choices.focus_aspect)) == (2, 7, 21, 8)
    assert (
        list(choices.diversity)
        == list(choices.interaction)
        == list(choices.price_sensitivity)
        == [
            "High",
            "Medium",
            "Low",
        ]
    )


def test_a_user_is_described_from_the_whole_prompt() -> None:
    prompt = profile_prompt(PROMPTS, SUBJECT, PRODUCTS)
    assert prompt.startswith("You will act as an online shopper.\n\nGiven your time-series historical purchase")
    assert "- Gender: [Female, Male].\n- Age: [Under 18, 18-24, 25-34, 35-44, 45-49, 50-55, 56+].\n" in prompt
    assert 'Choose from ["High": "A Thorough Conversationalist who enjoys detailed discussions' in prompt
    assert 'Choose from ["Average Rating", "Number of Ratings", "Price", "Store",' in prompt
    assert "1. Product: oak desk\nCategory: Home\nStore: Acme\nPrice: 9.5\n" in prompt
    assert "Your rating: 5.0\nYour review: \nI like the oak lamp.\n" in prompt
    assert "<" not in prompt


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("search", "You want to find a similar product, but you are not looking for an exact match."),
        ("recommend", "Avoid being too specific or precise in your request."),
        (
            "review",
            "Your feelings about the product are:\n\n- Rating: 5.0\n- Title: \n- Text: I like the steel kettle.",
        ),
    ],
)
def test_an_instruction_is_asked_for_with_profile_and_product(kind: TaskType, line: str) -> None:
    profile = msgspec.structs.replace(PROFILE, diversity_preference="High", tone_and_style="dry")
    prompt = instruction_prompt(PROMPTS, job(kind), profile, PRODUCTS["B003"])
    assert line in prompt
    assert "Your Profile:\n\n- Gender: Female\n- Age: 25-34\n- Price Sensitivity: High\n" in prompt
    assert "- Title: steel kettle\n- Parent Asin: B003\n" in prompt
    assert "- A Minimalist Interactor who values simplicity and efficiency. They prefer" in prompt
    assert "focusing only on essential product aspects.\n" in prompt
    assert "aligns with your overall tone and style: dry.\n" in prompt
    assert f"No more than {PROMPTS.words[kind]['Low']} words." in prompt
    assert ("A Highly Adventurous Explorer" in prompt) == (kind != "review")
    assert "<" not in prompt


def test_an_unknown_level_has_the_words_of_the_middle() -> None:
    profile = msgspec.structs.replace(PROFILE, interaction_complexity="")
    assert most_words(PROMPTS, job(), profile) == PROMPTS.words["search"]["Medium"]


@given(st.text())
def test_what_a_user_wrote_is_never_filled_in_again(text: str) -> None:
    written = f"<PRODUCT> <NUM> {text}"
    behaviour = msgspec.structs.replace(
        BEHAVIOURS[3], review=msgspec.structs.replace(BEHAVIOURS[3].review, text=written)
    )
    asked = msgspec.structs.replace(job("review"), behaviour=behaviour)
    assert f"- Text: {written}," in instruction_prompt(PROMPTS, asked, PROFILE, PRODUCTS["B003"])


def test_other_words_are_another_prompt_and_a_missing_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--prompt other"):
        construction_prompts("other")
    mine = tmp_path / "mine.yaml"
    text = msgspec.yaml.encode(PROMPTS).decode()
    mine.write_text(text.replace("You will act", "You act"))
    assert construction_prompts(str(mine)).label != PROMPTS.label
    other = tmp_path / "other.yaml"
    other.write_text("name: x\nversion: 1\nsource: s\n")
    with pytest.raises(UserError, match="`profile`"):
        construction_prompts(str(other))
