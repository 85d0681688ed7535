"""What every planner takes and returns: the user's words over a screenshot in, one explicit instruction out."""

from __future__ import annotations

from typing import Protocol

from grounding.records import Plan, Query


class Planner(Protocol):
    """Rewrites an instruction so that a grounder can follow it.

    ``identity`` is canonical text of everything that can change a plan: its hash keys stored plans.
    """

    @property
    def name(self) -> str:
        """The short name for tables."""
        ...

    @property
    def identity(self) -> str:
        """Canonical text of everything that can change a plan."""
        ...

    @property
    def max_concurrency(self) -> int:
        """How many queries are worked on at once."""
        ...

    async def plan(self, query: Query) -> Plan:
        """Answer one query. Failures are recorded in the plan, not raised."""
        ...

    async def check(self) -> None:
        """Raise a UserError when no answer can come."""
        ...

    async def aclose(self) -> None:
        """Let go of connections."""
        ...
