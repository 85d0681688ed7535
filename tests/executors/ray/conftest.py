"""One Ray cluster for all tests that leave it whole."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What this process starts speaks as the tests' clusters do, and its workers find the tests' classes."""
    from executors.ray.helpers import CLOSED

    for name, value in CLOSED.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)


@pytest.fixture(scope="session")
def head() -> Iterator[str]:
    """The address of a cluster with 8 CPUs on paper, on this machine."""
    pytest.importorskip("ray")
    from executors.ray.helpers import RayNode, free_port

    port = free_port()
    node = RayNode(
        "--head", f"--port={port}", "--include-dashboard=false", "--num-cpus=8", "--node-ip-address=127.0.0.1"
    )
    try:
        node.wait()
        yield f"127.0.0.1:{port}"
    finally:
        node.close()
