"""Prompts of planners: named, versioned files, and what a request looks like that is made with one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from fakes.make import MODELS, picture_file, planner_card, query

from grounding.cards import PlannerCard, PromptCard, read_card, read_cards
from grounding.data.images import prepare_picture
from grounding.errors import UserError
from grounding.llm.chat import render_messages
from grounding.llm.wire import ImagePart, TextPart
from grounding.planners.prompts import prompted
from grounding.records import HistoryEntry

PROMPTS = MODELS / "prompts" / "planners"
O3 = read_card(MODELS / "planners" / "o3.yaml", PlannerCard)
PROMPT: dict[str, Any] = {
    "name": "mine",
    "version": 3,
    "title": "My words",
    "user": [{"image": "screenshot"}, {"text": "{instruction} {goal} {steps_done}"}],
}


def write(path: Path, prompt: dict[str, Any]) -> Path:
    path.write_text(yaml.safe_dump(prompt), encoding="utf-8")
    return path


@pytest.mark.parametrize("card", read_cards(MODELS / "planners", PlannerCard), ids=lambda card: card.name)
def test_every_planner_is_asked_in_the_official_words_unless_told_otherwise(card: PlannerCard) -> None:
    usual = prompted(card, None, PROMPTS)
    assert usual.prompt == "official.1"
    assert usual == prompted(card, "official", PROMPTS)
    assert usual.reads == {"history"}
    assert usual.plan.within is None
    assert prompted(card, "explicit", PROMPTS).reads == {"history", "goal", "steps_done"}


def test_the_explicit_prompt_tells_all_that_is_known(tmp_path: Path) -> None:
    import msgspec

    card = prompted(O3, "explicit", PROMPTS)
    picture = prepare_picture(picture_file(tmp_path / "1.png"), card.image)
    history = (HistoryEntry(instruction="Open it", action="Clicked the icon"),)
    asked = msgspec.structs.replace(
        query(instruction='say "{goal}" now', history=history), goal="Buy {history}", steps_done=2
    )
    (user,) = render_messages(card, asked, picture)
    image, text = user.parts
    assert isinstance(image, ImagePart)
    assert isinstance(text, TextPart)
    assert "The person's goal: Buy {history}\n" in text.text
    assert "\n1. Instruction: Open it\n   Action: Clicked the icon\n" in text.text
    assert 'What the person says now: say "{goal}" now\n' in text.text
    assert "Clicks already made for these words: 2\n" in text.text


def test_a_prompt_of_ones_own_is_a_file(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.yaml", PROMPT)
    card = prompted(O3, str(path), PROMPTS)
    assert card.prompt == "mine.3"
    assert card.reads == {"goal", "steps_done"}
    assert card.prompt_label == f"mine.3@{card.prompt_hash}"


def test_version_wording_and_reading_rule_are_in_the_hash_or_the_label(tmp_path: Path) -> None:
    labels = [
        O3.with_prompt(read_card(write(tmp_path / "p.yaml", {**PROMPT, **change}), PromptCard)).prompt_label
        for change in (
            {},
            {"version": 4},
            {"name": "other"},
            {"system": "x"},
            {"no_goal": "none"},
            {"no_history": "none"},
            {"plan": {"within": "<a>(.*)</a>"}},
            {"plan": {"drop_thinking": True}},
            {"user": [{"image": "screenshot"}, {"text": "{instruction}"}]},
        )
    ]
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": 0}, "field version: Expected `int` >= 1"),
        ({"version": "1"}, "field version: Expected `int`, got `str`"),
        ({"user": []}, "field user: expected exactly one part `image: screenshot`"),
        ({"user": [{"image": "screenshot", "text": "x"}]}, "field user[0]: expected either `text` or"),
        ({"plan": {"within": "("}}, "field plan.within: not a regular expression"),
        ({"plan": {"within": "x"}}, "field plan.within: has 0 groups; the plan needs 1"),
        ({"plan": {"marker": "x"}}, "Known fields: within, drop_thinking"),
        ({"parameters": {}}, "unknown field `parameters`"),
    ],
)
def test_a_prompt_that_makes_no_sense_is_refused(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    path = write(tmp_path / "p.yaml", {**PROMPT, **change})
    with pytest.raises(UserError) as caught:
        prompted(planner_card(), str(path), PROMPTS)
    assert str(caught.value).startswith(f"{path}: ")
    assert words in str(caught.value)
