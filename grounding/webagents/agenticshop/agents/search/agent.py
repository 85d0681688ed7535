"""A search-augmented model as an agent: one need, one answer, whatever its vendor needs requests for.

A request that cannot succeed for any need (a wrong key, an unknown model) ends the run with a UserError, as long as the
endpoint has answered none.
"""

from __future__ import annotations

import time

import msgspec

from grounding.budget import BudgetReached
from grounding.cards import Json, SearchCard
from grounding.errors import UserError
from grounding.identity import card_identity
from grounding.llm import CallFailed, ModelClient
from grounding.llm.hopeless import beyond_window, where_to_look
from grounding.records import Call, Failure
from grounding.webagents.agenticshop.agents.base import made
from grounding.webagents.agenticshop.agents.search.answers import SearchAnswer
from grounding.webagents.agenticshop.agents.search.interfaces.base import SearchInterface
from grounding.webagents.agenticshop.agents.search.prompt import CurationPrompts, request_text
from grounding.webagents.agenticshop.agents.search.reading import read_products
from grounding.webagents.agenticshop.agents.search.trace import trace_of
from grounding.webagents.agenticshop.records import Curated, Curation, ShopperView
from grounding.webagents.calls import together

VERSION = 1
MOST_PAUSES = 4
"""So often a paused model is sent on; then the answer is what came until there."""


class SearchAgent:
    """Asks one model with a search tool for three products.

    Args:
        card: The model.
        parameters: Fields of the request, as they are sent.
        interface: Its vendor's.
        client: Sends.
        prompts: The wording.
    """

    def __init__(
        self,
        card: SearchCard,
        parameters: dict[str, Json],
        interface: SearchInterface,
        client: ModelClient[SearchAnswer],
        prompts: CurationPrompts,
    ) -> None:
        self.card = card
        self.name = card.name
        self._interface = interface
        self._client = client
        self._prompts = prompts
        self._answered = False
        asked = card_identity(card, leave_out=("fee", "user", "name"), parameters=parameters)
        self.identity = f"search:{VERSION}|{asked}|{prompts.label}"

    @property
    def max_concurrency(self) -> int:
        """As many needs as connections."""
        return self._client.max_connections

    async def check(self) -> None:
        """Ask which models are served, which costs nothing, unless the card says that this can't be asked."""
        await self._client.check()

    async def aclose(self) -> None:
        """Close connections."""
        await self._client.aclose()

    def request(self, view: ShopperView) -> bytes:
        """The body of the first request about a need, as it would be sent."""
        return self._interface.request(self._text(view))

    async def curate(self, view: ShopperView, key: str) -> Curation:
        """Ask, and read the products of the reply.

        Raises:
            BudgetReached: the cost limit leaves no room for the first request about the need.
            UserError: the endpoint refuses for a reason that holds for every need, and has answered none so far.
        """
        started = time.monotonic()
        answers: list[SearchAnswer] = []
        calls: list[Call] = []
        failure = await self._ask(self._text(view), answers, calls)
        text = "".join(answer.text for answer in answers)
        found = failure or _read(answers, text)
        return made(
            view,
            key,
            products=() if isinstance(found, Failure) else found,
            trace=trace_of(answers),
            raw=text,
            ended=answers[-1].finish if answers else "",
            requests=len(calls),
            seconds=time.monotonic() - started,
            call=together(calls),
            failure=found if isinstance(found, Failure) else None,
        )

    async def _ask(self, text: str, answers: list[SearchAnswer], calls: list[Call]) -> Failure | None:
        """All requests about one need; what they brought goes into the lists."""
        so_far: list[msgspec.Raw] = []
        for _ in range(1 + MOST_PAUSES):
            try:
                reply = await self._client.complete(self._interface.request(text, so_far))
            except CallFailed as error:
                return self._failed(error, calls)
            except BudgetReached as reached:
                if not calls:
                    raise
                # What was paid until here must not be forgotten: only a record keeps it.
                return Failure(kind="error", message=f"paused, and not sent on: {reached}")
            self._answered = True
            answers.append(reply.completion)
            calls.append(reply.call)
            if reply.completion.unfinished is None:
                return None
            so_far.append(reply.completion.unfinished)
        return None

    def _failed(self, error: CallFailed, calls: list[Call]) -> Failure:
        look = None if self._answered else where_to_look(error, self.card)
        if look is not None:
            raise UserError(
                f"{self.name}: the endpoint refuses every request for {self.card.model} ({error}); check {look}"
            ) from error
        if error.call is not None:
            calls.append(error.call)
        return Failure(kind="unparsed" if beyond_window(error) else "error", message=str(error))

    def _text(self, view: ShopperView) -> str:
        return request_text(self._prompts, view, in_words=self.card.reply == "words")


def _read(answers: list[SearchAnswer], text: str) -> tuple[Curated, ...] | Failure:
    last = answers[-1]
    if last.stopped_on_purpose:
        return Failure(kind="unparsed", message=f"the model or its vendor declined ({last.finish or 'refusal'})")
    found = read_products(text)
    if isinstance(found, Failure) and last.cut_off:
        return Failure(kind="unparsed", message=f"the reply was cut off at the limit of its length; {found.message}")
    if isinstance(found, Failure) and last.unfinished is not None:
        return Failure(kind="unparsed", message=f"the model was paused {MOST_PAUSES + 1} times; {found.message}")
    return found
