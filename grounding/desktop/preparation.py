"""Options in, everything that a desktop run needs out: checked before the first question is asked."""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec

from grounding import __version__
from grounding.budget import Budget
from grounding.building import chat_options
from grounding.chat import ChatOptions
from grounding.desktop.agents import AgentCard, BuiltAgent, agent_card, build_agent
from grounding.desktop.memory import memories
from grounding.desktop.refusals import refuse_senseless
from grounding.desktop.runfiles import DesktopAsked, DesktopRunInfo
from grounding.desktop.selection import DesktopSelection, select_desktop
from grounding.desktop.signature import desktop_signature
from grounding.desktop_records import DesktopDataset
from grounding.display import OutcomeProgress
from grounding.errors import UserError
from grounding.executors.recipe import ANYWHERE, Beside
from grounding.executors.staffing import check_executor
from grounding.loaders import load_desktop
from grounding.options import EvalOptions
from grounding.records import Record
from grounding.runfolder import utc_now
from grounding.runid import library_versions, run_id
from grounding.scoring.desktop import TOLERANCE_PX
from grounding.serving.managed import MANAGED, ManagedServers, manage_servers, server_elsewhere
from grounding.serving.shelf import ServerShelf
from grounding.sources.option import ready


class PreparedDesktop(Record, frozen=True, kw_only=True):
    """Everything a run needs, checked before the first question is asked.

    ``beside`` is the server that each worker on a cluster starts for itself. ``model`` is the agent's card as the user
    named it, None for an agent without a model.
    """

    options: EvalOptions
    model: AgentCard | None
    dataset: DesktopDataset
    selection: DesktopSelection
    memory_of: dict[str, str]
    agent: BuiltAgent
    servers: ManagedServers | None
    beside: Beside | None
    info: DesktopRunInfo


def prepare_desktop(
    options: EvalOptions,
    budget: Budget,
    progress: OutcomeProgress,
    *,
    load: Callable[..., DesktopDataset] = load_desktop,
    shelf: ServerShelf | None = None,
) -> PreparedDesktop:
    """Find everything that a run needs. Asks nothing of any model and writes nothing.

    Args:
        options: What is asked for.
        budget: What may be spent.
        progress: Who is told how far it is.
        load: Reads the data set; runs that follow one another may share what it reads.
        shelf: Where servers of the run before may be up.

    Raises:
        UserError: something is missing or wrong; says what.
    """
    refuse_senseless(options)
    check_executor(options.executor, options.workers, options.ray_address)
    _check_numbers(options)
    # The data set is read after the card and before the agent is made: some agents need it.
    card = agent_card(options)
    ready(options.data_dir)
    with progress.phase("reading the data set"):
        dataset = load(options.dataset, options.data_dir)
    selection = select_desktop(dataset.tasks, kind=options.kind, sample_ids=options.sample_id, limit=options.limit)
    seed = options.seed or 0
    servers = manage_servers(card.grounder, options, ()) if card is not None and options.executor == "local" else None
    beside = _beside(card, options) if card is not None and options.executor == "ray" else None
    if servers is not None and shelf is not None:
        servers = shelf.matching(servers)
    agent = build_agent(
        options,
        card=card,
        tasks=dataset.tasks,
        chat=asked_at(options),
        servers=servers,
        budget=budget,
        on_retry=progress.retried,
        base_url=ANYWHERE if beside is not None else "",
    )
    _check_card(options, agent)
    asked = DesktopAsked(
        dataset=dataset.name,
        fingerprint=dataset.fingerprint,
        select=selection.text,
        agent=agent.agent.name,
        agent_identity=agent.agent.identity,
        base_url=MANAGED if servers is not None or beside is not None else agent.base_url,
        memory=options.memory,
        style=agent.style,
        attempts=agent.attempts,
        seed=seed,
        version=__version__,
    )
    info = DesktopRunInfo(
        run_id=run_id(asked, (asked.dataset, asked.agent, asked.memory)),
        status="started",
        signature="",
        asked=asked,
        data_dir=str(options.data_dir or ""),
        command=options.command,
        versions=library_versions(),
        started_at=utc_now(),
        family=agent.card.family if agent.card else None,
        tolerance_px=TOLERANCE_PX if options.tolerance is None else options.tolerance,
        prompt=agent.prompt_label,
        image=agent.image_label,
    )
    return PreparedDesktop(
        options=options,
        model=card,
        dataset=dataset,
        selection=selection,
        memory_of=memories(dataset.tasks, options.memory, seed),
        agent=agent,
        servers=servers,
        beside=beside,
        info=_signed(info),
    )


def asked_at(options: EvalOptions) -> ChatOptions:
    """What a user may set for the model of an agent, and where it is asked."""
    return msgspec.structs.replace(chat_options(options), base_url=" ".join(options.base_url) or None)


def _beside(card: AgentCard, options: EvalOptions) -> Beside | None:
    server = server_elsewhere(card.grounder, options, ())
    return None if server is None or card.grounder is None else Beside(card=card.grounder, options=server)


def _signed(info: DesktopRunInfo) -> DesktopRunInfo:
    return msgspec.structs.replace(info, signature=desktop_signature(info))


def _check_numbers(options: EvalOptions) -> None:
    for name, lowest in {"seed": 0, "max_connections": 1, "max_retries": 0}.items():
        value = getattr(options, name)
        if value is not None and value < lowest:
            raise UserError(f"--{name.replace('_', '-')} {value}: expected {lowest} or more")
    for name, unit in {"timeout": "seconds", "cost_limit": "US dollars"}.items():
        value = getattr(options, name)
        if value is not None and not (math.isfinite(value) and value > 0):
            raise UserError(f"--{name.replace('_', '-')} {value}: expected {unit}, more than 0")
    check_tolerance(options.tolerance)
    if options.attempts is not None and not 1 <= options.attempts <= 3:
        raise UserError(f"--attempts {options.attempts}: expected 1, 2 or 3")


def check_tolerance(tolerance_px: float | None) -> None:
    """Refuse a tolerance that is no number of pixels.

    Raises:
        UserError: it is below 0 or not finite.
    """
    if tolerance_px is not None and not (math.isfinite(tolerance_px) and tolerance_px >= 0):
        raise UserError(f"--tolerance {tolerance_px}: expected pixels, 0 or more")


def _check_card(options: EvalOptions, agent: BuiltAgent) -> None:
    card = agent.card
    if options.base_url and card is None:
        address = " ".join(options.base_url)
        raise UserError(
            f"--base-url {address}: the agent {agent.agent.name} asks no server; name the model that is served there, "
            "or leave it out"
        )
    if options.temperature is not None and (card is None or "temperature" not in card.takes):
        raise UserError(f"--temperature: {agent.agent.name} takes no temperature; leave it out")
    if options.cost_limit is not None and card is not None and card.price is None:
        raise UserError(f"--cost-limit: the card of {card.name} states no price (field price), so no limit can be kept")
