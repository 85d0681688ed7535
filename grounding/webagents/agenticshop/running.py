"""A whole run of curation: options in, a scored run folder out, on the runner and the journal that every run uses.

Three passes, each over what the one before has left behind: the agent curates all tasks, the browser shows and the
extractor reads the pages, each judge judges the products. A pass that the cost limit or the user stops is followed by
none; the same command goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, TypeVar

from grounding.attended import attended
from grounding.budget import Budget
from grounding.describedfolder import carry_out
from grounding.display import OutcomeProgress
from grounding.errors import Halted
from grounding.journal import Journal
from grounding.options import Display
from grounding.records import Call
from grounding.runner import Done, Runner, Stage
from grounding.webagents.agenticshop.agents.base import Browses
from grounding.webagents.agenticshop.judge.base import JudgedProduct
from grounding.webagents.agenticshop.onebrowser import OneBrowser
from grounding.webagents.agenticshop.options import RECORDED, CurationOptions
from grounding.webagents.agenticshop.paging import with_page
from grounding.webagents.agenticshop.preparation import (
    FinderOpener,
    Load,
    PreparedCuration,
    no_grounder,
    prepare_curation,
    read_dataset,
)
from grounding.webagents.agenticshop.recorded import RecordedExtractStage, RecordedJudge
from grounding.webagents.agenticshop.records import Curation, CurationTask, Extraction, Judgement
from grounding.webagents.agenticshop.runfiles import CurationFolder
from grounding.webagents.agenticshop.scorebook import CurationScored, score_curation
from grounding.webagents.agenticshop.scores.verdicts import is_product
from grounding.webagents.agenticshop.stages import (
    CuratedPage,
    CurateStage,
    ExtractStage,
    JudgeStage,
    curated_pages,
    judged_product,
)
from grounding.webagents.agenticshop.web.evidence import EvidenceFolder

if TYPE_CHECKING:
    from grounding.executors.handedout import ClusterHands

ItemT = TypeVar("ItemT")

_COLOURS = {
    "curated": "green",
    "product": "green",
    "judged": "green",
    "nothing": "yellow",
    "listing": "yellow",
    "other": "yellow",
    "blocked": "yellow",
    "no page": "yellow",
    "unparsed": "magenta",
    "missing": "magenta",
    "error": "red",
}


def curation_progress(display: Display | None, unit: str, *, judge: str = "") -> OutcomeProgress:
    """Progress that counts what became of tasks, pages or products, and says who judges."""
    always = {"tasks": ("curated",), "pages": ("product",), "products": ("judged",)}[unit]
    return OutcomeProgress(display, _COLOURS, always, unit=f"{unit} by {judge}" if judge else unit)


def evaluate_curation(
    options: CurationOptions,
    *,
    load: Load = read_dataset,
    open_finder: FinderOpener = no_grounder,
    elsewhere: Iterable[Call] = (),
) -> CurationScored:
    """Run what the options ask for, or continue it where it stopped; score it and write the run folder.

    Args:
        options: What is asked for.
        load: Reads the data set; runs that follow one another may share what it reads.
        open_finder: Opens a grounder that finds elements for the agent browsing.
        elsewhere: What other runs paid under the same cost limit.

    Raises:
        UserError: something is missing or wrong; nothing was asked of any model yet, or the disk failed in mid-run
            (what was answered is kept).
    """
    progress = curation_progress(options.display, "tasks")
    budget = Budget(options.cost_limit)
    budget.take_up(elsewhere)
    prepared = prepare_curation(options, budget, progress, load=load, open_finder=open_finder)
    return carry_out(
        CurationFolder(options.log_dir / prepared.info.run_id),
        prepared.info,
        fresh=options.fresh,
        ask=lambda folder: _run(prepared, folder, budget, progress),
        score=score_curation,
        finish=_unchanged if options.no_report else with_page,
    )


def _unchanged(scored: CurationScored) -> CurationScored:
    return scored


def paid_calls(folder: CurationFolder) -> tuple[Call, ...]:
    """All requests that a run made so far; none where it never began.

    Raises:
        UserError: a file of the folder is damaged.
    """
    paid: list[Call] = []
    for name, opened in (
        ("curations", folder.curations),
        ("extractions", folder.extractions),
        ("judgements", folder.judgements),
    ):
        if (folder.path / f"{name}.jsonl").exists():
            journal: Journal[Any] = opened(read_only=True)
            try:
                paid += [one.call for one in journal.every() if one.call is not None]
            finally:
                journal.close()
    return tuple(paid)


class _Journals:
    """The journals of a run, open for writing."""

    def __init__(self, folder: CurationFolder) -> None:
        self.curations: Journal[Curation] = folder.curations()
        self.extractions: Journal[Extraction] = folder.extractions()
        self.judgements: Journal[Judgement] = folder.judgements()

    def close(self) -> None:
        """Close all of them."""
        for journal in (self.curations, self.extractions, self.judgements):
            journal.close()


def _run(prepared: PreparedCuration, folder: CurationFolder, budget: Budget, progress: OutcomeProgress) -> str:
    """Ask everything that has no answer yet; returns why it stopped early, or nothing."""
    folder.write_tasks(prepared.tasks)
    budget.take_up(paid_calls(folder))
    journals = _Journals(folder)
    hands = None
    if prepared.options.executor == "ray":
        from grounding.executors.handedout import ClusterHands

        hands = ClusterHands(prepared.options, folder.path, budget, progress)
    evidence = EvidenceFolder(folder.evidence)
    try:
        return attended(lambda: _passes(prepared, journals, evidence, progress, hands), folder.path)
    finally:
        journals.close()


async def _passes(
    prepared: PreparedCuration,
    journals: _Journals,
    evidence: EvidenceFolder,
    progress: OutcomeProgress,
    hands: ClusterHands | None,
) -> str:
    async with AsyncExitStack() as closing:
        closing.push_async_callback(prepared.agent.aclose)
        for judge in prepared.judges:
            closing.push_async_callback(judge.aclose)
        if prepared.extractor is not None:
            closing.push_async_callback(prepared.extractor.aclose)
        if hands is not None:
            await closing.enter_async_context(hands)
        # A session of an agent holds its place for the whole task.
        agent = prepared.agent
        parallel = max(prepared.pages, agent.max_concurrency if isinstance(agent, Browses) else 1)
        shown = OneBrowser(prepared.dataset, parallel)
        await closing.enter_async_context(shown.closing())
        try:
            return (
                await _curate(prepared, journals, evidence, shown, progress, hands)
                or await _extract(prepared, journals, evidence, shown, hands)
                or await _judge(prepared, journals, evidence, hands)
            )
        except Halted as halted:
            return str(halted)


async def _curate(
    prepared: PreparedCuration,
    journals: _Journals,
    evidence: EvidenceFolder,
    shown: OneBrowser,
    progress: OutcomeProgress,
    hands: ClusterHands | None,
) -> str:
    agent = prepared.agent
    own = CurateStage(agent, journals.curations, sites=prepared.dataset.sites, web=prepared.web)
    stage: Stage[CurationTask] = own
    if _unsettled(own, prepared.tasks):
        if hands is not None and prepared.options.agent not in RECORDED:
            from grounding.webagents.agenticshop.elsewhere import curating

            stage = await curating(own, prepared, hands)
        else:
            await agent.check()
            if isinstance(agent, Browses):
                agent.use(await shown.start(), evidence)
    stopped = await _pass(stage, prepared.tasks, progress, _curated)
    await _send_away(hands)
    return stopped


async def _send_away(hands: ClusterHands | None) -> None:
    """Each pass has workers of its own."""
    if hands is not None:
        await hands.send_away()


async def _extract(
    prepared: PreparedCuration,
    journals: _Journals,
    evidence: EvidenceFolder,
    shown: OneBrowser,
    hands: ClusterHands | None,
) -> str:
    pages = [page for task in prepared.tasks for page in curated_pages(task, journals.curations.last(task.id))]
    stage: Stage[CuratedPage]
    if prepared.recorded is not None:
        recorded = RecordedExtractStage(prepared.recorded.extractions, journals.extractions)
        if _unsettled(recorded, pages):
            wanted = [page.product_id for page in pages]
            known = prepared.recorded.take_over(prepared.dataset.tasks, wanted, evidence)
            recorded = RecordedExtractStage(known.extractions, journals.extractions)
        stage = recorded
    elif prepared.extractor is None:
        raise RuntimeError("neither an extractor nor recorded extractions")
    else:
        kept = ExtractStage(
            prepared.extractor, None, evidence, journals.extractions, pages=prepared.pages, web=prepared.web
        )
        stage = kept
        if _unsettled(kept, pages):
            if hands is not None:
                from grounding.webagents.agenticshop.elsewhere import extracting

                stage = await extracting(kept, prepared, hands)
            else:
                await prepared.extractor.check()
                kept.use(await shown.start())
    stopped = await _pass(stage, pages, curation_progress(prepared.options.display, "pages"), _extracted)
    await _send_away(hands)
    return stopped


async def _judge(
    prepared: PreparedCuration, journals: _Journals, evidence: EvidenceFolder, hands: ClusterHands | None
) -> str:
    products: list[JudgedProduct] = []
    for task in prepared.tasks:
        for page in curated_pages(task, journals.curations.last(task.id)):
            extraction = journals.extractions.last(page.product_id)
            if extraction is not None and extraction.failure is None and is_product(extraction):
                products.append(judged_product(task, extraction))
    for place, judge in enumerate(prepared.judges):
        own = JudgeStage(judge, evidence, journals.judgements)
        stage: Stage[JudgedProduct] = own
        if _unsettled(own, products):
            if hands is not None and not isinstance(judge, RecordedJudge):
                from grounding.webagents.agenticshop.elsewhere import judging

                stage = await judging(own, prepared.options.judges[place], prepared, hands)
            else:
                await judge.check()
        progress = curation_progress(prepared.options.display, "products", judge=judge.name)
        stopped = await _pass(stage, products, progress, _judged)
        await _send_away(hands)
        if stopped:
            return stopped
    return ""


async def _pass(stage: Stage[ItemT], items: Sequence[ItemT], progress: OutcomeProgress, outcome: Any) -> str:
    def told(done: Done) -> None:
        if done.source == "stored":
            progress.kept()

    def through(_item: ItemT, record: Any) -> None:
        progress.count(outcome(record))

    with progress.steps(len(items)):
        stopped = await Runner[ItemT]((stage,), on_record=told, on_item=through).run(items)
    return "" if stopped is None else stopped.reason


def _unsettled(stage: Stage[ItemT], items: Iterable[ItemT]) -> bool:
    return any(stage.journal.settled(stage.item_id(item), stage.key(item, None)) is None for item in items)


def _curated(record: Curation) -> str:
    if record.failure is not None:
        return record.failure.kind
    return "curated" if record.products else "nothing"


def _extracted(record: Extraction) -> str:
    if record.failure is not None:
        return record.failure.kind
    return "no page" if record.page_class in (None, "error") else str(record.page_class)


def _judged(record: Judgement) -> str:
    return "judged" if record.failure is None else record.failure.kind
