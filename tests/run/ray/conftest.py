"""A cluster in this process, one Ray cluster for all tests that leave it whole, and what there is to see of it."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import shell
from fakes.cluster import FakeActor, FakeCluster, fake_cluster

from grounding.serving.keeper import descendants

CHECKOUT = str(Path(__file__).parents[3])
CLOSED = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "AUTOSCALER_METRIC_PORT": "-1",
    "DASHBOARD_METRIC_PORT": "-1",
    "RAY_enable_metrics_collection": "0",
    "RAY_prestart_worker_first_driver": "0",
    # Once a token lies in ~/.ray, a head asks for it.
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": secrets.token_hex(32),
}  # Everything on the loopback interface, nothing reported, no two tests' clusters taken for one.
# Ray reads them when it is first imported, and TRL imports it, in whichever test comes first.
os.environ.update(CLOSED)


@pytest.fixture(autouse=True)
def closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What this process starts speaks as the tests' clusters do."""
    for name, value in CLOSED.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYTHONPATH", CHECKOUT)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


class RayNode:
    """A ``ray start --block``; ``close`` leaves nothing of it."""

    def __init__(self, *, cpus: int = 8) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))
        port = free_port()
        self.address = f"127.0.0.1:{port}"
        where = ["--head", f"--port={port}", f"--temp-dir={self.folder}/r"]
        words = ["--include-dashboard=false", "--node-ip-address=127.0.0.1", "--object-store-memory=100000000"]
        ray = Path(sys.executable).with_name("ray")
        self._log = (self.folder / "log").open("w")
        self.process = subprocess.Popen(
            [ray, "start", "--block", *where, f"--num-cpus={cpus}", *words],
            env={**os.environ, **CLOSED, "PYTHONPATH": CHECKOUT},
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )
        until = time.monotonic() + 120.0
        while "Ray runtime started" not in self.said():
            assert self.process.poll() is None, self.said()
            assert time.monotonic() < until, self.said()
            time.sleep(0.1)

    def said(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def kill(self, *programs: str) -> None:
        """SIGKILL to these of its processes, all without names."""
        for pid in descendants(self.process.pid):
            if not programs or program(pid) in programs:
                kill(pid)

    def close(self) -> None:
        started = descendants(self.process.pid)
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(20)
        for pid in [self.process.pid, *started]:
            kill(pid)
        self.process.wait()
        self._log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def program(pid: int) -> str:
    """The file name of what a process runs, "" where it has ended."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return ""
    return Path(os.fsdecode(words[0])).name


def kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def workers(pid: int) -> list[int]:
    """The processes of our actors below this one."""
    return [each for each in descendants(pid) if program(each).startswith("ray::StageWorker")]


@pytest.fixture(scope="session")
def node() -> Iterator[RayNode]:
    """A cluster with 8 CPUs on paper, on this machine."""
    made = RayNode()
    yield made
    made.close()


class Crew:
    """The workers of a run: who is there, the end of one, and the words of a command that has them."""

    def __init__(self, alive: Callable[[], Sequence[Any]], end: Callable[[Any], None], address: str) -> None:
        self.alive, self._end = alive, end
        self.words = ("--executor", "ray", "--workers", "2", *(("--ray-address", address) if address else ()))

    def kill(self, how_many: int | None = 1) -> None:
        for one in self.alive()[:how_many]:
            self._end(one)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCluster]:
    """Connected to whatever the address."""
    with fake_cluster(monkeypatch) as made:
        yield made


ON_RAY = [pytest.mark.slow, pytest.mark.needs("ray"), pytest.mark.timeout(280)]


@pytest.fixture(params=["in this process", pytest.param("ray", marks=ON_RAY)])
def crew(request: pytest.FixtureRequest) -> Crew:
    if request.param == "ray":
        node: RayNode = request.getfixturevalue("node")
        shell.wait_until(lambda: not workers(node.process.pid))  # Those of the test before.
        return Crew(lambda: workers(node.process.pid), kill, node.address)
    made: FakeCluster = request.getfixturevalue("fake")
    return Crew(lambda: made.alive, FakeActor.kill, "")
