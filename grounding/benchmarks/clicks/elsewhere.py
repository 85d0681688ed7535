"""Planners and grounders of clicks on a cluster: what a worker opens, and who stands for them in the run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from grounding.cards.schema import ChatCard, Context, GrounderCard, PlannerCard
from grounding.grounders import BuiltGrounder
from grounding.grounders.base import Grounder, KeepsFiles
from grounding.grounders.som.card import SomCard
from grounding.options import EvalOptions
from grounding.planners import BuiltPlanner, build_planner
from grounding.planners.base import Planner, planner_reads
from grounding.records import Failure, Plan, Prediction, Query
from grounding.run.building import chat_options, grounder_card, grounder_of
from grounding.run.ray.cluster import ModelAddress, staff
from grounding.run.ray.pool import AHEAD, Pool, Workers, key_variables
from grounding.run.ray.worker import ItemLost, OpenedStage, Services, StageWork
from grounding.serving.beside import Beside

AnswerT = TypeVar("AnswerT", Plan, Prediction)
_STAY = frozenset({"none", "replay", "center", "random", "oracle"})
"""They only look things up, which is done where the run is written."""
_CHAT = ("temperature", "seed", "max_connections", "timeout", "max_retries", "server_wait")
_OPTIONS = {
    "planner": ("planner", "planner_prompt", "planner_model", "plan_ahead", "planner_base_url", *_CHAT),
    "grounder": (
        *("grounder", "send", "backend", "model_path", "dtype", "device", "batch_size", "base_url", "server_command"),
        *_CHAT,
    ),
}
"""What each is made from: runs that differ in other options can have the same workers."""


def open_asker(work: StageWork, services: Services) -> OpenedStage:
    """The planner or the grounder, whichever it is, without a data set.

    Raises:
        UserError: something that it needs is missing here; says what.
    """
    card, address = work.given
    address = services.base_url or address or None
    chat = chat_options(work.options, address)
    chat = msgspec.structs.replace(chat, max_connections=services.connections or chat.max_connections)
    more: dict[str, Any] = {"budget": services.budget, "on_retry": services.progress.retried}
    own: Any
    if work.part == "planner":
        asked = card if isinstance(card, PlannerCard) else None
        own = build_planner(work.options, chat, card=asked, **more).planner
        ask = own.plan
    else:
        found = card if isinstance(card, GrounderCard) else grounder_card(work.options)
        own = grounder_of(work.options, chat, card=found, **more).grounder
        ask = own.ground
        if isinstance(own, KeepsFiles) and Path(work.folder).is_dir():
            own.keep_in(Path(work.folder))

    async def run(query: Query, _earlier: None, _key: str) -> Plan | Prediction:
        shown = await services.locate(query.screenshot)
        answer: Plan | Prediction = await ask(msgspec.structs.replace(query, screenshot=shown))
        return answer

    return OpenedStage(
        identity=own.identity,
        max_concurrency=own.max_concurrency,
        run=run,
        check=own.check,
        aclose=own.aclose,
    )


class _Remote:
    """The run's own planner or grounder, which is asked nothing, and the workers that answer in its place."""

    def __init__(self, own: Planner | Grounder, pool: Pool) -> None:
        self._own, self._pool = own, pool
        self.name, self.identity = own.name, own.identity

    @property
    def max_concurrency(self) -> int:
        return self._pool.room(self._own.max_concurrency)

    async def _ask(self, query: Query, lost: Callable[..., AnswerT]) -> AnswerT:
        """The answer of whichever worker has room; raises as :meth:`Pool.do`, but for what could not be answered."""
        try:
            found: AnswerT = await self._pool.do(query.key, query)
        except ItemLost as error:
            found = lost(step_id=query.step_id, key=query.key, failure=Failure(kind="error", message=str(error)))
        return found

    async def check(self) -> None:
        await self._pool.start()

    async def aclose(self) -> None:
        await self._own.aclose()


class RemotePlanner(_Remote):
    """A planner whose plans are made by a pool of workers."""

    def __init__(self, own: Planner, pool: Pool) -> None:
        super().__init__(own, pool)
        self.reads: frozenset[Context] = planner_reads(own)

    async def plan(self, query: Query) -> Plan:
        return await self._ask(query, partial(Plan, text=None))


class RemoteGrounder(_Remote):
    """A grounder whose predictions are made by a pool of workers."""

    async def ground(self, query: Query) -> Prediction:
        return await self._ask(query, partial(Prediction, point=None))


def remote_planner(workers: Workers, options: EvalOptions, built: BuiltPlanner, own: Planner) -> RemotePlanner | None:
    """The planner in workers; None for one that only looks things up.

    Raises:
        UserError: there is no cluster, or it has no room.
    """
    if own.name.partition(":")[0] in _STAY:  # Plans that were saved are named after their file.
        return None
    address = built.base_url if options.planner_base_url is not None else ""
    models = [] if built.card is None else [ModelAddress(card=built.card, base_url=address, flag="--planner-base-url")]
    staffed = partial(
        staff,
        workers=options.workers,
        models=models,
        max_connections=options.max_connections,
        # Another package's planner must not wait for the place of a grounder that waits for its plans.
        computes=False,
    )
    work = _work("planner", options, own.identity, built.card, built.base_url)
    return RemotePlanner(own, Pool(workers, work, staffed, ahead=AHEAD))


def remote_grounder(
    workers: Workers, options: EvalOptions, built: BuiltGrounder, beside: Beside | None
) -> RemoteGrounder | None:
    """The grounder in workers; None for one that only looks things up.

    Raises:
        UserError: there is no cluster, or it has no room.
    """
    card, own = built.card, built.grounder
    if card is None and options.grounder in _STAY:
        return None
    address = built.base_url if options.base_url else ""
    asked = [] if card is None or not built.base_url else [ModelAddress(card=card, base_url=address, flag="--base-url")]
    own_model = card is not None and not built.base_url
    # Set-of-Mark with SAM finds its regions in the worker.
    sam = isinstance(card, SomCard) and card.marks.sam is not None
    staffed = partial(
        staff,
        workers=options.workers or (options.replicas if options.replicas > 1 else None),
        models=asked,
        max_connections=options.max_connections,
        beside=beside,
        in_process=sam or own_model,
        computes=not asked,
    )
    work = _work("grounder", options, own.identity, card, "" if beside is not None else built.base_url, beside)
    pool = Pool(workers, work, staffed, in_folder=isinstance(own, KeepsFiles), ahead=AHEAD)
    return RemoteGrounder(own, pool)


def _work(
    part: str,
    options: EvalOptions,
    identity: str,
    card: ChatCard | None,
    base_url: str,
    beside: Beside | None = None,
) -> StageWork:
    return StageWork(
        opener=open_asker,
        options=EvalOptions(**{name: getattr(options, name) for name in _OPTIONS[part]}),
        identity=identity,
        part=part,
        given=(card, base_url),
        keys=key_variables([card]),
        beside=beside,
    )
