"""The browsing agent: a chat model that sees pages and says what to do, one browser session for each task."""

from __future__ import annotations

from grounding.budget import BudgetReached
from grounding.records import Failure
from grounding.webagents.agenticshop.agents.base import BrokenOff
from grounding.webagents.agenticshop.agents.browsing import elements, refusals
from grounding.webagents.agenticshop.agents.browsing.limits import BrowsingLimits
from grounding.webagents.agenticshop.agents.browsing.observation import look_identity
from grounding.webagents.agenticshop.agents.browsing.pointing import PointFinder
from grounding.webagents.agenticshop.agents.browsing.prompts import BrowsingPrompts
from grounding.webagents.agenticshop.agents.browsing.task import BrowsingTask, Means
from grounding.webagents.agenticshop.records import Curation, ShopperView
from grounding.webagents.agenticshop.web.browser import WebBrowser
from grounding.webagents.agenticshop.web.evidence import EvidenceFolder
from grounding.webagents.asking import Opened

VERSION = 1
"""Goes up with every change of the loop that can change an answer."""

START_URL = "https://duckduckgo.com/"
"""Where a task begins that names no shops: a search engine that needs no script and asks for no consent."""

MAX_CONCURRENCY = 4
"""Browsers take memory: more tasks at once only wait for each other."""


class BrowsingAgent:
    """Shops in a browser by the answers of one chat model. With a grounder, elements are described in words."""

    def __init__(
        self,
        opened: Opened,
        prompts: BrowsingPrompts,
        limits: BrowsingLimits,
        *,
        finder: PointFinder | None = None,
        start_url: str = START_URL,
        max_concurrency: int = MAX_CONCURRENCY,
    ) -> None:
        self._opened = opened
        self._prompts = prompts
        self._limits = limits
        self._finder = finder
        self._start_url = start_url
        self._max_concurrency = max_concurrency
        self._web: WebBrowser | None = None
        self._evidence: EvidenceFolder | None = None

    @property
    def name(self) -> str:
        """``browsing``, with the grounder where one points."""
        return "browsing" if self._finder is None else f"browsing+{self._finder.name}"

    @property
    def identity(self) -> str:
        """Model, wording, limits, what is shown and refused, and the grounder."""
        finder = "" if self._finder is None else f"|{self._finder.identity}"
        limits = " ".join(f"{name}={getattr(self._limits, name)}" for name in self._limits.__struct_fields__)
        rules = f"elements:{elements.VERSION} refusals:{refusals.VERSION} {look_identity()}"
        return (
            f"browsing:{VERSION}|{self._opened.model.identity}|{self._prompts.label}|{limits}|{rules}"
            f"|{self._start_url}{finder}"
        )

    @property
    def max_concurrency(self) -> int:
        """How many tasks are worked on at once."""
        return max(1, min(self._max_concurrency, self._opened.model.max_concurrency))

    def use(self, web: WebBrowser, evidence: EvidenceFolder) -> None:
        """Open pages in this browser and keep pictures in this folder from now on."""
        self._web, self._evidence = web, evidence

    async def curate(self, view: ShopperView, key: str) -> Curation:
        """Shop until the model finishes or a limit is reached; what goes wrong is in the trace.

        Raises:
            BudgetReached: the run's cost limit leaves no room; a :class:`BrokenOff` where the task cost something.
            OSError: a picture can't be kept.
        """
        if self._web is None or self._evidence is None:
            raise RuntimeError("the browsing agent has been given no browser: call use() first")
        means = Means(self._opened, self._prompts, self._limits, self._finder, self._evidence, self._start_url)
        task = BrowsingTask(means, view, key)
        try:
            return await task.run(self._web)
        except BudgetReached as reached:
            if not task.has_cost:
                raise
            raise BrokenOff(reached, task.curation(Failure(kind="error", message=str(reached)))) from reached

    async def check(self) -> None:
        """Ask the endpoint whether it serves the model, and the grounder whether it can answer."""
        await self._opened.model.check()
        if self._finder is not None:
            await self._finder.check()

    async def aclose(self) -> None:
        """Close connections; the browser is somebody else's."""
        await self._opened.model.aclose()
        if self._finder is not None:
            await self._finder.aclose()
