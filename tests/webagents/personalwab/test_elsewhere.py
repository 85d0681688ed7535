"""Runs over a shop with their episodes in workers, against the same without: figures, money, losses, what goes on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import shell
from fakes.chat_server import ChatServer, error, working_out
from fakes.clusters import Clusters, LosesOne, clusters
from fakes.held_model import HeldModel
from fakes.inprocess_link import InProcessLink
from fakes.shop_model import shop_model

from webagents.personalwab.shops import INSTRUCTIONS, write_shop

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
    def __init__(self, folder: Path, cluster: Clusters) -> None:
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
    with clusters(monkeypatch) as found:
        yield Shop(tmp_path, found)


def test_the_rules_are_the_same_to_the_byte(shop: Shop) -> None:
    for where, more in (("local", ()), ("cluster", RAY)):
        args = ("--dataset", "personalwab", "--data-dir", shop.data, "--log-dir", shop.folder / where, *more)
        done = shell.call(*args)
        assert done.returncode == 0, done.stderr
    assert shop.summary("cluster") == shop.summary("local")
    (link,) = shop.cluster.used
    assert len(link.hired) == 2


@pytest.mark.slow  # The sample's web takes seconds to build, three times.
def test_the_sample_is_the_same_to_the_byte(shop: Shop) -> None:
    for where, more in (("local", ()), ("cluster", RAY)):
        done = shell.call("--dataset", "sample-shop", "--log-dir", shop.folder / where, "--limit", "6", *more)
        assert done.returncode == 0, done.stderr
    assert shop.summary("cluster") == shop.summary("local")
    (link,) = shop.cluster.used
    assert len(link.hired) == 2
    kept = json.loads((shop.run_folder("cluster") / "time.json").read_bytes())
    assert kept["wall_s"] > 0


def test_a_conversation_with_a_model_is_the_same_to_the_byte_and_asked_once(shop: Shop) -> None:
    with ChatServer(working_out(dear)) as server:
        user = ("--track", "multi", "--user", str(shop.card), "--user-base-url", server.base_url)
        shop.run("local", server, *user)
        here = server.count
        shop.run("cluster", server, *user, *RAY)
        assert server.count == 2 * here
        shop.run("cluster", server, *user, *RAY)
        assert server.count == 2 * here
    assert shop.summary("cluster") == shop.summary("local")
    assert len(shop.cluster.used) == 1


def test_what_a_lost_worker_played_is_played_by_another(shop: Shop) -> None:
    with ChatServer(working_out(dear)) as server:
        shop.run("local", server)
    held = HeldModel(dear, after=3)
    with ChatServer(held) as server:
        shop.cluster.make = lambda: LosesOne(lambda: held.answered >= 3, held.let_go)
        said = shop.run("cluster", server, *RAY)
        assert len(INSTRUCTIONS) <= server.count <= len(INSTRUCTIONS) + 1
    assert "is lost: killed" in said
    assert shop.summary("cluster") == shop.summary("local")


def test_the_cost_limit_holds_over_all_workers_and_the_run_goes_on(shop: Shop) -> None:
    shop.card.write_text(CARD + PRICE)
    with ChatServer(working_out(dear)) as server:
        said = shop.run("cluster", server, "--track", "multi", *RAY, "--cost-limit", "4.5", code=1)
        assert "cost limit of $4.5 is reached" in said
        first = server.count
        assert 0 < first <= 4
        assert json.loads(shop.summary("cluster"))["agent"]["usd"] == pytest.approx(first)
        shop.run("cluster", server, "--track", "multi", *RAY, "--cost-limit", "100")
        found = json.loads(shop.summary("cluster"))
        assert found["agent"]["usd"] == pytest.approx(server.count)
    assert found["status"] == "complete"


def test_what_was_paid_before_a_refusal_is_written_down(shop: Shop) -> None:
    with ChatServer(working_out(dear)) as server, ChatServer(error(401, "no such key")) as user:
        more = ("--track", "multi", "--user", str(shop.card), "--user-base-url", user.base_url)
        said = shop.run("cluster", server, *more, *RAY, code=2)
    assert "refuses" in said
    broken = [one for one in shell.records(shop.run_folder("cluster") / "episodes.jsonl") if one.get("failure")]
    assert broken
    assert all(one["call"]["usage"]["input_tokens"] for one in broken)


class Interrupts(InProcessLink):
    """Ends the run as Ctrl-C does, once so many requests were answered."""

    def __init__(self, held: HeldModel, after: int) -> None:
        super().__init__()
        self._held, self._after = held, after

    async def open(self, on_event: Any) -> Any:
        found = await super().open(on_event)
        main = asyncio.current_task()
        assert main is not None
        self._ending = asyncio.create_task(self._end(main))
        return found

    async def _end(self, main: asyncio.Task[Any]) -> None:
        while self._held.answered < self._after:
            await asyncio.sleep(0.005)
        main.cancel()


def test_what_there_is_of_episodes_that_are_broken_off_comes_back(shop: Shop) -> None:
    held = HeldModel(dear, after=3)
    with ChatServer(held) as server:
        shop.cluster.make = lambda: Interrupts(held, 3)
        said = shop.run("cluster", server, "--track", "multi", *RAY, code=130)
        assert "interrupted" in said
        kept = shell.records(shop.run_folder("cluster") / "episodes.jsonl")
        broken = [one for one in kept if one.get("failure", {}).get("message") == "broken off"]
        assert broken
        held.let_go()
        shop.cluster.make = InProcessLink
        shop.run("cluster", server, "--track", "multi", *RAY)
    found = json.loads(shop.summary("cluster"))
    assert found["status"] == "complete"
    assert found["agent"]["calls"] > len(INSTRUCTIONS)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--ray-address", "10.0.0.1:6379"), "--ray-address 10.0.0.1:6379: is for --executor ray"),
        (("--executor", "ray", "--workers", "0"), "--workers 0: expected 1 or more"),
    ],
)
def test_what_does_not_go_together_is_a_sentence(shop: Shop, more: tuple[str, ...], said: str) -> None:
    done = shell.call("--dataset", "sample-shop", "--log-dir", shop.folder / "none", *more)
    assert done.returncode == 2
    assert said in done.stderr
