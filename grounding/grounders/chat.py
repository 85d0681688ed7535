"""The grounder of a card: a chat model is shown the step and answers with a place, in the card's declared space."""

from __future__ import annotations

from grounding.cards import GrounderCard
from grounding.chat import ChatModel
from grounding.coordinates import ModelBox, box_to_original, point_to_original
from grounding.grounders.answers import declines, read_answer
from grounding.records import Failure, Prediction, Query


class ChatGrounder:
    """Asks a chat model where to click."""

    def __init__(self, card: GrounderCard, model: ChatModel) -> None:
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
                step_id=query.step_id, key=query.key, point=None, sizes=asked.sizes, failure=asked.failure
            )
        said = asked.completion
        whole = (self._card.prefill or "") + said.text
        place = read_answer(whole, self._card.answer)
        point = box = failure = None
        if said.refused:
            failure = Failure(kind="unparsed", message="the model refused")
        elif declines(whole, self._card.answer):
            failure = Failure(kind="unparsed", message="the model says that there is no such place")
        elif place is None:
            form = self._card.answer.form.replace("_", " ")
            ending = f" (finish reason: {said.finish_reason})" if said.finish_reason not in ("", "stop") else ""
            failure = Failure(kind="unparsed", message=f"no {form} in the reply{ending}")
        elif isinstance(place, ModelBox):
            box = box_to_original(place, asked.sizes)
            point = box.center
        else:
            point = point_to_original(place, asked.sizes)
        return Prediction(
            step_id=query.step_id,
            key=query.key,
            point=point,
            box=box,
            raw=said.text,
            sizes=asked.sizes,
            failure=failure,
            call=asked.call,
        )

    async def check(self) -> None:
        """Ask the endpoint whether it serves the model."""
        await self._model.check()

    async def aclose(self) -> None:
        """Close the model's connections."""
        await self._model.aclose()
