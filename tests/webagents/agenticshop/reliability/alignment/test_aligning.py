"""``grounding curation align``: over files of the release's layout, by words and by a chat model."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import shell
from fakes.chat_server import ChatServer, answering, error, reply

from webagents.agenticshop.reliability.alignment.users import write_users

USERS = 4
QUESTIONS = USERS * 4 * 2


def text_of(body: dict[str, Any]) -> str:
    (message,) = body["messages"]
    content = message["content"]
    return content if isinstance(content, str) else content[0]["text"]


def fond_of_colours(body: dict[str, Any]) -> str:
    """Chooses the product that has a colour which the shopper's text has; the first one where neither has."""
    shopper, first, second = re.findall(r"=====\n(.*?)\n===== end", text_of(body), re.S)
    colours = [word for word in ("crimson", "emerald", "ivory", "amber", "violet") if word in shopper]
    return "2" if any(one in second for one in colours) and not any(one in first for one in colours) else "1"


@pytest.fixture
def data(tmp_path: Path) -> tuple[Path, Path]:
    return write_users(tmp_path, users=USERS)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(answering(fond_of_colours)) as running:
        yield running


def call(data: tuple[Path, Path], *more: str | Path) -> subprocess.CompletedProcess[str]:
    return shell.call("curation", "align", "--raw", data[0], "--profiles", data[1], *more, module="grounding.cli")


def ask(data: tuple[Path, Path], tmp_path: Path, url: str, *more: str) -> subprocess.CompletedProcess[str]:
    card = shell.planner_card(tmp_path, "comparer")
    out = tmp_path / "aligned"
    return call(data, "--by", card, "--base-url", url, "--max-retries", "0", "--out", out, *more)


def cells(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["representation"]: one for one in found["figures"] if one["domain"] == "Home"}


def test_words_alone_tell_what_was_liked(data: tuple[Path, Path], tmp_path: Path) -> None:
    done = call(data, "--pairs", "3", "--out", tmp_path / "aligned")
    assert done.returncode == 0, done.stderr
    assert "paper: checklist" in done.stdout
    assert "by word-overlap.1" in done.stdout
    found = json.loads((tmp_path / "aligned" / "alignment.json").read_bytes())
    made = cells(found)
    assert (made["checklist"]["accuracy"], made["checklist"]["questions"]) == (1.0, 3 * USERS)
    assert made["context"]["accuracy"] == 1.0
    # The query names no colour: every pair is a tie.
    assert (made["query"]["accuracy"], made["query"]["ties"]) == (0.5, 3 * USERS)
    assert found["in_context"] == found["pairs"] == 3 * USERS
    again = call(data, "--pairs", "3", "--json")
    assert json.loads(again.stdout) == found


def test_a_model_is_asked_in_both_orders_and_never_twice(
    data: tuple[Path, Path], tmp_path: Path, server: ChatServer
) -> None:
    done = ask(data, tmp_path, server.base_url, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    made = cells(found)
    assert (made["checklist"]["accuracy"], made["checklist"]["same_choice"]) == (1.0, 1.0)
    # Without a colour the model takes the first one: right in one order of two.
    assert (made["query"]["accuracy"], made["query"]["same_choice"]) == (0.5, 0.0)
    assert made["checklist"]["interval"]["low"] > 0.4
    assert server.count == QUESTIONS
    assert ask(data, tmp_path, server.base_url).returncode == 0
    assert server.count == QUESTIONS
    assert json.loads((tmp_path / "aligned" / "alignment.json").read_bytes()) == found


def test_one_order_asks_half(data: tuple[Path, Path], tmp_path: Path, server: ChatServer) -> None:
    done = ask(data, tmp_path, server.base_url, "--orders", "one", "--json")
    assert done.returncode == 0, done.stderr
    assert server.count == QUESTIONS / 2
    assert json.loads(done.stdout)["orders"] == "one"


def test_unreadable_replies_are_wrong_and_errors_are_asked_again(
    data: tuple[Path, Path], tmp_path: Path, server: ChatServer
) -> None:
    server.script(reply("Hard to say."), error(500))
    done = ask(data, tmp_path, server.base_url, "--max-connections", "1")
    assert done.returncode == 1
    assert f"{QUESTIONS}: unparsed 1, errors 1, not asked yet 0" in done.stdout
    assert "the same command again goes on from here" in done.stderr
    again = ask(data, tmp_path, server.base_url, "--json")
    assert again.returncode == 0
    assert json.loads(again.stdout)["unparsed"] == 1
    assert server.count == QUESTIONS + 1


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--by", "gpt-4o"], "--by gpt-4o: give a folder for the replies with --out"),
        (["--by", "gpt-4p", "--out", "new"], "no planner is called 'gpt-4p'"),
        (["--reviews", "unseen"], "no pair"),
        (["--pairs", "0"], "--pairs"),
    ],
)
def test_what_is_wrong_is_said(
    data: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: list[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = call(data, *more)
    assert done.returncode == 2
    assert words in done.stderr


def test_a_folder_without_raw_users_is_refused(data: tuple[Path, Path]) -> None:
    done = call((data[1], data[1]))
    assert done.returncode == 2
    assert "give the folder of raw users" in done.stderr


def test_a_folder_of_something_else_is_left_alone(data: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear", encoding="utf-8")
    done = call(data, "--out", tmp_path / "mine")
    assert done.returncode == 2
    assert "holds something else" in done.stderr
