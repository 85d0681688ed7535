"""The browser's processes: they come back when they die, and are gone when nobody needs them any more."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from grounding.webagents.agenticshop.records import RenderedPage
from grounding.webagents.agenticshop.web.browser import WebBrowser, open_browser
from grounding.webagents.agenticshop.web.evidence import EvidenceFolder
from grounding.webagents.agenticshop.web.policy import WebPolicy

from .conftest import trouble
from .sites import Site, http, serving

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes through /proc"),
]


def browsers(above: int) -> dict[int, str]:
    """The processes below another one that are a browser's, and their command lines."""
    parents: dict[int, int] = {}
    lines: dict[int, str] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                lines[int(folder.name)] = (
                    (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                )
            except (OSError, ValueError):
                continue
    found, waiting = {}, [above]
    while waiting:
        here = waiting.pop()
        children = [child for child, parent in parents.items() if parent == here]
        waiting += children
        found |= {
            child: lines[child] for child in children if "--type=" in lines[child] or "--headless" in lines[child]
        }
    return found


def alive(pids: set[int]) -> set[int]:
    def lives(pid: int) -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            return False

    return {pid for pid in pids if lives(pid)}


async def gone(pids: set[int], within_s: float = 20.0) -> bool:
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        if not alive(pids):
            return True
        await asyncio.sleep(0.1)
    return False


async def until_asked(site: Site, times: int) -> None:
    async with asyncio.timeout(30):
        while site.asked.count("/page") < times:
            await asyncio.sleep(0.02)


def test_a_browser_or_a_page_that_dies_is_started_once_more(installed_chromium: str, evidence: EvidenceFolder) -> None:
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
            work = asyncio.create_task(browser.render("http://shop.test/page", evidence))
            for number in range(times):
                await until_asked(site, number + 1)
                found = browsers(os.getpid())
                kinds = {
                    pid
                    for pid, line in found.items()
                    if what in line and (what != "--headless" or "--type" not in line)
                }
                assert kinds, found
                for pid in kinds:
                    os.kill(pid, signal.SIGKILL)
            await asyncio.sleep(0.1)
            released.set()
            return await work

        async with serving({"/page": waiting, "/late.js": late}) as site:
            policy = WebPolicy(hosts={"shop.test": ("127.0.0.1", site.port)}, navigation_s=20)
            async with open_browser(policy, parallel=1) as browser:
                for what, name in (("--type=renderer", "page-crashed"), ("--headless", "browser-crashed")):
                    shown = await killing(what, 1, browser, site)
                    assert shown.failure is None, (what, shown.failure)
                    assert "Here at last" in shown.text
                    shown = await killing(what, 2, browser, site)
                    assert trouble(shown) == name, shown.failure
                    assert shown.failure is not None
                    assert shown.failure.kind == ("error" if name == "browser-crashed" else "missing")
                released.set()
                shown = await browser.render("http://shop.test/page", evidence)
                assert shown.failure is None
                ours = set(browsers(os.getpid()))
                assert ours
        assert await gone(ours)

    asyncio.run(main())


def test_cancelled_work_leaves_no_page_behind(installed_chromium: str, evidence: EvidenceFolder) -> None:
    assert installed_chromium

    async def main() -> None:
        async def silent(_writer: asyncio.StreamWriter, _head: bytes) -> None:
            await asyncio.sleep(60)

        async with serving({"/page": silent}) as site:
            policy = WebPolicy(hosts={"shop.test": ("127.0.0.1", site.port)})
            async with open_browser(policy, parallel=2) as browser:
                works = [asyncio.create_task(browser.render("http://shop.test/page", evidence)) for _ in range(3)]
                await until_asked(site, 2)
                for work in works:
                    work.cancel()
                ended = await asyncio.gather(*works, return_exceptions=True)
                assert all(isinstance(each, asyncio.CancelledError) for each in ended)
                assert browser._running is not None
                assert browser._running.contexts == []
                ours = set(browsers(os.getpid()))
        assert await gone(ours)
        assert [task for task in asyncio.all_tasks() if "Lane" in repr(task)] == []

    asyncio.run(main())


PROGRAM = """
import asyncio, sys
from grounding.webagents.agenticshop.web.browser import open_browser
from grounding.webagents.agenticshop.web.policy import WebPolicy

async def main():
    async with open_browser(WebPolicy(open_web=False), parallel=1) as browser:
        async with browser.session():
            print("open", flush=True)
            await asyncio.sleep(120)

try:
    asyncio.run(main())
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_no_browser_outlives_its_program(installed_chromium: str, how: signal.Signals, tmp_path: Path) -> None:
    assert installed_chromium
    environment = os.environ | {"TMPDIR": str(tmp_path), "A_SECRET_KEY": "never told"}
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, start_new_session=True, text=True, env=environment
    )
    try:
        assert program.stdout is not None
        assert program.stdout.readline() == "open\n"
        ours = browsers(program.pid)
        assert len(ours) > 2
        for pid in alive(set(ours)):
            assert b"never told" not in Path(f"/proc/{pid}/environ").read_bytes()
        if how == signal.SIGINT:
            os.killpg(program.pid, how)  # As a terminal does: to all that belong to the program.
        else:
            program.send_signal(how)
        assert program.wait(timeout=30) == (130 if how == signal.SIGINT else -signal.SIGKILL)
        assert asyncio.run(gone(set(ours)))
        if how == signal.SIGINT:
            assert list(tmp_path.iterdir()) == []
    finally:
        program.kill()
        program.wait()
