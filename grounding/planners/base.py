"""What every planner takes and returns: the user's words over a screenshot in, one explicit instruction out."""

from typing import Protocol

from grounding.cards.schema import CONTEXT, Context
from grounding.records import Plan, Query

EVERYTHING: frozenset[Context] = frozenset({*CONTEXT, "step_id"})


class Planner(Protocol):
    """Rewrites an instruction so that a grounder can follow it. ``identity`` is canonical text of everything that can
    change a plan: its hash keys stored plans.
    """

    @property
    def name(self) -> str: ...

    @property
    def identity(self) -> str:
        """Canonical text of everything that can change a plan."""

    @property
    def reads(self) -> frozenset[Context]:
        """What of the context can change a plan; the rest is kept out of the query and of the plan's key."""

    @property
    def max_concurrency(self) -> int: ...

    async def plan(self, query: Query) -> Plan:
        """Answer one query. Failures are recorded in the plan, not raised."""

    async def check(self) -> None:
        """Raise a UserError when no answer can come."""

    async def aclose(self) -> None: ...


def planner_reads(planner: Planner) -> frozenset[Context]:
    """What a planner reads of the context. One from another package that doesn't say is taken to read all of it."""
    reads: frozenset[Context] = getattr(planner, "reads", EVERYTHING)
    return reads


class RawInstruction:
    name = "none"
    identity = "none"
    max_concurrency = 64
    reads: frozenset[Context] = frozenset()

    async def plan(self, query: Query) -> Plan:
        return Plan(step_id=query.step_id, key=query.key, text=query.instruction)

    async def check(self) -> None: ...

    async def aclose(self) -> None: ...
