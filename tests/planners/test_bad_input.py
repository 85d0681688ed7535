"""What a user can get wrong about a planner: one sentence and exit code 2, before anything is paid for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import TinyDataset
from fakes.chat_server import ChatServer, reply
from fakes.provider import KEY, Provider

from grounding.cli import run

Eval = Callable[..., tuple[int, str]]


@pytest.fixture
def evaluated(tmp_path: Path, tiny_dataset: TinyDataset, capsys: pytest.CaptureFixture[str]) -> Eval:
    """Runs ``grounding eval`` on six scored steps: exit code, and what it said on standard error."""
    data_dir = tiny_dataset()
    log_dir = tmp_path / "results"

    def command(*more: str, grounder: str = "center") -> tuple[int, str]:
        given = ["--dataset", "realwebassist", "--data-dir", str(data_dir), "--log-dir", str(log_dir)]
        given += ["--grounder", grounder, "--display", "none", "--no-plan-store", *more]
        with pytest.raises(SystemExit) as ended:
            run(["eval", *given])
        return int(ended.value.code or 0), capsys.readouterr().err

    return command


def sentence(said: str) -> str:
    """The one line that was said; warnings aside."""
    (line,) = [line for line in said.splitlines() if "retire" not in line or "no longer" in line]
    assert line.startswith("grounding: ")
    assert "Traceback" not in said
    return line.removeprefix("grounding: ")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("", "; check the address: most end in /v1"),
        ("/openai", "; check the address: most end in /v1"),
        ("/openai/v1/chat", "; check the address: most end in /v1"),
    ],
)
def test_a_wrong_address_of_a_server_that_is_there(provider: Provider, evaluated: Eval, path: str, words: str) -> None:
    address = f"http://127.0.0.1:{provider.port}{path}"
    code, said = evaluated("--planner", "gpt-6.1-sol", "--planner-base-url", address)
    assert code == 2
    assert sentence(said).endswith(words)
    assert provider.bill_usd == 0
    assert provider.count <= 6


def test_an_address_of_a_web_page(evaluated: Eval, monkeypatch: pytest.MonkeyPatch) -> None:
    from fakes.chat_server import raw

    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    page = raw(b"<html>hello</html>", headers={"Content-Type": "text/html"})
    with ChatServer(page, models=page) as server:
        code, said = evaluated("--planner", "gpt-6.1-sol", "--planner-base-url", server.base_url)
        assert server.count == 0
    assert code == 2
    assert "answers with a web page and not as an API: correct the address (most end in /v1)" in sentence(said)


def test_a_model_that_only_the_first_request_can_tell_of_ends_the_run_at_once(
    provider: Provider, evaluated: Eval
) -> None:
    address = ("--planner-base-url", provider.base_url("anthropic"), "--max-connections", "1")
    code, said = evaluated("--planner", "claude-sonnet-5.5", "--planner-model", "claude-9", *address)
    assert code == 2
    assert "refuses every request for claude-9 (HTTP 404: " in sentence(said)
    assert sentence(said).endswith("check the model's name")
    assert provider.count <= 2
    assert provider.bill_usd == 0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--planner", "none", "--planner-prompt", "explicit"), "the planner none asks no model by a card"),
        (("--planner", "none", "--planner-model", "m"), "the planner none asks no model by a card"),
        (("--planner", "gpt-6.1-sol", "--planner-prompt", "oficial"), "Did you mean official?"),
        (("--planner", "any"), "needs a server: give its address with --planner-base-url"),
    ],
)
def test_options_that_do_not_go_together(
    provider: Provider, evaluated: Eval, given: tuple[str, ...], words: str
) -> None:
    code, said = evaluated(*given)
    assert code == 2
    assert words in said
    assert provider.requests == []


def test_a_plan_that_the_grounder_can_not_take_in_is_not_passed_on(
    evaluated: Eval, tmp_path: Path, provider: Provider
) -> None:
    provider.answer = lambda _body: "Click " + "very " * 4000 + "hard"
    card = tmp_path / "pointer.yaml"
    card.write_text(
        "name: pointer\ntitle: T\nmodel: pointer\nuser: [{image: screenshot}, {text: '{instruction}'}]\n"
        "answer: {form: point, space: sent_px}\n"
    )
    with ChatServer(reply("(1, 2)"), models=["pointer"]) as grounder:
        address = ("--planner-base-url", provider.base_url("vllm"), "--base-url", grounder.base_url)
        code, _ = evaluated("--planner", "any", *address, grounder=str(card))
        assert grounder.count == 0
    assert code == 0  # Nothing is left to be asked.
    (folder,) = (tmp_path / "results").iterdir()
    failures = [json.loads(line)["failure"] for line in (folder / "predictions.jsonl").read_text().splitlines()]
    assert len(failures) == 6
    assert {failure["kind"] for failure in failures} == {"unparsed"}
    assert failures[0]["message"] == ("the instruction is 20010 characters long; pointer is given at most 16000")
