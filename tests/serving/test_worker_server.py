"""A server beside a worker: there for the length of a block, its loss told once, and gone whatever the end."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from fakes.make import grounder_card

from grounding.serving import worker_server as module
from grounding.serving.command import ServerOptions, consecutive_ports
from grounding.serving.worker_server import WorkerServer, own_port, start_worker_server
from serving.helpers import FAKE, environment, is_alive, pids, started, until


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked at often, and given little time to reply."""
    for name, value in (("EVERY_S", 0.05), ("REPLY_S", 0.5), ("FAILURES", 3)):
        monkeypatch.setattr(module, name, value)


class Bench:
    """A card that the stand-in serves, and what its starts wrote down."""

    def __init__(self, folder: Path) -> None:
        self.logs, self.record = folder / "logs", folder / "started.jsonl"

    def beside(self, *flags: str, **options: Any) -> WorkerServer:
        flags = ("--fake-record", str(self.record), *flags)
        return WorkerServer(card=grounder_card(), options=ServerOptions(command=FAKE, flags=flags, **options))

    @property
    def server(self) -> int:
        return int(started(self.record)[-1]["pid"])

    def nothing_left(self) -> bool:
        return not [pid for pid in pids(self.record) if is_alive(pid)]

    def lose(self, harm: Callable[[int], None], *flags: str) -> list[str]:
        """Why a server is given up to which that is done."""

        async def scenario() -> list[str]:
            reasons: list[str] = []
            lost = asyncio.Event()

            def on_lost(reason: str) -> None:
                reasons.append(reason)
                lost.set()

            told = start_worker_server(self.beside(*flags), self.logs, on_lost)
            async with told:
                await asyncio.sleep(0.3)
                assert reasons == []
                harm(self.server)
                await asyncio.wait_for(lost.wait(), 30)
                await asyncio.sleep(0.3)
            return reasons

        reasons = asyncio.run(scenario())
        assert self.nothing_left()
        return reasons


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def never(reason: str) -> None:
    raise AssertionError(reason)


def test_it_is_healthy_in_the_block_and_gone_after_it(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,5")

    async def scenario() -> str:
        wanted = bench.beside("--fake-delay", "0.5", "--fake-stubborn", port=80, replicas=3, host="0.0.0.0")
        async with start_worker_server(wanted, bench.logs, never) as url:
            async with aiohttp.ClientSession() as session, session.get(f"{url}/models") as response:
                assert (await response.json())["data"] == [{"id": "m"}]
            assert not bench.nothing_left()
            await asyncio.sleep(0.5)  # It is asked for its health several times.
        return url

    url = asyncio.run(scenario())
    assert bench.nothing_left()
    (start,) = started(bench.record)
    assert start["devices"] == "2,5"
    host = start["arguments"].index("--host")
    assert start["arguments"][host + 1] == "127.0.0.1"
    (log,) = bench.logs.iterdir()
    assert log.name.endswith(f"-{url.removesuffix('/v1').rpartition(':')[2]}.log")


def test_its_death_is_told_once_with_the_end_of_its_log(bench: Bench) -> None:
    (reason,) = bench.lose(lambda pid: os.kill(pid, signal.SIGKILL))
    assert reason.startswith("the server ended by itself (signal 9)")
    head, *log = reason.splitlines()
    assert head.endswith(".log:")
    assert log
    assert all(line.startswith("    ") for line in log)


@pytest.mark.slow
def test_one_that_is_busy_now_and_then_is_not_given_up(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FAILURES", 60)

    async def scenario() -> None:
        async with start_worker_server(bench.beside(), bench.logs, never):
            for _ in range(2):
                os.kill(bench.server, signal.SIGSTOP)
                await asyncio.sleep(0.7)  # Longer than one answer may take.
                os.kill(bench.server, signal.SIGCONT)
                await asyncio.sleep(0.3)

    asyncio.run(scenario())
    assert bench.nothing_left()


def test_who_no_longer_waits_for_it_leaves_nothing(bench: Bench) -> None:
    async def waits() -> None:
        late = bench.beside("--fake-delay", "600")
        async with start_worker_server(late, bench.logs, never):
            raise AssertionError("it is not healthy yet")

    async def scenario() -> None:
        waiting = asyncio.create_task(waits())
        while not started(bench.record):
            await asyncio.sleep(0.05)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(scenario())
    assert bench.nothing_left()


WORKER = """
import asyncio, pickle, sys
from pathlib import Path
from grounding.serving.worker_server import start_worker_server

async def main():
    beside = pickle.loads(Path(sys.argv[1]).read_bytes())
    async with start_worker_server(beside, Path(sys.argv[2]), print) as url:
        print(url, flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


def children(pid: int) -> list[int]:
    return [int(child) for task in Path(f"/proc/{pid}/task").glob("*/children") for child in task.read_text().split()]


@pytest.mark.parametrize("as_ray_does", [False, True])
def test_a_worker_that_is_killed_leaves_no_server(bench: Bench, tmp_path: Path, as_ray_does: bool) -> None:
    packed = tmp_path / "beside"
    packed.write_bytes(pickle.dumps(bench.beside()))
    command = [sys.executable, "-c", WORKER, str(packed), str(bench.logs)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment()) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline().startswith(b"http://127.0.0.1:")
        assert len(pids(bench.record)) == 2
        if as_ray_does:  # It kills a worker's children before the worker; a server that hangs heeds nothing else.
            os.kill(bench.server, signal.SIGSTOP)
            for child in children(worker.pid):
                os.kill(child, signal.SIGKILL)
        worker.kill()
    until(bench.nothing_left, 60)


def test_two_workers_on_one_machine_never_choose_one_port(monkeypatch: pytest.MonkeyPatch) -> None:
    free, another = (consecutive_ports("127.0.0.1", 1, None)[0] for _ in range(2))
    # Nobody listens at the first yet, so it is offered again and again.
    offered = iter([free, free, free, another, free])
    monkeypatch.setattr(module, "consecutive_ports", lambda *_: (next(offered),))
    with own_port() as one, own_port() as other:
        assert (one, other) == (free, another)
    with own_port() as again:
        assert again == free
