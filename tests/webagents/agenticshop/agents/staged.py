"""One browser and the small shops for all tests of a module, in a thread of their own: starting them takes seconds."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from grounding.errors import UserError
from grounding.webagents.agenticshop.web.browser import WebBrowser, open_browser
from grounding.webagents.agenticshop.web.chromium import find_chromium
from webagents.agenticshop.agents.small_shop import small_shops

ResultT = TypeVar("ResultT")


class Stage:
    """A running browser."""

    def __init__(self, web: WebBrowser, loop: asyncio.AbstractEventLoop) -> None:
        self.web = web
        self._loop = loop

    def run(self, work: Coroutine[Any, Any, ResultT], *, within_s: float = 120.0) -> ResultT:
        """Do something in the browser's loop and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(within_s)


@contextmanager
def staged(parallel: int = 3) -> Iterator[Stage]:
    """The browser and the shops; skips where there is nothing to browse with."""
    pytest.importorskip("playwright")
    try:
        find_chromium()
    except UserError as missing:
        pytest.skip(str(missing))
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    stack = AsyncExitStack()

    async def start() -> WebBrowser:
        policy = await stack.enter_async_context(small_shops())
        return await stack.enter_async_context(open_browser(policy, parallel=parallel))

    try:
        web = asyncio.run_coroutine_threadsafe(start(), loop).result(120)
        yield Stage(web, loop)
    finally:
        asyncio.run_coroutine_threadsafe(stack.aclose(), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


def pictures(folder: Path) -> set[str]:
    """The names of what is kept."""
    return {path.name for path in folder.iterdir()} if folder.is_dir() else set()
