from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from grounding.benchmarks.agenticshop.records import CuratedPage, Extraction, RenderedPage
from grounding.benchmarks.agenticshop.stages import CurationStage, extract_stage
from grounding.benchmarks.agenticshop.web.evidence import EvidenceFolder
from grounding.run.journal import Journal
from grounding.run.runner import Runner


class Worker:
    """Shows and reads pages, of which the first ``walls`` ask for a human; counts how many at once."""

    name = identity = "reader 1"
    max_concurrency = 2

    def __init__(self, walls: int = 0) -> None:
        self.now = self.most = self.count = 0
        self.walls = walls

    async def work(self) -> None:
        self.now += 1
        self.count += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.005)
        self.now -= 1

    async def render(self, url: str, *_: Any, again: bool = False) -> RenderedPage:  # noqa: ARG002
        await self.work()
        return RenderedPage(url=url, status=200)

    async def start(self) -> Worker:
        return self

    async def extract(self, *_: Any) -> Extraction:
        await self.work()
        self.walls -= 1
        return Extraction(page_class="blocked" if self.walls >= 0 else "other")

    async def check(self) -> None: ...

    async def aclose(self) -> None: ...


def made(folder: Path, browser: Worker, reader: Worker, **more: Any) -> CurationStage[CuratedPage, Extraction]:
    journal = Journal(folder / "extractions.jsonl", Extraction)
    return extract_stage(reader, browser, EvidenceFolder(folder / "evidence"), journal, web="", **more)


def test_so_many_pages_are_read_at_once_as_the_extractor_takes(tmp_path: Path) -> None:
    browser, reader = Worker(), Worker()
    stage = made(tmp_path, browser, reader, pages=5)
    pages = [CuratedPage(product_id=f"s/u/{number}", url=f"http://a.test/{number}") for number in range(30)]
    asyncio.run(Runner[CuratedPage]((stage,)).run(pages))
    stage.journal.close()
    assert (browser.count, reader.most) == (30, 2)
    assert len((tmp_path / "extractions.jsonl").read_text().splitlines()) == 30


@pytest.mark.parametrize(("retries", "seen"), [(1, "blocked"), (2, "other")])
def test_a_page_that_wants_to_see_a_human_is_asked_for_again_as_often_as_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, retries: int, seen: str
) -> None:
    monkeypatch.setattr("grounding.benchmarks.agenticshop.stages._RETRY_S", 0.001)
    stage = made(tmp_path, Worker(), Worker(2), pages=1, retries=retries)
    page = CuratedPage(product_id="s/u/0", url="http://a.test/0")
    assert asyncio.run(stage.run(page, None, "k")).page_class == seen
    stage.journal.close()
