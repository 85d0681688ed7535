"""What ends a browsing agent's task: steps, seconds, dollars, answers that can't be read, turning in circles. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Literal

from grounding.budget import charged_usd
from grounding.errors import UserError
from grounding.records import Call, Record

Ending = Literal[
    "finished",
    "step-limit",
    "time-limit",
    "dollar-limit",
    "loop",
    "invalid-answers",
    "model-failed",
    "browser-lost",
]
"""Why a task came to its end. The last two are of the infrastructure: the task is asked again."""


class BrowsingLimits(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The bounds of one task.

    ``max_seconds`` is wall time; a request that is on its way when it is over is waited for. ``max_usd`` is never
    passed by more than a request can cost more than any before it. ``max_invalid`` answers in a row that can't be read
    or done end the task. An action done ``max_repeats`` times on the very same page is advised against, and twice as
    many end the task. A page that does not let itself be looked at or used within ``max_page_seconds`` hangs;
    ``max_losses`` is how often a browser is started anew after a page has crashed or hung.
    """

    max_steps: int = 30
    max_seconds: float = 600.0
    max_usd: float | None = None
    max_invalid: int = 3
    max_repeats: int = 3
    max_losses: int = 3
    max_page_seconds: float = 20.0

    def checked(self) -> BrowsingLimits:
        """The same limits, found to be sound.

        Raises:
            UserError: one of them leaves no room for anything.
        """
        for name in ("max_steps", "max_invalid", "max_repeats"):
            if getattr(self, name) < 1:
                raise UserError(f"{name} is {getattr(self, name)}: expected 1 or more")
        if self.max_losses < 0:
            raise UserError(f"max_losses is {self.max_losses}: expected 0 or more")
        for name, value in (
            ("max_seconds", self.max_seconds),
            ("max_page_seconds", self.max_page_seconds),
            ("max_usd", self.max_usd),
        ):
            if value is not None and not (math.isfinite(value) and value > 0):
                raise UserError(f"{name} is {value}: expected a number above 0")
        return self


def dollars_left(calls: Iterable[Call], limit_usd: float | None) -> bool:
    """Whether one more request as dear as the dearest so far would stay within a task's limit."""
    if limit_usd is None:
        return True
    charged = [charged_usd(call) for call in calls]
    return sum(charged) + max(charged, default=0.0) <= limit_usd


class Repeats:
    """Counts what was done on the same state of a page; going in a circle passes through the same states again."""

    def __init__(self, max_repeats: int) -> None:
        self._most = max_repeats
        self._seen: Counter[tuple[str, str]] = Counter()

    def note(self, state: str, action: str) -> Literal["fresh", "repeated", "loop"]:
        """Count one action on a state; says whether it is time to warn, or to end."""
        self._seen[state, action] += 1
        times = self._seen[state, action]
        if times >= 2 * self._most:
            return "loop"
        return "repeated" if times >= self._most else "fresh"
