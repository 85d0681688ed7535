"""Two vendors' own interfaces for a conversation with tools: OpenAI's Responses and Anthropic's Messages.

Their tools for using a computer have no other. What comes back is a :class:`Completion`: the text, and every call of a
tool with its arguments as JSON; an action on the computer is a call by the action's name.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import msgspec

from grounding.cards import ChatCard, Json
from grounding.llm.wire import (
    CHAT,
    Completion,
    ConversationWire,
    ImagePart,
    MalformedReply,
    Message,
    Spent,
    TextPart,
    ToolCall,
    malformed,
)
from grounding.records import Usage

ANTHROPIC_VERSION = "2023-06-01"  # The version of Anthropic's interface; the anthropic package sends it too.


class _Counts(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    input_tokens_details: dict[str, Any] | None = None
    output_tokens_details: dict[str, Any] | None = None

    def usage(self) -> Usage | None:
        """By OpenAI's definitions: what was read from a cache, or written to one, is part of the input."""
        if self.input_tokens is None:
            return None
        read, written = self.cache_read_input_tokens or 0, self.cache_creation_input_tokens or 0
        thought = self.output_tokens_details or {}
        return Usage(
            input_tokens=self.input_tokens + read + written,
            output_tokens=self.output_tokens or 0,
            cached_input_tokens=read or (self.input_tokens_details or {}).get("cached_tokens") or 0,
            reasoning_tokens=thought.get("reasoning_tokens") or thought.get("thinking_tokens") or 0,
        )


class _Reply(msgspec.Struct):
    """What both replies have: who answered, the counts, and the list that is the answer under either name."""

    output: list[dict[str, Any]] | None = None
    content: list[dict[str, Any]] | None = None
    model: str = ""
    usage: _Counts | None = None
    status: str | None = None
    stop_reason: str | None = None
    incomplete_details: dict[str, Any] | None = None
    error: Any = None


class VendorWire(ConversationWire):
    """One vendor's interface; ``more_headers`` are the card's."""

    def __init__(self, more_headers: dict[str, str]) -> None:
        self.more_headers = more_headers

    def headers(self, key: str | None) -> dict[str, str]:
        return super().headers(key) | self.more_headers

    @abstractmethod
    def body(self, messages: Sequence[Message]) -> dict[str, Any]:
        """The conversation as the vendor's fields hold it."""

    @abstractmethod
    def reply(self, reply: _Reply) -> Completion:
        """The completion in a decoded reply. Raises MalformedReply: it failed at the vendor's, or holds no answer."""

    def encode(
        self,
        model: str,
        messages: Sequence[Message],
        parameters: dict[str, Json],
        *,
        tools: Sequence[dict[str, Any]] = (),
    ) -> bytes:
        body = {"model": model, **self.body(messages), **({"tools": list(tools)} if tools else {}), **parameters}
        return msgspec.json.encode(body)

    def read(self, body: bytes) -> Completion:
        """The text and the calls of a reply. Raises MalformedReply: it is none, or one that failed at the vendor's."""
        try:
            return self.reply(msgspec.json.decode(body, type=_Reply))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise malformed("a reply of this interface", body, error) from error

    def spent(self, body: bytes) -> Spent:
        try:
            counts = msgspec.json.decode(body, type=_Reply).usage
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return Spent()
        return Spent(usage=counts.usage() if counts else None)


def _completion(reply: _Reply, texts: list[str], calls: list[tuple[str, Any]], reason: str, refusal: str) -> Completion:
    made = [
        ToolCall(id=f"call_{place}", name=name, arguments=msgspec.json.encode(arguments).decode())
        for place, (name, arguments) in enumerate(calls)
    ]
    return Completion(
        text="".join(texts) or refusal,
        finish_reason=reason,
        refused=bool(refusal) and not texts and not made,
        model=reply.model,
        usage=reply.usage.usage() if reply.usage else None,
        tool_calls=tuple(made),
    )


class ResponsesWire(VendorWire):
    """OpenAI's."""

    def path(self, _model: str) -> str:
        return "/responses"

    def body(self, messages: Sequence[Message]) -> dict[str, Any]:
        """Every picture in its own size: ``detail: original``, without which clicks are in pixels of a smaller one."""

        def part(each: TextPart | ImagePart) -> dict[str, Any]:
            if isinstance(each, TextPart):
                return {"type": "input_text", "text": each.text}
            return {"type": "input_image", "image_url": each.url_json, "detail": "original"}

        return {"input": [{"role": message.role, "content": [*map(part, message.parts)]} for message in messages]}

    def reply(self, reply: _Reply) -> Completion:
        if reply.output is None or reply.status in ("failed", "cancelled", "in_progress", "queued"):
            raise MalformedReply(f"the response has status {reply.status}: {reply.error or 'and no output'}")
        parts = [part for item in reply.output if item.get("type") == "message" for part in item.get("content") or ()]
        calls: list[tuple[str, Any]] = []
        for item in reply.output:
            if item.get("type") == "computer_call":
                actions = item.get("actions") or [item.get("action")]
                calls += [(str(action.pop("type", "")), action) for action in actions if isinstance(action, dict)]
            elif item.get("type") == "function_call":
                calls.append((str(item.get("name")), msgspec.Raw(str(item.get("arguments") or "{}").encode())))
        texts = [str(part["text"]) for part in parts if part.get("type") == "output_text" and part.get("text")]
        refusal = "".join(str(part.get("refusal") or "") for part in parts)
        reason = (reply.incomplete_details or {}).get("reason") or ("stop" if reply.status == "completed" else "")
        return _completion(reply, texts, calls, str(reason), refusal)


class MessagesWire(VendorWire):
    """Anthropic's."""

    models_path = "/models?limit=1000"

    def path(self, _model: str) -> str:
        return "/messages"

    def headers(self, key: str | None) -> dict[str, str]:
        own = {"anthropic-version": ANTHROPIC_VERSION, **({"x-api-key": key} if key else {})}
        return own | self.more_headers

    def body(self, messages: Sequence[Message]) -> dict[str, Any]:
        def part(each: TextPart | ImagePart) -> dict[str, Any]:
            if isinstance(each, TextPart):
                return {"type": "text", "text": each.text}
            kind, _, data = bytes(each.url_json).partition(b";base64,")
            media_type = kind.removeprefix(b'"data:').decode()
            source = {"type": "base64", "media_type": media_type, "data": msgspec.Raw(b'"' + data)}
            return {"type": "image", "source": source}

        system = [part(each) for message in messages if message.role == "system" for each in message.parts]
        said = [{"role": each.role, "content": [*map(part, each.parts)]} for each in messages if each.role != "system"]
        return {**({"system": system} if system else {}), "messages": said}

    def reply(self, reply: _Reply) -> Completion:
        if reply.content is None:
            raise MalformedReply(f"the reply has no content: {reply.error}")
        texts = [str(block["text"]) for block in reply.content if block.get("type") == "text" and block.get("text")]
        used = [block for block in reply.content if block.get("type") == "tool_use"]
        calls = [(str(block.get("name")), block.get("input")) for block in used]
        reason = reply.stop_reason or ""
        refusal = "the model refused" if reason == "refusal" else ""
        return _completion(reply, texts, calls, "stop" if reason in ("end_turn", "tool_use") else reason, refusal)


def conversation_wire(card: ChatCard) -> ConversationWire:
    kinds: dict[str, type[VendorWire]] = {"responses": ResponsesWire, "messages": MessagesWire}
    kind = kinds.get(card.endpoint.interface)
    return kind(card.endpoint.headers) if kind else CHAT
