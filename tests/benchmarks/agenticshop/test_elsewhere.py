"""Runs of curation with their stages in workers, against the same without: figures, money, losses, what goes on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import shell
from fakes.chat_server import ChatServer, working_out
from fakes.cluster import FakeCluster, fake_cluster, when
from fakes.held_model import HeldModel
from fakes.judge_model import judge_model

from benchmarks.agenticshop.runs import write_run
from grounding.benchmarks.agenticshop.loader import load_curation
from grounding.errors import UserError
from grounding.run.ray.worker import seen

TASKS = ("explicit_title/mall-01", "low_involvement/mall-13")
PRODUCTS = 6
CARD = """\
name: checker
title: a judge of the tests
model: checker
parameters: {max_tokens: 4000}
max_connections: 2
price: {input_usd: 1000.0, output_usd: 0.0, date: '2026-01-01'}
"""
RAY = ("--executor", "ray", "--workers", "2")


def dear(body: dict[str, Any]) -> dict[str, Any]:
    """One dollar a request."""
    return {**judge_model(body), "usage": {"prompt_tokens": 1000, "completion_tokens": 1}}


class Mall:
    """Two tasks of the sample with three pages each that an earlier run has seen; only judges have something to do."""

    def __init__(self, folder: Path, cluster: FakeCluster) -> None:
        self.folder, self.cluster = folder, cluster
        self.card = folder / "checker.yaml"
        self.card.write_text(CARD)
        dataset = load_curation("sample-mall", None)
        tasks = [task for task in dataset.tasks if task.id in TASKS]
        self.seen = write_run(folder / "seen", tasks, {}, judges=()).path

    def args(self, where: str, *more: str) -> list[str]:
        chosen = [word for task in TASKS for word in ("--sample-id", task)]
        return [
            *("--dataset", "sample-mall", "--log-dir", str(self.folder / where), *chosen),
            *("--agent", "replay", "--curations", str(self.seen / "curations.jsonl"), "--extractions", str(self.seen)),
            *("--max-retries", "0", *more),
        ]

    def run(self, where: str, *more: str, code: int = 0) -> str:
        done = shell.call(*self.args(where, *more))
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def asking(self, server: ChatServer) -> tuple[str, ...]:
        return ("--judge", "reference", str(self.card), "--judge-base-url", server.base_url)

    def summary(self, where: str) -> bytes:
        return (shell.run_folder(self.folder / where) / "summary.json").read_bytes()


@pytest.fixture
def mall(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mall]:
    with fake_cluster(monkeypatch) as found:
        yield Mall(tmp_path, found)


def test_judges_say_the_same_to_the_byte_and_are_asked_once(mall: Mall) -> None:
    with ChatServer(working_out(dear)) as server:
        mall.run("local", *mall.asking(server))
        assert server.count == PRODUCTS
        mall.run("cluster", *mall.asking(server), *RAY)
        assert server.count == 2 * PRODUCTS
        mall.run("cluster", *mall.asking(server), *RAY)
        assert server.count == 2 * PRODUCTS
    assert mall.summary("cluster") == mall.summary("local")
    assert json.loads(mall.summary("local"))["counts"]["outcomes"] == {"judged": PRODUCTS}
    # Each judge has workers of its own, by one connection; a run that is through needs none.
    assert len(mall.cluster.actors) == 4
    kept = json.loads((shell.run_folder(mall.folder / "cluster") / "time.json").read_bytes())
    assert kept["wall_s"] > 0


def test_what_a_lost_worker_judged_is_judged_by_another(mall: Mall) -> None:
    with ChatServer(working_out(dear)) as server:
        mall.run("local", *mall.asking(server))
    held = HeldModel(dear, after=2)
    with ChatServer(held) as server:
        when(lambda: held.answered >= 2, lambda: (mall.cluster.alive[0].kill(), held.let_go()))
        said = mall.run("cluster", *mall.asking(server), *RAY)
        # What the lost worker had open is asked again, and what it had just been answered and not told yet.
        assert PRODUCTS <= server.count <= PRODUCTS + 1 + 2
    assert "is lost: killed" in said
    assert mall.summary("cluster") == mall.summary("local")


def test_the_cost_limit_holds_over_all_workers_and_the_run_goes_on(mall: Mall) -> None:
    with ChatServer(working_out(dear)) as server:
        said = mall.run("cluster", *mall.asking(server), *RAY, "--cost-limit", "0.001", code=1)
        assert "cost limit" in said
        assert server.count < PRODUCTS  # What a worker is at is gone through, or nearly so.
        mall.run("cluster", *mall.asking(server), *RAY, "--cost-limit", "1000")
        assert server.count == PRODUCTS
    found = json.loads(mall.summary("cluster"))
    assert (found["status"], found["costs"]["judges"]["usd"]) == ("complete", pytest.approx(PRODUCTS))


def test_recorded_answers_need_no_cluster(mall: Mall) -> None:
    mall.run("local")
    judged = str(shell.run_folder(mall.folder / "local"))
    mall.run("cluster", "--judgements", judged, *RAY)
    assert mall.cluster.actors == []


def test_a_worker_that_does_not_see_the_folder_says_so(tmp_path: Path) -> None:
    assert seen(str(tmp_path)) == tmp_path
    with pytest.raises(UserError, match="put --data-dir and --log-dir on a disk that all nodes of the cluster share"):
        seen(str(tmp_path / "nowhere"))


@pytest.mark.slow
def test_pages_are_found_shown_and_judged_in_a_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("playwright.async_api", reason="needs playwright")
    if not any(shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome")):
        pytest.skip("needs an installed Chromium")
    summaries, pages = [], []
    with fake_cluster(monkeypatch) as found:
        # One worker, as each starts a browser.
        for where, more in (("local", ()), ("cluster", ("--executor", "ray", "--workers", "1"))):
            args = ("--dataset", "sample-mall", "--log-dir", tmp_path / where, "--sample-id", TASKS[0], *more)
            done = shell.call(*args)
            assert done.returncode == 0, done.stderr
            folder = shell.run_folder(tmp_path / where)
            summaries.append((folder / "summary.json").read_bytes())
            # Documents and pictures are named after their content.
            pages.append({path.name for path in (folder / "evidence").iterdir() if path.is_file()})
    assert summaries[0] == summaries[1]
    assert pages[0] == pages[1] != set()
    assert len(found.actors) == 3
