"""Any model by its name and its address, in every role; its key goes to its own host and to no other."""

from __future__ import annotations

from pathlib import Path

import pytest
import shell
from fakes.chat_server import ChatServer, reply

from grounding.benchmarks.asking import new_progress, open_model
from grounding.errors import UserError
from grounding.llm.anymodel import find_grounder, find_planner
from grounding.llm.budget import Budget
from grounding.llm.chat import ChatOptions

NAME = "my-org/my-model"
URL = "http://127.0.0.1:8000/v1"
KEYS = {"OPENAI_API_KEY": "sk-vendors", "API_KEY_127_0_0_1": "sk-hosts"}


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, key in KEYS.items():
        monkeypatch.setenv(name, key)


def sent(server: ChatServer) -> set[tuple[str | None, str]]:
    """The keys and the models of all requests for a completion."""
    return {(received.headers.get("Authorization"), received.body["model"]) for received in server.asked}


def test_planner_and_grounder_in_one_run(tmp_path: Path) -> None:
    log = ("--log-dir", tmp_path / "results", "--limit", "3")
    with ChatServer(reply("(500, 500)"), models=[NAME, "other"]) as server:
        asked = ("--planner", "other", "--planner-base-url", server.base_url, "--no-plan-store", "--no-probe")
        done = shell.call(*asked, "--grounder", f"{NAME}@rel_1000", "--base-url", server.base_url, *log)
        assert sent(server) == {("Bearer sk-hosts", "other"), ("Bearer sk-hosts", NAME)}
        assert server.count == 6
        assert {tuple(sorted(body)) for body in server.bodies} == {("messages", "model")}
    assert done.returncode == 0, done.stderr
    found = shell.summary(shell.run_folder(tmp_path / "results"))
    assert "planner:other@" in found["signature"]
    assert f"grounder:{NAME}@rel_1000@" in found["signature"]
    assert "prompt:official.1@" in found["signature"]
    assert found["cost"]["usd"] is None
    assert "cost: none known" in done.stdout


@pytest.mark.slow
def test_an_agent_and_a_user_in_a_shop(tmp_path: Path) -> None:
    pytest.importorskip("nltk")
    with ChatServer(reply("Thanks."), models=[NAME, "other", "gpt-4o"]) as server:
        where = ("--base-url", server.base_url, "--user-base-url", server.base_url, "--log-dir", tmp_path)
        for model in (NAME, "gpt-4o"):
            agent = ("--agent", "function-calling", "--model", model, "--track", "multi", "--user", "other")
            done = shell.call("--dataset", "sample-shop", *agent, "--limit", "1", "--max-steps", "2", *where)
            assert done.returncode == 0, done.stderr
            assert f"model:{model}|" in done.stdout
            assert "user:other@" in done.stdout
        hosts, vendors = "Bearer sk-hosts", "Bearer sk-vendors"
        assert sent(server) == {(hosts, NAME), (hosts, "other"), (vendors, "gpt-4o")}


@pytest.mark.parametrize(
    ("option", "flag"),
    [
        ("--model", "--base-url"),
        ("--extractor", "--extractor-base-url"),
        ("--judge", "--judge-base-url"),
        ("--writer", "--base-url"),
        ("--labels-model", "--labels-base-url"),
    ],
)
def test_the_models_of_web_agents(option: str, flag: str) -> None:
    def opened(name: str, base_url: str | None) -> str:
        chat, progress = ChatOptions(base_url=base_url), new_progress("none", "items")
        made = open_model(
            *(name, chat), model=None, cost_limit=None, budget=Budget(None), progress=progress, option=option, flag=flag
        )
        return made.card.model

    assert opened(NAME, URL) == NAME
    with pytest.raises(UserError, match=f"no model is called '{NAME}'.*asked by its name at its address: {flag} URL"):
        opened(NAME, None)
    with ChatServer(models=["one", "two"]) as server, pytest.raises(UserError, match=f"name .* with {option} NAME"):
        opened("any", server.base_url)


@pytest.mark.parametrize(
    ("addresses", "variable"),
    [
        (URL, "API_KEY_127_0_0_1"),
        ("https://api.together.example/v1", "API_KEY_API_TOGETHER_EXAMPLE"),
        (f"{URL} http://127.0.0.1:8001/v1", "API_KEY_127_0_0_1"),
        ("https://api.openai.com/v1", "OPENAI_API_KEY"),
        ("https://api.anthropic.com", "ANTHROPIC_API_KEY"),
        ("http://api.openai.com/v1", "API_KEY_API_OPENAI_COM"),
        ("https://api.openai.com.example/v1", "API_KEY_API_OPENAI_COM_EXAMPLE"),
        ("https://api.openai.com/v1 https://other.example/v1", None),
        ("http://[::1", None),
    ],
)
def test_a_key_belongs_to_a_host(addresses: str, variable: str | None) -> None:
    assert find_planner(NAME, addresses, flag="--planner-base-url").endpoint.key_variable == variable
    assert find_grounder(f"{NAME}@rel_1", addresses).endpoint.key_variable == variable
