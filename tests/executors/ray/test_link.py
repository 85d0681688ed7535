"""A link to a real cluster: what a user is told, where keys go, calls that fail, and what is left at the end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.make import grounder_card

from executors.ray import noting
from executors.ray.helpers import TESTS, Run, bridge_of, free_port, kill, program, question
from grounding.errors import UserError
from grounding.executors.link import Arrived, Event, Lost, Needs
from grounding.executors.ray import hired
from grounding.executors.ray.link import RayLink
from grounding.executors.recipe import pack
from grounding.serving.keeper import descendants

pytestmark = [pytest.mark.slow, pytest.mark.timeout(280)]
pytest.importorskip("ray")

STEPS = [f"1/{number}" for number in range(120)]


def test_calls_that_fail_before_and_after_they_took_effect(
    head: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Ray's own fault injection, in the driver alone: it breaks a share of the calls on their way there or back.
    failures = {"num_failures": -1, "req_failure_prob": 20, "resp_failure_prob": 20, "in_flight_failure_prob": 0}
    name = "CoreWorkerService.grpc_client.PushTask"
    monkeypatch.setenv("RAY_testing_rpc_failure", json.dumps({name: failures}))

    async def go() -> None:
        async with Run(head, noting.recipe(tmp_path, at_once=4)) as run:
            assert await run.through(STEPS, tmp_path) == 0

    asyncio.run(go())


def test_a_key_reaches_the_worker_and_no_file(head: str, head_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "sk-" + os.urandom(12).hex()
    monkeypatch.setenv("GROUNDING_TEST_KEY", secret)
    monkeypatch.setenv("GROUNDING_TEST_OTHER", "not for workers")
    card = grounder_card(endpoint={"base_url": "http://127.0.0.1:9/v1", "key_variable": "GROUNDING_TEST_KEY"})

    async def go() -> None:
        async with Run(head, noting.recipe(card=card), workers=1) as run:
            assert (await run.pool.ask(question("1/1", "GROUNDING_TEST_KEY"))).raw == secret
            assert (await run.pool.ask(question("1/2", "GROUNDING_TEST_OTHER"))).raw is None

    asyncio.run(go())
    read = 0
    for file in head_folder.rglob("*"):
        if file.is_file():
            read += 1
            assert secret.encode() not in file.read_bytes(), file
    assert read > 10


def test_workers_that_get_no_place_or_break(head: str) -> None:
    async def go() -> None:
        link, events = RayLink(head, worker=noting.FAILING), asyncio.Queue[Event]()
        await link.open(events.put_nowait)
        try:
            await link.hire("breaks", pack(noting.recipe()), Needs())
            arrived, lost = await events.get(), await events.get()
            assert isinstance(arrived, Arrived)
            assert lost == Lost(worker="breaks", reason="RuntimeError: the disk is gone")
            await link.hire("waits", pack(noting.recipe()), Needs(gpus=1.0))
            await link.dismiss("waits")
            assert await events.get() == Lost(worker="waits", reason="it was dismissed")
            await link.tell("waits", b"")
        finally:
            await link.aclose()

    asyncio.run(go())


def test_a_worker_that_no_machine_can_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    table = [
        {
            "NodeManagerHostname": "a",
            "NodeManagerAddress": "10.0.0.1",
            "Alive": True,
            "Resources": {"CPU": 8.0},
        }
    ]
    told: list[object] = []
    monkeypatch.setattr(hired, "PATIENCE_S", 0.01)
    monkeypatch.setattr(hired, "NEVER_S", 0.03)
    speaking = hired.Hired.__new__(hired.Hired)
    speaking.name, speaking._told = "w", told.append
    reason = asyncio.run(speaking._speak_of_waiting(Needs(gpus=1.0), lambda: ("h:1", table)))
    assert "a worker takes 1 CPU and 1 GPU; no machine of the cluster at h:1 has that" in reason
    assert [type(message).__name__ for message in told] == ["Waits", "Useless"]


def test_nobody_at_the_address() -> None:
    async def go() -> None:
        await RayLink(f"127.0.0.1:{free_port()}").open(lambda _: None)

    with pytest.raises(UserError, match=r"no Ray cluster can be reached at 127\.0\.0\.1:"):
        asyncio.run(go())


WRITER = """
import asyncio, sys
from executors.ray import noting
from executors.ray.helpers import Run, bridge_of, question

async def main():
    async with Run("local", noting.recipe(), workers=1) as run:
        await run.pool.ask(question("1/1"))
        print(run.link._bridge.process.pid, run.link._bridge._folder, flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_nothing_outlives_the_writer(end: signal.Signals, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{TESTS}:{TESTS.parent}")
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert writer.stdout is not None
        pid, folder = writer.stdout.readline().split()
        warden = int(pid)
        started = [warden, *descendants(warden)]
        names = {program(pid).partition(".")[0] for pid in started}  # Ray adds the method that runs.
        assert {"raylet", "gcs_server", "ray::RayWorker"} <= names
        assert Path(folder).is_dir()
        writer.send_signal(end)
        writer.wait(60)
        gone(lambda: [pid for pid in started if program(pid)], within_s=60.0)
        assert not Path(folder).exists()
    finally:
        writer.kill()
        writer.wait()


def gone(left: Callable[[], object], within_s: float) -> None:
    until = time.monotonic() + within_s
    while still := left():
        assert time.monotonic() < until, still
        time.sleep(0.1)


def test_a_cluster_of_our_own_listens_to_nobody_else_and_comes_again(tmp_path: Path) -> None:
    async def go() -> None:
        async with Run("local", noting.recipe(tmp_path, delay_s=0.25, at_once=1)) as run:
            assert run.link._bridge is not None
            processes = [bridge_of(run.link), *descendants(bridge_of(run.link))]
            assert listening(processes) - {"127.0.0.1", "::1", "::ffff:127.0.0.1"} == set()
            # The workers go on for some seconds all the same; there is more to do than that.
            core = [pid for pid in processes if program(pid) in ("gcs_server", "raylet")]
            assert len(core) == 2
            assert await run.through(STEPS, tmp_path, (10, lambda: [kill(pid) for pid in core])) <= 2
            assert any("the cluster is out of reach" in line for line in run.told), run.told

    asyncio.run(go())


def listening(pids: list[int]) -> set[str]:
    """The addresses at which these processes take connections."""
    import psutil

    found = set()
    for pid in pids:
        for connection in psutil.Process(pid).net_connections("inet"):
            if connection.status == psutil.CONN_LISTEN:
                found.add(connection.laddr.ip)
    return found
