"""Options in, everything that a run of curation needs out: checked before the first question is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from grounding import __version__
from grounding.budget import Budget
from grounding.chat import ChatOptions
from grounding.display import OutcomeProgress
from grounding.errors import UserError
from grounding.records import Record
from grounding.runfolder import utc_now
from grounding.runid import library_versions, run_id
from grounding.webagents.agenticshop.agents.base import Browses, CurationAgent
from grounding.webagents.agenticshop.extraction.base import Extractor
from grounding.webagents.agenticshop.judge.base import Judge
from grounding.webagents.agenticshop.loader import load_curation
from grounding.webagents.agenticshop.options import (
    RECORDED,
    RULES,
    STRUCTURAL,
    CurationOptions,
    JudgeChoice,
    check_options,
    judge_choice,
)
from grounding.webagents.agenticshop.recorded import RecordedPages, content_hash, recorded_judges, recorded_pages
from grounding.webagents.agenticshop.records import CurationDataset, CurationTask
from grounding.webagents.agenticshop.runfiles import CurationAsked, CurationRunInfo, JudgeMade
from grounding.webagents.agenticshop.selection import select_tasks, selection_text
from grounding.webagents.agenticshop.signature import curation_signature
from grounding.webagents.asking import Opened, open_model

if TYPE_CHECKING:
    from grounding.webagents.agenticshop.agents.browsing.pointing import PointFinder

LIBRARIES = ("playwright", "lxml", "extruct", "price-parser")
LONG_REPLY_TOKENS = 8192
"""Room for verdicts on twenty items with their reasons and quotes, and for thinking before."""

PAGES = 2
"""How many pages are shown at once, where nobody says otherwise: each takes a processor while it is drawn."""


FinderOpener = Callable[[str, ChatOptions, Budget, Callable[[], None]], "PointFinder"]
"""Opens the grounder of this name: this room knows none, whoever starts a run hands in what opens them."""


def no_grounder(name: str, *_: object) -> PointFinder:
    """What there is where nobody handed anything in.

    Raises:
        UserError: always.
    """
    raise UserError(f"--grounder {name}: there is nothing here that opens grounders; use `grounding eval`")


class PreparedCuration(Record, frozen=True, kw_only=True):
    """Everything a run needs. ``extractor`` is None where extractions are ``recorded``.

    ``browses`` says whether the agent itself opens pages.
    """

    options: CurationOptions
    dataset: CurationDataset
    tasks: tuple[CurationTask, ...]
    agent: CurationAgent
    extractor: Extractor | None
    recorded: RecordedPages | None
    judges: tuple[Judge, ...]
    pages: int
    info: CurationRunInfo
    open_finder: FinderOpener = no_grounder

    @property
    def browses(self) -> bool:
        """Whether the agent itself opens pages in a browser."""
        return isinstance(self.agent, Browses)

    @property
    def web(self) -> str:
        """What stands for the content of the shops; "" for the open web."""
        return web_of(self.dataset)


def web_of(dataset: CurationDataset) -> str:
    """What stands for the content of a data set's shops; "" for the open web."""
    return dataset.fingerprint if dataset.sites else ""


Load = Callable[[CurationOptions], CurationDataset]


def read_dataset(options: CurationOptions) -> CurationDataset:
    """The data set of a run.

    Raises:
        UserError: it is not there, or wrong.
    """
    return load_curation(options.dataset, options.data_dir, scenarios=options.scenario)


def prepare_curation(
    options: CurationOptions,
    budget: Budget,
    progress: OutcomeProgress,
    *,
    load: Load = read_dataset,
    open_finder: FinderOpener = no_grounder,
) -> PreparedCuration:
    """Find everything that a run needs. Asks nothing of any model, opens no page and writes nothing.

    Args:
        options: What is asked for.
        budget: What may be spent.
        progress: Who is told how far it is.
        load: Reads the data set; runs that follow one another may share what it reads.
        open_finder: Opens a grounder that finds elements for the agent browsing.

    Raises:
        UserError: something is missing or wrong; says what.
    """
    check_options(options)
    # What is missing at an endpoint is said before anything that takes long.
    agent = agent_of(options, budget, progress, open_finder)
    extractor = None if options.extractions is not None else extractor_of(options, budget, progress)
    judges = tuple(judge_of(judge_choice(one), options, budget, progress) for one in options.judges)
    dataset = load(options)
    tasks = select_tasks(dataset.tasks, options)
    recorded = None if options.extractions is None else recorded_pages(options.extractions, dataset.tasks)
    if options.judgements is not None:
        judges += recorded_judges(options.judgements, dataset.tasks)
    twice = [judge.name for judge in judges]
    if len(set(twice)) < len(twice):
        raise UserError(f"--judgements {options.judgements}: holds a judge that --judge names, too: {', '.join(twice)}")
    if isinstance(agent, Browses) or extractor is not None:
        _needs_browser()
    web: Literal["own", "open"] = "own" if dataset.sites else "open"
    asked = CurationAsked(
        dataset=dataset.name,
        fingerprint=dataset.fingerprint,
        select=selection_text(options),
        agent=options.agent,
        agent_identity=agent.identity,
        model=options.model or "",
        base_url=" ".join(options.base_url),
        extractor="recorded" if extractor is None else extractor.name,
        extractor_identity="" if extractor is None else extractor.identity,
        recorded="" if recorded is None else content_hash(recorded.extractions),
        web=web,
        seed=options.seed or 0,
        version=__version__,
    )
    info = CurationRunInfo(
        run_id=run_id(asked, (asked.dataset, asked.agent, options.model or "offline", asked.extractor)),
        status="started",
        signature="",
        asked=asked,
        judges=tuple(JudgeMade(name=judge.name, identity=judge.identity) for judge in judges),
        preset=options.preset,
        data_dir=str(options.data_dir or ""),
        command=options.command,
        versions=library_versions(LIBRARIES),
        started_at=utc_now(),
    )
    return PreparedCuration(
        options=options,
        dataset=dataset,
        tasks=tasks,
        agent=agent,
        extractor=extractor,
        recorded=recorded,
        judges=judges,
        pages=options.pages or PAGES,
        info=msgspec.structs.replace(info, signature=curation_signature(info)),
        open_finder=open_finder,
    )


def chat_options(options: CurationOptions, base_url: str | None) -> ChatOptions:
    """What the user set for a chat model at an address."""
    return ChatOptions(
        base_url=base_url,
        temperature=options.temperature,
        seed=options.seed,
        max_connections=options.max_connections,
        timeout_s=options.timeout,
        max_retries=options.max_retries,
    )


def agent_of(
    options: CurationOptions, budget: Budget, progress: OutcomeProgress, open_finder: FinderOpener
) -> CurationAgent:
    """The agent that a run's options name.

    Raises:
        UserError: something that it needs is missing; says what.
    """
    if options.agent == "site-search":
        from grounding.webagents.agenticshop.agents.site_search import open_site_search

        return open_site_search(max_concurrency=options.pages or PAGES)
    if options.agent == "browsing":
        return _browsing(options, budget, progress, open_finder)
    if options.agent == "search":
        from grounding.webagents.agenticshop.agents.search import open_search_agent

        base_url = " ".join(options.base_url) or None
        return open_search_agent(
            str(options.model),
            chat_options(options, base_url),
            cost_limit=options.cost_limit,
            budget=budget,
            progress=progress,
        )
    from grounding.webagents.agenticshop.agents.recorded import open_recorded

    if options.curations is None or options.agent not in RECORDED:
        raise UserError(f"--agent {options.agent} needs --curations")
    return open_recorded(options.agent, options.curations)


def _browsing(
    options: CurationOptions, budget: Budget, progress: OutcomeProgress, open_finder: FinderOpener
) -> CurationAgent:
    from grounding.webagents.agenticshop.agents.browsing.opening import BrowsingLimits, open_browsing_agent

    # NAME=URL is the address of the grounder, all others are the model's.
    lead = f"{options.grounder}="
    own = " ".join(url for url in options.base_url if not url.startswith(lead)) or None
    finders = " ".join(url.removeprefix(lead) for url in options.base_url if url.startswith(lead)) or None
    opened = _open(str(options.model), options, own, "--model", budget, progress)
    usual = BrowsingLimits()
    limits = BrowsingLimits(
        max_steps=options.max_steps or usual.max_steps, max_seconds=options.max_seconds or usual.max_seconds
    )
    if options.grounder is None:
        return open_browsing_agent(opened, limits=limits)
    finder = open_finder(options.grounder, chat_options(options, finders), budget, progress.retried)
    return open_browsing_agent(opened, limits=limits, grounder=finder)


def extractor_of(options: CurationOptions, budget: Budget, progress: OutcomeProgress) -> Extractor:
    """The extractor that a run's options name.

    Raises:
        UserError: something that it needs is missing; says what.
    """
    if options.extractor == STRUCTURAL:
        from grounding.webagents.agenticshop.extraction.structural import StructuralExtractor

        return StructuralExtractor()
    from grounding.webagents.agenticshop.extraction.model import ModelExtractor

    opened = _open(options.extractor, options, options.extractor_base_url, "--extractor", budget, progress)
    return ModelExtractor(opened)


def judge_of(choice: JudgeChoice, options: CurationOptions, budget: Budget, progress: OutcomeProgress) -> Judge:
    """A judge as a run's options want it.

    Raises:
        UserError: something that it needs is missing; says what.
    """
    if choice.who == RULES:
        from grounding.webagents.agenticshop.judge.rules import RuleJudge

        return RuleJudge()
    from grounding.webagents.agenticshop.judge.model import ModelJudge

    opened = _open(choice.who, options, options.judge_base_url, "--judge", budget, progress)
    return ModelJudge(opened, condition=choice.condition, mode=options.judge_mode, prompt=options.judge_prompt)


def _open(
    name: str,
    options: CurationOptions,
    base_url: str | None,
    option: str,
    budget: Budget,
    progress: OutcomeProgress,
) -> Opened:
    return open_model(
        name,
        chat_options(options, base_url),
        model=None,
        cost_limit=options.cost_limit,
        budget=budget,
        progress=progress,
        option=option,
        flag="--base-url" if option == "--model" else f"{option}-base-url",
        min_output_tokens=LONG_REPLY_TOKENS,
    )


def _needs_browser() -> None:
    """Say what is missing before anything is written, not when the first page is to be shown."""
    from grounding.webagents.agenticshop.web.chromium import check_installed

    check_installed()


def judge_names(judges: Sequence[Judge]) -> tuple[str, ...]:
    """The names of judges, in their order."""
    return tuple(judge.name for judge in judges)
