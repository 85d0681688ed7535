"""Desktop runs with their agent in workers, against the same without: answers, money, losses, what goes on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import shell
from fakes.clusters import Clusters, LosesOne, clusters
from fakes.inprocess_link import InProcessLink
from fakes.slow_server import SlowServer, slow_server

from desktop.made import desktop_data
from grounding.executors.messages import Do, unpacked_down

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
    def __init__(self, folder: Path, cluster: Clusters) -> None:
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
    with clusters(monkeypatch) as found:
        yield Desk(tmp_path, found)


def test_a_run_is_the_same_to_the_byte(desk: Desk) -> None:
    with slow_server(act) as server:
        desk.run(server, "local")
        assert server.requests == STEPS
        desk.run(server, "cluster", *RAY)
        assert server.requests == 2 * STEPS
        assert all(times == 2 for times in server.asked.values())
    assert desk.summary("cluster") == desk.summary("local")
    (link,) = desk.cluster.links
    assert len(link.hired) == 2


def test_a_finished_run_asks_for_no_cluster(desk: Desk) -> None:
    with slow_server(act) as server:
        desk.run(server, "local")
        desk.run(server, "local", *RAY)
        assert server.requests == STEPS
    assert desk.cluster.links == []


def test_what_a_lost_worker_was_asked_is_asked_of_another(desk: Desk) -> None:
    with slow_server(act) as server:
        desk.run(server, "local")
    with slow_server(act) as server:
        server.hold_after = 3
        desk.cluster.make = lambda: LosesOne(lambda: server.answered >= 3, lambda: server.let_go(None))
        said = desk.run(server, "cluster", *RAY)
        assert STEPS <= server.requests <= STEPS + 2
    assert "is lost: killed" in said
    assert desk.summary("cluster") == desk.summary("local")


def test_the_cost_limit_holds_over_all_workers_and_the_run_goes_on(desk: Desk) -> None:
    with slow_server(act) as server:
        desk.run(server, "local")
    desk.card.write_text(CARD + PRICE)
    with slow_server(act) as server:
        said = desk.run(server, "cluster", *RAY, "--cost-limit", str(4.5 * A_REQUEST_USD), code=1)
        assert "cost limit" in said
        assert server.requests <= 4
        desk.run(server, "cluster", *RAY, "--cost-limit", "100")
        assert server.requests == STEPS
    assert b'"status": "complete"' in desk.summary("cluster")


def test_an_agent_that_only_looks_up_needs_no_cluster(desk: Desk) -> None:
    done = shell.call(
        *("--dataset", "percu", "--data-dir", desk.data, "--log-dir", desk.folder / "oracle"),
        *("--grounder", "oracle", *RAY),
    )
    assert done.returncode == 0, done.stderr
    assert desk.cluster.used == []


def test_the_offline_agent_computes_in_workers(desk: Desk) -> None:
    for where, more in (("local", ()), ("cluster", RAY)):
        args = ("--dataset", "sample-desktop", "--log-dir", desk.folder / where, "--limit", "3", *more)
        done = shell.call(*args)
        assert done.returncode == 0, done.stderr
    assert desk.summary("cluster") == desk.summary("local")
    assert len(desk.cluster.used) == 1


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--workers", "2"), "--workers 2: is for --executor ray"),
        (("--executor", "ray", "--workers", "0"), "--workers 0: expected 1 or more"),
    ],
)
def test_what_does_not_go_together_is_a_sentence(desk: Desk, more: tuple[str, ...], said: str) -> None:
    done = shell.call("--dataset", "sample-desktop", "--log-dir", desk.folder / "none", *more)
    assert done.returncode == 2
    assert said in done.stderr


class Cursed(InProcessLink):
    """Loses whoever is asked about one step."""

    def __init__(self, step_id: str) -> None:
        super().__init__()
        self.step_id = step_id

    async def tell(self, worker: str, content: bytes) -> None:
        await super().tell(worker, content)
        if any(isinstance(one, Do) and one.step_id == self.step_id for one in unpacked_down(content)):
            self.kill(worker)


def test_a_step_that_costs_worker_after_worker_is_an_error_and_asked_again_the_next_time(desk: Desk) -> None:
    step_id = "routine/routine_list/2"
    with slow_server(act) as server:
        desk.cluster.make = lambda: Cursed(step_id)
        desk.run(server, "cluster", *RAY, code=1)
        (failed,) = [
            line
            for line in shell.records(shell.run_folder(desk.folder / "cluster") / "predictions.jsonl")
            if line.get("failure")
        ]
        assert failed["step_id"] == step_id
        assert "3 workers were lost while they worked on this step" in failed["failure"]["message"]
        desk.cluster.make = InProcessLink
        desk.run(server, "cluster", *RAY)
    assert b'"status": "complete"' in desk.summary("cluster")


@pytest.mark.slow
@pytest.mark.timeout(280)
def test_a_real_cluster_answers_the_same_to_the_byte(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    desk = Desk(tmp_path, Clusters())
    with slow_server(act) as server:
        desk.run(server, "local")
        done = shell.run(*desk.args(server, "cluster", *RAY), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert server.requests == 2 * STEPS
    assert desk.summary("cluster") == desk.summary("local")
