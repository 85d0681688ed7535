"""Whole runs over a shop by the command line: what they print, where they stop, and how they go on."""

from __future__ import annotations

import json
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from fakes.chat_server import ChatServer, calling, error, working_out
from fakes.held_model import HeldModel
from fakes.shop_model import shop_model
from shell import call, finish, records, start, summary, wait_until

from benchmarks.personalwab.shops import INSTRUCTIONS, write_shop

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
    return sorted(path for path in (data.parent / "results").iterdir() if not path.name.startswith("matrix_"))


def only(data: Path) -> Path:
    (folder,) = folders(data)
    return folder


def ends(folder: Path) -> Counter[str]:
    return Counter(one["end"] for one in records(folder / "episodes.jsonl"))


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


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--agent", "react"], "needs a chat model"),
        (["--agent", "puma", "--model", "gpt-4o", "--memory", "last"], "has a memory of its own"),
        (["--agent", "react", "--model", "gpt-4o", "--memory", "task-specific"], "that is --agent puma"),
        (["--agent", "reflexion", "--model", "gpt-4o"], "add --track multi"),
        (["--agent", "puma-local"], "give both or neither"),
        (["--agent", "puma", "--model", "gpt-4o"], "--functions FILE"),
        (["--track", "multi", "--user", "human", "--executor", "ray"], "work in this process alone"),
        (["--functions", "x.json"], "only --agent puma"),
        (["--user", "gpt-4o"], "nobody answers in the single-turn track"),
        (["--model", "gpt-4o"], "asks no chat model"),
        (["--max-steps", "0"], "expected 1 or more"),
        (["--participant", "nobody"], "no task is of this user"),
        (["--kind", "routine"], "expected search, recommend or review"),
        (["--scoring", "strict"], "expected paper or official"),
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
        ("reflexion", "multi", "random"),
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
    # Reflections and profiles are asked for at the model's own temperature, as in the release.
    assert {body.get("temperature", 0.0) for body in server.bodies} == {0.0}
    if track == "multi":
        steps = found["scores"]["paper"]["types"]
        assert (steps["search"]["steps"]["value"], steps["review"]["steps"]["value"]) == (3.0, 2.0)


def test_puma_chat_asks_twice_a_task_and_puma_takes_functions_from_a_file(data: Path, card: Path) -> None:
    with ChatServer(working_out(shop_model)) as server:
        asks = call(*asking(data, card, server, "puma-chat"))
        assert asks.returncode == 0, asks.stderr
        assert server.count == 2 * len(INSTRUCTIONS)
        given = {words: ["search_product_by_query"] for _, _, words, _ in INSTRUCTIONS}
        functions = data.parent / "function_res.json"
        functions.write_text(json.dumps(given))
        reads = call(*asking(data, card, server, "puma", "--functions", str(functions)))
    assert reads.returncode == 0, reads.stderr
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
    paid = records(folder / "calls.jsonl")
    assert {one["role"] for one in paid} == {"agent"}
    assert all(one["call"]["usage"]["input_tokens"] for one in paid)


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
    assert summary(only(data))["scores"] == summary(other)["scores"]


# --- afterwards -------------------------------------------------------------------------------------------------


def test_a_run_is_scored_again_compared_and_shown_beside_the_paper(data: Path) -> None:
    assert call(*over(data, "--memory", "none", "last")).returncode == 0
    none, last = sorted(folders(data), key=lambda folder: "_none_" not in folder.name)
    again = call("score", none, module="grounding")
    assert again.returncode == 0
    assert "rules · none" in again.stdout
    compared = call("compare", none, last, "--json", module="grounding")
    assert compared.returncode == 0, compared.stderr
    (one,) = json.loads(compared.stdout)["runs"]
    assert (one["tasks"], one["users"]) == (6, 2)
    assert {each["group"] for each in one["metrics"]} == {"all", "search", "recommend", "review"}
    table = call("compare", none, last, module="grounding")
    assert "only 2 users are drawn" in table.stdout
    published = call("score", none, "--published", module="grounding")
    for number in (3, 7, 8, 9):
        assert f"PersonalWAB, Table {number}" in published.stdout
    assert "PersonalWAB, Table 4" not in published.stdout
    assert "PUMA (LLaMA-7B)" in published.stdout
    official = call("score", none, "--scoring", "official", module="grounding")
    assert "single-turn · official" in official.stdout


def test_the_multi_turn_track_stands_beside_table_4_and_other_data_are_told(data: Path) -> None:
    done = call(*over(data, "--track", "multi", "--limit", "3", "--published"))
    assert "PersonalWAB, Table 4" in done.stdout
    assert "PersonalWAB, Table 3" not in done.stdout
    told = " ".join(done.stdout.split())
    data = "personalwab(2 of 1,000 participants, not the release)"
    assert f"other data than the paper's ({data}, 3 tasks, selection limit=3)" in told
    assert f"signature dataset:{data}@" in told
    assert "rules · last memory, not the release" in told


def test_a_dry_run_says_the_least_and_the_most_and_asks_nobody(data: Path, card: Path) -> None:
    card.write_text(CARD + PRICE)
    with ChatServer(working_out(shop_model)) as server:
        done = call(*asking(data, card, server, "function-calling", "--track", "multi", "--dry-run", "--json"))
        assert done.returncode == 0, done.stderr
        assert server.count == 0
        (model,) = json.loads(done.stdout)["models"]
        assert (model["requests"], model["most_requests"]) == (6, 60)
        assert model["high_usd"] > 9 * model["low_usd"] > 0
        assert model["expected_usd"] is None
        puma = call(*asking(data, card, server, "puma-chat", "--dry-run", "--json"))
        assert json.loads(puma.stdout)["models"][0]["requests"] == 12
        assert server.count == 0


# --- without a recommender, and the release's result files ------------------------------------------------------------


def test_without_a_recommender_its_tasks_are_neither_asked_nor_scored_and_one_can_be_trained(tmp_path: Path) -> None:
    data = write_shop(tmp_path / "shop", recommends=False)
    done = call(*over(data, "--agent", "oracle"))
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stderr.split())
    assert "2 of 6 tasks ask for recommendations, and there is no checkpoint (*.pth) and no file of numbers" in told
    assert f"grounding shop recommender {data}" in told
    found = summary(only(data))
    assert found["counts"]["tasks"] == 4
    assert found["scores"]["paper"]["types"]["recommend"]["result"]["value"] is None
    assert "select:without=recommend" in found["signature"]
    refused = call(*over(data, "--agent", "oracle", "--kind", "recommend"))
    assert refused.returncode == 2
    trained = call("shop", "recommender", str(data), "--epochs", "2", module="grounding")
    assert trained.returncode == 0, trained.stderr
    assert "SASRec, 2 epochs on 1 users · 1 held-out purchases among 8 products: Recall@10 1.000" in trained.stdout
    assert call("shop", "recommender", str(data), module="grounding").returncode == 2
    assert call(*over(data, "--agent", "oracle", "--kind", "recommend")).returncode == 0


@pytest.mark.parametrize("agent", ["function-calling", "react"])
def test_a_result_file_of_the_release_is_written_and_read(data: Path, card: Path, agent: str) -> None:
    with ChatServer(working_out(shop_model)) as server:
        assert call(*asking(data, card, server, agent, "--track", "multi", "--preset", "official")).returncode == 0
        first = server.bodies[0]["messages"]
    file = data.parent / "out.json"
    written = call("shop", "results", str(only(data)), "--out", str(file), module="grounding")
    assert written.returncode == 0, written.stderr
    head, *entries = json.loads(file.read_text())
    official = summary(only(data))["scores"]["official"]
    assert head["results"]["overall"]["avg_res_acc"] == pytest.approx(official["overall"]["result"]["value"])
    assert head["results"]["search"]["avg_interaction_times"] == official["types"]["search"]["steps"]["value"]
    assert len(entries) == len(INSTRUCTIONS)
    assert entries[0]["traj"][:2] == first[:2]
    assert entries[0]["info"]["actions"][-1] == {"name": "stop", "arguments": {}}
    assert call("shop", "results", str(file), module="grounding").stdout.count("0.") > 0
    wrong = call("shop", "results", str(card), module="grounding")
    assert wrong.returncode == 2
    assert "no result file" in wrong.stderr
