"""Desktop runs with their agent in workers, against the same without: answers, money, losses, what goes on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import shell
from fakes.cluster import FakeCluster, fake_cluster, when
from fakes.slow_server import SlowServer, slow_server

from benchmarks.desktop.made import desktop_data

CARD = """\
name: actor
title: A model of the tests
model: actor
user: [{image: screenshot}, {text: '{instruction}'}]
answer: {form: point, space: rel_1000}
max_connections: 2
"""
PRICE = "price: {input_usd: 1000, output_usd: 1000, date: spring}\n"
A_REQUEST_USD = 0.11
STEPS = 7


def act(model: str, question: str) -> str:
    """A click that hangs on the words alone."""
    digest = hashlib.sha256(f"{model}/{question}".encode()).digest()
    return f"Action: click ({digest[0]}, {digest[1]})"


class Desk:
    def __init__(self, folder: Path, cluster: FakeCluster) -> None:
        self.folder, self.cluster = folder, cluster
        self.data = desktop_data(folder / "data")
        self.card = folder / "actor.yaml"
        self.card.write_text(CARD)

    def args(self, server: SlowServer, where: str, *more: str) -> list[str]:
        return [
            *("--dataset", "percu", "--data-dir", str(self.data), "--log-dir", str(self.folder / where)),
            *("--grounder", str(self.card), "--base-url", server.url, "--max-retries", "0", *more),
        ]

    def run(self, server: SlowServer, where: str, *more: str, code: int = 0) -> str:
        done = shell.call(*self.args(server, where, *more))
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    def summary(self, where: str) -> bytes:
        return (shell.run_folder(self.folder / where) / "summary.json").read_bytes()


RAY = ("--executor", "ray", "--workers", "2")


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    with fake_cluster(monkeypatch) as found:
        yield Desk(tmp_path, found)


def test_a_run_is_the_same_to_the_byte(desk: Desk) -> None:
    with slow_server(act) as server:
        desk.run(server, "local")
        assert server.requests == STEPS
        desk.run(server, "cluster", *RAY)
        assert server.requests == 2 * STEPS
        assert all(times == 2 for times in server.asked.values())
    assert desk.summary("cluster") == desk.summary("local")
    assert len(desk.cluster.actors) == 2


def test_what_a_lost_worker_was_asked_is_asked_of_another(desk: Desk) -> None:
    with slow_server(act) as server:
        desk.run(server, "local")
    with slow_server(act) as server:
        server.hold_after = 3
        when(lambda: server.answered >= 3, lambda: (desk.cluster.alive[0].kill(), server.let_go(None)))
        said = desk.run(server, "cluster", *RAY)
        assert STEPS <= server.requests <= STEPS + 1 + 3
    assert "is lost: killed" in said
    assert desk.summary("cluster") == desk.summary("local")
