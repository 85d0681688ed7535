"""The stage of a run over a shop on a cluster: what each worker opens, and how many there are.

A worker reads the data set and builds the web over it as the writer does. Folders and files that the options name have
to be there under the same paths; data with a URL are fetched.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from grounding.cards import PlannerCard
from grounding.executors.handedout import ClusterHands, RemoteStage
from grounding.executors.link import Cluster
from grounding.executors.recipe import StageWork
from grounding.executors.staffing import Staff, asked_model, check_reach, stage_staff
from grounding.executors.stageopening import OpenedStage, Surroundings
from grounding.sources.option import local_folder, url_behind
from grounding.webagents.personalwab.options import PREDICTORS, ShopOptions
from grounding.webagents.personalwab.preparation import PreparedShop, episode_stage, prepare_shop
from grounding.webagents.personalwab.records import ShopTask
from grounding.webagents.personalwab.stage import EpisodeStage


async def handed_out(own: EpisodeStage, prepared: PreparedShop, hands: ClusterHands) -> RemoteStage[ShopTask]:
    """The stage of a run with its agent, its user and its web in workers.

    Raises:
        UserError: there is no cluster, it has no room, or a worker can't be made ready.
        ClusterLost: the cluster went away meanwhile and did not come back.
    """
    options, cards = prepared.options, prepared.cards

    def staffed(cluster: Cluster) -> Staff:
        check_reach("--base-url", " ".join(options.base_url), cluster)
        check_reach("--user-base-url", options.user_base_url or "", cluster)
        asked = ((options.model, bool(options.base_url)), (options.user, options.user_base_url is not None))
        return stage_staff(
            options.workers,
            cluster,
            models=[
                asked_model(cards[name], own_address=own) for name, own in asked if name is not None if name in cards
            ],
            max_connections=options.max_connections,
            gpus=options.model_path is not None,
        )

    variables = {card.endpoint.key_variable for card in cards.values() if card.endpoint.key_variable}
    work = StageWork(
        opener=f"{__name__}:{open_episodes.__name__}",
        options=_anywhere(options),
        data_url=url_behind(options.data_dir),
        key_variables=tuple(sorted(variables)),
        given=cards,
    )
    return await hands.hand_out(own, work, staffed)


def _anywhere(options: ShopOptions) -> ShopOptions:
    """The options as they mean the same in every folder, with nothing of the writer's own."""
    paths: dict[str, Any] = {}
    for name in ("data_dir", "model_path", "search_index", "functions"):
        value: Path | None = getattr(options, name)
        if value is not None and str(value) not in PREDICTORS:
            paths[name] = value.absolute()
    if Path(options.dataset).exists():
        paths["dataset"] = str(Path(options.dataset).absolute())
    return msgspec.structs.replace(options, **paths, display="none", command="", log_dir=Path())


def open_episodes(work: StageWork, around: Surroundings) -> OpenedStage:
    """The stage on a worker.

    Raises:
        UserError: something that it needs is missing here; says what.
    """
    options: ShopOptions = work.options
    cards: Mapping[str, PlannerCard] = work.given
    if work.data_url:
        options = msgspec.structs.replace(options, data_dir=local_folder(work.data_url))
    if around.max_connections is not None:
        options = msgspec.structs.replace(options, max_connections=around.max_connections)
    prepared = prepare_shop(options, around.budget, around.progress, cards=cards)
    agent, user = prepared.agent, prepared.user

    async def check() -> None:
        await agent.check()
        if user is not None:
            await user.check()

    async def aclose() -> None:
        await agent.aclose()
        if user is not None:
            await user.aclose()

    return OpenedStage(stage=episode_stage(prepared, around.journal), check=check, aclose=aclose)
