"""Options of commands that ask a chat model about many items, and how such a command ends."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from grounding.console import EXIT_INTERRUPTED, EXIT_OK, EXIT_PARTIAL
from grounding.options import Display

if TYPE_CHECKING:
    from grounding.benchmarks.asking import Asking

Flag = Parameter(negative="", show_default=False)
Several = Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="", show_default=False)]
Count = Annotated[int, Parameter(validator=Number(gte=0))]
Some = Annotated[int, Parameter(validator=Number(gte=1))]
MaybeSome = Annotated[int | None, Parameter(validator=Number(gte=1))]
Seconds = Annotated[float, Parameter(validator=Number(gte=0))]
MaybeMore = Annotated[float | None, Parameter(validator=Number(gt=0))]


def examples(*lines: str) -> str:
    """The end of a command's help."""
    return "\n".join(("\nExamples:\n", "```", *lines, "```\n"))


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ModelFlags:
    """How a chat model is asked.

    Args:
        model: The model's name at its server, instead of the one in its card.
        base_url: The model's server, instead of the one in its card, or several that share the work; any model is asked
            there by its name.
        temperature: Sampling temperature [default: the card's].
        max_connections: Requests open at once [default: the card's].
        timeout: Seconds to wait for a reply [default: the card's].
        max_retries: How often a request is tried again after 429, 5xx, a timeout or a dropped connection.
        server_wait: Seconds to wait for a server that is away; then the run ends, and the same command goes on with it.
        cost_limit: US dollars that it may cost in all; it stops before and can go on with a higher limit.
        display: Progress as a bar, as lines, or not at all [default: a bar on a terminal, else none].
    """

    model: str | None = None
    base_url: Several = ()
    temperature: float | None = None
    max_connections: MaybeSome = None
    timeout: MaybeMore = None
    max_retries: Count = 5
    server_wait: Seconds = 600.0
    cost_limit: MaybeMore = None
    display: Display | None = None

    def asking(self, who: str, seed: int | None, *, option: str = "--by") -> Asking:
        """``who`` is a card's name or path; ``option`` names it, for messages."""
        from grounding.benchmarks.asking import Asking
        from grounding.llm.chat import ChatOptions

        chat = ChatOptions(
            base_url=" ".join(self.base_url) or None,
            temperature=self.temperature,
            seed=seed,
            max_connections=self.max_connections,
            timeout_s=self.timeout,
            max_retries=self.max_retries,
            server_wait_s=self.server_wait,
        )
        return Asking(
            who=who, option=option, model=self.model, chat=chat, cost_limit=self.cost_limit, display=self.display
        )


AS_THE_CARD = ModelFlags()


def exit_code(stopped: str, *, complete: bool) -> int:
    """The exit code of a command that can be gone on with, which is said where it is not complete."""
    if not complete:
        print("the same command again goes on from here", file=sys.stderr)
    if stopped == "interrupted":
        return EXIT_INTERRUPTED
    return EXIT_OK if complete else EXIT_PARTIAL
