"""The planner and the grounder of a run whose work is done elsewhere: the same to whoever asks them."""

from __future__ import annotations

from typing import TypeVar

from grounding.card_schema import Context
from grounding.executors.pool import Pool
from grounding.grounders.base import Grounder
from grounding.planners.base import Planner, planner_reads
from grounding.records import Plan, Prediction, Query

AnswerT = TypeVar("AnswerT", Plan, Prediction)


class _Remote:
    """What both have in common: the writer's own one, which is asked nothing, and the workers."""

    def __init__(self, own: Planner | Grounder, pool: Pool, *, owns_pool: bool = True) -> None:
        """Nothing is connected yet.

        Args:
            own: The writer's, made from the same options.
            pool: Workers of its room.
            owns_pool: Whether closing this closes the pool, too.
        """
        self._own = own
        self._owns_pool = owns_pool
        self.pool = pool
        self.name = own.name
        self.identity = own.identity

    @property
    def max_concurrency(self) -> int:
        """How many queries all workers together take at once, as far as that is known by now."""
        return self.pool.expects(self._own.max_concurrency)

    async def check(self) -> None:
        """Connect, and wait for the first worker that is ready.

        Raises:
            UserError: none can be made ready, or it would answer otherwise.
            ClusterLost: the cluster went away meanwhile and did not come back.
        """
        await self.pool.start()

    async def aclose(self) -> None:
        """Let go of the workers, if they are this one's."""
        if self._owns_pool:
            await self.pool.aclose()
        await self._own.aclose()

    async def _answer(self, query: Query, kind: type[AnswerT]) -> AnswerT:
        """The answer of whichever worker has room.

        Raises:
            BudgetReached: the cost limit leaves no room; nothing was sent.
            UserError: no worker can answer.
            ClusterLost: the cluster went away and did not come back.
        """
        answer = await self.pool.ask(query)
        if not isinstance(answer, kind):
            raise TypeError(f"{self.name}'s worker answered with a {type(answer).__name__}")
        return answer


class RemotePlanner(_Remote):
    """A planner whose plans are made by a pool of workers.

    What it is called, what it reads and what it hangs on are those of the writer's own planner, which is asked nothing.
    """

    def __init__(self, own: Planner, pool: Pool, *, owns_pool: bool = True) -> None:
        """See the base; ``own`` is a planner, and the workers are of the room ``planner``."""
        super().__init__(own, pool, owns_pool=owns_pool)
        self._reads = planner_reads(own)

    @property
    def reads(self) -> frozenset[Context]:
        """What the planner reads."""
        return self._reads

    async def plan(self, query: Query) -> Plan:
        """The plan of whichever worker has room; raises as :meth:`_Remote._answer`."""
        return await self._answer(query, Plan)


class RemoteGrounder(_Remote):
    """A grounder whose predictions are made by a pool of workers.

    What it is called and what it hangs on are those of the writer's own grounder, which is asked nothing.
    """

    async def ground(self, query: Query) -> Prediction:
        """The prediction of whichever worker has room; raises as :meth:`_Remote._answer`."""
        return await self._answer(query, Prediction)
