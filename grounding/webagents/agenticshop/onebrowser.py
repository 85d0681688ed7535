"""One browser for all passes of a run in one process, and the data set's own shops with it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from grounding.webagents.agenticshop.records import CurationDataset
from grounding.webagents.agenticshop.web.browser import WebBrowser, open_browser
from grounding.webagents.agenticshop.web.policy import WebPolicy


class OneBrowser:
    """Started when somebody first needs it.

    Args:
        dataset: Its own shops are served beside the browser, where it has any.
        parallel: How many pages or sessions may be open at once.
    """

    def __init__(self, dataset: CurationDataset, parallel: int) -> None:
        self._dataset = dataset
        self._parallel = parallel
        self._stack = AsyncExitStack()
        self._browser: WebBrowser | None = None

    @asynccontextmanager
    async def closing(self) -> AsyncIterator[None]:
        """Close whatever was started."""
        async with self._stack:
            yield

    async def aclose(self) -> None:
        """Close whatever was started."""
        await self._stack.aclose()

    async def start(self) -> WebBrowser:
        """The browser, started where it was not."""
        if self._browser is None:
            hosts: dict[str, tuple[str, int]] = {}
            if self._dataset.sites:
                from grounding.webagents.agenticshop.mall import open_mall

                mall = await self._stack.enter_async_context(open_mall(Path(self._dataset.folder)))
                hosts = dict(mall.hosts)
            # A data set with shops of its own has nothing to look for elsewhere.
            policy = WebPolicy(hosts=hosts, open_web=not hosts)
            self._browser = await self._stack.enter_async_context(open_browser(policy, parallel=self._parallel))
        return self._browser
