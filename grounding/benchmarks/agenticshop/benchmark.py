"""Curated products (AgenticShop): an agent finds products for a user, their pages are read, judges check each item.

Each task goes through by itself: as soon as the agent has named its products, the browser shows and the extractor reads
their pages, and each judge judges what is a product's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import msgspec

from grounding.benchmarks.agenticshop.agents.base import AsksFirst, find_agent
from grounding.benchmarks.agenticshop.expected import EXTRACTED, FOUND, SAYS, Expected, judged_tokens, searches_usd
from grounding.benchmarks.agenticshop.extraction.model import ModelExtractor
from grounding.benchmarks.agenticshop.judge.base import JudgedProduct
from grounding.benchmarks.agenticshop.judge.model import ModelJudge
from grounding.benchmarks.agenticshop.options import CurationOptions
from grounding.benchmarks.agenticshop.page import curation_page
from grounding.benchmarks.agenticshop.paper import print_published_curations
from grounding.benchmarks.agenticshop.preparation import CURATE, EXTRACT, PreparedCuration, in_workers, prepare_curation
from grounding.benchmarks.agenticshop.records import (
    COUNTED_PRODUCTS,
    CuratedPage,
    Curation,
    CurationTask,
    Extraction,
    Judgement,
    curated_pages,
    product_id,
    view_of,
)
from grounding.benchmarks.agenticshop.released import SEARCH_USD, ReleasedExtractor
from grounding.benchmarks.agenticshop.rows import print_curations
from grounding.benchmarks.agenticshop.scenarios import scenario_named
from grounding.benchmarks.agenticshop.scorebook import BENCHMARK as NAME
from grounding.benchmarks.agenticshop.scorebook import CurationFolder, CurationScored, score_curation
from grounding.benchmarks.agenticshop.scores import ALL
from grounding.benchmarks.agenticshop.stages import judge_stage
from grounding.benchmarks.agenticshop.web.evidence import EvidenceFolder
from grounding.benchmarks.episodes import HARMLESS, TAKEN, AgentBenchmark, addresses, combinations
from grounding.cards.schema import SearchCard
from grounding.errors import UserError
from grounding.llm.budget import Budget
from grounding.options import Display, ScoringName
from grounding.run.benchmark import Pass, Shared, Takes, Work
from grounding.run.display import Progress
from grounding.run.dry import AskedModel

if TYPE_CHECKING:
    from rich.console import Console

_COLOURS = {
    **dict.fromkeys(("curated", "product", "judged"), "green"),
    **dict.fromkeys(("nothing", "listing", "other", "blocked", "no page"), "yellow"),
    **dict.fromkeys(("unparsed", "missing"), "magenta"),
    "error": "red",
}


class AgenticShop(AgentBenchmark[CurationOptions, PreparedCuration, CurationScored]):
    """The benchmark."""

    name = NAME
    takes = Takes(
        what="whose tasks are products to be found on the web",
        names=frozenset(CurationOptions.__struct_fields__) | TAKEN,
        choices=dict.fromkeys(("preset", "scoring"), get_args(ScoringName)),
        harmless=HARMLESS,
    )
    axes = ("agent", "model")
    folder = CurationFolder
    answers: ClassVar = {"curations.jsonl": Curation, "extractions.jsonl": Extraction, "judgements.jsonl": Judgement}

    def runs(self, given: Mapping[str, Any], axes: Sequence[str], command: str) -> tuple[CurationOptions, ...]:
        """One for every agent and model; what is meant for another of several agents is left out.

        Raises:
            UserError: there is no such scenario, or several grounders.
        """
        grounders, models = tuple(given["grounder"]), tuple(given["model"])
        if len(grounders) > 1:
            raise UserError(f"--grounder {' '.join(grounders)}: one at a time for {given['dataset']}")
        given = {**given, "scenario": tuple(scenario_named(name) for name in given["scenario"])}
        given["grounder"] = grounders[0] if grounders else None
        fields = list(CurationOptions.__struct_fields__)
        found = []
        for one in combinations(given, [axis for axis in axes if axis != "grounder"], fields):
            one["base_url"] = addresses(one["base_url"], one.get("model"), models)
            if len(tuple(given["agent"])) > 1:
                entry = find_agent(str(one.get("agent")))
                needs = "" if entry is None else entry.needs
                one |= {} if needs == "model" else {"model": None, "base_url": ()}
                one |= {} if needs == "curations" else {"curations": None}
                if one.get("agent") != "browsing":
                    one |= {"grounder": None, "max_steps": None, "max_seconds": None}
            found.append(CurationOptions(**{**one, "command": command}))
        return tuple(dict.fromkeys(found))

    def progress(self, display: Display | None) -> Progress:
        """Counts what became of the tasks."""
        return Progress(display, _COLOURS, ("curated",), unit="tasks")

    def prepare(
        self, options: CurationOptions, budget: Budget, progress: Progress, shared: Shared, *, dry: bool = False
    ) -> PreparedCuration:
        """Find everything that a run needs."""
        return prepare_curation(options, budget, progress, shared, dry=dry)

    def write_items(self, prepared: PreparedCuration, folder: CurationFolder) -> None:
        """Write the tasks."""
        folder.write_tasks(prepared.tasks)

    def passes(self, prepared: PreparedCuration, work: Work) -> Iterator[Pass]:
        """Curate, which extracting follows, which each judge follows."""
        yield _Passes(prepared, work).all()

    def score(self, folder: CurationFolder) -> CurationScored:
        """Put the stored answers together again."""
        return score_curation(folder)

    def page(self, scored: CurationScored) -> Path | None:
        """Write the page."""
        return curation_page(scored)

    def figures(self, scored: CurationScored, scoring: str | None) -> dict[str, float | None]:
        """The scores of all tasks and of successes alone by the judge that counts, from 0 to 1; or the release's."""
        if not scored.summary.headline:
            return {}
        if (scoring or scored.info.preset) == "official":
            found = (one.official[ALL].satisfaction_percentage for one in scored.summary.judges)
            said = next((one for one in found if one is not None), None)
            return {"official": None if said is None else said / 100}
        own = scored.summary.own.figures[ALL]
        return {"all tasks": own["score"].value, "success only": own["success"].value}

    def reading(self, scored: CurationScored) -> ScoringName:
        """That of the run."""
        return scored.info.preset

    def print_runs(self, console: Console, results: Sequence[CurationScored], rule: ScoringName) -> None:
        """Print one set of tables."""
        print_curations(console, results, rule=rule)

    def print_published(self, console: Console, results: Sequence[CurationScored]) -> None:
        """Print the paper's tables."""
        print_published_curations(console, results)

    def measures(self, rule: ScoringName) -> tuple[str, ...]:  # noqa: ARG002
        """The score and the errors of attribution."""
        return ("score", "wrong_links")


class _Passes:
    """The passes of one run, each with what earlier starts have left it."""

    def __init__(self, prepared: PreparedCuration, work: Work) -> None:
        self.prepared, self.work, self.options = prepared, work, prepared.options
        self.evidence = EvidenceFolder(CurationFolder(work.folder).evidence)
        self.browser = prepared.parts.browser(prepared.agent)
        work.closing.push_async_callback(self.browser.aclose)
        curations, self.extractions = work.journals["curations.jsonl"], work.journals["extractions.jsonl"]
        self.tasks = {task.id: task for task in prepared.tasks}
        made = {name: one for name in self.tasks if (one := curations.last(name)) is not None}
        self.pages = [page for name, one in made.items() for page in curated_pages(self.tasks[name], one)]
        read = [one for page in self.pages if (one := self.extractions.last(page.product_id)) is not None]
        self.judged = [product for one in read for product in self.products(None, one)]
        self.expected = None
        if self.options.dry_run and prepared.recorded is None:
            self.expected = Expected(self.tasks, self.pages, {one.step_id for one in read}, made)

    def all(self) -> Pass:
        """Curating, which the others follow."""
        judging = tuple(map(self.judging, range(len(self.prepared.judges))))
        return self.curating(gives=curated_pages, followers=(self.extracting(gives=self.products, followers=judging),))

    def products(self, _page: Any, found: Extraction) -> list[JudgedProduct]:
        """Every link is judged, as in the release; what is no product's page satisfies nothing if a judge sees it."""
        task = self.tasks[found.step_id.rpartition("/")[0]]
        return [] if found.failure else [JudgedProduct(checklist=task.checklist, extraction=found)]

    def made(self, part: str, journal: str, **more: Any) -> Pass:
        """The pass of a part that is worked on here, or in workers."""
        prepared = self.prepared
        stage = prepared.parts.stage(part, self.work.journals[journal], self.evidence, prepared.agent, self.browser)
        more = {"elsewhere": partial(in_workers, stage, part, prepared), **more}
        return self.of(stage, **more)

    def of(self, stage: Any, *, counts: str = "", unit: str = "", **more: Any) -> Pass:
        """The pass of a stage; one that is not the first counts what became of its own items."""
        if counts:
            more["progress"] = Progress(self.options.display, _COLOURS, (counts,), unit=unit)
        check = {} if stage.worker is None else {"check": stage.worker.check}

        async def start() -> None:
            await stage.start()

        return Pass(**{"stage": stage, "start": start, **check, **more})

    def curating(self, **more: Any) -> Pass:
        """Each task by the agent; what was recorded is not handed to workers."""
        agent, sites = self.prepared.agent, self.prepared.parts.dataset.sites
        if self.options.curations is not None:
            more["elsewhere"] = None
        if isinstance(agent, AsksFirst):
            asking = agent

            async def first(task: CurationTask, _key: str) -> None:
                await asking.first(view_of(task, sites))

            asked = AskedModel("agent", asking.card, first=first, calls=(1, asking.most_requests))
            if isinstance(asking.card, SearchCard):  # Which is asked again only where its vendor pauses it.
                asked = replace(asked, calls=(1, 1), replies=FOUND, beside=searches_usd(asking.card))
            more["asks"] = (asked,)
        items, progress = self.prepared.tasks, self.work.progress
        return self.made(CURATE, "curations.jsonl", items=items, progress=progress, outcome=_curated, **more)

    def extracting(self, **more: Any) -> Pass:
        """Each counted page by the browser and the extractor, or as it is recorded."""
        recorded, expected = self.prepared.recorded, self.expected
        more |= {"items": self.pages, "counts": "product", "unit": "pages", "outcome": _extracted}
        if recorded is not None:

            async def start() -> None:
                wanted = [product_id(name, rank) for name in self.tasks for rank in range(COUNTED_PRODUCTS)]
                recorded.take_over(wanted, self.evidence)

            return self.of(recorded.stage(self.extractions), **more, start=start)
        extractor = self.prepared.parts.extractor
        model = None if extractor is None else extractor.inner
        if expected is not None and isinstance(model, ModelExtractor | ReleasedExtractor):

            async def first(page: CuratedPage, _key: str) -> None:
                await model.extract(expected.page(page.url), expected.evidence)

            asked = AskedModel("extractor", model.card, first, unknown=SAYS, expected=expected.pages, replies=EXTRACTED)
            more["asks"] = (asked,)
        return self.made(EXTRACT, "extractions.jsonl", **more)

    def judging(self, place: int) -> Pass:
        """Each product by one judge: those that the user named, then those that are recorded."""
        judge, journal = self.prepared.judges[place], "judgements.jsonl"
        more: dict[str, Any] = {"items": self.judged, "outcome": _judged, "feeds": False}
        more |= {"counts": "judged", "unit": f"products by {judge.name}"}
        if place >= len(self.options.judges):
            return self.of(judge_stage(judge, self.evidence, self.work.journals[journal]), **more)
        if isinstance(judge, ModelJudge):
            more["asks"] = (self.judge_asked(judge),)
        return self.made(self.options.judges[place], journal, **more)

    def judge_asked(self, judge: ModelJudge) -> AskedModel:
        """What a dry run counts of a judge: the products that are there, and those that are expected."""
        expected = self.expected
        unopened = {} if expected is None else expected.products
        each = [len(one.checklist) for one in (*self.judged, *unopened.values())] or [0]

        async def first(product: JudgedProduct, key: str) -> None:
            of_usual_size = expected is not None and product.extraction.step_id in unopened
            await judge.judge(product, expected.evidence if of_usual_size and expected else self.evidence, key)

        fees = f"; its web searches, {SEARCH_USD:g} US dollars each, are not counted"
        return AskedModel(
            "judge",
            msgspec.structs.replace(judge.card, name=judge.name),
            first=first,
            unknown=SAYS + (fees if judge.searches else ""),
            expected=tuple(unopened.values()),
            replies=judged_tokens(sum(each) / len(each)),
        )


def _curated(_task: Any, record: Curation) -> str:
    return _failed(record) or ("curated" if record.products else "nothing")


def _extracted(_page: Any, record: Extraction) -> str:
    return _failed(record) or ("no page" if record.page_class in (None, "error") else str(record.page_class))


def _judged(_product: Any, record: Judgement) -> str:
    return _failed(record) or "judged"


def _failed(record: Curation | Extraction | Judgement) -> str:
    return "" if record.failure is None else record.failure.kind


BENCHMARK = AgenticShop()
