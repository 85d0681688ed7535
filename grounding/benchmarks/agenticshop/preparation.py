"""The options of a run that curates products in, everything that it needs out: checked before anybody is asked."""

import hashlib
import os
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, get_args

import msgspec

from grounding import __version__
from grounding.benchmarks.asking import Opened, find_card, open_model
from grounding.benchmarks.episodes import select_tasks
from grounding.cards.places import models_dir
from grounding.data.option import local_folder, url_behind
from grounding.errors import UserError
from grounding.grounders import card_behind
from grounding.llm.budget import Budget
from grounding.options import RunOptions, ScoringName
from grounding.run.benchmark import Shared
from grounding.run.building import chat_options, check_numbers
from grounding.run.display import Progress
from grounding.run.folder import begun
from grounding.run.ray.cluster import RemoteStage, Workers, check_executor
from grounding.run.ray.worker import ModelAddress, OpenedStage, StageWork, seen

from .agents.base import Browses, CurationAgent, CurationServices, find_agent, registered
from .asking import LONG_REPLY_TOKENS, OFFICIAL
from .extraction.model import ModelExtractor
from .extraction.structural import Extractor, StructuralExtractor
from .judge.base import REFERENCE, ProductJudge, ReferenceJudge
from .judge.model import ModelJudge
from .loader import load_curation
from .records import Condition, CurationDataset, CurationTask, Scenario
from .released import ReleasedExtractor, open_released
from .scorebook import EVIDENCE, CurationAsked, CurationRunInfo, JudgeMade, curation_signature
from .stages import CurationStage, RecordedPages, curate_stage, extract_stage, judge_stage, recorded_judges
from .web.browser import WebBrowser, find_chromium
from .web.evidence import EvidenceFolder
from .web.guard import WebPolicy

LIBRARIES = ("playwright", "lxml", "extruct", "price-parser")
STRUCTURAL = "structural"
RELEASED_MODEL, RELEASED_SEARCH = "gpt-5-mini", "gpt-4o-search"
"""What the release extracts and judges with, and the model of its script of curation (gpt_search.py).

``NAME@official`` asks NAME as the release asks it.
"""

# How many pages are shown at once, where nobody says otherwise: while some are drawn others are waited for.
PAGES = min(8, 2 * (os.cpu_count() or 1))
CURATE, EXTRACT = "curate", "extract"  # Two of the parts of a run; the others are its judges, as the user named them.


class CurationOptions(RunOptions, frozen=True, kw_only=True):
    dataset: str = "sample-mall"
    scenario: tuple[Scenario, ...] = ()
    agent: str = "site-search"
    model: str | None = None
    curations: Path | None = None
    grounder: str | None = None
    max_steps: int | None = None
    max_seconds: float | None = None
    extractor: str = STRUCTURAL
    extractor_base_url: str | None = None
    extractions: Path | None = None
    judge: tuple[str, ...] = ()
    judge_base_url: str | None = None
    judge_prompt: str | None = None
    judgements: Path | None = None
    pages: int | None = None
    blocked_retries: int = 0
    browser_profile: Path | None = None
    preset: ScoringName = "paper"
    scoring: ScoringName = "paper"

    @property
    def judges(self) -> tuple[str, ...]:
        """Who judges: those that were asked for; without any, the offline reference, or nobody where it is recorded."""
        return self.judge or (() if self.judgements is not None else (REFERENCE,))

    @property
    def agent_urls(self) -> tuple[str, str]:
        """The addresses of the agent's model, and those of its grounder, which are given as ``GROUNDER=URL``."""
        lead = f"{self.grounder}="
        model = (url for url in self.base_url if not url.startswith(lead))
        grounder = (url.removeprefix(lead) for url in self.base_url if url.startswith(lead))
        return " ".join(model), " ".join(grounder)


def as_released(options: CurationOptions) -> CurationOptions:
    """The preset ``official``: what was not named becomes the release's model, extractor, judge and reading."""
    if options.preset != OFFICIAL:
        return options
    name = f"{RELEASED_MODEL}@{OFFICIAL}"
    return msgspec.structs.replace(
        options,
        model=options.model or (RELEASED_SEARCH if options.agent == "search" else None),
        extractor=name if options.extractor == STRUCTURAL and options.extractions is None else options.extractor,
        judge=options.judge or (() if options.judgements is not None else (name,)),
        scoring="official",
    )


def web_label(options: CurationOptions) -> str:
    """What of the options changes how pages come; a UserError where the profile is no file of cookies."""
    parts = [f"blocked-retries:{options.blocked_retries}"] if options.blocked_retries else []
    if options.browser_profile is not None:
        try:
            content = options.browser_profile.read_bytes()
            if "cookies" not in msgspec.json.decode(content, type=dict[str, list[Any]]):
                raise ValueError("no cookies")
        except (OSError, ValueError) as error:
            how = "`playwright open --save-storage=FILE URL`"
            where = f"--browser-profile {options.browser_profile}"
            raise UserError(f"{where}: expected cookies and local storage as {how} writes them: {error}") from None
        parts.append(f"profile:{hashlib.sha256(content).hexdigest()[:12]}")
    return " ".join(parts)


def judge_choice(text: str) -> tuple[str, str]:
    """Read ``NAME`` or ``NAME@HOW``: who judges, and a condition of what it is shown, or ``official``.

    >>> judge_choice("gpt-6.1-sol@url-only"), judge_choice("gpt-6.1-sol")
    (('gpt-6.1-sol', 'url-only'), ('gpt-6.1-sol', 'full'))

    Raises:
        UserError: there is no such condition, or rules are to judge without what they read.
    """
    who, _, how = text.rpartition("@") if "@" in text else (text, "", "full")
    known = (*get_args(Condition), OFFICIAL)
    if not who or how not in known:
        raise UserError(f"--judge {text}: expected NAME or NAME@CONDITION, a condition of {', '.join(known)}")
    if who == REFERENCE and how != "full":
        raise UserError(f"--judge {text}: the reference reads what a page says, all of it: leave @{how} out")
    return who, how


def check_options(options: CurationOptions) -> None:
    """Raise a UserError about what can't be meant."""
    check_executor(options.executor, options.workers, options.ray_address)
    check_numbers(options)
    agent, entry = options.agent, find_agent(options.agent)
    if entry is None:
        known = f"{', '.join(registered())} for {options.dataset}, or your own FILE.py:NAME"
        raise UserError(f"--agent {agent}: expected {known}")
    if entry.needs == "model" and options.model is None:
        raise UserError(f"--agent {agent} needs a model: --model NAME; see `grounding list {entry.listed}`")
    if (options.curations is None) == (entry.needs == "curations"):
        recorded = ", ".join(name for name, one in registered().items() if one.needs == "curations")
        raise UserError(f"--agent {agent}: --curations is what the agents {recorded} read: give both or neither")
    judges = [judge_choice(one) for one in options.judges]
    twice = next((one for one in options.judges if judges.count(judge_choice(one)) > 1), None)
    if twice is not None:
        raise UserError(f"--judge {twice}: named twice")
    no_use: dict[str, str] = {}
    if entry.needs != "model":
        no_use |= dict.fromkeys(("model", "base_url"), f"the agent {agent} asks no model")
    if agent != "browsing":
        no_use |= dict.fromkeys(("grounder", "max_steps", "max_seconds"), "is for browsing")
    if options.extractor == STRUCTURAL:
        no_use["extractor_base_url"] = "structural asks no server"
    elif options.extractions is not None:
        no_use |= dict.fromkeys(("extractor", "extractor_base_url"), "--extractions says what was read")
    if all(how == OFFICIAL or who == REFERENCE for who, how in judges):
        no_use["judge_prompt"] = "no judge is asked in words that can be chosen"
    if {who for who, _ in judges} <= {REFERENCE}:
        no_use |= dict.fromkeys(("judge_base_url", "judge_prompt"), "no judge is a chat model")
    for name, why in no_use.items():
        if value := getattr(options, name):
            shown = " ".join(value) if isinstance(value, tuple) else value
            raise UserError(f"--{name.replace('_', '-')} {shown}: {why}; leave it out")


class Parts:
    """Who works in a run, or in one ``part`` of it in a worker, as the options name them; opened when asked for."""

    def __init__(self, options: CurationOptions, budget: Budget, progress: Progress) -> None:
        self.options, self._budget, self._progress = options, budget, progress
        self.pages = options.pages or PAGES
        self.judge = cache(self._judge)

    @cached_property
    def dataset(self) -> CurationDataset:
        return load_curation(self.options.dataset, self.options.data_dir, scenarios=self.options.scenario)

    @cached_property
    def extractor(self) -> Extractor | None:
        """None where extractions are recorded."""
        options = self.options
        if options.extractions is not None:
            return None
        if options.extractor == STRUCTURAL:
            return StructuralExtractor()
        who, _, how = options.extractor.rpartition("@")
        official = bool(who) and how == OFFICIAL
        name = who if official else options.extractor
        model = self._model(name, options.extractor_base_url, "--extractor", as_released=official)
        return ReleasedExtractor(model) if official else ModelExtractor(model)

    @cached_property
    def agent(self) -> CurationAgent:
        entry = find_agent(self.options.agent)
        assert entry is not None, "options with another are refused"
        return entry.make(CurationServices(self.options, self._budget, self._progress, self.pages))

    def _judge(self, name: str) -> ProductJudge:
        (who, how), options = judge_choice(name), self.options
        if who == REFERENCE:
            return ReferenceJudge()
        model = self._model(who, options.judge_base_url, "--judge", as_released=how == OFFICIAL)
        if how == OFFICIAL:
            return ModelJudge(model, released=True)
        return ModelJudge(model, condition=msgspec.convert(how, Condition), prompt=options.judge_prompt)

    def _model(self, name: str, base_url: str | None, option: str, *, as_released: bool) -> Opened:
        chat, flag = chat_options(self.options, base_url), f"{option}-base-url"
        named: dict[str, Any] = {"model": None, "option": option, "cost_limit": self.options.cost_limit}
        services: dict[str, Any] = {"flag": flag, "budget": self._budget, "progress": self._progress}
        if as_released:
            return open_released(find_card(name, base_url, flag=flag, **named), chat, **services)
        return open_model(name, chat, min_output_tokens=LONG_REPLY_TOKENS, **named, **services)

    @cached_property
    def browser(self) -> WebBrowser:
        shops = Path(self.dataset.folder) if self.dataset.sites else None
        return WebBrowser(WebPolicy(), parallel=self.pages, profile=self.options.browser_profile, shops=shops)

    def stage(self, part: str, journal: Any, evidence: EvidenceFolder) -> CurationStage[Any, Any]:
        if part not in (CURATE, EXTRACT):
            return judge_stage(self.judge(part), evidence, journal)
        # What stands for the content of the shops, and for how pages are asked for; "" for the open web.
        sites = self.dataset.sites
        web = " ".join(filter(None, (self.dataset.fingerprint if sites else "", web_label(self.options))))
        if part == CURATE:
            return curate_stage(self.agent, journal, sites=sites, web=web, browser=self.browser, evidence=evidence)
        assert self.extractor is not None
        more: dict[str, Any] = {"pages": self.pages, "web": web, "retries": self.options.blocked_retries}
        return extract_stage(self.extractor, self.browser, evidence, journal, **more)


@dataclass(frozen=True, kw_only=True)
class PreparedCuration:
    """The judges are those of ``parts`` and those that are recorded."""

    options: CurationOptions
    parts: Parts
    tasks: tuple[CurationTask, ...]
    recorded: RecordedPages | None
    judges: tuple[ProductJudge, ...]
    info: CurationRunInfo
    warnings: tuple[str, ...] = ()

    async def aclose(self) -> None:
        async with AsyncExitStack() as closing:
            for one in (self.parts.agent, self.parts.extractor, *self.judges):
                if one is not None:
                    closing.push_async_callback(one.aclose)


def prepare_curation(
    options: CurationOptions, budget: Budget, progress: Progress, shared: Shared, *, dry: bool = False
) -> PreparedCuration:
    """Find everything that a run needs; see :meth:`grounding.run.benchmark.Benchmark.prepare`. Opens no page."""
    options = as_released(msgspec.structs.replace(options, dry_run=dry))
    check_options(options)
    # What is missing at an endpoint is said before anything that takes long.
    parts, label = Parts(options, budget, progress), web_label(options)
    agent, extractor, judges = parts.agent, parts.extractor, tuple(map(parts.judge, options.judges))
    what = ("curation", options.dataset, options.data_dir, options.scenario)
    dataset = parts.dataset = shared.once(what, lambda: parts.dataset)
    tasks = select_tasks(
        dataset.tasks, options, user_of=lambda task: task.user, id_of=lambda task: task.id, by="--scenario"
    )
    recorded = None if options.extractions is None else RecordedPages(options.extractions, dataset.tasks)
    if options.judgements is not None:
        judges += recorded_judges(options.judgements, dataset.tasks)
    names = [judge.name for judge in judges]
    if len(set(names)) < len(names):
        raise UserError(f"--judgements {options.judgements}: holds a judge that --judge names, too: {', '.join(names)}")
    browses = isinstance(agent, Browses)
    if not dry and (browses or extractor is not None):
        find_chromium()
    several = {"scenarios": options.scenario, "users": options.participant, "tasks": options.sample_id}
    select = [f"{name}={','.join(sorted(chosen))}" for name, chosen in several.items() if chosen]
    select += [f"limit={options.limit}"] if options.limit is not None else []
    shown = f"|{label}" if label else ""
    asked = CurationAsked(
        dataset=dataset.name,
        fingerprint=dataset.fingerprint,
        select=";".join(select) or "all",
        agent=options.agent.rpartition(":")[2],
        agent_identity=agent.identity + (shown if browses else ""),
        model=options.model or "",
        base_url=" ".join(options.base_url),
        extractor="recorded" if extractor is None else extractor.name,
        extractor_identity="" if extractor is None else extractor.identity + shown,
        recorded="" if recorded is None else recorded.identity,
        web="own" if dataset.sites else "open",
        seed=options.seed or 0,
        version=__version__,
    )
    names_in_id = (asked.dataset, asked.agent, options.model or "offline", asked.extractor)
    info = CurationRunInfo(
        **begun(asked, names_in_id, options, dataset.departs, LIBRARIES),
        judges=tuple(JudgeMade(name=judge.name, identity=judge.identity) for judge in judges),
        preset=options.scoring,
    )
    info = msgspec.structs.replace(info, signature=curation_signature(info))
    return PreparedCuration(options=options, parts=parts, tasks=tasks, recorded=recorded, judges=judges, info=info)


# --- on a cluster ----------------------------------------------------------------------------------------------------
# What a worker keeps of pages it writes into the run's folder, which it has to see; cards that the options name by
# path, and data without a URL, have to be there under the same paths.


async def in_workers(own: Any, part: str, prepared: PreparedCuration, workers: Workers) -> RemoteStage:
    """One of the stages with its work in workers. Raises UserError: there is no cluster, it has no room, or a worker
    can't be made ready. Raises Halted: the cluster went away meanwhile.
    """
    work = StageWork(
        opener=open_part,
        options=prepared.options,
        identity=own.identity,
        part=part,
        given=url_behind(prepared.options.data_dir),
        models=_asked(prepared.parts, part),
    )
    return await workers.stage(own, work)


def _asked(parts: Parts, part: str) -> list[ModelAddress]:
    """The models that a stage asks."""
    options, cards = parts.options, models_dir() / "grounders"
    asked: list[tuple[Any, str | None, str]]
    if part == CURATE:
        model_url, grounder_url = options.agent_urls
        asked = [(getattr(parts.agent, "card", None), model_url, "--base-url")]
        if options.grounder is not None:
            asked.append((card_behind(options.grounder, cards, grounder_url or None), grounder_url, "--base-url"))
    elif part == EXTRACT:
        asked = [(getattr(parts.extractor, "card", None), options.extractor_base_url, "--extractor-base-url")]
    else:
        asked = [(getattr(parts.judge(part), "card", None), options.judge_base_url, "--judge-base-url")]
    return [ModelAddress(card, url or "", flag) for card, url, flag in asked if card is not None]


def open_part(work: StageWork, budget: Budget, told: Any) -> OpenedStage:
    """One of the stages in a worker; raises a UserError where something that it needs is missing here."""
    options: CurationOptions = work.options
    options = msgspec.structs.replace(
        options,
        data_dir=local_folder(work.given) if work.given else options.data_dir,
        max_connections=work.connections or options.max_connections,
    )
    parts = Parts(options, budget, told)
    writes = work.part != CURATE or isinstance(parts.agent, Browses)
    evidence = EvidenceFolder(seen(work.folder) / EVIDENCE if writes else Path())
    stage = parts.stage(work.part, told, evidence)
    worker = stage.worker
    assert worker is not None

    async def check() -> None:
        await worker.check()
        await stage.start()

    async def aclose() -> None:
        if work.part in (CURATE, EXTRACT):
            await parts.browser.aclose()
        await worker.aclose()

    return OpenedStage(stage.identity, stage.max_concurrency, stage.run, check, aclose)
