"""What every simulated user takes and returns: what was said to it in, its reply out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from grounding.records import Call, Failure, Record
from grounding.webagents.personalwab.records import ShopTask, Turn


class UserReply(Record, frozen=True, kw_only=True):
    """One line of the user, or why there is none."""

    text: str = ""
    call: Call | None = None
    failure: Failure | None = None


class SimulatedUser(Protocol):
    """Speaks for the user of a task. It knows the target and the review, and hears what is said to it, never results.

    ``identity`` is canonical text of everything that can change a reply.
    """

    @property
    def identity(self) -> str:
        """Canonical text of everything that can change a reply."""
        ...

    async def reply(self, task: ShopTask, turns: Sequence[Turn], said: str) -> UserReply:
        """Answer what the agent says now, after the turns so far."""
        ...

    async def check(self) -> None:
        """Raise a UserError when no answer can come."""
        ...

    async def aclose(self) -> None:
        """Let go of connections."""
        ...
