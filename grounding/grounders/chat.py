"""The grounder of a card: a chat model is shown the step and answers with a place, in the card's declared space."""

from __future__ import annotations

from typing import Protocol

from grounding.cards import GrounderCard
from grounding.chat import Asked, ChatModel, ChatRequest
from grounding.errors import UserError
from grounding.grounders.replies import read_reply
from grounding.records import Prediction, Query
from grounding.tokens import RequestTokens


class AskedModel(Protocol):
    """A model that answers one step with text: behind an endpoint (``ChatModel``) or in this process (``HfChat``)."""

    @property
    def identity(self) -> str:
        """Canonical text of everything that can change a reply."""
        ...

    @property
    def max_concurrency(self) -> int:
        """How many questions are worked on at once."""
        ...

    async def ask(self, query: Query) -> Asked:
        """Ask about one step; what goes wrong comes back as a failure."""
        ...

    async def check(self) -> None:
        """Raise a UserError when no answer can come."""
        ...

    async def aclose(self) -> None:
        """Let go of connections, weights and threads."""
        ...


class ChatGrounder:
    """Asks a chat model where to click."""

    def __init__(self, card: GrounderCard, model: AskedModel) -> None:
        self._card = card
        self._model = model
        self.name = card.name

    @property
    def identity(self) -> str:
        """The model's identity."""
        return self._model.identity

    @property
    def max_concurrency(self) -> int:
        """The model's connections, and the pictures made ready for the next requests."""
        return self._model.max_concurrency

    async def ground(self, query: Query) -> Prediction:
        """Ask once; a reply without a place is ``unparsed``, kept in full."""
        asked = await self._model.ask(query)
        if asked.completion is None or asked.sizes is None:
            return Prediction(
                step_id=query.step_id,
                key=query.key,
                point=None,
                sizes=asked.sizes,
                failure=asked.failure,
                call=asked.call,
            )
        said = asked.completion
        whole = (self._card.prefill or "") + said.text
        reply = read_reply(
            whole, self._card.answer, asked.sizes, refused=said.refused, finish_reason=said.finish_reason
        )
        return Prediction(
            step_id=query.step_id,
            key=query.key,
            point=reply.point,
            box=reply.box,
            raw=said.text,
            sizes=asked.sizes,
            failure=reply.failure,
            call=asked.call,
            declined=reply.declined,
        )

    def request_for(self, query: Query) -> ChatRequest:
        """The request about a step, as it would be sent; nothing is.

        Raises:
            OSError, ValueError: the picture can't be read, or the model refuses its shape.
        """
        return self._over_an_endpoint().request_for(query)

    def count(self, query: Query) -> RequestTokens:
        """Its tokens, without reading the picture.

        Raises:
            ValueError: the model refuses a picture of this shape.
        """
        return self._over_an_endpoint().count(query)

    def leave_out(self, base_url: str) -> None:
        """Send nothing more to one of the model's addresses."""
        self._over_an_endpoint().leave_out(base_url)

    def _over_an_endpoint(self) -> ChatModel:
        """The model, where requests are sent at all.

        Raises:
            UserError: it runs in this process.
        """
        if isinstance(self._model, ChatModel):
            return self._model
        raise UserError(f"{self.name} runs in this process: nothing is sent to a server, so there is no request")

    async def check(self) -> None:
        """Ask the endpoint whether it serves the model."""
        await self._model.check()

    async def aclose(self) -> None:
        """Close the model's connections."""
        await self._model.aclose()
