"""The prompts of construction, and what fills them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grounding.webagents.agenticshop.checklist import lint_checklist
from grounding.webagents.agenticshop.construction.records import Need
from grounding.webagents.agenticshop.construction.subjects import find_files, subjects_of
from grounding.webagents.agenticshop.construction.wording import (
    again_prompt,
    checklist_prompt,
    construction_prompts,
    context_prompt,
    need_prompt,
)
from grounding.webagents.agenticshop.records import ChecklistItem, UserContext
from webagents.agenticshop.construction.raw import GROCERY, REAL, several, write

PROMPTS = construction_prompts()
RELEASED_CHARS = {"context": 3773, "open_context": 3931, "query": 4023, "checklist": 3000}
"""Lengths of the texts as they stand in the release, with the places for values written in this project's way."""


@pytest.mark.parametrize("name", RELEASED_CHARS)
def test_the_texts_have_the_releases_length(name: str) -> None:
    assert len(getattr(PROMPTS, name)) == RELEASED_CHARS[name]


@pytest.mark.skipif(not REAL.is_dir(), reason="AgenticShop's raw users are not here")
@pytest.mark.parametrize("name", [GROCERY, "open_curation"])
def test_histories_stand_in_prompts_as_python_writes_the_files_own_lists(name: str) -> None:
    path = REAL / f"{name}.json"
    files = json.loads(path.read_bytes())
    for one in subjects_of(find_files(path), seed=0, users=5, reviews=10, official=True).subjects:
        entry = files[one.user][1]
        shown = entry["review"] if one.seed is None else entry["review"][:10]
        assert f"purchase_history:\n{shown}\n" in context_prompt(PROMPTS, one)
        if one.seed is not None:
            assert f"product_information: {entry['target']}\n" in need_prompt(PROMPTS, one.seed, UserContext())


def test_a_checklist_is_asked_for_without_the_query(tmp_path: Path) -> None:
    (one,) = subjects_of(
        find_files(write(tmp_path, *several(1))), seed=0, users=None, reviews=3, official=False
    ).subjects
    assert (
        "You are a user profile generator that creates a descriptive narrative of a user's shopping"
        in context_prompt(PROMPTS, one)
    )
    need = Need(situation="Out of tea.", budget="under $9", explicit_title="SECRET <USER BUDGET>", categorical="SECRET")
    prompt = checklist_prompt(PROMPTS, UserContext(brand_preferences="Likes {user_budget} <USER BUDGET>."), need)
    assert "user_situation: Out of tea.\nuser_budget: under $9\n" in prompt
    assert "Likes {user_budget} <USER BUDGET>." in prompt
    assert "SECRET" not in prompt
    assert prompt.startswith("\nYou are an expert product evaluator")


def test_objections_stand_beside_their_items() -> None:
    item = ChecklistItem(dimension="aesthetic_preferences", number=0, text="The design is attractive")
    flags = lint_checklist((item,))
    assert flags
    prompt = again_prompt(PROMPTS, UserContext(), Need(situation="x"), (item,), flags)
    assert "- aesthetic_preferences/0 (The design is attractive): asks for an opinion" in prompt
    assert '"aesthetic_preferences": [' in prompt
