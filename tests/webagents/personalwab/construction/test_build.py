"""``grounding shop build`` as a user has it: raw reviews in, a data set that `grounding eval` runs on out."""

from __future__ import annotations

import fcntl
import json
import os
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
from fakes.chat_server import ChatServer, answering, error, reply

from grounding.webagents.personalwab.loader import read_shop
from webagents.personalwab.construction.raw import CATEGORIES, PROFILE, agenticshop, amazon, said

USERS, BEHAVIOURS = 6, 12
INSTRUCTIONS = USERS * 2
PRICE = "price: {input_usd: 10, output_usd: 100, date: '2026-01-01'}\n"
COST_USD = (1000 * 10 + 10 * 100) / 1e6
"""Of one request, by what the fake counts."""


def call(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return shell.call("shop", *arguments, module="grounding.cli")


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
    assert f"{bench.out}: 6 users (6 with a profile)" in done.stdout
    assert "behaviours    history 60 · train 6 · test 6" in done.stdout
    assert "written by    writer (writer): a chat model" in done.stdout
    assert f"asked now     18 · ${18 * COST_USD:.2f} in all" in done.stdout
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
    told = sum(task.type == "search" for task in shop.tasks)
    assert made["counts"]["titles_told"] == told > 0


def run_rules(bench: Bench, *more: str) -> dict[str, Any]:
    data = ("--dataset", "personalwab", "--data-dir", bench.out, "--agent", "rules")
    ran = shell.call(*data, "--log-dir", bench.folder / "results", "--no-report", "--json", *more)
    assert ran.returncode == 0, ran.stderr
    summary: dict[str, Any] = json.loads(ran.stdout)
    return summary


def test_the_shop_can_be_searched(bench: Bench, server: ChatServer) -> None:
    pytest.importorskip("bm25s")
    assert bench.build(server.base_url).returncode == 0
    shop = read_shop(bench.out)
    summary = run_rules(bench, "--kind", "search")
    assert summary["counts"]["tasks"] == sum(task.type == "search" for task in shop.tasks) > 0
    assert summary["counts"]["products"] == len(shop.products)
    assert summary["scores"]["paper"]["types"]["search"]["result"]["value"] == 1.0


@pytest.mark.slow
def test_a_whole_run_over_the_shop(bench: Bench, server: ChatServer) -> None:
    pytest.importorskip("bm25s")
    pytest.importorskip("sentence_transformers")
    assert bench.build(server.base_url).returncode == 0
    types = Counter(task.type for task in read_shop(bench.out).tasks)
    summary = run_rules(bench)
    assert (summary["status"], summary["counts"]["tasks"], summary["counts"]["users"]) == ("complete", USERS, USERS)
    figures = summary["scores"]["paper"]["types"]
    assert {kind: figures[kind]["tasks"] for kind in types} == types
    assert 0 < figures["review"]["result"]["value"] <= 1


def test_nothing_is_asked_or_changed_twice(bench: Bench, server: ChatServer) -> None:
    assert bench.build(server.base_url).returncode == 0
    files = {path.name: path.read_bytes() for path in bench.out.glob("*.json")}
    again = bench.build(server.base_url)
    assert (again.returncode, server.count) == (0, USERS + INSTRUCTIONS)
    assert "asked now     0" in again.stdout
    assert {path.name: path.read_bytes() for path in bench.out.glob("*.json")} == files


def test_the_prompt_of_a_profile_shows_the_whole_time_line_and_no_instruction_shows_other_reviews(
    bench: Bench, server: ChatServer
) -> None:
    assert bench.build(server.base_url).returncode == 0
    for body in server.bodies:
        text = asked(body)
        if is_profile(body):
            assert text.count("Your rating: ") == BEHAVIOURS
        else:
            assert len(re.findall(r"U\d likes B\d\d\d\.", text)) == ("Your feelings about the product" in text)


def test_profiles_may_be_made_of_the_history_alone(bench: Bench, server: ChatServer) -> None:
    assert bench.build(server.base_url, "--profile-from", "history", "--profile-behaviours", "4").returncode == 0
    shop = read_shop(bench.out)
    later = {one.review.text for user in shop.users.values() for one in user.behaviours if one.split != "history"}
    profiles = [asked(body) for body in server.bodies if is_profile(body)]
    assert [text.count("Your rating: ") for text in profiles] == [4] * USERS
    assert not [one for one in later for text in profiles if one in text]


def test_a_reply_that_says_nothing_is_kept_with_the_reason(bench: Bench, server: ChatServer) -> None:
    server.script(reply("I like tea."), reply("I'm sorry, but I can't help with that."))
    done = bench.build(server.base_url, "--max-connections", "1")
    assert done.returncode == 0, done.stderr
    assert "6 users (4 with a profile)" in done.stdout
    assert "profiles      unparsed 2 · errors 0 · not asked yet 0, of 6" in done.stdout
    failures = [one["failure"] for one in shell.records(bench.out / "work" / "profiles.jsonl") if "failure" in one]
    assert [one["kind"] for one in failures] == ["unparsed", "unparsed"]
    assert [one["message"] for one in failures] == ["the reply holds no JSON object", "the model refused, in words"]
    shop = read_shop(bench.out)
    assert len(shop.users) == USERS
    assert len(shop.tasks) == 4
    assert all(shop.users[task.user_id].profile is not None for task in shop.tasks)


def test_errors_are_asked_again(bench: Bench, server: ChatServer) -> None:
    server.script(reply(json.dumps(PROFILE)), error(500), error(500))
    done = bench.build(server.base_url, "--max-connections", "1")
    assert done.returncode == 1
    assert "errors 2" in done.stdout
    assert bench.made["status"] == "partial"
    assert "the same command again goes on from here" in done.stderr
    assert bench.build(server.base_url).returncode == 0
    assert bench.made["status"] == "complete"
    assert server.count == USERS + INSTRUCTIONS + 2
    assert len(read_shop(bench.out, splits=("train", "test")).tasks) == INSTRUCTIONS


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
            "shop", "build", *given, "--base-url", slow.base_url, cwd=bench.folder, module="grounding.cli"
        )
        kept = bench.out / "work" / "instructions.jsonl"
        shell.wait_until(lambda: len(shell.lines(kept)) >= 2, process)
        process.send_signal(how)
        ended = shell.finish(process)
        assert ended.returncode == code, ended.stderr
        before = slow.count
    # Every answer is on disk, besides the requests that were in flight.
    answered = len(shell.lines(kept)) + len(shell.lines(bench.out / "work" / "profiles.jsonl"))
    assert before - shell.IN_FLIGHT <= answered < USERS + INSTRUCTIONS
    assert (bench.made["status"], (bench.out / "user_profiles.json").exists()) == (
        ("started", False) if how == signal.SIGKILL else ("partial", True)
    )
    with ChatServer(answering(written)) as server:
        done = bench.build(server.base_url)
        assert done.returncode == 0, done.stderr
        assert server.count == USERS + INSTRUCTIONS - answered
    assert len(read_shop(bench.out, splits=("train", "test")).tasks) == INSTRUCTIONS


def test_two_at_once_are_kept_apart(bench: Bench, server: ChatServer) -> None:
    assert bench.build(server.base_url).returncode == 0
    held = os.open(bench.out, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = bench.build(server.base_url)
    finally:
        os.close(held)
    assert done.returncode == 2
    assert f"another process is at work on {bench.out}: wait for it, or use another --out" in done.stderr


def test_another_recipe_needs_another_folder_or_fresh(bench: Bench, server: ChatServer) -> None:
    assert bench.build(server.base_url, "--users", "2").returncode == 0
    before = (bench.out / "user_profiles.json").read_bytes()
    refused = bench.build(server.base_url, "--users", "3")
    assert refused.returncode == 2
    assert "holds a shop made otherwise (sampling)" in refused.stderr
    assert (bench.out / "user_profiles.json").read_bytes() == before
    fresh = bench.build(server.base_url, "--users", "3", "--fresh")
    assert fresh.returncode == 0
    assert (bench.folder / "shop.old1" / "user_profiles.json").read_bytes() == before
    assert len(read_shop(bench.out).users) == 3


def test_by_rules_no_model_is_needed_and_the_shop_says_so(tmp_path: Path) -> None:
    users = {f"u{user}": [said(f"thing {user} {place}") for place in range(12)] for user in range(5)}
    raw = agenticshop(tmp_path / "raw", users)
    done = call("build", "--agenticshop", raw, "--out", tmp_path / "shop", "--per-purchase", "all")
    assert done.returncode == 0, done.stderr
    assert "train 15 (search 5, recommend 5, review 5) · test 15 (search 5, recommend 5, review 5)" in done.stdout
    made = json.loads((tmp_path / "shop" / "made-with.json").read_bytes())
    assert made["recipe"]["writer"] == "template"
    assert made["written_by"].startswith("rules and sentence patterns, no model")
    assert made["facts"]["times"].startswith("made up: one day apart")
    assert len(read_shop(tmp_path / "shop").tasks) == 15


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ([], "give one source: --reviews DIR"),
        (["--reviews", "raw", "--agenticshop", "raw"], "give one source"),
        (["--agenticshop", "gone"], "--agenticshop gone: no .json files"),
        (["--agenticshop", "raw", "--category", "Electronics"], "--category: AgenticShop's"),
        (["--reviews", "raw"], "no Home_and_Kitchen.jsonl[.gz]"),
        (["--reviews", "raw", "--writer", "gpt-4p", "--category", *CATEGORIES], "no planner is called 'gpt-4p'"),
        (["--reviews", "raw", "--min-behaviours", "9", "--max-behaviours", "8"], "is more than --max-behaviours 8"),
        (["--reviews", "raw", "--category", *CATEGORIES, "--prompt", "x"], "--prompt x"),
        (["--reviews", "raw", "--category", *CATEGORIES, "--out", "raw"], "--out raw: holds something else"),
        (["--reviews", "raw", "--category", *CATEGORIES, "--min-behaviours", "13"], "no user has 13 to 500"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, more: list[str], words: str
) -> None:
    monkeypatch.chdir(bench.folder)
    done = call("build", *([] if "--out" in more else ["--out", "new"]), *more)
    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())


def test_help_has_examples() -> None:
    for name in ("build", "profiles"):
        done = call(name, "--help")
        assert done.returncode == 0
        assert f"grounding shop {name} " in done.stdout
        assert "Examples:" in done.stdout
