"""Whole runs over a shop by the command line: what they print, where they stop, and how they go on."""

from __future__ import annotations

import json
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from fakes.chat_server import ChatServer, calling, completion, error, function_call, reply, working_out
from fakes.held_model import HeldModel
from fakes.shop_model import shop_model
from shell import call, finish, records, start, summary, wait_until

from webagents.personalwab.shops import INSTRUCTIONS, write_shop

CARD = """\
name: shopper
title: a model of the tests
model: shopper
parameters: {max_tokens: 500}
takes: [temperature, seed]
max_connections: 4
"""
PRICE = "price: {input_usd: 1000.0, output_usd: 0.0, date: '2026-01-01'}\n"


@pytest.fixture
def card(tmp_path: Path) -> Path:
    path = tmp_path / "shopper.yaml"
    path.write_text(CARD)
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_shop(tmp_path / "shop")


def over(data: Path, *more: str | Path) -> list[str]:
    """The command line for a run over the shop."""
    logs = data.parent / "results"
    fixed = ["--dataset", "personalwab", "--data-dir", data, "--log-dir", logs, "--no-report"]
    return [*map(str, fixed), *map(str, more)]


def asking(data: Path, card: Path, server: ChatServer, agent: str, *more: str) -> list[str]:
    return over(data, "--agent", agent, "--model", card, "--base-url", server.base_url, "--max-retries", "0", *more)


def folders(data: Path) -> list[Path]:
    return sorted((data.parent / "results").iterdir())


def only(data: Path) -> Path:
    (folder,) = folders(data)
    return folder


def ends(folder: Path) -> Counter[str]:
    return Counter(one["end"] for one in records(folder / "episodes.jsonl"))


def scores(folder: Path) -> dict[str, Any]:
    """What must be equal between two runs of one command: everything but time and money."""
    found = summary(folder)
    for figures in (*_all_figures(found),):
        figures.pop("seconds")
    return {name: value for name, value in found.items() if name not in ("wall_s", "agent", "user")}


def _all_figures(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        own = [value] if "seconds" in value and "function" in value else []
        return own + [each for inner in value.values() for each in _all_figures(inner)]
    return []


# --- offline ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("track", ["single", "multi"])
def test_the_rules_run_with_several_memories_in_one_command(data: Path, track: str) -> None:
    done = call(*over(data, "--memory", "none", "random", "last", "--track", track))
    assert done.returncode == 0, done.stderr
    for row in ("rules · none", "rules · random", "rules · last"):
        assert row in done.stdout
    assert "few-shot   6 tasks" in done.stdout or "few-shot   3 tasks" in done.stdout
    assert len(folders(data)) == 3
    again = call(*over(data, "--memory", "none", "random", "last", "--track", track, "--json"))
    assert [one["status"] for one in json.loads(again.stdout)] == ["complete"] * 3


def test_tasks_with_equal_words_and_users_without_a_past_each_count(data: Path) -> None:
    done = call(*over(data))
    assert done.returncode == 0
    episodes = records(only(data) / "episodes.jsonl")
    assert [one["task_id"] for one in episodes] == [f"test/{n}" for n in range(len(INSTRUCTIONS))]
    strangers = [line for line in records(only(data) / "steps.jsonl") if line["task"]["user_id"] == "v"]
    assert {line.get("earlier_behaviours", 0) for line in strangers} == {0}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--agent", "react"], "needs a chat model"),
        (["--agent", "puma", "--model", "gpt-4o", "--memory", "last"], "has a memory of its own"),
        (["--agent", "react", "--model", "gpt-4o", "--memory", "task-specific"], "that is --agent puma"),
        (["--agent", "reflexion", "--model", "gpt-4o"], "add --track multi"),
        (["--agent", "puma-local"], "give both or neither"),
        (["--functions", "x.json"], "only --agent puma"),
        (["--user", "gpt-4o"], "nobody answers in the single-turn track"),
        (["--model", "gpt-4o"], "asks no chat model"),
        (["--max-steps", "0"], "expected 1 or more"),
        (["--search-index", "x"], "only --search pyserini"),
        (["--participant", "nobody"], "no task is of this user"),
        (["--sample-id", "test/99"], "no such task"),
        (["--grounder", "ocr"], "has no meaning for personalwab"),
        (["--kind", "routine"], "expected search, recommend or review"),
        (["--scoring", "strict"], "is for desktop tasks"),
        (["--temperature", "1"], "takes no temperature"),
    ],
)
def test_what_makes_no_sense_is_said(data: Path, more: list[str], words: str) -> None:
    done = call(*over(data, *more))
    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())
    assert not (data.parent / "results").exists()


# --- with a model -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("agent", "track", "memory"),
    [
        ("function-calling", "single", "none"),
        ("function-calling", "multi", "random"),
        ("react", "single", "last"),
        ("react", "multi", "none"),
        ("reflexion", "multi", "last"),
        ("recmind", "single", ""),
        ("interecagent", "multi", ""),
    ],
)
def test_every_agent_runs_end_to_end(data: Path, card: Path, agent: str, track: str, memory: str) -> None:
    chosen = ["--memory", memory] if memory else []
    with ChatServer(working_out(shop_model)) as server:
        done = call(*asking(data, card, server, agent, "--track", track, *chosen))
    assert done.returncode == 0, done.stderr
    found = summary(only(data))
    assert found["status"] == "complete"
    assert found["scores"]["paper"]["overall"]["function"]["k"] == len(INSTRUCTIONS)
    assert ends(only(data)) == {("terminal-call" if track == "single" else "stopped"): len(INSTRUCTIONS)}
    assert found["agent"]["calls"] > 0
    assert all(body["temperature"] == 0.0 for body in server.bodies)
    if track == "multi":
        steps = found["scores"]["paper"]["types"]
        assert (steps["search"]["steps"]["value"], steps["review"]["steps"]["value"]) == (3.0, 2.0)


def test_puma_asks_twice_a_task_or_takes_functions_from_a_file(data: Path, card: Path) -> None:
    with ChatServer(working_out(shop_model)) as server:
        asks = call(*asking(data, card, server, "puma"))
        assert asks.returncode == 0, asks.stderr
        assert server.count == 2 * len(INSTRUCTIONS)
        given = {words: "search_product_by_query" for _, _, words, _ in INSTRUCTIONS}
        functions = data.parent / "function_res.json"
        functions.write_text(json.dumps(given))
        reads = call(*asking(data, card, server, "puma", "--functions", str(functions)))
    assert reads.returncode == 0, reads.stderr
    assert "4 tasks have the words of another, and one prediction between them" in " ".join(reads.stderr.split())
    assert server.count == 3 * len(INSTRUCTIONS)
    assert len(folders(data)) == 2


def test_a_model_plays_the_user_warm_and_short(data: Path, card: Path) -> None:
    with ChatServer(working_out(shop_model)) as agent, ChatServer(working_out(shop_model)) as user:
        more = ["--track", "multi", "--user", str(card), "--user-base-url", user.base_url]
        done = call(*asking(data, card, agent, "function-calling", *more))
    assert done.returncode == 0, done.stderr
    assert {(body["temperature"], body["max_tokens"]) for body in user.bodies} == {(1.0, 150)}
    assert {(body["temperature"], body["max_tokens"]) for body in agent.bodies} == {(0.0, 500)}
    found = summary(only(data))
    assert found["user"]["calls"] == 4
    assert found["track"] == "multi"


def test_errors_leave_a_run_partial_and_the_same_command_asks_only_those(data: Path, card: Path) -> None:
    with ChatServer(working_out(shop_model)) as server:
        server.script(calling("stop"), error(500), error(500))
        command = asking(data, card, server, "function-calling", "--memory", "none")
        broken = call(*command)
        assert broken.returncode == 1
        assert "2 tasks ended in an error and count as wrong" in broken.stdout
        assert "the run is partial" in broken.stdout
        assert server.count == len(INSTRUCTIONS)
        again = call(*command)
        assert again.returncode == 0
        assert server.count == len(INSTRUCTIONS) + 2
        call(*command)
        assert server.count == len(INSTRUCTIONS) + 2
    assert summary(only(data))["counts"]["ends"] == {"stopped": 1, "terminal-call": 5}


def test_a_refusal_of_every_request_is_said_and_what_was_paid_before_is_kept(data: Path, card: Path) -> None:
    with ChatServer(working_out(shop_model)) as agent, ChatServer(error(401, "no such key")) as user:
        more = ["--track", "multi", "--memory", "none", "--user", str(card), "--user-base-url", user.base_url]
        done = call(*asking(data, card, agent, "function-calling", *more))
    assert done.returncode == 2
    assert "refuses" in done.stderr
    (folder,) = folders(data)
    broken = [one for one in records(folder / "episodes.jsonl") if one.get("failure")]
    assert broken
    assert {one["failure"]["kind"] for one in broken} == {"error"}
    assert any(one["call"]["usage"]["input_tokens"] for one in broken)


# --- money ------------------------------------------------------------------------------------------------------


def test_a_limit_stops_before_it_and_a_higher_one_goes_on(data: Path, card: Path) -> None:
    card.write_text(CARD + PRICE)
    usage = {"prompt_tokens": 1000, "completion_tokens": 1}  # one dollar a request

    def dear(body: dict[str, Any]) -> dict[str, Any]:
        return {**shop_model(body), "usage": usage}

    with ChatServer(working_out(dear)) as server:
        command = asking(
            data, card, server, "function-calling", "--memory", "none", "--track", "multi", "--max-connections", "1"
        )
        stopped = call(*command, "--cost-limit", "4.5")
        assert stopped.returncode == 1
        assert "cost limit of $4.5 is reached" in stopped.stdout
        first = server.count
        assert 0 < first <= 4
        found = summary(only(data))
        assert found["agent"]["usd"] == pytest.approx(first)
        on = call(*command, "--cost-limit", "100")
        assert on.returncode == 0, on.stdout
    found = summary(only(data))
    assert found["agent"]["usd"] == pytest.approx(server.count)
    assert found["status"] == "complete"


def test_a_limit_without_a_price_is_refused(data: Path, card: Path) -> None:
    with ChatServer(working_out(shop_model)) as server:
        done = call(*asking(data, card, server, "react", "--cost-limit", "1"))
    assert done.returncode == 2
    assert "states no price" in done.stderr
    assert server.count == 0


# --- interruptions ------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_ended_in_its_middle_goes_on_and_asks_nothing_settled_twice(
    tmp_path: Path, card: Path, by: signal.Signals
) -> None:
    many = [(user, kind, f"{words} number {n}", asin) for n in range(8) for user, kind, words, asin in INSTRUCTIONS]
    data = write_shop(tmp_path / "many", many)
    held = HeldModel(shop_model, after=15)
    with ChatServer(held) as server:
        command = asking(data, card, server, "function-calling", "--memory", "last")
        process = start(*command, cwd=tmp_path)
        wait_until(lambda: held.answered >= 15, process)
        wait_until(lambda: len(records(only(data) / "episodes.jsonl")) >= 12, process)
        settled = {one["task_id"] for one in records(only(data) / "episodes.jsonl")}
        before = Counter(held.seen)
        process.send_signal(by)
        process.wait(60)
        out, err = process.communicate()
        if by is signal.SIGINT:
            assert process.returncode == 130
            assert "interrupted; the same command again goes on from here" in err
            assert "stopped before the end: interrupted" in out
        held.let_go()
        again = finish(start(*command, cwd=tmp_path))
        assert again.returncode == 0, again.stderr
        kept = [one for one in records(only(data) / "episodes.jsonl") if one["task_id"] in settled]
        assert Counter(one["task_id"] for one in kept).most_common(1)[0][1] == 1
        asked_again = sum(count - before[body] for body, count in held.seen.items() if body in before)
        assert asked_again <= 15 - len(settled)
        elsewhere = [str(tmp_path / "other") if word == str(tmp_path / "results") else word for word in command]
        in_one_go = call(*elsewhere)
        assert in_one_go.returncode == 0
    (other,) = (tmp_path / "other").iterdir()
    assert scores(only(data)) == scores(other)


# --- afterwards -------------------------------------------------------------------------------------------------


def test_a_run_is_scored_again_compared_and_shown_beside_the_paper(data: Path) -> None:
    assert call(*over(data, "--memory", "none", "last")).returncode == 0
    none, last = sorted(folders(data), key=lambda folder: "_none_" not in folder.name)
    again = call("score", none, module="grounding.cli")
    assert again.returncode == 0
    assert "rules · none" in again.stdout
    first = call("score", none, "--attempt", "first", "--json", module="grounding.cli")
    assert "personalwab.1@first" in json.loads(first.stdout)["signature"]
    mixed = call("compare", none, last, module="grounding.cli")
    assert mixed.returncode == 2
    assert "the attempt that counts: the reading's own and first" in mixed.stderr
    call("score", last, "--attempt", "first", module="grounding.cli")
    compared = call("compare", none, last, "--json", module="grounding.cli")
    assert compared.returncode == 0, compared.stderr
    (one,) = json.loads(compared.stdout)["runs"]
    assert (one["tasks"], one["users"]) == (6, 2)
    assert {each["group"] for each in one["measures"]} == {"all", "search", "recommend", "review"}
    table = call("compare", none, last, module="grounding.cli")
    assert "only 2 users are drawn" in table.stdout
    published = call("score", none, "--published", module="grounding.cli")
    for number in (3, 7, 8, 9):
        assert f"PersonalWAB, Table {number}" in published.stdout
    assert "PersonalWAB, Table 4" not in published.stdout
    assert "PUMA (LLaMA-7B)" in published.stdout
    official = call("score", none, "--scoring", "official", module="grounding.cli")
    assert "single-turn · official" in official.stdout


def test_the_multi_turn_track_stands_beside_table_4_and_other_data_are_told(data: Path) -> None:
    done = call(*over(data, "--track", "multi", "--limit", "3", "--published"))
    assert "PersonalWAB, Table 4" in done.stdout
    assert "PersonalWAB, Table 3" not in done.stdout
    assert "other data than the paper's (personalwab, 3 tasks, selection limit=3)" in " ".join(done.stdout.split())


@pytest.mark.parametrize("command", ["export", "report", "view"])
def test_commands_for_clicks_say_what_a_run_is(data: Path, command: str) -> None:
    call(*over(data, "--limit", "1"))
    done = call(command, only(data), module="grounding.cli")
    assert done.returncode == 2
    assert "is a run over a shop" in done.stderr


def test_the_agents_are_listed() -> None:
    done = call("list", "agents", module="grounding.cli")
    for name in ("function-calling", "react", "reflexion", "recmind", "interecagent", "puma", "puma-local", "oracle"):
        assert name in done.stdout


def test_what_is_left_out_of_a_reply_is_no_crash(data: Path, card: Path) -> None:
    odd = {**completion(None, tool_calls=[function_call("", ""), function_call("stop", "")])}
    with ChatServer(working_out(lambda _: odd)) as server:
        done = call(*asking(data, card, server, "function-calling", "--memory", "none", "--max-steps", "2"))
    assert done.returncode == 0, done.stderr
    assert ends(only(data)) == {"step-limit": len(INSTRUCTIONS)}
    assert summary(only(data))["counts"]["errors_seen"] == {"unknown-function": 2 * len(INSTRUCTIONS)}


def test_a_reply_that_is_empty_is_counted_as_no_move(data: Path, card: Path) -> None:
    with ChatServer(reply("")) as server:
        done = call(*asking(data, card, server, "react"))
    assert done.returncode == 0
    assert ends(only(data)) == {"gave-up": len(INSTRUCTIONS)}
    assert "unparsed 6" in done.stdout
