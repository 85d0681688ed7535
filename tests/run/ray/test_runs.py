"""Runs on a cluster beside the same runs without: answers, money, keys, losses, and how they end."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psutil
import pytest
import shell
from conftest import Item, TinyDataset
from fakes.cluster import FakeCluster, when
from fakes.slow_server import SlowServer, any_point, slow_server
from serving.helpers import FAKE, asked, is_alive, pids, started

from grounding.run.ray import cluster
from grounding.serving.keeper import descendants
from run.ray.conftest import ON_RAY as on_ray
from run.ray.conftest import Crew, RayNode, program

PRICE = "price: {input_usd: 1000, output_usd: 1000, date: spring}\n"
A_REQUEST_USD = 0.11  # What a request costs by the server's count of tokens: 100 and 10.
STEPS, CONNECTIONS = 22, 4


class Lab:
    """A data set of 22 scored steps, cards, and the commands over them."""

    def __init__(self, folder: Path, data_dir: Path, crew: Crew) -> None:
        self.folder, self.data_dir, self.ray = folder, data_dir, crew.words

    def args(self, server: SlowServer, where: str, *more: str, price: str = "", grounders: int = 1) -> list[str]:
        cards = [shell.grounder_card(self.folder, name, connections=CONNECTIONS) for name in ("one", "two")[:grounders]]
        for card in cards:
            card.write_text(card.read_text() + price)
        return [
            *("--dataset", "realwebassist", "--data-dir", str(self.data_dir), "--log-dir", str(self.folder / where)),
            *("--grounder", *map(str, cards), "--base-url", server.url, "--max-retries", "0", *more),
        ]

    def call(self, server: SlowServer, where: str, *more: str, code: int = 0, **how: Any) -> str:
        done = shell.call(*self.args(server, where, *more, **how))
        assert done.returncode == code, done.stdout + done.stderr
        return done.stderr

    def info(self, where: str) -> dict[str, str]:
        found: dict[str, str] = json.loads((shell.run_folder(self.folder / where) / "run.json").read_bytes())
        return found

    def summary(self, where: str) -> bytes:
        return (shell.run_folder(self.folder / where) / "summary.json").read_bytes()


@pytest.fixture
def lab(tmp_path: Path, tiny_dataset: TinyDataset, crew: Crew) -> Lab:
    def told_apart(participant: str, items: list[Item]) -> None:
        for item in items:
            item["instruction"] += f" of {participant}"

    return Lab(tmp_path, tiny_dataset(steps=12, unscored=(2,), edit=told_apart), crew)


# --- answers ------------------------------------------------------------------------------------------------------

SAMPLES = {
    "web": ("--dataset", "sample-web", "--grounder", "ocr", "--limit", "2", "--zoom", "half"),
    "desktop": ("--dataset", "sample-desktop", "--limit", "3"),
    "shop": ("--dataset", "sample-shop", "--limit", "3"),
    "shop, several turns": ("--dataset", "sample-shop", "--limit", "3", "--track", "multi"),
}


@pytest.mark.parametrize(
    "sample",
    # For pages that workers find and show: tests/benchmarks/agenticshop/test_elsewhere.py.
    [pytest.param(each, marks=pytest.mark.needs("web") if "shop" in each else ()) for each in SAMPLES],
)
def test_every_sample_is_the_same_to_the_byte(sample: str, crew: Crew, tmp_path: Path) -> None:
    found = []
    for where, more in (("local", ()), ("cluster", crew.words)):
        done = shell.call(*SAMPLES[sample], "--log-dir", tmp_path / where, *more)
        assert done.returncode == 0, done.stderr
        found.append((shell.run_folder(tmp_path / where) / "summary.json").read_bytes())
    assert found[0] == found[1]


def test_in_several_runs_each_question_is_asked_once(lab: Lab, crew: Crew) -> None:
    thinker = str(shell.planner_card(lab.folder, connections=CONNECTIONS))
    with slow_server() as server:
        more = ("--planner", "none", thinker, "--planner-base-url", server.url)
        lab.call(server, "local", *more)
        before = Counter(server.texts)
        assert before.total() > 2 * STEPS
        lab.call(server, "cluster", *more, *lab.ray)
        assert server.texts - before == before
    local, there = (sorted((lab.folder / where).glob("*/summary.json")) for where in ("local", "cluster"))
    assert [each.read_bytes() for each in local] == [each.read_bytes() for each in there]
    assert len(there) == 2
    shell.wait_until(lambda: not crew.alive())


def test_a_finished_run_asks_for_no_cluster(lab: Lab, fake: FakeCluster) -> None:
    with slow_server() as server:
        lab.call(server, "local")
        lab.call(server, "local", *lab.ray)
        assert server.requests == STEPS
    assert fake.actors == []


# --- money and keys -----------------------------------------------------------------------------------------------


def test_the_cost_limit_holds_over_all_workers_and_the_run_goes_on(lab: Lab) -> None:
    with slow_server() as server:
        said = lab.call(server, "cluster", *lab.ray, "--cost-limit", str(4.5 * A_REQUEST_USD), code=1, price=PRICE)
        assert server.requests <= 4
        assert "Traceback" not in said
        assert "cost limit" in lab.info("cluster")["stopped"]
        lab.call(server, "cluster", *lab.ray, "--cost-limit", "100", price=PRICE)
        assert server.requests == STEPS


@pytest.mark.parametrize("crew", [pytest.param("ray", marks=on_ray)], indirect=True)
def test_a_key_reaches_the_workers_and_no_file(lab: Lab, node: RayNode, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "sk-" + os.urandom(12).hex()
    monkeypatch.setenv("GROUNDING_TEST_KEY", secret)
    with slow_server() as server:
        endpoint = f"endpoint: {{base_url: '{server.url}', key_variable: GROUNDING_TEST_KEY}}\n"
        lab.call(server, "cluster", *lab.ray, price=endpoint)
        assert server.keys == {f"Bearer {secret}"}
    files = [file for file in (*node.folder.rglob("*"), *lab.folder.rglob("*")) if file.is_file()]
    assert len(files) > 10
    assert not [file for file in files if secret.encode() in file.read_bytes()]


# --- losses -------------------------------------------------------------------------------------------------------


def test_what_a_killed_worker_was_at_is_asked_again_elsewhere(lab: Lab, crew: Crew) -> None:
    with slow_server() as server:
        lab.call(server, "local")
    with slow_server() as server:
        server.hold_after = 6
        when(lambda: server.answered >= 6, lambda: (crew.kill(), server.let_go(None)))
        said = lab.call(server, "cluster", *lab.ray)
        # What it had open, and what it had just been answered and not told yet.
        assert STEPS <= server.requests <= STEPS + CONNECTIONS // 2 + 6
    assert " is lost: " in said
    assert lab.summary("cluster") == lab.summary("local")


@pytest.mark.parametrize("crew", ["in this process"], indirect=True)
def test_a_step_that_costs_worker_after_worker_is_an_error_and_asked_again_the_next_time(
    lab: Lab, crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "LOOK_EVERY_S", 0.1)
    cursed, armed = "click thing 5 of 1", True

    def reply(model: str, text: str) -> str:
        if cursed in text and armed:
            crew.kill(None)
            time.sleep(0.2)  # The reply finds nobody.
        return any_point(model, text)

    with slow_server(reply) as server:
        args = (*lab.ray[:3], "1", *lab.ray[4:], "--max-connections", "1")
        lab.call(server, "cluster", *args, code=1)
        lines = shell.records(shell.run_folder(lab.folder / "cluster") / "predictions.jsonl")
        (failed,) = [line["failure"] for line in lines if (line.get("failure") or {}).get("kind") == "error"]
        assert "3 workers were lost while they worked on this" in failed["message"]
        armed = False
        lab.call(server, "cluster", *args)
    assert b'"status": "complete"' in lab.summary("cluster")


def test_a_cluster_that_goes_ends_the_run_and_the_same_command_goes_on(lab: Lab, fake: FakeCluster) -> None:
    with slow_server() as server:
        server.hold_after = 6
        when(lambda: server.answered >= 6, lambda: setattr(fake, "lost", "the head is out of reach"))
        lab.call(server, "cluster", *lab.ray, code=1)
        assert lab.info("cluster")["stopped"].startswith("the head is out of reach")
        fake.lost = ""
        server.let_go(None)
        lab.call(server, "cluster", *lab.ray)
        assert server.requests <= STEPS + 2 * CONNECTIONS
    assert b'"status": "complete"' in lab.summary("cluster")


@pytest.mark.parametrize("crew", [pytest.param("ray", marks=on_ray)], indirect=True)
def test_a_lost_ray_cluster_ends_the_run_and_the_same_command_goes_on(lab: Lab) -> None:
    own = RayNode(cpus=2)
    try:
        with slow_server() as server:
            server.hold_after = 6
            when(lambda: server.answered >= 6, own.kill)
            more = ("--executor", "ray", "--workers", "2", "--ray-address", own.address)
            process = shell.start(*lab.args(server, "cluster", *more), cwd=lab.folder)
            done = shell.finish(process)
            assert done.returncode == 1, done.stderr
            assert "the same command goes on" in lab.info("cluster")["stopped"]
            server.let_go(None)
            lab.call(server, "cluster", *lab.ray)
            assert server.requests <= STEPS + 2 * CONNECTIONS
            assert b'"status": "complete"' in lab.summary("cluster")
    finally:
        own.close()


# --- servers beside workers, and nodes that join ------------------------------------------------------------------


def beside(lab: Lab, takes_s: float, *more: str) -> tuple[Path, tuple[str, ...]]:
    """A card that is served beside each worker: what its servers write down, and the words of a run over it."""
    record = lab.folder / "started.jsonl"
    card = shell.grounder_card(lab.folder, "beside", connections=2)
    card.write_text(card.read_text() + "serving: {how: vllm}\n")
    server = lab.folder / "serve"
    words = " ".join((*FAKE, '"$@"', "--fake-record", str(record), "--fake-takes", str(takes_s), *more))
    server.write_text(f"#!/bin/sh\nexec {words}\n")
    server.chmod(0o755)
    return record, (
        *("--dataset", "realwebassist", "--data-dir", str(lab.data_dir), "--log-dir", str(lab.folder / "cluster")),
        *("--grounder", str(card), "--server-command", str(server), "--max-retries", "1", *lab.ray),
    )


def test_a_server_beside_a_worker_that_dies_costs_no_answer(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grounding.serving.worker_server.EVERY_S", 0.5)
    record, args = beside(lab, 0.7)
    when(lambda: len(asked(record)) >= 8, lambda: os.kill(started(record)[0]["pid"], signal.SIGKILL))
    done = shell.call(*args)
    assert done.returncode == 0, done.stderr
    assert " is lost: the server ended by itself (signal 9)" in done.stderr
    assert b'"status": "complete"' in lab.summary("cluster")
    shell.wait_until(lambda: not [pid for pid in pids(record) if is_alive(pid)])


def test_a_node_that_joins_gets_a_worker(lab: Lab, fake: FakeCluster) -> None:
    record, args = beside(lab, 1.0)
    at = args.index("--workers")
    when(lambda: len(asked(record)) >= 2, lambda: setattr(fake, "there", (*fake.there, (4.0, 0.0))))
    done = shell.call(*args[:at], *args[at + 2 :])
    assert done.returncode == 0, done.stderr
    assert len({line["port"] for line in asked(record)}) == 2


# --- a cluster of our own, and how runs end -----------------------------------------------------------------------


@pytest.mark.parametrize("crew", [pytest.param("ray", marks=on_ray)], indirect=True)
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_a_cluster_of_our_own_is_closed_to_others_and_nothing_outlives_the_run(
    end: signal.Signals, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = lab.folder / "home"
    home.mkdir()
    with slow_server() as server:
        server.hold_after = 6
        args = lab.args(server, "cluster", "--executor", "ray", "--workers", "2")
        with monkeypatch.context() as without:
            for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", *cluster.CLOSED):
                without.delenv(name, raising=False)
            process = shell.start(*args, cwd=lab.folder, env={"HOME": str(home)})
        shell.wait_until(lambda: server.answered >= 6, process)
        below = descendants(process.pid)
        names = {program(pid).partition(".")[0] for pid in below}  # Ray adds the method that runs.
        assert {"raylet", "gcs_server", "ray::StageWorker"} <= names
        assert listening([process.pid, *below]) <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
        assert not (home / ".ray").exists()
        process.send_signal(end)
        assert shell.finish(process).returncode == (-9 if end == signal.SIGKILL else 130)
        shell.wait_until(lambda: not [pid for pid in below if program(pid)])
        server.let_go(None)
        lab.call(server, "cluster", *lab.ray)
        assert server.requests <= STEPS + 2 * CONNECTIONS
    assert b'"status": "complete"' in lab.summary("cluster")


def listening(pids: list[int]) -> set[str]:
    """The addresses at which these processes take connections."""
    found = set()
    for pid in pids:
        for connection in psutil.Process(pid).net_connections("inet"):
            if connection.status == psutil.CONN_LISTEN:
                found.add(connection.laddr.ip)
    return found


@pytest.mark.needs("ray")
def test_nobody_at_the_address_is_a_sentence(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = shell.call(*SAMPLES["web"], "--log-dir", tmp_path, "--executor", "ray", "--ray-address", address)
        assert done.returncode == 2
        assert f"no Ray cluster can be reached at {address}" in done.stderr
