"""Runs over a shop with their episodes in workers, against the same without: figures, money, losses, what goes on."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import shell
from fakes.chat_server import ChatServer, working_out
from fakes.cluster import FakeCluster, fake_cluster, when
from fakes.held_model import HeldModel
from fakes.shop_model import shop_model

from benchmarks.personalwab.shops import INSTRUCTIONS, write_shop

CARD = """\
name: shopper
title: a model of the tests
model: shopper
parameters: {max_tokens: 500}
takes: [temperature, seed]
max_connections: 2
"""
PRICE = "price: {input_usd: 1000.0, output_usd: 0.0, date: '2026-01-01'}\n"
RAY = ("--executor", "ray", "--workers", "2")


def dear(body: dict[str, Any]) -> dict[str, Any]:
    """One dollar a request."""
    return {**shop_model(body), "usage": {"prompt_tokens": 1000, "completion_tokens": 1}}


class Shop:
    def __init__(self, folder: Path, cluster: FakeCluster) -> None:
        self.folder, self.cluster = folder, cluster
        self.data = write_shop(folder / "shop")
        self.card = folder / "shopper.yaml"
        self.card.write_text(CARD)

    def args(self, where: str, server: ChatServer, *more: str) -> list[str]:
        return [
            *("--dataset", "personalwab", "--data-dir", str(self.data), "--log-dir", str(self.folder / where)),
            *("--agent", "function-calling", "--model", str(self.card), "--base-url", server.base_url),
            *("--memory", "none", "--max-retries", "0", "--no-report", *more),
        ]

    def run(self, where: str, server: ChatServer, *more: str, code: int = 0) -> str:
        done = shell.call(*self.args(where, server, *more))
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    def run_folder(self, where: str) -> Path:
        return shell.run_folder(self.folder / where)

    def summary(self, where: str) -> bytes:
        return (self.run_folder(where) / "summary.json").read_bytes()


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    with fake_cluster(monkeypatch) as found:
        yield Shop(tmp_path, found)


def test_what_a_lost_worker_played_is_played_by_another(shop: Shop) -> None:
    with ChatServer(working_out(dear)) as server:
        shop.run("local", server)
    held = HeldModel(dear, after=3)
    with ChatServer(held) as server:
        when(lambda: held.answered >= 3, lambda: (shop.cluster.alive[0].kill(), held.let_go()))
        said = shop.run("cluster", server, *RAY)
        # What the lost worker had open is asked again, and what it had just been answered and not told yet.
        assert len(INSTRUCTIONS) <= server.count <= len(INSTRUCTIONS) + 1 + 3
    assert "is lost: killed" in said
    assert shop.summary("cluster") == shop.summary("local")


def test_the_cost_limit_holds_over_all_workers_and_the_run_goes_on(shop: Shop) -> None:
    shop.card.write_text(CARD + PRICE)
    with ChatServer(working_out(dear)) as server:
        said = shop.run("cluster", server, "--track", "multi", *RAY, "--cost-limit", "4.5", code=1)
        assert "cost limit of $4.5 is reached" in said
        first = server.count
        assert 0 < first <= 4 + 2  # What was in flight then.
        assert json.loads(shop.summary("cluster"))["agent"]["usd"] == pytest.approx(first)
        shop.run("cluster", server, "--track", "multi", *RAY, "--cost-limit", "100")
        found = json.loads(shop.summary("cluster"))
        assert found["agent"]["usd"] == pytest.approx(server.count)
    assert found["status"] == "complete"


def test_what_episodes_cost_that_an_interrupt_breaks_off_is_kept(shop: Shop) -> None:
    held = HeldModel(dear, after=3)
    with ChatServer(held) as server:
        when(lambda: held.answered >= 3, lambda: signal.raise_signal(signal.SIGINT))
        said = shop.run("cluster", server, "--track", "multi", *RAY, code=130)
        assert "interrupted" in said
        assert len(shell.records(shop.run_folder("cluster") / "calls.jsonl")) >= 3
        held.let_go()
        shop.run("cluster", server, "--track", "multi", *RAY)
    found = json.loads(shop.summary("cluster"))
    assert found["status"] == "complete"
    assert found["agent"]["calls"] == len(shell.records(shop.run_folder("cluster") / "calls.jsonl"))


def test_kill_9_in_the_middle_of_episodes_takes_nothing_from_the_bill_or_the_limit(shop: Shop) -> None:
    shop.card.write_text(CARD + PRICE)
    held = HeldModel(dear, after=5)
    with ChatServer(held) as server:
        args = shop.args("runs", server, "--json", "--track", "multi", "--cost-limit", "1000")
        process = shell.start(*args, cwd=shop.folder)
        shell.wait_until(lambda: held.answered == 5 and server.count == 7, process)
        process.kill()
        process.wait()
        paid = [one["call"]["cost_usd"] for one in shell.records(shop.run_folder("runs") / "calls.jsonl")]
        assert paid == [1.0] * 5
        held.let_go()
        done = shell.run(*args, cwd=shop.folder)
        assert done.returncode == 0, done.stderr
        # Two requests were open when it died: nobody heard what they cost.
        assert json.loads(done.stdout)["agent"]["usd"] == pytest.approx(server.count - 2)
        assert json.loads(done.stdout)["agent"]["calls"] == server.count - 2
