"""Curated products (AgenticShop): an agent finds products for a user, their pages are read, judges check each item.

Each task goes through by itself: as soon as the agent has named its products, the browser shows and the extractor reads
their pages, and each judge judges what is a product's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import msgspec

from grounding.benchmarks.episodes import HARMLESS, TAKEN, AgentBenchmark, addresses, combinations
from grounding.cards import PlannerCard
from grounding.cards.schema import SearchCard
from grounding.data.images import picture_sizes
from grounding.errors import UserError
from grounding.llm.budget import Budget
from grounding.llm.estimates import Role, TokenRange
from grounding.llm.tokens import RequestTokens, picture_tokens
from grounding.options import Display, ScoringName
from grounding.records import Size
from grounding.report.html.written import written_or_warned
from grounding.run.benchmark import Pass, Shared, Takes, Work, nothing
from grounding.run.display import Progress
from grounding.run.dry import AskedModel

from .agents.base import AsksFirst, find_agent
from .judge.base import JudgedProduct
from .judge.model import ModelJudge
from .paper import print_published_curations
from .preparation import CURATE, EXTRACT, CurationOptions, PreparedCuration, in_workers, prepare_curation
from .records import (
    COUNTED_PRODUCTS,
    Curation,
    Extraction,
    Judgement,
    curated_pages,
    product_id,
    scenario_named,
    view_of,
)
from .released import SEARCH_USD
from .rows import print_curations, write_curation_page
from .scorebook import BENCHMARK as NAME
from .scorebook import EVIDENCE, CurationFolder, CurationScored, score_curation
from .scores import ALL
from .stages import judge_stage
from .web.evidence import EvidenceFolder

if TYPE_CHECKING:
    from rich.console import Console

_COLOURS = {
    **dict.fromkeys(("curated", "product", "judged"), "green"),
    **dict.fromkeys(("nothing", "listing", "other", "blocked", "no page"), "yellow"),
    **dict.fromkeys(("unparsed", "missing"), "magenta"),
    "error": "red",
}


class AgenticShop(AgentBenchmark[CurationOptions, PreparedCuration, CurationScored]):
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
        """One for every agent and model; what is meant for another of several agents is left out."""
        grounders, models = tuple(given["grounder"]), tuple(given["model"])
        if len(grounders) > 1:
            raise UserError(f"--grounder {' '.join(grounders)}: one at a time for {given['dataset']}")
        given = {**given, "scenario": tuple(scenario_named(name) for name in given["scenario"])}
        grounder = given["grounder"] = grounders[0] if grounders else None
        finders = tuple(url for url in given["base_url"] if url.startswith(f"{grounder}="))
        others = tuple(url for url in given["base_url"] if url not in finders)
        fields = list(CurationOptions.__struct_fields__)
        found = []
        for one in combinations(given, [axis for axis in axes if axis != "grounder"], fields):
            one["base_url"] = addresses(others, one.get("model"), models)
            if len(tuple(given["agent"])) > 1:
                entry = find_agent(str(one.get("agent")))
                needs = "" if entry is None else entry.needs
                one |= {} if needs == "model" else {"model": None, "base_url": ()}
                one |= {} if needs == "curations" else {"curations": None}
                if one.get("agent") != "browsing":
                    one |= {"grounder": None, "max_steps": None, "max_seconds": None}
            if one.get("grounder") is not None:
                one["base_url"] += finders
            found.append(CurationOptions(**{**one, "command": command}))
        return tuple(dict.fromkeys(found))

    def progress(self, display: Display | None) -> Progress:
        return Progress(display, _COLOURS, ("curated",), unit="tasks")

    def prepare(
        self, options: CurationOptions, budget: Budget, progress: Progress, shared: Shared, *, dry: bool = False
    ) -> PreparedCuration:
        return prepare_curation(options, budget, progress, shared, dry=dry)

    def write_items(self, prepared: PreparedCuration, folder: CurationFolder) -> None:
        folder.write_tasks(prepared.tasks)

    def passes(self, prepared: PreparedCuration, work: Work) -> Iterator[Pass]:
        """Curate, which extracting follows, which each judge follows."""
        options, parts, recorded = prepared.options, prepared.parts, prepared.recorded
        evidence = EvidenceFolder(work.folder / EVIDENCE)
        work.closing.push_async_callback(parts.browser.aclose)
        curations, extractions, judgements = (work.journals[name] for name in self.answers)
        tasks = {task.id: task for task in prepared.tasks}

        def products(_page: Any, found: Extraction) -> list[JudgedProduct]:
            """Every link is judged, as in the release; what is no product's page satisfies nothing."""
            task = tasks[found.step_id.rpartition("/")[0]]
            return [] if found.failure else [JudgedProduct(checklist=task.checklist, extraction=found)]

        # What earlier starts of the run have left; what is an error is asked again.
        answered = [(task, one) for name, task in tasks.items() if (one := curations.last(name)) and not _again(one)]
        pages = [page for task, one in answered for page in curated_pages(task, one)]
        read = [one for page in pages if (one := extractions.last(page.product_id)) and not _again(one)]
        judged = [product for one in read for product in products(None, one)]
        unread = len(pages) - len(read) + COUNTED_PRODUCTS * (len(tasks) - len(answered))

        def made(stage: Any, part: str, items: Any, good: Any, progress: Progress, **more: Any) -> Pass:
            """The pass of a stage, whose ``part`` of the run can be worked on in workers: "" where it is recorded.
            ``good`` calls a record without a failure.
            """
            elsewhere = partial(in_workers, stage, part, prepared) if part else None
            check = stage.worker.check if stage.worker else nothing
            told: dict[str, Any] = {"start": stage.start, "check": check, "elsewhere": elsewhere}
            told["outcome"] = lambda _, one: one.failure.kind if one.failure else good(one)
            return Pass(stage=stage, items=items, progress=progress, **told, **more)

        judging = []
        for place, judge in enumerate(prepared.judges):
            part = options.judges[place] if place < len(options.judges) else ""
            progress = Progress(options.display, _COLOURS, ("judged",), unit=f"products by {judge.name}")
            asks = (_judge_asked(judge, evidence, unread),) if isinstance(judge, ModelJudge) else ()
            stage = judge_stage(judge, evidence, judgements)
            judging.append(made(stage, part, judged, lambda _: "judged", progress, asks=asks, feeds=False))

        wanted = [product_id(name, rank) for name in tasks for rank in range(COUNTED_PRODUCTS)]
        card = getattr(parts.extractor, "card", None)
        extracting = made(
            recorded.stage(extractions, wanted, evidence) if recorded else parts.stage(EXTRACT, extractions, evidence),
            "" if recorded else EXTRACT,
            pages,
            lambda one: "no page" if one.page_class in (None, "error") else str(one.page_class),
            Progress(options.display, _COLOURS, ("product",), unit="pages"),
            gives=products,
            followers=tuple(judging),
            asks=() if card is None else (_guessed("extractor", card, EXTRACTOR_TEXT, EXTRACTED, unread),),
        )
        agent = parts.agent
        yield made(
            parts.stage(CURATE, curations, evidence),
            CURATE if options.curations is None else "",
            prepared.tasks,
            lambda one: "curated" if one.products else "nothing",
            work.progress,
            gives=curated_pages,
            followers=(extracting,),
            asks=(_agent_asked(agent, parts.dataset.sites),) if isinstance(agent, AsksFirst) else (),
        )

    def score(self, folder: CurationFolder) -> CurationScored:
        return score_curation(folder)

    def page(self, scored: CurationScored) -> Path | None:
        return written_or_warned(lambda: write_curation_page(scored))

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
        return scored.info.preset

    def print_runs(self, console: Console, results: Sequence[CurationScored], rule: ScoringName) -> None:
        print_curations(console, results, rule=rule)

    def print_published(self, console: Console, results: Sequence[CurationScored]) -> None:
        print_published_curations(console, results)

    def measures(self, rule: ScoringName) -> tuple[str, ...]:  # noqa: ARG002
        return ("score", "wrong_links")


def _again(record: Curation | Extraction) -> bool:
    return record.failure is not None and record.failure.kind == "error"


# Tokens of the words, and pictures, of a question about a page: averages over the pages of the sample.
EXTRACTOR_TEXT, JUDGE_TEXT, PAGE_PICTURES = 2_700, 3_500, 5
_GUESS = "a guess by the form of the reply, reasoning included"
EXTRACTED = TokenRange(low=200, expected=800, high=4_000, source=_GUESS)
FOUND = TokenRange(low=400, expected=1_500, high=8_000, source=_GUESS)
JUDGED = TokenRange(low=600, expected=1_700, high=6_500, source=_GUESS)


def _guessed(
    role: Role,
    card: PlannerCard,
    text: int,
    replies: TokenRange,
    count: int,
    *,
    pictures: int = PAGE_PICTURES,
    **more: Any,
) -> AskedModel:
    """Questions about ``count`` pages that nobody has opened yet, each of the average length."""
    each = picture_tokens(card, picture_sizes(Size(width=1280, height=720), card.image))
    images = None if each is None else pictures * each
    average = RequestTokens(text=text, images=images, output=None, input_most=None, output_most=None)
    unknown = f"{count} pages are not open yet; each counts as {text:,} tokens of text and {pictures} pictures"
    unknown = (unknown if count else "") + more.pop("fees", "")
    return AskedModel(role, card, unknown=unknown, average=average, expected=count, replies=replies, **more)


def _judge_asked(judge: ModelJudge, evidence: EvidenceFolder, unread: int) -> AskedModel:
    pictures = 0 if judge.searches or judge.condition == "url-only" else PAGE_PICTURES
    fees = f"; its web searches, {SEARCH_USD:g} US dollars each, are not counted" if judge.searches else ""
    card = msgspec.structs.replace(judge.card, name=judge.name)
    more: dict[str, Any] = {"first": lambda product, key: judge.judge(product, evidence, key), "fees": fees}
    return _guessed("judge", card, JUDGE_TEXT, JUDGED, unread, pictures=pictures, **more)


def _agent_asked(agent: AsksFirst, sites: Any) -> AskedModel:
    asked = partial(AskedModel, "agent", agent.card, lambda task, _: agent.first(view_of(task, sites)))
    if not isinstance(agent.card, SearchCard):
        return asked(calls=(1, agent.most_requests), unknown=agent.uncounted)
    # It is asked again only where its vendor pauses it.
    fee = agent.card.fee
    each = "in its reply" if fee is None else f"{fee.usd:g} US dollars a {fee.per}"
    words = (
        f"its searches are not counted, some 4 an answer: each adds some 4,000 tokens, and the vendor's fee is {each}"
    )
    return asked(replies=FOUND, unknown=words)


BENCHMARK = AgenticShop()
