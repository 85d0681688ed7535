"""The three stages of a run: an agent curates, an extractor reads, a judge judges.

In the place of reading and judging stand extractions and judgements that were made before, of an earlier run or of the
release: what is taken over is written into the new run's folder with its evidence, which then stands on its own.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from grounding.errors import UserError
from grounding.grounders.base import Offline
from grounding.records import Failure
from grounding.run.benchmark import nothing
from grounding.run.journal import Journal
from grounding.run.lock import benchmark_of

from .agents.base import Browses, CurationAgent
from .extraction.structural import Extractor
from .judge.base import JudgedProduct, ProductJudge, judgement_id, judgement_key
from .records import Condition, CuratedPage, Curation, CurationTask, Extraction, Judgement, Site, digest, view_of
from .release import read_eval_results
from .scorebook import BENCHMARK, EVIDENCE, CurationFolder
from .web.browser import WebBrowser
from .web.evidence import EvidenceFolder
from .web.render import RENDERING

_RETRY_S = 5.0  # How long a shop that asked whether we are human is left alone before its page is asked for once more.
MANY = 64  # Recorded answers are looked up this many at a time: nothing is waited for but the disk.
ItemT = TypeVar("ItemT")
RecordT = TypeVar("RecordT", bound=Any)


@dataclass(frozen=True, kw_only=True)
class CurationStage(Generic[ItemT, RecordT]):
    """``identity`` is all but the item that can change an answer, ``key`` has all of it. ``about`` are the fields of
    a record, beside id and key, that hang on the item alone.
    """

    name: str
    kind: type[RecordT]
    journal: Journal[RecordT]
    max_concurrency: int
    item_id: Callable[[ItemT], str]
    key: Callable[[ItemT, None], str]
    run: Callable[[ItemT, None, str], Awaitable[RecordT]]
    about: Callable[[ItemT], dict[str, Any]] = lambda _: {}
    identity: str = ""
    worker: CurationAgent | Extractor | ProductJudge | None = None
    start: Callable[[], Awaitable[object]] = nothing

    def failed(self, item: ItemT, key: str, failure: Failure) -> RecordT:
        record: RecordT = self.kind(step_id=self.item_id(item), key=key, failure=failure, **self.about(item))
        return record


def curate_stage(
    agent: CurationAgent,
    journal: Journal[Curation],
    *,
    sites: tuple[Site, ...],
    web: str,
    browser: WebBrowser,
    evidence: EvidenceFolder,
) -> CurationStage[CurationTask, Curation]:
    """Lets the agent look for products for each task, in the browser if it takes one."""

    async def start() -> None:
        if isinstance(agent, Browses):
            await browser.start()
            agent.use(browser, evidence)

    return CurationStage(
        name="curate",
        kind=Curation,
        journal=journal,
        max_concurrency=agent.max_concurrency,
        identity=msgspec.json.encode((agent.identity, sites, web)).decode(),
        item_id=lambda task: task.id,
        key=lambda task, _: digest("curate", agent.identity, view_of(task, sites), web),
        run=lambda task, _, key: agent.curate(view_of(task, sites), key),
        worker=agent,
        start=start,
    )


def extract_stage(
    extractor: Extractor,
    browser: WebBrowser,
    evidence: EvidenceFolder,
    journal: Journal[Extraction],
    *,
    pages: int,
    web: str,
    retries: int = 0,
) -> CurationStage[CuratedPage, Extraction]:
    """Shows a product's page in a browser, keeps it, and reads what it says; while one is read the next is shown.
    ``web`` stands for the shops' content. ``retries``: so often a page is asked for again that wants to see a human.
    """
    made_by = ("extract", extractor.identity, RENDERING, web)
    reading = asyncio.Semaphore(extractor.max_concurrency)

    def about(item: CuratedPage) -> dict[str, Any]:
        return {"url": item.url, "extractor": extractor.name}

    async def run(item: CuratedPage, _: None, key: str) -> Extraction:
        for number in range(retries + 1):
            await asyncio.sleep(_RETRY_S * number)
            page = await browser.render(item.url, evidence, again=number > 0)
            read = Extraction(failure=page.failure)
            if page.failure is None or page.failure.kind != "error":
                async with reading:
                    read = await extractor.extract(page, evidence)
            if read.page_class != "blocked":
                break
        return msgspec.structs.replace(read, step_id=item.product_id, key=key, page=page, **about(item))

    return CurationStage(
        name="extract",
        kind=Extraction,
        journal=journal,
        max_concurrency=pages + extractor.max_concurrency,
        identity=msgspec.json.encode(made_by).decode(),
        item_id=lambda item: item.product_id,
        key=lambda item, _: digest(*made_by, item.url),
        about=about,
        run=run,
        worker=extractor,
        start=browser.start,
    )


def judge_stage(
    judge: ProductJudge, evidence: EvidenceFolder, journal: Journal[Judgement]
) -> CurationStage[JudgedProduct, Judgement]:
    """Lets one judge say of each item of the checklist whether a product satisfies it."""
    return CurationStage(
        name=f"judge {judge.name}",
        kind=Judgement,
        journal=journal,
        max_concurrency=judge.max_concurrency,
        identity=judge.identity,
        item_id=lambda item: judgement_id(item.extraction.step_id, judge.name),
        key=lambda item, _: judgement_key(judge.identity, item),
        about=lambda _: {"judge": judge.name},
        run=lambda item, _, key: judge.judge(item, evidence, key),
        worker=judge,
    )


def _read(path: Path, tasks: Sequence[CurationTask], flag: str) -> tuple[list[Extraction], list[Judgement]]:
    if not path.is_dir():
        raise UserError(f"{flag} {path}: expected the folder of an earlier run, or the release's eval_results")
    if benchmark_of(path) != BENCHMARK:
        return read_eval_results(path, tasks)
    folder = CurationFolder(path)
    # Of a page that could not be looked at nothing is recorded.
    return [one for one in folder.extractions().values() if one.failure is None], list(folder.judgements().values())


def _content(records: Mapping[str, msgspec.Struct]) -> str:
    return hashlib.sha256(msgspec.json.encode(sorted(records.items()), order="sorted")).hexdigest()[:16]


class RecordedPages:
    """Extractions by product; a UserError where the folder is neither a run's nor the release's, or damaged."""

    def __init__(self, path: Path, tasks: Sequence[CurationTask]) -> None:
        self.path, self._tasks = path, tasks
        self.extractions = {one.step_id: one for one in _read(path, tasks, "--extractions")[0]}
        self.identity = _content(self.extractions)

    def stage(
        self, journal: Journal[Extraction], wanted: Sequence[str], evidence: EvidenceFolder
    ) -> CurationStage[CuratedPage, Extraction]:
        """Hands the extractions of the ``wanted`` products out, whose evidence is brought over first."""

        async def start() -> None:
            if benchmark_of(self.path) != BENCHMARK:
                self.extractions = {one.step_id: one for one in read_eval_results(self.path, self._tasks, evidence)[0]}
                return
            source = EvidenceFolder(self.path / EVIDENCE)
            for found in filter(None, map(self.extractions.get, wanted)):
                for name in (found.page.html_file, *(one.file for one in found.page.segments)) if found.page else ():
                    if name:
                        evidence.put(source.get(name), name[name.index(".") :])

        async def run(item: CuratedPage, _: None, key: str) -> Extraction:
            found = self.extractions.get(item.product_id)
            if found is not None and (found.failure is not None or found.url == item.url):
                return msgspec.structs.replace(found, key=key, url=item.url, call=None)
            what = "no page of this product" if found is None else f"the page of another URL ({found.url})"
            failure = Failure(kind="missing", message=f"{what} is recorded")
            return Extraction(step_id=item.product_id, key=key, url=item.url, extractor="recorded", failure=failure)

        return CurationStage(
            name="extract",
            kind=Extraction,
            journal=journal,
            max_concurrency=MANY,
            item_id=lambda item: item.product_id,
            key=lambda item, _: digest("recorded", item.product_id, item.url, self.extractions.get(item.product_id)),
            run=run,
            start=start,
        )


class RecordedJudge(Offline):
    """Says what somebody or something said before of the same products; it is believed about its own evidence."""

    def __init__(self, name: str, known: Mapping[str, Judgement]) -> None:
        self.name, self._known = name, known
        self.condition: Condition = next((one.condition for one in known.values()), "full")
        self.identity = f"recorded {_content(known)}"

    async def judge(self, subject: JudgedProduct, evidence: EvidenceFolder, key: str) -> Judgement:  # noqa: ARG002
        product = subject.extraction.step_id
        missing = Failure(kind="missing", message="no judgement of this product is recorded")
        found = self._known.get(product) or Judgement(step_id="", key="", judge="", failure=missing)
        made = {"step_id": judgement_id(product, self.name), "key": key, "judge": self.name}
        return msgspec.structs.replace(found, **made, call=None)


def recorded_judges(path: Path, tasks: Sequence[CurationTask]) -> tuple[RecordedJudge, ...]:
    """The judges of an earlier run, or the one of the release's results, as judges who say it again."""
    by_judge: dict[str, dict[str, Judgement]] = {}
    for one in _read(path, tasks, "--judgements")[1]:
        by_judge.setdefault(one.judge, {})[one.product] = one
    if not by_judge:
        raise UserError(f"--judgements {path}: nobody judged anything there")
    return tuple(RecordedJudge(name, known) for name, known in by_judge.items())
