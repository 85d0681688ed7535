"""``grounding shop build`` as a user has it: raw reviews in, a data set that `grounding eval` runs on out."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import shell
from fakes.chat_server import ChatServer, answering, reply
from hypothesis import given
from hypothesis import strategies as st

from grounding.benchmarks.personalwab.construction import (
    Selection,
    chance_rank,
    count_candidates,
    cut_time_line,
    draw_users,
    find_categories,
    instruction_jobs,
    read_instruction,
    read_profile,
)
from grounding.benchmarks.personalwab.loader import read_shop
from grounding.benchmarks.personalwab.records import Review, ShopUser
from grounding.errors import UserError
from grounding.records import Failure

os.environ.setdefault("GROUNDING_SHOP_BUILD_EPOCHS", "1")  # What a recommender learns is no matter here.

Json = dict[str, Any]
CATEGORIES = ("Electronics", "Grocery_and_Gourmet_Food")
PROFILE: Json = {
    "Gender": "Female",
    "Age": "25-34",
    "Occupation": "Writer",
    "Price Sensitivity": "High",
    "Shopping Interest": "Tea, lamps",
    "Brand Preference": ["Acme", "Bora"],
    "Diversity Preference": "Medium",
    "Interaction Complexity": "Low",
    "Tone and Style": "cheerful",
    "Item Reference": "names brands",
    "Focus Aspect": "Price",
}
USERS, BEHAVIOURS = 6, 12
INSTRUCTIONS = USERS * 2
PRICE = "price: {input_usd: 10, output_usd: 100, date: '2026-01-01'}\n"
NOWHERE = "http://127.0.0.1:1/v1"
COST_USD = (1000 * 10 + 10 * 100) / 1e6  # Of one request, by what the fake counts.


def call(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return shell.call("shop", *arguments, module="grounding")


def is_profile(body: dict[str, Any]) -> bool:
    return "Your History:" in asked(body)


def asked(body: dict[str, Any]) -> str:
    (message,) = body["messages"]
    content = message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def written(body: dict[str, Any]) -> str:
    if is_profile(body):
        return f"```json\n{json.dumps(PROFILE)}\n```"
    (title,) = re.findall(r"- Title: (Thing .*)", asked(body))
    kind = (
        "search" if "search request" in asked(body) else "recommend" if "recommendation request" in asked(body) else ""
    )
    return f"Find {title}" if kind == "search" else f"Please {kind or 'review'} something like {title.split()[1]}."


# --- reviews of Amazon's shape ----------------------------------------------------------------------------------------


def review(user: str, asin: str, at: int) -> Json:
    said = {"rating": 4.0, "title": f"On {asin}", "text": f"{user} likes {asin}.", "user_id": user, "timestamp": at}
    return {**said, "asin": asin, "parent_asin": asin, "images": [], "helpful_vote": 0, "verified_purchase": True}


def product(asin: str, title: str | None = None) -> Json:
    return {
        "main_category": "Home",
        "title": f"Thing {asin} of oak" if title is None else title,
        "average_rating": 4.5,
        "rating_number": 12,
        "features": ["sturdy"],
        "description": [],
        "price": 12.5,
        "images": [],
        "store": "Acme",
        "categories": ["Home", f"Kind {asin[-1]}"],
        "details": {"Brand": "Acme"},
        "parent_asin": asin,
        "bought_together": None,
    }


def lines(path: Path, entries: list[Json]) -> None:
    content = "".join(json.dumps(entry) + "\n" for entry in entries).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def amazon(folder: Path, *, users: int = 6, behaviours: int = 12) -> Path:
    """Two categories, one of them gzipped, reviews of a user in both and out of order; a product that nobody bought."""
    reviews: dict[str, list[Json]] = {category: [] for category in CATEGORIES}
    for place in range(behaviours):
        for user in range(users):
            category = CATEGORIES[place % 2]
            asin = f"B{place % 2}{(user * 5 + place * 3) % 20:02}"
            reviews[category].append(review(f"U{user}", asin, 1_000_000 + ((place * 7) % behaviours) * 1000 + user))
    reviews[CATEGORIES[0]].append(review("PASSER", "B000", 5))
    for half, category in enumerate(CATEGORIES):
        lines(folder / "reviews" / f"{category}.jsonl{'.gz' if half else ''}", reviews[category])
        known = [product(f"B{half}{number:02}") for number in range(20)]
        lines(folder / "meta" / f"meta_{category}.jsonl", [*known, product(f"FREE{half}"), product("NAMELESS", "")])
    return folder


# --- who is drawn -----------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 60), max_size=200), st.integers(1, 6), st.integers(0, 3))
def test_a_bounded_count_counts_the_first_of_the_queue_as_a_full_one(seen: list[int], capacity: int, seed: int) -> None:
    full = Counter(f"u{user}" for user in seen)
    counts = count_candidates((f"u{user}" for user in seen), seed, capacity)
    assert len(counts) <= 2 * capacity
    queue = sorted(full, key=lambda user: chance_rank(seed, user))
    # The first of the queue are all there with their true counts; those beyond the bound may be missing.
    assert {user: full[user] for user in queue[:capacity]}.items() <= counts.items() <= full.items()


ORDER = ("history", "train", "test")


@given(st.lists(st.integers(0, 40), max_size=60), st.randoms(use_true_random=False))
def test_no_later_behaviour_lies_in_an_earlier_part(times: list[int], chance: random.Random) -> None:
    ordered = [Review(asin=f"B{place}", timestamp_ms=time, text="x") for place, time in enumerate(times)]
    shuffled = list(ordered)
    chance.shuffle(shuffled)
    cut = cut_time_line(shuffled)
    assert cut == cut_time_line(ordered)
    if not cut:
        return
    assert sorted(one.asin for one in cut) == sorted(one.asin for one in ordered)
    both = [(one.review.timestamp_ms, ORDER.index(one.split)) for one in cut]
    assert both == sorted(both, key=lambda one: one[0])
    assert both == sorted(both, key=lambda one: one[1])
    assert len(set(both)) == len({time for time, _ in both}), "a moment is in one part only"
    counts = Counter(one.split for one in cut)
    assert counts["history"] >= 1
    assert counts["test"] >= max(1, len(cut) // 10)
    assert counts["train"] >= len(cut) // 10


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (range(2), (1, 0, 1)),
        (range(9), (8, 0, 1)),
        (range(38), (32, 3, 3)),
        (range(100), (80, 10, 10)),
        ([1, 3, 3], (1, 0, 2)),
        ([3] * 12, (0, 0, 0)),
    ],
)
def test_the_parts_are_80_10_10_as_far_as_moments_let_them(times: list[int], expected: tuple[int, int, int]) -> None:
    counts = Counter(one.split for one in cut_time_line([Review(asin="B", timestamp_ms=at) for at in times]))
    assert tuple(counts[split] for split in ORDER) == expected  # type: ignore[index]


@given(st.lists(st.lists(st.sampled_from(["", " ", "fine"]), min_size=2, max_size=40), max_size=8), st.integers(0, 9))
def test_every_behaviour_after_the_history_has_one_instruction(texts: list[list[str]], seed: int) -> None:
    people = [
        ShopUser(
            id=f"u{user}",
            behaviours=cut_time_line([Review(asin="B", timestamp_ms=at, text=text) for at, text in enumerate(each)]),
        )
        for user, each in enumerate(texts)
    ]
    jobs = instruction_jobs(people, seed)
    later = [(user.id, one) for user in people for one in user.behaviours if one.split != "history"]
    assert [(job.user_id, job.behaviour) for job in jobs] == later
    assert all(job.behaviour.review.text.strip() for job in jobs if job.type == "review")
    assert len({job.id for job in jobs}) == len(jobs)


def read(folder: Path, users: int = 1000) -> Selection:
    return draw_users(find_categories(folder, CATEGORIES), users, 0)


def test_all_reviews_of_a_drawn_user_come_from_all_categories(tmp_path: Path) -> None:
    found = read(amazon(tmp_path))
    assert [len(user.behaviours) for user in found.users] == [12] * 6
    assert {one.asin[:2] for one in found.users[0].behaviours} == {"B0", "B1"}
    one = found.users[0].behaviours[0]
    bought = found.products[one.asin]
    assert (bought.title, bought.price, bought.details) == (f"Thing {one.asin} of oak", 12.5, '{"Brand": "Acme"}')
    assert (one.review.rating, one.review.title) == (4.0, f"On {one.asin}")
    assert read(tmp_path, users=2).users == found.users[:2]


def test_missing_files_are_all_named_and_damaged_ones_with_their_line(tmp_path: Path) -> None:
    lines(tmp_path / "Electronics.jsonl", [])
    with pytest.raises(UserError, match=r"no meta_Electronics\.jsonl\[\.gz\], no Home_and_Kitchen"):
        find_categories(tmp_path)
    (tmp_path / "Electronics.jsonl").unlink()
    path = amazon(tmp_path) / "reviews" / "Electronics.jsonl"
    sound = path.read_bytes()
    path.write_bytes(sound + b"\n" + b'{"user_id": 3}\n')
    with pytest.raises(UserError, match=r"Electronics\.jsonl, line 39: Expected `str`, got `int`"):
        read(tmp_path)
    path.write_bytes(sound)
    zipped = path.with_name("Grocery_and_Gourmet_Food.jsonl.gz")
    for content in (zipped.read_bytes()[:-20], b"no archive"):
        zipped.write_bytes(content)
        with pytest.raises(UserError, match="can't be read to its end"):
            read(tmp_path)


# --- replies ----------------------------------------------------------------------------------------------------------

WHOLE = json.dumps(PROFILE)


@pytest.mark.parametrize(
    "text",
    [
        f"Here is my profile: ```json\n{WHOLE}\n``` I hope it helps.",
        json.dumps({"user_profile": PROFILE}),
        json.dumps({key.upper().replace(" ", "_"): value for key, value in PROFILE.items()}),
        json.dumps({"Basic": dict(list(PROFILE.items())[:6]), "Personal": dict(list(PROFILE.items())[6:])}),
    ],
)
def test_the_same_profile_in_many_coats(text: str) -> None:
    read = read_profile(text)
    assert not isinstance(read, Failure), read
    found = read["profile"]
    assert (found.gender, found.brand_preference, found.interaction_complexity) == ("Female", "Acme, Bora", "Low")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"Age": None}, "Age has 0 characters"),
        ({"Shopping Interest": "x" * 2001}, "Shopping Interest has 2001 characters"),
        (None, "the reply holds no JSON object"),
    ],
)
def test_a_profile_with_something_amiss_is_unparsed(change: Json | None, why: str) -> None:
    found = read_profile(WHOLE[:-5] if change is None else json.dumps({**PROFILE, **change}))
    assert isinstance(found, Failure)
    assert (found.kind, found.message.startswith(why)) == ("unparsed", True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Find me\n  tea.", "Find me tea."),
        ('Search Request: "Find me tea."', "Find me tea."),
        ('"Tea" or "coffee"', '"Tea" or "coffee"'),
        ("...", None),
        ("a " * 1500, None),
    ],
)
def test_an_instruction_is_its_words(text: str, said: str | None) -> None:
    found = read_instruction(text)
    assert isinstance(found, Failure) if said is None else found == {"text": said}


@given(st.text())
def test_no_reply_raises(text: str) -> None:
    assert isinstance(read_profile(text), dict | Failure)
    assert isinstance(read_profile("{" + text + "}"), dict | Failure)
    assert isinstance(read_instruction(text), dict | Failure)


# --- the command ------------------------------------------------------------------------------------------------------


class Bench:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.raw = amazon(folder / "raw", users=USERS, behaviours=BEHAVIOURS)
        self.card = shell.planner_card(folder, "writer")
        self.card.write_text(self.card.read_text() + PRICE)
        self.out = folder / "shop"

    def build(self, url: str, *more: str | Path) -> subprocess.CompletedProcess[str]:
        source = ("--reviews", self.raw, "--category", *CATEGORIES, "--out", self.out)
        return call("build", *source, "--writer", self.card, "--base-url", url, "--max-retries", "0", *more)

    @property
    def made(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.out / "made-with.json").read_bytes())
        return found


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(answering(written)) as running:
        yield running


def test_from_raw_reviews_to_a_run(bench: Bench, server: ChatServer) -> None:
    done = bench.build(server.base_url)
    assert done.returncode == 0, done.stderr
    assert server.count == USERS + INSTRUCTIONS
    assert f"{bench.out}: users 6 · users with a profile 6 · products " in done.stdout
    assert " · history 60 · train 6 · test 6 · " in done.stdout
    assert "written by    writer (writer): a chat model · $" in done.stdout
    assert f" · ${18 * COST_USD:.2f} in all" in done.stdout
    made = bench.made
    assert (made["status"], made["written_by"]) == ("complete", "a chat model")
    assert made["recipe"]["prompts"].startswith("construction.1@")

    shop = read_shop(bench.out, splits=("train", "test"))
    assert len(shop.tasks) == INSTRUCTIONS
    assert {user.profile.brand_preference for user in shop.users.values() if user.profile} == {"Acme, Bora"}
    for task in shop.tasks:
        title = shop.products[task.target_asin].title
        behaviours = shop.users[task.user_id].behaviours
        (target,) = [one for one in behaviours if one.review.timestamp_ms == task.timestamp_ms]
        assert (target.asin, target.split) == (task.target_asin, task.split)
        assert task.instruction.endswith(title if task.type == "search" else f"{title.split()[1]}.")


def test_a_reply_that_says_nothing_is_kept_with_the_reason(bench: Bench, server: ChatServer) -> None:
    server.script(reply("I like tea."), reply("I'm sorry, but I can't help with that."))
    done = bench.build(server.base_url, "--max-connections", "1")
    assert done.returncode == 0, done.stderr
    assert "users 6 · users with a profile 4" in done.stdout
    assert "profiles      unparsed 2 · errors 0 · not asked yet 0, of 6" in done.stdout
    failures = [one["failure"] for one in shell.records(bench.out / "work" / "replies.jsonl") if "failure" in one]
    assert [one["kind"] for one in failures] == ["unparsed", "unparsed"]
    assert [one["message"] for one in failures] == ["the reply holds no JSON object", "the model refused, in words"]
    shop = read_shop(bench.out)
    assert len(shop.users) == USERS
    assert len(shop.tasks) == 4
    assert all(shop.users[task.user_id].profile is not None for task in shop.tasks)


def test_the_cost_limit_holds_over_all_starts(bench: Bench, server: ChatServer) -> None:
    limit = f"{8.5 * COST_USD:.6f}"
    stopped = bench.build(server.base_url, "--cost-limit", limit)
    assert stopped.returncode == 1
    assert "stopped before the end: the cost limit" in stopped.stdout
    assert server.count == 8
    assert bench.build(server.base_url, "--cost-limit", limit).returncode == 1
    assert server.count == 8
    assert bench.build(server.base_url, "--cost-limit", "1").returncode == 0
    assert server.count == USERS + INSTRUCTIONS


@pytest.mark.slow
@pytest.mark.parametrize(("how", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGTERM, 130)])
def test_what_was_answered_outlives_its_process(bench: Bench, how: signal.Signals, code: int) -> None:
    def slowly(body: dict[str, Any]) -> str:
        time.sleep(0.1)
        return written(body)

    with ChatServer(answering(slowly)) as slow:
        given = ["--reviews", bench.raw, "--category", *CATEGORIES, "--out", bench.out, "--writer", bench.card]
        process = shell.start(
            "shop", "build", *given, "--base-url", slow.base_url, cwd=bench.folder, module="grounding"
        )
        kept = bench.out / "work" / "replies.jsonl"
        shell.wait_until(lambda: len(shell.lines(kept)) >= USERS + 2, process)
        process.send_signal(how)
        ended = shell.finish(process)
        assert ended.returncode == code, ended.stderr
        before = slow.count
    # Every answer is on disk, besides the requests that were in flight.
    answered = len(shell.lines(kept))
    assert before - shell.IN_FLIGHT <= answered < USERS + INSTRUCTIONS
    assert (bench.made["status"], (bench.out / "user_profiles.json").exists()) == (
        ("started", False) if how == signal.SIGKILL else ("partial", True)
    )
    with ChatServer(answering(written)) as server:
        done = bench.build(server.base_url)
        assert done.returncode == 0, done.stderr
        assert server.count == USERS + INSTRUCTIONS - answered
    assert len(read_shop(bench.out, splits=("train", "test")).tasks) == INSTRUCTIONS


def test_another_recipe_needs_another_folder_or_fresh(bench: Bench, server: ChatServer) -> None:
    assert bench.build(server.base_url, "--users", "2").returncode == 0
    before = (bench.out / "user_profiles.json").read_bytes()
    refused = bench.build(server.base_url, "--users", "3")
    assert refused.returncode == 2
    assert "holds a shop made otherwise (users)" in refused.stderr
    assert (bench.out / "user_profiles.json").read_bytes() == before
    fresh = bench.build(server.base_url, "--users", "3", "--fresh")
    assert fresh.returncode == 0
    assert (bench.folder / "shop.old1" / "user_profiles.json").read_bytes() == before
    assert len(read_shop(bench.out).users) == 3


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--reviews", "raw"], "no Home_and_Kitchen.jsonl[.gz]"),
        (["--reviews", "raw", "--writer", "gpt-4p", "--category", *CATEGORIES], "no model is called 'gpt-4p'"),
        (
            ["--reviews", "raw", "--category", *CATEGORIES, "--out", "raw", "--base-url", NOWHERE],
            "--out raw: holds something else",
        ),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, more: list[str], words: str
) -> None:
    monkeypatch.chdir(bench.folder)
    given = [*([] if "--out" in more else ["--out", "new"]), *([] if "--writer" in more else ["--writer", "gpt-4o"])]
    done = call("build", *given, *more)
    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())
