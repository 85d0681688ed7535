"""A chat model asked with one message of text, and its words without its thoughts."""

from __future__ import annotations

from grounding.cards import PlannerCard
from grounding.chat import NO_PICTURES, ChatModel
from grounding.planners.outcomes import plan_outcome
from grounding.records import Call, Failure, Record
from grounding.wire import Message, TextPart


class Reply(Record, frozen=True, kw_only=True):
    """What a chat model said, without its thoughts, or why nothing can be read from it."""

    text: str = ""
    raw: str = ""
    cut_off: bool = False
    failure: Failure | None = None
    call: Call | None = None


async def ask_in_words(model: ChatModel, card: PlannerCard, prompt: str, *, system: str = "") -> Reply:
    """Ask a chat model with one message of text; a refusal or an empty reply is ``unparsed``.

    Args:
        model: Who is asked.
        card: Its card, with the rule that drops thoughts.
        prompt: The user's message.
        system: The system's message before it, if any.
    """
    messages = [Message(role="user", parts=(TextPart(text=prompt),))]
    if system:
        messages.insert(0, Message(role="system", parts=(TextPart(text=system),)))
    asked = await model.send(lambda: tuple(messages), NO_PICTURES)
    if asked.completion is None:
        return Reply(failure=asked.failure or Failure(kind="error", message="no reply"), call=asked.call)
    said = asked.completion
    outcome = plan_outcome(card, said)
    return Reply(
        text=outcome.text or "",
        raw=said.text,
        cut_off=said.finish_reason == "length",
        failure=outcome.failure,
        call=asked.call,
    )
