"""Two Ray nodes in network namespaces: the cable between them is pulled for a moment, and for good."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from executors.ray.helpers import CLOSED, TESTS, RayNode

pytestmark = [pytest.mark.slow, pytest.mark.timeout(280)]
pytest.importorskip("ray")

STEPS = [f"1/{number}" for number in range(160)]
HEAD, OTHER = "10.213.77.1", "10.213.77.2"
# A node that can't be reached is declared dead after some 12 s, instead of after a minute.
HASTY = (
    '--system-config={"health_check_period_ms":1000,"health_check_timeout_ms":4000,"health_check_failure_threshold":3}'
)
# The whole writer runs beside the head, in its network. It cuts once 40 are answered.
WRITER = """
import asyncio, subprocess, sys
from pathlib import Path
from executors.ray import noting
from executors.ray.helpers import Run

address, folder, heal_after_s, *cut = sys.argv[1:]
STEPS = [f"1/{number}" for number in range(160)]

async def main():
    async with Run(address, noting.recipe(folder, delay_s=0.05, at_once=4), workers=2, cpus=1.0) as run:
        while sum(worker.state == "ready" for worker in run.pool.workers) < 2:
            await asyncio.sleep(0.05)
        first = {worker.name for worker in run.pool.workers}

        def disturb():
            subprocess.run([*cut, "down"], check=True)
            if float(heal_after_s):
                timer = asyncio.run_coroutine_threadsafe(heal(), loop)

        async def heal():
            await asyncio.sleep(float(heal_after_s))
            subprocess.run([*cut, "up"], check=True)

        loop = asyncio.get_running_loop()
        again = await run.through(STEPS, Path(folder), (40, disturb))
        same = {worker.name for worker in run.pool.workers} == first
        print("again", again, "same", same)
        print(*run.told, sep="\\n", file=sys.stderr)

asyncio.run(main())
"""


def sh(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no network namespaces here: {' '.join(words)}: {done.stderr.strip()}")


@pytest.fixture
def cable() -> Iterator[tuple[str, str, str]]:
    """Two network namespaces with a cable between them: both names, and the end of the cable in the second."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("needs root and iproute2")
    near, far, plug, socket = (f"g{os.getpid() % 100000}{letter}" for letter in "nfps")
    try:
        sh("ip", "netns", "add", near)
        sh("ip", "netns", "add", far)
        sh("ip", "link", "add", plug, "netns", near, "type", "veth", "peer", "name", socket, "netns", far)
        for name, device, address in ((near, plug, HEAD), (far, socket, OTHER)):
            sh("ip", "-n", name, "addr", "add", f"{address}/24", "dev", device)
            sh("ip", "-n", name, "link", "set", device, "up")
            sh("ip", "-n", name, "link", "set", "lo", "up")
        yield near, far, plug
    finally:
        for name in (near, far):
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)


@pytest.fixture
def two_nodes(cable: tuple[str, str, str]) -> Iterator[tuple[str, str]]:
    """A head and another node with one CPU each; gives the head's namespace and its end of the cable."""
    near, far, plug = cable
    # Addresses of a network, not of the loopback interface: it is closed by being a network of its own.
    open_to_all = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "1"}
    head = RayNode(
        "--head", "--port=6379", "--include-dashboard=false", "--num-cpus=1", f"--node-ip-address={HEAD}", HASTY,
        before=("ip", "netns", "exec", near), environment=open_to_all,
    )  # fmt: skip
    nodes = [head]
    try:
        head.wait()
        other = RayNode(
            f"--address={HEAD}:6379", "--num-cpus=1", f"--node-ip-address={OTHER}",
            before=("ip", "netns", "exec", far), environment=open_to_all,
        )  # fmt: skip
        nodes.append(other)
        other.wait()
        yield near, plug
    finally:
        for node in reversed(nodes):
            node.close()


def run_writer(folder: Path, network: tuple[str, str], heal_after_s: float) -> tuple[int, bool, str]:
    near, plug = network
    cut = ["ip", "-n", near, "link", "set", plug]
    words = [sys.executable, "-c", WRITER, f"{HEAD}:6379", str(folder), str(heal_after_s), *cut]
    environment = {**os.environ, **CLOSED, "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "1"}
    environment["PYTHONPATH"] = f"{TESTS}:{TESTS.parent}"
    done = subprocess.run(
        ["ip", "netns", "exec", near, *words],
        env=environment, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = done.stdout.split()
    return int(said[1]), said[3] == "True", done.stderr


def test_the_network_fails_for_a_moment_and_for_good(two_nodes: tuple[str, str], tmp_path: Path) -> None:
    short, long = tmp_path / "short", tmp_path / "long"
    short.mkdir()
    long.mkdir()
    again, same, told = run_writer(short, two_nodes, heal_after_s=4.0)
    assert (again, same) == (0, True), told
    again, same, told = run_writer(long, two_nodes, heal_after_s=0.0)
    assert again <= 4, told
    assert not same
    assert "is lost" in told
