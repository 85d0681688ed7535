"""Workers, driver and head are killed in the middle of a run: it goes on, and nothing answered is asked again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from executors.ray import noting
from executors.ray.helpers import RayNode, Run, bridge_of, free_port, kill

pytestmark = [pytest.mark.slow, pytest.mark.timeout(280)]
pytest.importorskip("ray")

IN_FLIGHT = 2 * 4
"""Two workers with four questions each."""
STEPS = [f"1/{number}" for number in range(160)]


def test_workers_are_killed(head: str, tmp_path: Path) -> None:
    async def go() -> None:
        async with Run(head, noting.recipe(tmp_path, delay_s=0.05, at_once=4)) as run:

            def kill_one() -> None:
                kill(next(worker.pid for worker in run.pool.workers if worker.state == "ready"))

            again = await run.through(STEPS, tmp_path, (20, kill_one), (90, kill_one))
            assert again <= IN_FLIGHT
            assert len([line for line in run.told if "is lost" in line]) == 2

    asyncio.run(go())


def test_the_driver_is_killed(head: str, tmp_path: Path) -> None:
    async def go() -> None:
        async with Run(head, noting.recipe(tmp_path, delay_s=0.05, at_once=4)) as run:
            again = await run.through(STEPS, tmp_path, (40, lambda: kill(bridge_of(run.link))))
            assert again <= IN_FLIGHT
            assert any("the cluster is out of reach" in line for line in run.told)
            assert any("is there again" in line for line in run.told)

    asyncio.run(go())


def test_the_head_is_restarted(tmp_path: Path) -> None:
    port = free_port()

    def start() -> RayNode:
        node = RayNode(
            "--head", f"--port={port}", "--include-dashboard=false", "--num-cpus=8", "--node-ip-address=127.0.0.1"
        )
        node.wait()
        return node

    nodes = [start()]

    def restart() -> None:
        nodes[-1].kill()
        nodes[-1].close()
        nodes.append(start())

    async def go() -> None:
        async with Run(f"127.0.0.1:{port}", noting.recipe(tmp_path, delay_s=0.05, at_once=4)) as run:
            again = await run.through(STEPS, tmp_path, (40, restart))
            assert again <= IN_FLIGHT
            assert any("the cluster is out of reach" in line for line in run.told)

    try:
        asyncio.run(go())
    finally:
        nodes[-1].close()
