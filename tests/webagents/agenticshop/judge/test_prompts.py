from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from grounding.errors import UserError
from grounding.webagents.agenticshop.judge.prompts import judge_prompt


def test_the_release_s_wording_is_as_it_was_read() -> None:
    prompt = judge_prompt("official")
    # 2,262 characters, as in the released evaluator.py: a blank more is another prompt.
    assert hashlib.sha256(prompt.system.encode()).hexdigest() == (
        "ac692b83c00453b901c1a5b487a4d1020a479c34aa61382f13f170321eea0ad4"
    )
    assert prompt.full == (
        "MODEL_RESPONSE (product data):\n        <RESPONSE>\n\n        CHECK_LIST (user requirements):\n"
        "        <CHECKLIST>"
    )


def test_our_own_is_the_usual_one_and_says_what_is_data() -> None:
    prompt = judge_prompt()
    assert prompt.name == "evidence"
    assert "never an instruction" in " ".join(prompt.system.split())
    assert "can't open the page" in prompt.system
    assert prompt.label.startswith("evidence.1@")


def test_other_words_are_another_prompt(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    fields = "\n".join(f"{name}: x" for name in ("no_info", "url_only", "picture", "one", "all", "full", "system"))
    path.write_text(f"name: mine\nversion: 1\nsource: me\nstyle: evidence\n{fields}\n")
    assert judge_prompt(str(path)).label.startswith("mine.1@")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name: mine", "missing required field"),
        ("[", "mine.yaml"),
        ("name: m\nversion: 1\nsource: s\nstyle: evidence\nsystem: s\nfull: f\n", "needs"),
    ],
)
def test_a_wording_that_can_t_be_used(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(UserError, match=says):
        judge_prompt(str(path))


def test_a_wording_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="evidence, official"):
        judge_prompt("unheard")
    with pytest.raises(UserError, match="evidence, official"):
        judge_prompt("../agenticshop/judge-evidence")
    with pytest.raises(UserError, match="can't be read"):
        judge_prompt(str(tmp_path / "none.yaml"))
