"""Planners: the user's own words, a card's model against a real server, and how one is built by name."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.chat_server import ChatServer, reply
from fakes.make import installed, model, picture_file, planner_card, query

from grounding.errors import UserError
from grounding.llm.budget import Budget
from grounding.llm.chat import ChatOptions
from grounding.options import EvalOptions
from grounding.planners import BuiltPlanner, build_planner
from grounding.planners.base import Planner, RawInstruction
from grounding.planners.chat import ChatPlanner
from grounding.records import Failure, Plan, Query


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as running:
        yield running


@pytest.fixture
def step(tmp_path: Path) -> Query:
    return query(picture_file(tmp_path / "1.png"), "now the other one", step="4/2")


def plan(planner: Planner, asked: Query) -> Plan:
    async def run() -> Plan:
        try:
            return await planner.plan(asked)
        finally:
            await planner.aclose()

    return asyncio.run(run())


def chat(server: ChatServer, **options: Any) -> ChatPlanner:
    return ChatPlanner(planner_card(), model(planner_card(), server.base_url, **options))


@pytest.mark.parametrize("words", ["click it", "  as it is\n", "", "{instruction} “ünï”"])
def test_without_a_planner_the_users_words_are_the_plan(words: str) -> None:
    assert plan(RawInstruction(), query(instruction=words)) == Plan(step_id="1/1", key="k", text=words)
    asyncio.run(RawInstruction().check())


def test_the_whole_reply_is_the_plan(server: ChatServer, step: Query) -> None:
    said = '\n<think>…</think> Click "Buy" at (3, 4).\nThen wait.  '
    server.default = reply(said)
    made = plan(chat(server), step)
    assert (made.step_id, made.key, made.text, made.raw, made.failure) == ("4/2", "k", said.strip(), said, None)
    assert made.call is not None
    assert made.call.usage is not None


@pytest.mark.parametrize(
    ("behaviour", "raw", "message"),
    [
        (reply(""), "", "the reply is empty (finish reason: stop)"),
        (reply(" \n"), " \n", "the reply is empty (finish reason: stop)"),
        (
            reply("", finish_reason="length"),
            "",
            "the reply is empty: 10 tokens were used up before its first word; raise max_tokens in the card (now the "
            "server's limit)",
        ),
        (
            reply(None, finish_reason="content_filter"),
            "",
            "the vendor's content filter stopped the reply (finish reason: content_filter)",
        ),
        (reply(None, refusal="I won't."), "I won't.", "the model refused"),
    ],
)
def test_a_reply_that_says_nothing_is_unparsed_and_kept(
    server: ChatServer, step: Query, behaviour: Any, raw: str, message: str
) -> None:
    server.default = behaviour
    made = plan(chat(server), step)
    assert (made.text, made.raw, made.failure) == (None, raw, Failure(kind="unparsed", message=message))
    assert made.call is not None
    assert server.count == 1


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
