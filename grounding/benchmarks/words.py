"""A chat model asked with one message of text, and its words without its thoughts."""

from __future__ import annotations

from grounding.cards import PlannerCard
from grounding.llm.chat import NO_PICTURES, ChatModel
from grounding.llm.wire import Message, TextPart
from grounding.planners.prompts import plan_outcome
from grounding.records import Call, Failure, Record


class PlainReply(Record, frozen=True, kw_only=True):
    """What a chat model said, without its thoughts, or why nothing can be read from it."""

    text: str = ""
    raw: str = ""
    cut_off: bool = False
    failure: Failure | None = None
    call: Call | None = None


async def ask_in_words(model: ChatModel, card: PlannerCard, prompt: str, *, system: str = "") -> PlainReply:
    """A refusal or an empty reply is ``unparsed``."""
    messages = [Message(role="user", parts=(TextPart(text=prompt),))]
    if system:
        messages.insert(0, Message(role="system", parts=(TextPart(text=system),)))
    asked = await model.send(lambda: tuple(messages), NO_PICTURES)
    if asked.completion is None:
        return PlainReply(failure=asked.failure or Failure(kind="error", message="no reply"), call=asked.call)
    said = asked.completion
    outcome = plan_outcome(card, said)
    return PlainReply(
        text=outcome.text or "",
        raw=said.text,
        cut_off=said.finish_reason == "length",
        failure=outcome.failure,
        call=asked.call,
    )
