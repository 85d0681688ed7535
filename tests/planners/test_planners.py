"""Planners: the user's own words, a card's model against a real server, and how one is built by name."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from fakes.make import installed, query

from grounding.errors import UserError
from grounding.llm.budget import Budget
from grounding.llm.chat import ChatOptions
from grounding.options import EvalOptions
from grounding.planners import BuiltPlanner, build_planner
from grounding.planners.base import Planner, RawInstruction
from grounding.records import Plan, Query


def plan(planner: Planner, asked: Query) -> Plan:
    async def run() -> Plan:
        try:
            return await planner.plan(asked)
        finally:
            await planner.aclose()

    return asyncio.run(run())


@pytest.mark.parametrize("words", ["click it", "  as it is\n", "", "{instruction} “ünï”"])
def test_without_a_planner_the_users_words_are_the_plan(words: str) -> None:
    assert plan(RawInstruction(), query(instruction=words)) == Plan(step_id="1/1", key="k", text=words)
    asyncio.run(RawInstruction().check())


# --- building by name -------------------------------------------------------------------------------------------------


def build(name: str, *, plans: Path | None = None, base_url: str | None = "http://127.0.0.1:1") -> BuiltPlanner:
    options = EvalOptions(planner=name, plans=plans)
    return build_planner(options, ChatOptions(base_url=base_url), budget=Budget(None), on_retry=lambda: None)


@pytest.mark.parametrize(
    ("name", "plans", "words"),
    [
        ("replay", None, "--planner replay needs the file of saved plans: --plans FILE"),
        ("o3", "saved.json", "--planner o3 makes new ones: give one of the two"),
        ("repaly", None, "no planner is called 'repaly'. Did you mean replay? There are: none, replay, "),
        ("gta1", None, "no planner is called 'gta1'"),
        ("none", "gone.json", "gone.json: can't be read"),
    ],
)
def test_what_can_not_be_built_is_said(tmp_path: Path, name: str, plans: str | None, words: str) -> None:
    with pytest.raises(UserError) as caught:
        build(name, plans=tmp_path / plans if plans else None, base_url=None)
    assert words in str(caught.value)


def test_a_planner_of_another_package_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "from grounding.records import Plan\n"
        "class Loud:\n"
        "    name = identity = 'loud'\n"
        "    max_concurrency = 1\n"
        "    async def plan(self, query):\n"
        "        return Plan(step_id=query.step_id, key=query.key, text=query.instruction.upper())\n"
        "    async def check(self): pass\n"
        "    async def aclose(self): pass\n"
    )
    installed(tmp_path, "grounding.planners", "loud_planner", "Loud", code)
    monkeypatch.syspath_prepend(str(tmp_path))
    built = build("from-elsewhere")
    assert plan(built.planner, query(instruction="click")).text == "CLICK"
    assert (built.card, built.base_url) == (None, "")
