"""Queries by a chat model, asked for over HTTP, each once, within a limit of cost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import shell
from benchmarks.personalwab.shops import task
from fakes.chat_server import ChatServer, answering

from grounding.llm.chat import ChatOptions
from grounding.training.puma.data import Labelled, write_queries
from training.test_puma_data import inputs, recommend

PRICE = "price: {input_usd: 10, output_usd: 100, date: '2026-01-01'}\n"
TASKS = (
    task(id="train/0", instruction="boil water"),
    recommend(id="train/1"),
    task(id="train/2", instruction="sit at"),
)


def written(body: dict[str, Any]) -> str:
    (message,) = body["messages"]
    content = message["content"]
    text = content if isinstance(content, str) else content[0]["text"]
    assert message["role"] == "system"
    assert "Tool: search_product_by_query" in text
    assert "Memory: Title:" in text
    return "steel kettle" if "boil water" in text else "oak desk"


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(answering(written)) as running:
        yield running


def write(folder: Path, server: ChatServer, **more: Any) -> Labelled:
    card = shell.planner_card(folder, "labeller")
    card.write_text(card.read_text() + PRICE)
    chat = ChatOptions(base_url=server.base_url, max_retries=0)
    options: dict[str, Any] = {"cost_limit": None, "display": "none", **more}
    return write_queries(folder, str(card), TASKS, inputs(), chat=chat, **options)


def test_searches_get_a_query_and_are_asked_about_once(tmp_path: Path, server: ChatServer) -> None:
    first = write(tmp_path, server)
    assert first.queries == {"train/0": "steel kettle", "train/2": "oak desk"}
    assert (first.without, first.stopped) == (0, "")
    assert first.cost_usd is not None
    assert first.cost_usd > 0
    assert server.count == 2
    assert write(tmp_path, server) == first
    assert server.count == 2


def test_the_limit_of_cost_is_kept_and_a_higher_one_goes_on(tmp_path: Path, server: ChatServer) -> None:
    first = write(tmp_path, server, cost_limit=1e-9)
    assert first.stopped
    assert server.count < 2
    assert write(tmp_path, server, cost_limit=50.0).queries.keys() == {"train/0", "train/2"}
