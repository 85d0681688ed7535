from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from grounding.errors import UserError
from grounding.webagents.agenticshop.options import CurationOptions, check_options, judge_choice


def refused(**options: Any) -> str:
    with pytest.raises(UserError) as error:
        check_options(CurationOptions(**options))
    return str(error.value)


def test_the_usual_options_are_fine():
    check_options(CurationOptions())
    check_options(CurationOptions(agent="browsing", model="gpt-4o", grounder="ocr", max_steps=5, max_seconds=9.5))
    check_options(
        CurationOptions(agent="replay", curations=Path("x.json"), judge=("rules", "gpt-4o", "gpt-4o@no-info"))
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"agent": "puma"}, "--agent puma: expected one of site-search"),
        ({"agent": "browsing"}, "needs a model"),
        ({"agent": "search"}, "grounding list search"),
        ({"model": "gpt-4o"}, "asks no model"),
        ({"base_url": ("http://x",)}, "--base-url http://x"),
        ({"agent": "replay"}, "needs --curations"),
        ({"curations": Path("x")}, "give both or neither"),
        ({"max_steps": 3}, "--max-steps: is for --agent browsing"),
        ({"grounder": "ocr"}, "--grounder: is for --agent browsing"),
        ({"limit": 0}, "--limit 0: expected 1 or more"),
        ({"pages": 0}, "--pages 0"),
        ({"seed": -1}, "--seed -1"),
        ({"timeout": float("nan")}, "--timeout nan: expected seconds"),
        ({"cost_limit": 0.0}, "--cost-limit 0.0: expected US dollars"),
        ({"judge": ("rules", "rules")}, "--judge rules: named twice"),
        ({"judge": ("gpt-4o@half",)}, "a condition of full, no-info, url-only"),
        ({"judge": ("rules@url-only",)}, "rules read what a page says"),
        ({"judge_base_url": "http://x"}, "no judge is a chat model"),
        ({"judge_prompt": "official"}, "--judge-prompt official: no judge is a chat model"),
        ({"judge_mode": "item"}, "--judge-mode item: no judge is a chat model"),
        ({"extractor_base_url": "http://x"}, "structural asks no server"),
    ],
)
def test_what_can_not_be_meant_is_refused_in_words(options: dict[str, Any], words: str):
    assert words in refused(**options)


def test_rules_judge_where_nobody_says_otherwise():
    assert CurationOptions().judges == ("rules",)
    assert CurationOptions(judgements=Path("x")).judges == ()
    assert CurationOptions(judgements=Path("x"), judge=("gpt-4o",)).judges == ("gpt-4o",)


def test_a_judge_is_named_with_its_condition():
    assert judge_choice("gpt-4o").name == "gpt-4o"
    choice = judge_choice("gpt-4o@url-only")
    assert (choice.who, choice.condition, choice.name) == ("gpt-4o", "url-only", "gpt-4o@url-only")
