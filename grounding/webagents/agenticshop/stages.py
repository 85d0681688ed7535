"""The three stages of a run that ask somebody: curate a task, extract a product's page, judge a product."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from typing import Protocol

import msgspec

from grounding.journal import Journal
from grounding.records import Failure, Record
from grounding.webagents.agenticshop.agents.base import BrokenOff, CurationAgent, curation_key
from grounding.webagents.agenticshop.extraction.base import Extractor
from grounding.webagents.agenticshop.judge.base import Judge, JudgedProduct, judgement_id, judgement_key
from grounding.webagents.agenticshop.records import (
    Curation,
    CurationTask,
    Extraction,
    Judgement,
    RenderedPage,
    Site,
    product_id,
    view_of,
)
from grounding.webagents.agenticshop.scores.verdicts import counted_ranks
from grounding.webagents.agenticshop.web.evidence import EvidenceFolder
from grounding.webagents.agenticshop.web.render import RENDERING


class Renders(Protocol):
    """What shows pages: a browser."""

    async def render(self, url: str, evidence: EvidenceFolder) -> RenderedPage:
        """Show a page and keep what is seen of it."""
        ...


class CurateStage:
    """Lets the agent look for products for each task."""

    name = "curate"
    item_type = CurationTask
    record_type = Curation

    def __init__(self, agent: CurationAgent, journal: Journal[Curation], *, sites: Sequence[Site], web: str) -> None:
        self._agent = agent
        self._sites = tuple(sites)
        self._web = web
        self.journal = journal
        self.max_concurrency = agent.max_concurrency

    @property
    def identity(self) -> str:
        """Agent and shops."""
        return msgspec.json.encode((self._agent.identity, self._sites, self._web)).decode()

    def failed(self, item: CurationTask, key: str, failure: Failure) -> Curation:
        """What is kept of a task that nobody could work on."""
        return Curation(step_id=item.id, key=key, failure=failure)

    def item_id(self, item: CurationTask) -> str:
        """The task's id."""
        return item.id

    def key(self, item: CurationTask, earlier: None) -> str:  # noqa: ARG002
        """Agent, everything that it is told, and the shops."""
        return curation_key(self._agent.identity, view_of(item, self._sites), self._web)

    async def run(self, item: CurationTask, earlier: None, key: str) -> Curation:  # noqa: ARG002
        """Look for products.

        Raises:
            BudgetReached: the cost limit broke the task off; what it had cost by then is written down.
        """
        try:
            return await self._agent.curate(view_of(item, self._sites), key)
        except BrokenOff as broken:
            self.journal.append(broken.curation)
            raise


class CuratedPage(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A product of a curation whose page is to be looked at."""

    product_id: str
    url: str


def curated_pages(task: CurationTask, curation: Curation | None) -> tuple[CuratedPage, ...]:
    """The pages of a task's products that are scored."""
    if curation is None:
        return ()
    return tuple(
        CuratedPage(product_id=product_id(task.id, rank), url=curation.products[rank].url)
        for rank in counted_ranks(curation)
    )


class ExtractStage:
    """Shows a product's page in a browser, keeps it, and reads what it says."""

    name = "extract"
    item_type = CuratedPage
    record_type = Extraction

    def __init__(
        self,
        extractor: Extractor,
        browser: Renders | None,
        evidence: EvidenceFolder,
        journal: Journal[Extraction],
        *,
        pages: int,
        web: str,
    ) -> None:
        self._extractor = extractor
        self._browser = browser
        self._made_by = ("extract", extractor.identity, RENDERING, web)
        self._evidence = evidence
        self.journal = journal
        # While one page is read the next is shown.
        self._showing = asyncio.Semaphore(pages)
        self._reading = asyncio.Semaphore(extractor.max_concurrency)
        self.max_concurrency = pages + extractor.max_concurrency

    @property
    def identity(self) -> str:
        """Extractor, rules of rendering and the shops."""
        return msgspec.json.encode(self._made_by).decode()

    def failed(self, item: CuratedPage, key: str, failure: Failure) -> Extraction:
        """What is kept of a page that nobody could look at."""
        return Extraction(
            step_id=item.product_id, key=key, url=item.url, extractor=self._extractor.name, failure=failure
        )

    def use(self, browser: Renders) -> None:
        """Show pages in this browser from now on."""
        self._browser = browser

    def item_id(self, item: CuratedPage) -> str:
        """The product's id."""
        return item.product_id

    def key(self, item: CuratedPage, earlier: None) -> str:  # noqa: ARG002
        """Extractor, rules of rendering, URL and the shops. Of the open web's content nothing can be said."""
        return hashlib.sha256(msgspec.json.encode((*self._made_by, item.url))).hexdigest()[:32]

    async def run(self, item: CuratedPage, earlier: None, key: str) -> Extraction:  # noqa: ARG002
        """Show and read one page."""
        if self._browser is None:
            raise RuntimeError("a stage without a browser was asked to show a page")
        async with self._showing:
            page = await self._browser.render(item.url, self._evidence)
        found = Extraction(
            step_id=item.product_id,
            key=key,
            url=item.url,
            extractor=self._extractor.name,
            page=page,
            failure=page.failure if page.failure is not None and page.failure.kind == "error" else None,
        )
        if found.failure is not None:
            return found
        async with self._reading:
            read = await self._extractor.extract(page, self._evidence)
        return msgspec.structs.replace(
            found,
            page_class=read.page_class,
            class_reason=read.class_reason,
            facts=read.facts,
            raw=read.raw,
            call=read.call,
            failure=read.failure,
        )


class JudgeStage:
    """Lets one judge say of each item of the checklist whether a product satisfies it."""

    item_type = JudgedProduct
    record_type = Judgement

    def __init__(self, judge: Judge, evidence: EvidenceFolder, journal: Journal[Judgement]) -> None:
        self._judge = judge
        self._evidence = evidence
        self.name = f"judge {judge.name}"
        self.journal = journal
        self.max_concurrency = judge.max_concurrency

    @property
    def identity(self) -> str:
        """The judge's."""
        return self._judge.identity

    def failed(self, item: JudgedProduct, key: str, failure: Failure) -> Judgement:
        """What is kept of a product that nobody could judge."""
        return Judgement(step_id=self.item_id(item), key=key, judge=self._judge.name, failure=failure)

    def item_id(self, item: JudgedProduct) -> str:
        """Product and judge."""
        return judgement_id(item.product_id, self._judge.name)

    def key(self, item: JudgedProduct, earlier: None) -> str:  # noqa: ARG002
        """Judge, checklist and evidence."""
        return judgement_key(self._judge.identity, item)

    async def run(self, item: JudgedProduct, earlier: None, key: str) -> Judgement:  # noqa: ARG002
        """Judge one product."""
        return await self._judge.judge(item, self._evidence, key)


def judged_product(task: CurationTask, extraction: Extraction) -> JudgedProduct:
    """A product and its evidence, as judges are shown it."""
    return JudgedProduct(
        product_id=extraction.step_id, url=extraction.url, checklist=task.checklist, extraction=extraction
    )
