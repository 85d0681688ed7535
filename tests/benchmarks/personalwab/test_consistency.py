"""``grounding shop profiles``: judged by a chat model, over a shop that was made here."""

from __future__ import annotations

import json
import math
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import shell
from fakes.chat_server import ChatServer, answering, error, reply
from hypothesis import given
from hypothesis import strategies as st

from grounding.benchmarks.personalwab.consistency import (
    ProfileQuestion,
    Ranking,
    consistency_figures,
    draw_questions,
    ndcg,
    read_ranking,
)
from grounding.benchmarks.personalwab.records import Behaviour, Product, Profile, Review, ShopDataset, ShopUser
from grounding.errors import UserError
from grounding.records import Failure

PRODUCTS = {f"B{number}": Product(asin=f"B{number}", title=f"thing {number}") for number in range(30)}
USERS = 6


def call(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return shell.call("shop", *arguments, module="grounding")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every user buys of one store, so that its name in a profile singles the user and the products out."""
    folder = tmp_path_factory.mktemp("shop")
    histories, profiles, products, tasks = {}, {}, {}, []
    for user in range(USERS):
        store = f"Store{chr(65 + user)}"
        bought = []
        for place in range(8):
            sold = {"parent_asin": f"{store}{place}", "title": f"{store} thing {place}", "store": store}
            said = {"rating": 5.0, "title": "T", "text": f"I like {store}.", "timestamp": place}
            products[sold["parent_asin"]] = sold
            bought.append({"product_info": sold, "review": said, "split": "history"})
        histories[f"u{user}"], profiles[f"u{user}"] = bought, {"user_profile": {"Brand Preference": store}}
        tasks.append({"user_id": f"u{user}", "task": "t", "type": "search", "timestamp": 9, "target": bought[0]})
    files = {
        "user_instructions.json": {"test": tasks},
        "user_history_part_1.json": histories,
        "user_profiles.json": profiles,
        "all_products_part_1.json": products,
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content))
    return folder


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
    top = found["figures"][0]
    assert (top["value"], top["n"], found["unparsed"]) == (pytest.approx((USERS - 1) / USERS), USERS, 1)


# --- drawn, read and counted ------------------------------------------------------------------------------------------


def people(count: int, bought: int = 5) -> ShopDataset:
    users = {
        f"u{user}": ShopUser(
            id=f"u{user}",
            profile=Profile(gender="Female"),
            behaviours=tuple(
                Behaviour(asin=asin, review=Review(asin=asin, timestamp_ms=at))
                for at, asin in enumerate(f"B{(user * 3 + place) % 30}" for place in range(bought))
            ),
        )
        for user in range(count)
    }
    return ShopDataset(name="x", fingerprint="", users=users, products=PRODUCTS, tasks=())


@given(st.integers(5, 12), st.integers(2, 20), st.integers(0, 9))
def test_one_user_among_four_and_three_products_among_seven(count: int, bought: int, seed: int) -> None:
    shop = people(count, bought)
    questions = draw_questions(shop, seed=seed)
    few = count if bought < 3 else 0
    assert len(questions) == 2 * count - few
    for one in questions:
        right = {one.candidates[place] for place in one.right}
        wrong = set(one.candidates) - right
        if one.kind == "users":
            assert (right, len(wrong)) == ({one.user_id}, 4)
        else:
            own = {behaviour.asin for behaviour in shop.users[one.user_id].behaviours}
            assert (len(right), len(wrong), right <= own, wrong & own) == (3, 7, True, set())
    with pytest.raises(UserError, match="at least 5"):
        draw_questions(people(4), seed=0)


def test_ndcg_by_hand() -> None:
    ideal = 1 + 1 / math.log2(3) + 1 / 2
    assert ndcg([0, 9, 1, 8, 2], [0, 1, 2]) == pytest.approx((1 + 1 / 2 + 1 / math.log2(6)) / ideal)
    assert ndcg([9, 8, 7, 6, 5, 0], [0, 1, 2]) == 0


def test_figures_count_unreadable_as_wrong_and_leave_errors_out() -> None:
    users = [ProfileQuestion(kind="users", user_id=f"u{n}", candidates=tuple("abcde"), right=(2,)) for n in range(4)]
    items = [
        ProfileQuestion(kind="items", user_id=f"u{n}", candidates=tuple("abcdefghij"), right=(0, 1, 2))
        for n in range(3)
    ]
    rankings = {
        "users/u0": Ranking(order=(2,)),
        "users/u1": Ranking(order=(1, 2)),
        "users/u2": Ranking(failure=Failure(kind="unparsed", message="")),
        "users/u3": Ranking(failure=Failure(kind="error", message="")),
        "items/u0": Ranking(order=(2, 1, 0, 5, 6)),
        "items/u1": Ranking(order=(9, 8, 7, 6, 5, 0)),
    }
    top, gain, found = consistency_figures([*users, *items], rankings, seed=0)
    assert (top.n, top.chance, top.value, top.low, top.high) == (3, 0.2, pytest.approx(1 / 3), 0.0, 1.0)
    assert (gain.n, gain.value, found.value, gain.low, gain.high) == (2, 0.5, 0.5, 0.0, 1.0)
    empty = consistency_figures([*users, *items], {}, seed=0)
    assert [(one.n, one.value, one.low) for one in empty] == [(0, None, None)] * 3


AMONG = ProfileQuestion(kind="users", user_id="u", candidates=tuple("abcde"), right=(0,))
ITEMS = ProfileQuestion(kind="items", user_id="u", candidates=tuple("abcdefghij"), right=(0, 1, 2))


@pytest.mark.parametrize(
    ("question", "text", "order"),
    [
        (AMONG, "Shopper 3, number 3", (2,)),
        (AMONG, "Shopper 3 or 4", None),
        (AMONG, "6", None),
        (AMONG, "the first", None),
        (ITEMS, "[3, 1, 2, 10, 9, 8, 7, 6, 5, 4]", (2, 0, 1, 9, 8, 7, 6, 5, 4, 3)),
        (ITEMS, "Ranking: [1,2,3,4,5]", (0, 1, 2, 3, 4)),
        (ITEMS, "[1, 2, 3]", None),
        (ITEMS, "[1, 2, 3, 4, 4]", None),
        (ITEMS, "[1, 2, 3, 4, 11]", None),
        (ITEMS, "1, 2, 3, 4, 5", None),
    ],
)
def test_a_reply_names_places_or_is_unparsed(
    question: ProfileQuestion, text: str, order: tuple[int, ...] | None
) -> None:
    found = read_ranking(question, text)
    assert (found.kind == "unparsed" and order is None) if isinstance(found, Failure) else found == {"order": order}


@given(st.text())
def test_no_reply_raises(text: str) -> None:
    for question in (AMONG, ITEMS):
        assert isinstance(read_ranking(question, text), dict | Failure)
