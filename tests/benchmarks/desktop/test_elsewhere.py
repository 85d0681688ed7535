"""Desktop runs with their agent in workers, against the same without."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
import shell
from fakes.cluster import fake_cluster
from fakes.slow_server import slow_server

from benchmarks.desktop.made import desktop_data

CARD = """\
name: actor
title: A model of the tests
model: actor
user: [{image: screenshot}, {text: '{instruction}'}]
answer: {form: point, space: rel_1000}
max_connections: 2
"""
STEPS = 7


def act(model: str, question: str) -> str:
    """A click that hangs on the words alone."""
    digest = hashlib.sha256(f"{model}/{question}".encode()).digest()
    return f"Action: click ({digest[0]}, {digest[1]})"


def test_a_run_is_the_same_to_the_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, card = desktop_data(tmp_path / "data"), tmp_path / "actor.yaml"
    card.write_text(CARD)
    ray, found = ("--executor", "ray", "--workers", "2"), []
    with fake_cluster(monkeypatch) as cluster, slow_server(act) as server:
        args = ("--dataset", "percu", "--data-dir", data, "--grounder", card, "--base-url", server.url)
        for where, more in (("local", ()), ("cluster", ray)):
            done = shell.call(*args, "--max-retries", "0", "--log-dir", tmp_path / where, *more)
            assert done.returncode == 0, done.stderr
            found.append((shell.run_folder(tmp_path / where) / "summary.json").read_bytes())
        assert server.requests == 2 * STEPS
        assert all(times == 2 for times in server.asked.values())
    assert found[0] == found[1]
    assert len(cluster.actors) == 2
