from __future__ import annotations

import asyncio
from pathlib import Path

from grounding.journal import Journal
from grounding.runner import Runner
from grounding.webagents.agenticshop.extraction.base import Extracted
from grounding.webagents.agenticshop.records import Extraction, RenderedPage
from grounding.webagents.agenticshop.stages import CuratedPage, ExtractStage
from grounding.webagents.agenticshop.web.evidence import EvidenceFolder


class Counted:
    """How many are at it at once, and how many were at most."""

    def __init__(self) -> None:
        self.now = self.most = 0

    async def work(self) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.005)
        self.now -= 1


class Browser(Counted):
    async def render(self, url: str, evidence: EvidenceFolder) -> RenderedPage:  # noqa: ARG002
        await self.work()
        return RenderedPage(url=url, status=200)


class Reader(Counted):
    name = "reader"
    identity = "reader 1"
    max_concurrency = 2

    async def extract(self, page: RenderedPage, evidence: EvidenceFolder) -> Extracted:  # noqa: ARG002
        await self.work()
        return Extracted(page_class="other", class_reason="")

    async def check(self) -> None: ...

    async def aclose(self) -> None: ...


def test_so_many_pages_are_shown_at_once_as_asked_for_and_so_many_read_as_the_extractor_takes(tmp_path: Path) -> None:
    browser, reader = Browser(), Reader()
    journal: Journal[Extraction] = Journal(tmp_path / "extractions.jsonl", Extraction)
    stage = ExtractStage(reader, browser, EvidenceFolder(tmp_path / "evidence"), journal, pages=5, web="")
    pages = [CuratedPage(product_id=f"s/u/{number}", url=f"http://a.test/{number}") for number in range(30)]
    asyncio.run(Runner[CuratedPage]((stage,)).run(pages))
    journal.close()
    assert (browser.most, reader.most) == (5, 2)
    assert len((tmp_path / "extractions.jsonl").read_text().splitlines()) == 30
