"""One Ray cluster for all tests that leave it whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from executors.ray.helpers import CLOSED, RayNode, free_port


@pytest.fixture(autouse=True)
def closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What this process starts speaks as the tests' clusters do, and its workers find the tests' classes."""
    for name, value in CLOSED.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)


@pytest.fixture(scope="session")
def head_node() -> Iterator[RayNode]:
    """A cluster with 8 CPUs on paper, on this machine."""
    pytest.importorskip("ray")
    port = free_port()
    node = RayNode(
        "--head", f"--port={port}", "--include-dashboard=false", "--num-cpus=8", "--node-ip-address=127.0.0.1"
    )
    try:
        node.wait()
        yield node
    finally:
        node.close()


@pytest.fixture
def head(head_node: RayNode) -> str:
    """Its address."""
    return head_node.address


@pytest.fixture
def head_folder(head_node: RayNode) -> Path:
    """Where it writes its files."""
    return head_node.folder
