"""One command over a cluster, against the same command without: answers, money, what stops it and what goes on."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import shell
from conftest import Item, TinyDataset
from fakes.inprocess_link import InProcessLink
from fakes.slow_server import SlowServer, any_point, slow_server

import grounding.clusterruns

PLANNERS, GROUNDERS = ("thinker", "muser"), ("pointer", "finder", "seeker")
PRICE = "price: {input_usd: 1000, output_usd: 1000, date: spring}\n"
A_REQUEST_USD = 0.11
"""What a request costs by the server's count of tokens: 100 and 10."""


def reply(model: str, question: str) -> str:
    """A planner's plan, or a grounder's point."""
    if model in PLANNERS:
        return f"{model} says: {question} {hashlib.sha256(question.encode()).hexdigest()[:6]}"
    return any_point(model, question)


class Lab:
    """A data set of ten scored steps, cards for all, and the options that every command has."""

    def __init__(self, folder: Path, data_dir: Path) -> None:
        self.folder, self.data_dir = folder, data_dir
        self.links: list[InProcessLink] = []

    def link(self, _address: str | None) -> InProcessLink:
        self.links.append(InProcessLink())
        return self.links[-1]

    def args(
        self, server: SlowServer, where: str, *more: str | Path, planners: int = 2, grounders: int = 3
    ) -> list[str]:
        cards = [str(shell.planner_card(self.folder, name, connections=3)) for name in PLANNERS[:planners]]
        models = [str(shell.grounder_card(self.folder, name, connections=3)) for name in GROUNDERS[:grounders]]
        return [
            *("--dataset", "realwebassist", "--data-dir", str(self.data_dir), "--max-retries", "0", "--no-probe"),
            *("--log-dir", str(self.folder / where), "--plan-store", str(self.folder / f"plans-{where}")),
            *("--planner", *cards, "--planner-base-url", server.url),
            *("--grounder", *models, "--base-url", server.url, *map(str, more)),
        ]

    def queue(self, where: str) -> dict[str, Any]:
        (path,) = (self.folder / where).glob("*/queue.json")
        found: dict[str, Any] = json.loads(path.read_text())
        return found


@pytest.fixture
def lab(tmp_path: Path, tiny_dataset: TinyDataset, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    monkeypatch.delenv("GROUNDING_EVAL_NO_PLAN_STORE")

    def told_apart(participant: str, items: list[Item]) -> None:
        for item in items:
            item["instruction"] += f" of {participant}"

    found = Lab(tmp_path, tiny_dataset(steps=6, unscored=(2,), edit=told_apart))
    monkeypatch.setattr(grounding.clusterruns, "RayLink", found.link)
    yield found
    assert all(link.closed for link in found.links)
    assert not any(link.alive for link in found.links)


def asked(server: SlowServer) -> Counter[str]:
    found: Counter[str] = Counter()
    for text, times in server.texts.items():
        found[text.partition(":")[0]] += times
    return found


def summaries(lab: Lab, where: str) -> dict[str, bytes]:
    return {path.parent.name: path.read_bytes() for path in (lab.folder / where).glob("*/summary.json")}


def test_a_matrix_is_the_same_to_the_byte_and_every_plan_is_asked_for_once(lab: Lab) -> None:
    with slow_server(reply) as server:
        here = shell.call(*lab.args(server, "local"))
        assert here.returncode == 0, here.stderr
        before = asked(server)
        there = shell.call(*lab.args(server, "cluster", "--executor", "ray", "--workers", "2"))
        assert there.returncode == 0, there.stderr
    assert asked(server) - before == before == {**dict.fromkeys(PLANNERS, 10), **dict.fromkeys(GROUNDERS, 20)}
    scores = {name: json.loads(text)["scores"] for name, text in summaries(lab, "local").items()}
    assert {name: json.loads(text)["scores"] for name, text in summaries(lab, "cluster").items()} == scores
    assert len(scores) == 6
    (link,) = lab.links
    # Two workers for each model, however many runs it is in.
    assert Counter(name.split("-")[0] for name in link.hired) == {"planner": 4, "grounder": 6}
    assert [run["state"] for run in lab.queue("cluster")["runs"]] == ["complete"] * 6


def test_one_run_is_the_same_to_the_byte(lab: Lab) -> None:
    with slow_server(reply) as server:
        for where, more in (("local", ()), ("cluster", ("--executor", "ray"))):
            done = shell.call(*lab.args(server, where, *more, planners=1, grounders=1))
            assert done.returncode == 0, done.stderr
    assert summaries(lab, "cluster") == summaries(lab, "local")


def test_a_finished_run_asks_for_no_cluster(lab: Lab) -> None:
    with slow_server(reply) as server:
        assert shell.call(*lab.args(server, "local", planners=1, grounders=1)).returncode == 0
        again = shell.call(*lab.args(server, "local", "--executor", "ray", planners=1, grounders=1))
    assert (again.returncode, lab.links) == (0, [])


def test_the_cost_limit_is_for_all_runs_together(lab: Lab) -> None:
    with slow_server(reply) as server:
        args = lab.args(server, "cluster", "--executor", "ray", "--cost-limit", str(25 * A_REQUEST_USD), planners=1)
        for card in lab.folder.glob("*.yaml"):
            card.write_text(card.read_text() + PRICE)
        done = shell.call(*args)
        assert done.returncode == 1
        assert 20 <= server.requests <= 25
        runs = lab.queue("cluster")["runs"]
        assert "partial" in [run["state"] for run in runs]
        assert any("cost limit" in run["problem"] for run in runs)
        args[args.index("--cost-limit") + 1] = "100"
        assert shell.call(*args).returncode == 0
    assert asked(server) == {"thinker": 10, **dict.fromkeys(GROUNDERS, 10)}


def test_one_model_that_cannot_be_asked_leaves_the_others_alone(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    opener = grounding.executors.worker.open_asker

    def broken(recipe: Any, *rest: Any, **more: Any) -> Any:
        if "finder" in recipe.options.grounder:
            raise grounding.errors.UserError("its weights are not on this machine")
        return opener(recipe, *rest, **more)

    monkeypatch.setattr(grounding.clusterruns, "RayLink", lambda _address: _kept(lab, InProcessLink(broken)))
    with slow_server(reply) as server:
        done = shell.call(*lab.args(server, "cluster", "--executor", "ray", planners=1))
    assert done.returncode == 1
    states = {run["grounder"]: (run["state"], run["problem"]) for run in lab.queue("cluster")["runs"]}
    assert states["pointer"] == states["seeker"] == ("complete", "")
    assert states["finder"][0] == "failed"
    assert "its weights are not on this machine" in states["finder"][1]


def _kept(lab: Lab, link: InProcessLink) -> InProcessLink:
    lab.links.append(link)
    return link


def test_a_cluster_that_is_lost_in_mid_run_and_comes_back_is_asked_only_what_it_had_not_answered(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing(InProcessLink):
        """Is cut once, in the middle, and comes back."""

        async def open(self, on_event: Callable[[Any], None]) -> Any:
            found = await super().open(on_event)
            self.breaking = asyncio.create_task(self.break_once())
            return found

        async def break_once(self) -> None:
            while server.answered < 12:
                await asyncio.sleep(0.002)
            self.cut()
            await asyncio.sleep(0.05)
            server.let_go(None)
            self.join()

    monkeypatch.setattr(grounding.clusterruns, "RayLink", lambda _address: _kept(lab, Failing()))
    with slow_server(reply) as server:
        assert shell.call(*lab.args(server, "local", planners=1, grounders=1)).returncode == 0
        told_before = asked(server)
    with slow_server(reply) as server:
        server.hold_after = 12
        done = shell.call(*lab.args(server, "cluster", "--executor", "ray", planners=1, grounders=1))
        assert done.returncode == 0, done.stderr
    in_flight = 2 * 3  # Of planner and grounder, three connections each.
    assert told_before.total() <= server.requests <= told_before.total() + in_flight
    (one,), (other,) = summaries(lab, "local").values(), summaries(lab, "cluster").values()
    assert json.loads(one)["scores"] == json.loads(other)["scores"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--workers", "2"), "--workers 2: is for --executor ray"),
        (("--ray-address", "10.0.0.1:6379"), "--ray-address 10.0.0.1:6379: is for --executor ray"),
        (("--executor", "ray", "--workers", "0"), "--workers 0: expected 1 or more"),
    ],
)
def test_what_does_not_go_together_is_a_sentence(tmp_path: Path, more: tuple[str, ...], said: str) -> None:
    done = shell.call("--log-dir", tmp_path, *more)
    assert done.returncode == 2
    assert said in done.stderr
