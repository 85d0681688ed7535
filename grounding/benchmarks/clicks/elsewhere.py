"""Planners and grounders of clicks on a cluster: what a worker opens, and who stands for them in the run."""

from pathlib import Path
from typing import Any

import msgspec

from grounding.cards.schema import Context, GrounderCard, PlannerCard
from grounding.grounders import BuiltGrounder
from grounding.grounders.base import Grounder, KeepsFiles
from grounding.grounders.som.card import SomCard
from grounding.llm.budget import Budget
from grounding.options import EvalOptions
from grounding.planners import BuiltPlanner, build_planner
from grounding.planners.base import Planner, planner_reads
from grounding.records import Failure, Plan, Prediction, Query
from grounding.run.building import chat_options, grounder_card, grounder_of
from grounding.run.ray.cluster import AHEAD, Pool, Workers
from grounding.run.ray.worker import Lost, ModelAddress, OpenedStage, StageWork, seen
from grounding.serving.worker_server import WorkerServer

_STAY = frozenset({"none", "replay", "center", "random", "oracle"})
"""They only look things up, which is done where the run is written."""


def open_asker(work: StageWork, budget: Budget, told: Any) -> OpenedStage:
    """The planner or the grounder, whichever it is, without a data set; raises a UserError where something is missing.
    ``work.given`` is its card and its address.
    """
    card, address = work.given
    chat = chat_options(work.options, work.base_url or address or None)
    chat = msgspec.structs.replace(chat, max_connections=work.connections or chat.max_connections)
    more: dict[str, Any] = {"budget": budget, "on_retry": told.retried}
    own: Any
    if work.part == "planner":
        own = build_planner(work.options, chat, card=card if isinstance(card, PlannerCard) else None, **more).planner
        ask = own.plan
    else:
        found = card if isinstance(card, GrounderCard) else grounder_card(work.options)
        own = grounder_of(work.options, chat, card=found, **more).grounder
        ask = own.ground
        if isinstance(own, KeepsFiles) and Path(work.folder).is_dir():
            own.keep_in(Path(work.folder))

    async def run(query: Query, _earlier: None, _key: str) -> Plan | Prediction:
        seen(query.screenshot.path)
        answer: Plan | Prediction = await ask(query)
        return answer

    return OpenedStage(own.identity, own.max_concurrency, run, own.check, own.aclose)


class _Remote:
    """The run's own planner or grounder, which is asked nothing, and the workers that answer in its place."""

    def __init__(self, own: Planner | Grounder, pool: Pool) -> None:
        self._own, self._pool = own, pool
        self.name, self.identity = own.name, own.identity
        self.check, self.aclose = pool.start, own.aclose

    @property
    def max_concurrency(self) -> int:
        return self._pool.room(self._own.max_concurrency)

    async def _answer(self, query: Query) -> Any:
        """The record that a worker made; a Failure where there is none left that could."""
        try:
            return await self._pool.do(query.key, query)
        except Lost as error:
            return Failure(kind="error", message=str(error))


class RemotePlanner(_Remote):
    def __init__(self, own: Planner, pool: Pool) -> None:
        super().__init__(own, pool)
        self.reads: frozenset[Context] = planner_reads(own)

    async def plan(self, query: Query) -> Plan:
        found = await self._answer(query)
        lost = isinstance(found, Failure)
        return Plan(step_id=query.step_id, key=query.key, text=None, failure=found) if lost else found


class RemoteGrounder(_Remote):
    async def ground(self, query: Query) -> Prediction:
        found = await self._answer(query)
        lost = isinstance(found, Failure)
        return Prediction(step_id=query.step_id, key=query.key, point=None, failure=found) if lost else found


def remote_planner(workers: Workers, options: EvalOptions, built: BuiltPlanner, own: Planner) -> RemotePlanner | None:
    """The planner in workers; None for one that only looks things up. Raises UserError: there is no cluster."""
    if own.name.partition(":")[0] in _STAY:  # Plans that were saved are named after their file.
        return None
    card, address = built.card, built.base_url
    asked = "" if options.planner_base_url is None else address
    work = StageWork(
        opener=open_asker,
        options=options,
        identity=own.identity,
        part="planner",
        given=(card, address),
        models=() if card is None else (ModelAddress(card, asked, "--planner-base-url"),),
    )
    return RemotePlanner(own, Pool(workers, work, AHEAD))


def remote_grounder(
    workers: Workers, options: EvalOptions, built: BuiltGrounder, worker_server: WorkerServer | None
) -> RemoteGrounder | None:
    """The grounder in workers; None for one that only looks things up. Raises UserError: there is no cluster."""
    card, own = built.card, built.grounder
    if card is None and options.grounder in _STAY:
        return None
    address = built.base_url if options.base_url else ""
    # Set-of-Mark with SAM finds its regions in the worker.
    sam = isinstance(card, SomCard) and card.marks.sam is not None
    work = StageWork(
        opener=open_asker,
        options=options,
        identity=own.identity,
        part="grounder",
        given=(card, "" if worker_server is not None else built.base_url),
        models=() if card is None or not built.base_url else (ModelAddress(card, address, "--base-url"),),
        in_process=sam or (card is not None and not built.base_url),
        worker_server=worker_server,
    )
    return RemoteGrounder(own, Pool(workers, work, AHEAD))
