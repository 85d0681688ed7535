"""Turns to the messages that a chat model reads: with calls as the API has them, or written out as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from grounding.webagents.personalwab.functions.texts import product_text
from grounding.webagents.personalwab.prompts import opening_text
from grounding.webagents.personalwab.records import FunctionCall, TaskView, Turn
from grounding.wire import Message, TextPart, ToolCall

API_OUTPUT = "API output: "
"""What leads an observation in a conversation of text (release, ``chat_react_agent.py``)."""


def text_message(role: Literal["system", "user", "assistant"], text: str) -> Message:
    """A message of plain text."""
    return Message(role=role, parts=(TextPart(text=text),))


def opening_message(view: TaskView) -> Message:
    """The user's first message."""
    product = None if view.review_product is None else product_text(view.review_product)
    return text_message("user", opening_text(view.user_id, view.instruction, product))


def with_calls(system: str, view: TaskView, turns: Sequence[Turn]) -> list[Message]:
    """The conversation for a model that calls functions. Calls are numbered; those left out are not repeated."""
    messages = [text_message("system", system), opening_message(view)]
    for number, turn in enumerate(turns):
        if turn.call.name == "respond":
            messages += [text_message("assistant", said(turn.call)), text_message("user", turn.user_reply or "")]
            continue
        call = ToolCall(id=f"call_{number}", name=turn.call.name, arguments=turn.call.arguments)
        parts = (TextPart(text=turn.thought),) if turn.thought else ()
        seen = turn.observation.text if turn.observation else ""
        messages.append(Message(role="assistant", parts=parts, tool_calls=(call,)))
        messages.append(Message(role="tool", parts=(TextPart(text=seen),), answers=call.id, name=call.name))
    return messages


def with_text(system: str, view: TaskView, turns: Sequence[Turn]) -> list[Message]:
    """The conversation for a model that writes its calls as text, with its reflections."""
    messages = [text_message("system", system), opening_message(view)]
    for turn in turns:
        answer = turn.user_reply if turn.call.name == "respond" else None
        seen = API_OUTPUT + (turn.observation.text if turn.observation else "") if answer is None else answer
        messages += [text_message("assistant", turn.raw), text_message("user", seen)]
        if turn.reflection:
            messages.append(text_message("assistant", turn.reflection))
    return messages


def told(messages: Sequence[Message]) -> list[str]:
    """Messages as lines of text, who says what, with the calls in them written out."""
    lines = []
    for message in messages:
        words = [part.text for part in message.parts if isinstance(part, TextPart)]
        words += [f"{call.name}({call.arguments})" for call in message.tool_calls]
        lines.append(f"{message.role}:{' '.join(words)}")
    return lines


def said(call: FunctionCall) -> str:
    """What a call of ``respond`` says to the user."""
    try:
        values = msgspec.json.decode(call.arguments)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return call.arguments
    content = values.get("content") if isinstance(values, dict) else None
    return content if isinstance(content, str) else call.arguments


def respond(text: str) -> FunctionCall:
    """A call of ``respond``."""
    return FunctionCall(name="respond", arguments=msgspec.json.encode({"content": text}).decode())
