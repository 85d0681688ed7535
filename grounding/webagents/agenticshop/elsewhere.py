"""The three stages of a run of curation on a cluster: what each worker opens, and how many there are.

A worker of the first two has a browser of its own, and the data set's own shops beside it. What it keeps of pages it
writes into the run's folder, which it has to see; cards that the options name by path, and data without a URL, have to
be there under the same paths.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from grounding.cards import ChatCard, GrounderCard, PlannerCard, find_card, read_card, read_cards
from grounding.executors.handedout import ClusterHands, RemoteStage
from grounding.executors.link import Cluster
from grounding.executors.recipe import StageWork
from grounding.executors.staffing import AskedModel, Staff, asked_model, check_reach, stage_staff
from grounding.executors.stageopening import OpenedStage, Surroundings, folder_here, mark_of
from grounding.places import models_dir
from grounding.sources.option import local_folder, url_behind
from grounding.webagents.agenticshop.agents.base import Browses
from grounding.webagents.agenticshop.judge.base import JudgedProduct
from grounding.webagents.agenticshop.onebrowser import OneBrowser
from grounding.webagents.agenticshop.options import RULES, STRUCTURAL, CurationOptions, judge_choice
from grounding.webagents.agenticshop.preparation import (
    PAGES,
    PreparedCuration,
    agent_of,
    extractor_of,
    judge_of,
    read_dataset,
    web_of,
)
from grounding.webagents.agenticshop.records import CurationTask
from grounding.webagents.agenticshop.runfiles import EVIDENCE
from grounding.webagents.agenticshop.stages import CuratedPage, CurateStage, ExtractStage, JudgeStage
from grounding.webagents.agenticshop.web.evidence import EvidenceFolder

_CURATE, _EXTRACT = "curate", "extract"


class _Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A model that a stage asks, and the address that the user gave for it, "" for none."""

    card: ChatCard
    flag: str
    base_url: str


# --- the writer's end ---------------------------------------------------------------------------------------------


async def curating(own: CurateStage, prepared: PreparedCuration, hands: ClusterHands) -> RemoteStage[CurationTask]:
    """The stage with its agent in workers.

    Raises:
        UserError: there is no cluster, it has no room, or a worker can't be made ready.
        ClusterLost: the cluster went away meanwhile and did not come back.
    """
    asked = _agent_models(prepared.options)
    work = _work(prepared, _CURATE, asked, hands.folder if prepared.browses else None)
    return await hands.hand_out(own, work, lambda there: _staff(prepared, asked, there, computes=prepared.browses))


async def extracting(own: ExtractStage, prepared: PreparedCuration, hands: ClusterHands) -> RemoteStage[CuratedPage]:
    """The stage with its browser and its extractor in workers.

    Raises:
        UserError: there is no cluster, it has no room, or a worker can't be made ready.
        ClusterLost: the cluster went away meanwhile and did not come back.
    """
    options = prepared.options
    asked = (
        []
        if options.extractor == STRUCTURAL
        else [_planner(options.extractor, "--extractor-base-url", options.extractor_base_url)]
    )
    work = _work(prepared, _EXTRACT, asked, hands.folder)
    return await hands.hand_out(own, work, lambda there: _staff(prepared, asked, there, computes=True))


async def judging(
    own: JudgeStage, judge: str, prepared: PreparedCuration, hands: ClusterHands
) -> RemoteStage[JudgedProduct]:
    """The stage with one judge in workers.

    Args:
        own: The writer's.
        judge: The judge as the user named it.
        prepared: The run.
        hands: Who hires.

    Raises:
        UserError: there is no cluster, it has no room, or a worker can't be made ready.
        ClusterLost: the cluster went away meanwhile and did not come back.
    """
    options = prepared.options
    choice = judge_choice(judge)
    who = choice.who
    asked = [] if who == RULES else [_planner(who, "--judge-base-url", options.judge_base_url)]
    at = "" if choice.condition == "full" else f"@{choice.condition}"
    work = _work(prepared, f"{_absolute(who)}{at}", asked, hands.folder)
    return await hands.hand_out(own, work, lambda there: _staff(prepared, asked, there, computes=False))


def _agent_models(options: CurationOptions) -> list[_Asked]:
    if options.model is None:
        return []
    lead = f"{options.grounder}="
    own = " ".join(url for url in options.base_url if not url.startswith(lead))
    if options.agent == "search":
        from grounding.webagents.agenticshop.agents.search.opening import find_search_card

        return [_Asked(card=find_search_card(options.model), flag="--base-url", base_url=own)]
    found = [_planner(options.model, "--base-url", own)]
    finder = None if options.grounder is None else _grounder_card(options.grounder)
    if finder is not None:
        address = " ".join(url.removeprefix(lead) for url in options.base_url if url.startswith(lead))
        found.append(_Asked(card=finder, flag="--base-url", base_url=address))
    return found


def _planner(name: str, flag: str, base_url: str | None) -> _Asked:
    card = find_card(name, models_dir() / "planners", PlannerCard, builtin=(), kind="planner")
    return _Asked(card=card, flag=flag, base_url=base_url or "")


def _grounder_card(name: str) -> GrounderCard | None:
    """The card of a grounder that finds elements; None for one without a card."""
    if name.endswith((".yaml", ".yml")):
        return read_card(Path(name), GrounderCard)
    cards = read_cards(models_dir() / "grounders", GrounderCard)
    return next((card for card in cards if name in (card.name, card.model, *card.aliases)), None)


def _staff(prepared: PreparedCuration, asked: Sequence[_Asked], there: Cluster, *, computes: bool) -> Staff:
    models: list[AskedModel] = []
    for one in asked:
        check_reach(one.flag, one.base_url, there)
        models.append(asked_model(one.card, own_address=bool(one.base_url)))
    options = prepared.options
    return stage_staff(
        options.workers, there, models=models, max_connections=options.max_connections, computes=computes
    )


def _work(prepared: PreparedCuration, part: str, asked: Sequence[_Asked], folder: Path | None) -> StageWork:
    options = prepared.options
    variables = {one.card.endpoint.key_variable for one in asked if one.card.endpoint.key_variable}
    return StageWork(
        opener=f"{__name__}:{open_part.__name__}",
        options=_anywhere(options),
        part=part,
        data_url=url_behind(options.data_dir),
        key_variables=tuple(sorted(variables)),
        folder="" if folder is None else str(folder.absolute()),
        mark="" if folder is None else mark_of(folder),
        given=prepared.open_finder if part == _CURATE else None,
    )


def _anywhere(options: CurationOptions) -> CurationOptions:
    """The options as they mean the same in every folder, with nothing of the writer's own."""
    finder = None if options.grounder is None else _absolute(options.grounder)
    placed: dict[str, Any] = {
        "dataset": _absolute(options.dataset),
        "data_dir": None if options.data_dir is None else options.data_dir.absolute(),
        "model": None if options.model is None else _absolute(options.model),
        "extractor": _absolute(options.extractor),
        "judge_prompt": None if options.judge_prompt is None else _absolute(options.judge_prompt),
        "grounder": finder,
        "base_url": tuple(
            f"{finder}={url.removeprefix(f'{options.grounder}=')}" if url.startswith(f"{options.grounder}=") else url
            for url in options.base_url
        ),
    }
    return msgspec.structs.replace(options, **placed, display="none", command="", log_dir=Path())


def _absolute(name: str) -> str:
    """The name of a card, or the path of a file wherever one is."""
    return str(Path(name).absolute()) if Path(name).exists() else name


# --- a worker's end -----------------------------------------------------------------------------------------------


def open_part(work: StageWork, around: Surroundings) -> OpenedStage:
    """One of the stages on a worker.

    Raises:
        UserError: something that it needs is missing here; says what.
    """
    options: CurationOptions = work.options
    if around.max_connections is not None:
        options = msgspec.structs.replace(options, max_connections=around.max_connections)
    if work.data_url:
        options = msgspec.structs.replace(options, data_dir=local_folder(work.data_url))
    if work.part == _CURATE:
        return _open_curating(options, work, around)
    evidence = EvidenceFolder(folder_here(work) / EVIDENCE)
    if work.part == _EXTRACT:
        return _open_extracting(options, evidence, around)
    judge = judge_of(judge_choice(work.part), options, around.budget, around.progress)
    return OpenedStage(stage=JudgeStage(judge, evidence, around.journal), check=judge.check, aclose=judge.aclose)


def _open_curating(options: CurationOptions, work: StageWork, around: Surroundings) -> OpenedStage:
    agent = agent_of(options, around.budget, around.progress, work.given)
    dataset = read_dataset(options)
    browser = OneBrowser(dataset, max(options.pages or PAGES, agent.max_concurrency))

    async def check() -> None:
        await agent.check()
        if isinstance(agent, Browses):
            agent.use(await browser.start(), EvidenceFolder(folder_here(work) / EVIDENCE))

    async def aclose() -> None:
        await browser.aclose()
        await agent.aclose()

    stage = CurateStage(agent, around.journal, sites=dataset.sites, web=web_of(dataset))
    return OpenedStage(stage=stage, check=check, aclose=aclose)


def _open_extracting(options: CurationOptions, evidence: EvidenceFolder, around: Surroundings) -> OpenedStage:
    extractor = extractor_of(options, around.budget, around.progress)
    dataset, pages = read_dataset(options), options.pages or PAGES
    browser = OneBrowser(dataset, pages)
    stage = ExtractStage(extractor, None, evidence, around.journal, pages=pages, web=web_of(dataset))

    async def check() -> None:
        await extractor.check()
        stage.use(await browser.start())

    async def aclose() -> None:
        await browser.aclose()
        await extractor.aclose()

    return OpenedStage(stage=stage, check=check, aclose=aclose)
