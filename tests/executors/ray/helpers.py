"""Ray clusters for tests, runs of a pool over one, and how to see what was asked of whom."""

from __future__ import annotations

import asyncio
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
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import sha256
from io import BytesIO
from pathlib import Path

from fakes.make import query
from PIL import Image

from executors.ray.noting import CLASS
from grounding.budget import Budget
from grounding.executors.link import Needs
from grounding.executors.pool import Patience, Pool
from grounding.executors.ray.link import RayLink
from grounding.executors.recipe import Recipe
from grounding.records import Query, Screenshot, Size
from grounding.serving.keeper import descendants

TESTS = Path(__file__).parents[2]
# Everything on the loopback interface, nothing reported, no two tests' clusters taken for one.
CLOSED = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "AUTOSCALER_METRIC_PORT": "-1",
    "DASHBOARD_METRIC_PORT": "-1",
    "RAY_enable_metrics_collection": "0",
    "RAY_prestart_worker_first_driver": "0",
    "PYTHONPATH": str(TESTS),
    # Once a token lies in ~/.ray, a head asks for it, and a driver that was given an address does not send it.
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": secrets.token_hex(32),
}


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


class RayNode:
    """A ``ray start --block`` under a warden: nothing of it outlives the test."""

    def __init__(self, *arguments: str, before: Sequence[str] = (), environment: dict[str, str] | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))
        self.address = next((f"127.0.0.1:{word[7:]}" for word in arguments if word.startswith("--port=")), "")
        theirs, self._lifeline = os.pipe()
        ray = [*before, "ray", "start", "--block", *arguments, "--object-store-memory=100000000"]
        if "--head" in arguments:
            ray.append(f"--temp-dir={self.folder / 'r'}")
        words = [str(theirs), str(self.folder / "r"), "1", "5"]
        self._log = (self.folder / "log").open("w")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "grounding.executors.ray.warden", *words, *ray],
            env={**os.environ, **CLOSED, **(environment or {})},
            pass_fds=(theirs,),
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )
        os.close(theirs)

    def wait(self, within_s: float = 120.0) -> None:
        """Wait until ``ray start`` says that it runs."""
        until = time.monotonic() + within_s
        while "Ray runtime started" not in self.said():
            assert self.process.poll() is None, self.said()
            assert time.monotonic() < until, self.said()
            time.sleep(0.1)

    def said(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def kill(self, *programs: str) -> None:
        """SIGKILL to these of its processes, all without names."""
        for pid in descendants(self.process.pid):
            name = program(pid)
            if not programs or name in programs:
                kill(pid)

    def close(self) -> None:
        os.close(self._lifeline)
        self.process.wait(60)
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


def bridge_of(link: RayLink) -> int:
    """The process of a link's driver."""
    assert link._bridge is not None
    children = [pid for pid in descendants(link._bridge.process.pid) if b"executors.ray.bridge" in _command(pid)]
    return min(children)


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def asked(folder: Path) -> Counter[str]:
    """How often each step was asked, by the files of all workers."""
    return Counter(line for file in folder.glob("*.asked") for line in file.read_text().split())


class Run:
    """Many queries over a pool; remembers what was answered when."""

    def __init__(self, address: str | None, recipe: Recipe, *, workers: int = 2, cpus: float = 0.5) -> None:
        self.link = RayLink(address, worker=CLASS)
        self.told: list[str] = []
        self.answered: list[str] = []
        self.pool = Pool(
            self.link,
            recipe,
            workers=workers,
            needs=Needs(cpus=cpus),
            budget=Budget(None),
            on_retry=lambda: None,
            told=self.told.append,
            patience=Patience(cluster_s=240.0, backoff_s=0.2),
        )

    async def ask(self, step: str) -> None:
        answer = await self.pool.ask(question(step))
        assert answer.failure is None, answer.failure
        self.answered.append(step)

    async def __aenter__(self) -> Run:
        await self.pool.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.pool.aclose()

    async def through(self, steps: Sequence[str], folder: Path, *disturbances: tuple[int, Callable[[], object]]) -> int:
        """Ask all steps; once so many more are answered, do this.

        Checks that each step is answered once, and that no step that was answered before a disturbance was asked after
        it. Gives how many questions were asked again.
        """
        asking = asyncio.gather(*(self.ask(step) for step in steps))
        begun = len(self.answered)
        moments = []
        for count, do in disturbances:
            while len(self.answered) - begun < count:
                assert not asking.done(), self.told
                await asyncio.sleep(0.01)
            answered = set(self.answered)
            counts = asked(folder)
            moments.append({step: counts[step] for step in answered})
            await asyncio.to_thread(do)
        await asking
        assert sorted(self.answered) == sorted(steps)
        counts = asked(folder)
        assert set(counts) == set(steps)
        for before in moments:
            assert {step: counts[step] for step in before} == before
        return sum(counts.values()) - len(steps)


@cache
def picture() -> Screenshot:
    """A screenshot that every process of this machine can read."""
    path = TESTS.parent / "datasets/sample-desktop/data/events/screenshot/20250310_090000_1.png"
    content = path.read_bytes()
    with Image.open(BytesIO(content)) as image:
        size = Size(width=image.width, height=image.height)
    return Screenshot(path=str(path), size=size, sha256=sha256(content).hexdigest())


def question(step: str, instruction: str = "the blue button") -> Query:
    return query(picture(), instruction, step=step)
