"""The browser's processes: they come back when they die, and are gone when nobody needs them any more."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import aclosing, suppress
from pathlib import Path

import psutil
import pytest

from grounding.benchmarks.agenticshop.records import RenderedPage
from grounding.benchmarks.agenticshop.web.browser import WebBrowser
from grounding.benchmarks.agenticshop.web.evidence import EvidenceFolder
from grounding.benchmarks.agenticshop.web.guard import WebPolicy

from .conftest import trouble
from .sites import Site, http, serving

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes through /proc"),
]


def browsers(above: int) -> dict[int, str]:
    """The processes below another one that are a browser's, and their command lines."""
    found = {}
    for process in psutil.Process(above).children(recursive=True):
        with suppress(psutil.Error):
            line = " ".join(process.cmdline())
            if "--type=" in line or "--headless" in line:
                found[process.pid] = line
    return found


def alive(pids: Iterable[int]) -> set[int]:
    found = set()
    for pid in pids:
        with suppress(psutil.Error):
            found |= {pid} if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE else set()
    return found


async def gone(pids: Iterable[int], within_s: float = 20.0) -> bool:
    end = time.monotonic() + within_s
    while alive(pids) and time.monotonic() < end:
        await asyncio.sleep(0.1)
    return not alive(pids)


@pytest.fixture
def before() -> set[int]:
    """The browsers of other tests of this process."""
    return set(browsers(os.getpid()))


async def until_asked(site: Site, times: int) -> None:
    """Until so many pages were asked for, whatever else."""
    async with asyncio.timeout(30):
        while sum(path != "/late.js" for path in site.asked) < times:
            await asyncio.sleep(0.02)


def test_a_browser_or_a_page_that_dies_is_started_once_more(
    installed_chromium: str, evidence: EvidenceFolder, before: set[int]
) -> None:
    assert installed_chromium

    async def main() -> None:
        released = asyncio.Event()
        body = b"<h1>Here at last</h1>"

        async def waiting(writer: asyncio.StreamWriter, head: bytes) -> None:
            await http(body + b"<script src=/late.js></script><p>done</p>")(writer, head)

        async def late(writer: asyncio.StreamWriter, head: bytes) -> None:
            await released.wait()
            await http("", kind="text/javascript")(writer, head)

        async def killing(what: str, times: int, browser: WebBrowser, site: Site) -> RenderedPage:
            released.clear()
            site.asked.clear()
            work = asyncio.create_task(browser.render("http://shop.test/page", evidence, again=True))
            for number in range(times):
                await until_asked(site, number + 1)
                found = browsers(os.getpid())
                kinds = {
                    pid
                    for pid, line in found.items()
                    if pid not in before and what in line and (what != "--headless" or "--type" not in line)
                }
                assert kinds, found
                for pid in kinds:
                    with suppress(ProcessLookupError):  # One may have gone with another.
                        os.kill(pid, signal.SIGKILL)
            await asyncio.sleep(0.1)
            released.set()
            return await work

        async with serving({"/page": waiting, "/late.js": late}) as site:
            policy = WebPolicy(hosts={"shop.test": ("127.0.0.1", site.port)}, navigation_s=20)
            async with aclosing(WebBrowser(policy, parallel=1)) as browser:
                for what, name in (("--type=renderer", "page-crashed"), ("--headless", "browser-crashed")):
                    shown = await killing(what, 1, browser, site)
                    assert shown.failure is None, (what, shown.failure)
                    assert "Here at last" in shown.text
                    shown = await killing(what, 2, browser, site)
                    assert trouble(shown) == name, shown.failure
                    assert shown.failure is not None
                    assert shown.failure.kind == ("error" if name == "browser-crashed" else "missing")
                released.set()
                shown = await browser.render("http://shop.test/page", evidence, again=True)
                assert shown.failure is None
                ours = set(browsers(os.getpid())) - before
                assert ours
        assert await gone(ours)

    asyncio.run(main())


PROGRAM = """
import asyncio, sys
from contextlib import aclosing, suppress
from grounding.benchmarks.agenticshop.web.browser import WebBrowser
from grounding.benchmarks.agenticshop.web.guard import WebPolicy

async def main():
    async with aclosing(WebBrowser(WebPolicy(open_web=False), parallel=1)) as browser:
        async with browser.session():
            print("open", flush=True)
            await asyncio.sleep(120)

try:
    asyncio.run(main())
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder with a name so short that a browser's sockets fit into it."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_no_browser_outlives_its_program(installed_chromium: str, how: signal.Signals, short_path: Path) -> None:
    assert installed_chromium
    environment = os.environ | {"TMPDIR": str(short_path), "A_SECRET_KEY": "never told"}
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, start_new_session=True, text=True, env=environment
    )
    try:
        assert program.stdout is not None
        assert program.stdout.readline() == "open\n"
        ours = browsers(program.pid)
        assert len(ours) > 2
        for pid in alive(ours):
            assert b"never told" not in Path(f"/proc/{pid}/environ").read_bytes()
        if how == signal.SIGINT:
            os.killpg(program.pid, how)  # As a terminal does: to all that belong to the program.
        else:
            program.send_signal(how)
        assert program.wait(timeout=30) == (130 if how == signal.SIGINT else -signal.SIGKILL)
        assert asyncio.run(gone(ours))
        if how == signal.SIGINT:
            assert list(short_path.iterdir()) == []
    finally:
        program.kill()
        program.wait()
