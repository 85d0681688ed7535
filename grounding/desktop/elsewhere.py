"""The stage of a desktop run on a cluster: what each worker opens, and how many there are."""

from __future__ import annotations

import msgspec

from grounding.cards import GrounderCard, PlannerCard
from grounding.desktop.agents import AgentCard, build_agent
from grounding.desktop.agents.asking import asking
from grounding.desktop.preparation import PreparedDesktop, asked_at
from grounding.desktop.stage import ActStage, DesktopItem
from grounding.executors.handedout import ClusterHands, RemoteStage
from grounding.executors.link import Cluster
from grounding.executors.recipe import DataPlace, StageWork
from grounding.executors.staffing import Staff, asked_model, check_reach, stage_staff
from grounding.executors.stageopening import OpenedStage, Surroundings
from grounding.options import EvalOptions

_AGENT_OPTIONS = (
    *("dataset", "grounder", "base_url", "style", "attempts"),
    *("temperature", "seed", "max_connections", "timeout", "max_retries", "cost_limit"),
)
"""The options that an agent is made from."""


async def handed_out(own: ActStage, prepared: PreparedDesktop, hands: ClusterHands) -> RemoteStage[DesktopItem]:
    """The stage of a run with its agent in workers.

    Raises:
        UserError: there is no cluster, it has no room, or a worker can't be made ready.
        ClusterLost: the cluster went away meanwhile and did not come back.
    """
    options, model, agent = prepared.options, prepared.model, prepared.agent

    def staffed(cluster: Cluster) -> Staff:
        if prepared.beside is None:
            check_reach("--base-url", agent.base_url, cluster)
        card = agent.card
        return stage_staff(
            options.workers or (options.replicas if options.replicas > 1 else None),
            cluster,
            models=() if card is None else (asked_model(card, own_address=bool(options.base_url)),),
            max_connections=options.max_connections,
            computes=False,
            beside=prepared.beside,
        )

    key = "" if model is None else model.card.endpoint.key_variable or ""
    work = StageWork(
        opener=f"{__name__}:{open_act.__name__}",
        options=EvalOptions(**{name: getattr(options, name) for name in _AGENT_OPTIONS}),
        key_variables=(key,) if key else (),
        given=None if model is None else model.card,
    )
    return await hands.hand_out(
        own,
        work,
        staffed,
        shows=lambda item: item.step.screenshot,
        data=DataPlace(root=str(options.data_dir), url=options.data_url) if options.data_url else None,
        beside=prepared.beside,
    )


def open_act(work: StageWork, around: Surroundings) -> OpenedStage:
    """The stage on a worker, which knows no data set: what an agent is asked comes with every item.

    Raises:
        UserError: something that the agent needs is missing here; says what.
    """
    options: EvalOptions = work.options
    card: GrounderCard | PlannerCard | None = work.given
    model = None if card is None else AgentCard(card=card, asking=asking(card, options.style, options.attempts))
    chat = asked_at(options)
    if around.max_connections is not None:
        chat = msgspec.structs.replace(chat, max_connections=around.max_connections)
    built = build_agent(
        options,
        card=model,
        tasks=(),
        chat=chat,
        servers=None,
        budget=around.budget,
        on_retry=around.on_retry,
        base_url=around.base_url,
    )

    async def here(item: DesktopItem) -> DesktopItem:
        screenshot = await around.locate(item.step.screenshot)
        if screenshot.path == item.step.screenshot.path:
            return item
        return msgspec.structs.replace(item, step=msgspec.structs.replace(item.step, screenshot=screenshot))

    agent = built.agent
    return OpenedStage(stage=ActStage(agent, around.journal), check=agent.check, aclose=agent.aclose, here=here)
