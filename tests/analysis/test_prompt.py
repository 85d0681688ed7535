"""The judge's prompt and the form of its reply."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.benchmarks.clicks.judging import quoted_plan, read_prompt, read_reply
from grounding.errors import UserError


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("Answer: yes", "yes"),
        ("It names the blue button.\n\nAnswer: no\n", "no"),
        ("**Answer: Unclear.**", "unclear"),
        ("`Answer:` **YES**", "yes"),
        ("yes", "yes"),
        ("No.", "no"),
        ("Answer: yes\nBecause it is blue.", None),
        ("Answer: yes or no", None),
        ("Answer: maybe", None),
        ("Answer: no\nAnswer: yes", None),
        ("Answer: yes\nAnswer: yes", "yes"),
        ("The answer is yes", None),
        ("yes and no", None),
        ("Answer:", None),
        ("", None),
        (" \n ", None),
    ],
)
def test_only_a_clear_last_line_counts(reply: str, answer: str | None) -> None:
    assert read_reply(reply) == answer


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=300))
def test_a_plan_stays_inside_its_quotes(plan: str) -> None:
    quoted = quoted_plan(plan)
    assert json.loads(quoted) == plan
    assert "\n" not in quoted
    assert "\r" not in quoted


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name: x\nversion: 1\nuser: [{image: screenshot}, {text: no plan}]", "stands in it 0 times"),
        ("name: x\nversion: 1\nuser: [{image: screenshot}, {text: '{plan} {plan}'}]", "stands in it 2 times"),
        ("name: x\nversion: 1\nuser: [{text: '{plan}'}]", "exactly one part"),
        ("name: x\nversion: 1\nuser: [{image: screenshot}, {text: '{plan} {history}'}]", "mean something in cards"),
        ("name: x\nversion: 0\nuser: []", ">= 1"),
        ("name: x\nversion: 1\nuser: []\nsytem: y", "unknown field `sytem`"),
        ("[", "has the fields"),
    ],
)
def test_a_wrong_prompt_is_refused(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(UserError) as told:
        read_prompt(str(path))
    assert str(path) in str(told.value)
    assert words in str(told.value)
