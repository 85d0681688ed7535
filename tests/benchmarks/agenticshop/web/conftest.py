"""One Chromium and one site of ill will for all tests of this room that need them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import AsyncExitStack, aclosing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest

from grounding.benchmarks.agenticshop.records import RenderedPage
from grounding.benchmarks.agenticshop.web.browser import WebBrowser, find_chromium
from grounding.benchmarks.agenticshop.web.evidence import EvidenceFolder
from grounding.benchmarks.agenticshop.web.guard import MIB, WebPolicy
from grounding.errors import UserError

from .sites import Answer, Site, UdpCanary, serving, udp_canary

ResultT = TypeVar("ResultT")


class World:
    """A browser, a shop at ``shop.test`` and ``other.test``, and canaries on loopback that nobody may ask.

    The canaries' ports are allowed, so that it is their address alone that keeps pages from them.
    """

    def __init__(self, runner: asyncio.Runner, browser: WebBrowser, site: Site, canary: Site, udp: UdpCanary) -> None:
        self._runner = runner
        self.browser = browser
        self.site = site
        self.canary = canary
        self.udp = udp
        self.udp_port = 0
        self.evidence = EvidenceFolder("unset")

    def run(self, work: Coroutine[Any, Any, ResultT]) -> ResultT:
        return self._runner.run(work)

    def render(self, path: str) -> RenderedPage:
        return self.run(self.browser.render(f"http://shop.test{path}", self.evidence, again=True))

    def show(self, answer: Answer) -> RenderedPage:
        """A page with that answer, rendered."""
        self.site.pages["/page"] = answer
        return self.render("/page")

    @contextmanager
    def in_a_hurry(self) -> Iterator[None]:
        """With little patience, for pages that would take all of it."""
        patient = self.browser.policy
        self.browser.policy = msgspec.structs.replace(patient, navigation_s=2.5, script_s=2.0, quiet_s=1.0)
        try:
            yield
        finally:
            self.browser.policy = patient

    def unheard(self) -> bool:
        """Whether nothing has reached a canary so far."""
        return self.canary.connections == 0 and self.udp.heard == 0


@pytest.fixture(scope="session")
def installed_chromium() -> str:
    pytest.importorskip("playwright.async_api", reason="needs playwright")
    try:
        return find_chromium()
    except UserError:
        pytest.skip("needs an installed Chromium")


@pytest.fixture(scope="package")
def _world(installed_chromium: str) -> Iterator[World]:
    async def resolve(host: str) -> tuple[str, ...]:
        if host == "rebinding.example":
            return ("127.0.0.1",)
        if host == "mixed.example":
            return ("93.184.215.14", "127.0.0.1")
        raise AssertionError(host)

    async def start() -> World:
        site = await stack.enter_async_context(serving())
        canary = await stack.enter_async_context(serving())
        udp, udp_port = await stack.enter_async_context(udp_canary())
        policy = WebPolicy(
            hosts={"shop.test": ("127.0.0.1", site.port), "other.test": ("127.0.0.1", site.port)},
            ports=(80, 443, canary.port),
            max_document_bytes=MIB, max_page_bytes=4 * MIB,
            max_html_bytes=MIB, max_text_chars=5000, max_segments=4, max_scrolls=8,
            navigation_s=30.0, quiet_s=1.5, script_s=20.0, connect_s=3.0,
        )  # fmt: skip
        browser = await stack.enter_async_context(aclosing(WebBrowser(policy, parallel=2, resolve=resolve)))
        world = World(runner, browser, site, canary, udp)
        world.udp_port = udp_port
        return world

    assert installed_chromium
    stack = AsyncExitStack()
    with asyncio.Runner() as runner:
        world = runner.run(start())
        yield world
        runner.run(stack.aclose())


@pytest.fixture
def world(_world: World, tmp_path: Path) -> World:
    _world.evidence = EvidenceFolder(tmp_path / "evidence")
    _world.site.asked.clear()
    _world.site.heads.clear()
    return _world


@pytest.fixture
def evidence(tmp_path: Path) -> EvidenceFolder:
    return EvidenceFolder(tmp_path / "evidence")


def trouble(page: RenderedPage) -> str:
    """The first word of why there is no page; "" where there is one."""
    return page.failure.message.partition(":")[0] if page.failure else ""
