"""The grounder of a card: a chat model is shown the step and answers with a place, in the card's declared space."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from grounding.cards import GrounderCard
from grounding.errors import UserError
from grounding.grounders.base import read_reply
from grounding.llm.chat import ChatModel, ChatRequest
from grounding.llm.tokens import RequestTokens
from grounding.llm.wire import ToolCall
from grounding.records import Prediction, Query

if TYPE_CHECKING:
    from grounding.grounders.hf.local import HfChat


def _call_text(call: ToolCall) -> str:
    return f'{{"name": {msgspec.json.encode(call.name).decode()}, "arguments": {call.arguments}}}'


class ChatGrounder:
    """Asks a chat model where to click: behind an endpoint, or in this process."""

    def __init__(self, card: GrounderCard, model: ChatModel | HfChat) -> None:
        self._card = card
        self._model = model
        self.name = card.name
        self.identity = model.identity
        self.max_concurrency = model.max_concurrency
        self.check, self.aclose = model.check, model.aclose

    async def ground(self, query: Query) -> Prediction:
        asked = await self._model.ask(query)
        said, sizes = asked.completion, asked.sizes
        if said is None or sizes is None:
            return Prediction(
                step_id=query.step_id, key=query.key, point=None, sizes=sizes, failure=asked.failure, call=asked.call
            )
        raw = "\n".join(text for text in (said.text, *map(_call_text, said.tool_calls)) if text)
        whole = (self._card.prefill or "") + raw
        reply = read_reply(whole, self._card.answer, sizes, refused=said.refused, finish_reason=said.finish_reason)
        return Prediction(
            step_id=query.step_id,
            key=query.key,
            point=reply.point,
            box=reply.box,
            raw=raw,
            sizes=sizes,
            failure=reply.failure,
            call=asked.call,
            declined=reply.declined,
        )

    def request_for(self, query: Query) -> ChatRequest:
        """The request about a step, as it would be sent; nothing is. Raises OSError, ValueError: the picture can't be
        read, or the model refuses its shape.
        """
        return self._over_an_endpoint().request_for(query)

    def count(self, query: Query) -> RequestTokens:
        """Its tokens, without reading the picture; a ValueError where the model refuses a picture of this shape."""
        return self._over_an_endpoint().count(query)

    def _over_an_endpoint(self) -> ChatModel:
        if isinstance(self._model, ChatModel):
            return self._model
        raise UserError(f"{self.name} runs in this process: nothing is sent to a server, so there is no request")
