"""A server beside a worker: there for the length of a block, its loss told once, and gone whatever the end."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from fakes.make import grounder_card
from serving.helpers import FAKE, environment, is_alive, pids, started, until

from grounding.errors import UserError
from grounding.executors import beside as module
from grounding.executors.beside import own_port, server_beside
from grounding.executors.health import HealthRule
from grounding.executors.recipe import Beside, Recipe, pack
from grounding.options import EvalOptions
from grounding.serving.command import ServerOptions
from grounding.serving.machine import consecutive_ports

QUICK = HealthRule(every_s=0.05, reply_s=0.5, failures=3)


class Bench:
    """A card that the stand-in serves, and what its starts wrote down."""

    def __init__(self, folder: Path) -> None:
        self.logs, self.record = folder / "logs", folder / "started.jsonl"

    def beside(self, *flags: str, **options: Any) -> Beside:
        flags = ("--fake-record", str(self.record), *flags)
        return Beside(card=grounder_card(), options=ServerOptions(command=FAKE, flags=flags, **options))

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

            told = server_beside(self.beside(*flags), self.logs, on_lost, rule=QUICK, interrupt_s=0.5, terminate_s=0.3)
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
        async with server_beside(wanted, bench.logs, never, rule=QUICK, interrupt_s=0.2, terminate_s=0.2) as url:
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
    assert 1 <= len(log) <= 4
    assert all(line.startswith("    ") for line in log)


@pytest.mark.slow
def test_one_that_hangs_is_given_up_and_killed(bench: Bench) -> None:
    (reason,) = bench.lose(lambda pid: os.kill(pid, signal.SIGSTOP))
    assert reason == "the server is there no more: no answer to /health within 0.5 s, 3 times in a row"


@pytest.mark.slow
def test_one_that_is_busy_now_and_then_is_not_given_up(bench: Bench) -> None:
    patient = HealthRule(every_s=0.05, reply_s=0.3, failures=60)

    async def scenario() -> None:
        async with server_beside(bench.beside(), bench.logs, never, rule=patient, interrupt_s=0.5, terminate_s=0.3):
            for _ in range(2):
                os.kill(bench.server, signal.SIGSTOP)
                await asyncio.sleep(0.7)  # Longer than one answer may take.
                os.kill(bench.server, signal.SIGCONT)
                await asyncio.sleep(0.3)

    asyncio.run(scenario())
    assert bench.nothing_left()


def test_one_that_cannot_start_is_told_with_the_cause(bench: Bench) -> None:
    async def scenario() -> None:
        broken = bench.beside("--fake-die", "ValueError: no such model")
        async with server_beside(broken, bench.logs, never, interrupt_s=0.5, terminate_s=0.3):
            raise AssertionError("there is no server")

    with pytest.raises(UserError, match="First error: ValueError: no such model"):
        asyncio.run(scenario())
    assert bench.nothing_left()


def test_who_no_longer_waits_for_it_leaves_nothing(bench: Bench) -> None:
    async def waits() -> None:
        late = bench.beside("--fake-delay", "600")
        async with server_beside(late, bench.logs, never, interrupt_s=0.5, terminate_s=0.3):
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
import asyncio, sys
from pathlib import Path
from grounding.executors import recipe
from grounding.executors.beside import server_beside

async def main():
    beside = recipe.unpack(Path(sys.argv[1]).read_bytes()).beside
    async with server_beside(beside, Path(sys.argv[2]), print, interrupt_s=0.5, terminate_s=0.3) as url:
        print(url, flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


def children(pid: int) -> list[int]:
    return [int(child) for task in Path(f"/proc/{pid}/task").glob("*/children") for child in task.read_text().split()]


@pytest.mark.parametrize("as_ray_does", [False, True])
def test_a_worker_that_is_killed_leaves_no_server(bench: Bench, tmp_path: Path, as_ray_does: bool) -> None:
    packed = tmp_path / "recipe"
    packed.write_bytes(pack(Recipe(room="grounder", options=EvalOptions(), identity="i", beside=bench.beside())))
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
