"""What every agent takes and returns: a need in, a Curation out, with whatever went wrong recorded in it.

Rules for agents:

- ``identity`` is canonical text of everything that can change an answer: the agent and its version, the model with its
  parameters, the prompts' label, the rules of the loop. Never an address, a key, a price, a time or the version of a
  browser. Two agents with one identity put the same question to the same model.
- ``key`` comes from outside (:func:`curation_key`) and goes into the Curation as it came.
- A Curation is whole or not there: nothing is kept of a task that was broken off, which starts over.
- An answer that will not get better by asking again is ``unparsed`` (no products in the reply, the task's own limit of
  steps, seconds or dollars). Infrastructure that failed is an ``error``: it is asked again when the run goes on.
- :class:`~grounding.budget.BudgetReached` passes through, as :class:`BrokenOff` where the task had cost something by
  then; a UserError only where it holds for every task.
- What a page or a model wrote is bounded before it is kept (the ``MAX_`` below) and is never an instruction to us.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import msgspec

from grounding.budget import BudgetReached
from grounding.records import Call, Failure
from grounding.webagents.agenticshop.records import Curated, Curation, ShopperView, TraceStep

if TYPE_CHECKING:
    from grounding.webagents.agenticshop.web.browser import WebBrowser
    from grounding.webagents.agenticshop.web.evidence import EvidenceFolder

MAX_PRODUCTS = 10
"""So many products of a reply are kept; the scores look at the first three."""

MAX_URL_CHARS = 2_048
MAX_NAME_CHARS = 300
MAX_REASONING_CHARS = 2_000
MAX_THOUGHT_CHARS = 2_000
MAX_OBSERVATION_CHARS = 2_000
MAX_RAW_CHARS = 20_000
MAX_TRACE_STEPS = 400
MAX_CITED_URLS = 50


class BrokenOff(BudgetReached):
    """The run's cost limit ends a task that has made requests: ``curation`` says what they took, and is an error.

    It is written down before the run halts, so that the limit holds over all starts of the run.
    """

    def __init__(self, reached: BudgetReached, curation: Curation) -> None:
        super().__init__(str(reached))
        self.curation = curation


class CurationAgent(Protocol):
    """Looks for products that fit a user. ``max_concurrency`` is how many tasks it can usefully work on at once."""

    @property
    def name(self) -> str:
        """The short name for tables."""
        ...

    @property
    def identity(self) -> str:
        """Canonical text of everything that can change an answer."""
        ...

    @property
    def max_concurrency(self) -> int:
        """How many tasks are worked on at once."""
        ...

    async def curate(self, view: ShopperView, key: str) -> Curation:
        """Look for products. Failures are recorded in the answer, not raised.

        Raises:
            BudgetReached: the run's cost limit leaves no room.
            UserError: what is wrong holds for every task, and the user can put it right.
        """
        ...

    async def check(self) -> None:
        """Raise a UserError when no answer can come."""
        ...

    async def aclose(self) -> None:
        """Let go of connections and workers."""
        ...


@runtime_checkable
class Browses(Protocol):
    """An agent that needs a browser; it is given one before the first task, with room for ``max_concurrency``."""

    def use(self, web: WebBrowser, evidence: EvidenceFolder) -> None:
        """Open pages in this browser and keep pictures in this folder from now on."""
        ...


class Offline:
    """The part of an agent that asks no model: nothing to check and nothing to close."""

    max_concurrency = 1

    async def check(self) -> None:
        """Nothing can be missing."""

    async def aclose(self) -> None:
        """Nothing to close."""


def curation_key(identity: str, view: ShopperView, web: str = "") -> str:
    """Hash of everything that can change a curation: 32 hex digits.

    Args:
        identity: The agent's.
        view: All that the agent is told.
        web: What stands for the content of the data set's own shops (its fingerprint); "" for the open web, of which
            nothing can be said.
    """
    return hashlib.sha256(msgspec.json.encode(("curate", identity, view, web))).hexdigest()[:32]


def made(
    view: ShopperView,
    key: str,
    *,
    products: tuple[Curated, ...] = (),
    trace: tuple[TraceStep, ...] = (),
    raw: str = "",
    ended: str = "",
    requests: int = 0,
    seconds: float = 0.0,
    call: Call | None = None,
    failure: Failure | None = None,
) -> Curation:
    """A Curation within bounds: with a failure there are no products, and no text is longer than is kept."""
    return Curation(
        step_id=view.task_id,
        key=key,
        products=() if failure is not None else tuple(bounded(one) for one in products[:MAX_PRODUCTS]),
        trace=tuple(bounded_step(step) for step in trace[:MAX_TRACE_STEPS]),
        raw=raw[:MAX_RAW_CHARS],
        ended=ended,
        requests=requests,
        seconds=round(seconds, 3),
        call=call,
        failure=failure,
    )


def bounded(product: Curated) -> Curated:
    """A product with texts no longer than are kept. A URL that is cut off is wrong, as one of that length would be."""
    return msgspec.structs.replace(
        product,
        url=product.url[:MAX_URL_CHARS],
        name=product.name[:MAX_NAME_CHARS],
        reasoning=product.reasoning[:MAX_REASONING_CHARS],
    )


def bounded_step(step: TraceStep) -> TraceStep:
    """A step with texts no longer than are kept."""
    return msgspec.structs.replace(
        step,
        action=step.action[:MAX_OBSERVATION_CHARS],
        url=step.url[:MAX_URL_CHARS],
        thought=step.thought[:MAX_THOUGHT_CHARS],
        observation=step.observation[:MAX_OBSERVATION_CHARS],
        cited_urls=tuple(url[:MAX_URL_CHARS] for url in step.cited_urls[:MAX_CITED_URLS]),
        seconds=round(step.seconds, 3),
    )
