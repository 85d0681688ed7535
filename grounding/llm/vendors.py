"""Vendors' own interfaces: OpenAI's Responses and Anthropic's Messages for a conversation with tools, and what Google's
generateContent replies.

Their tools for using a computer or the web have no other. What comes back is a :class:`Completion`: the text, and every
call of a tool with its arguments as JSON; an action on the computer is a call by the action's name.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

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
    Wire,
    malformed,
)
from grounding.records import Usage

ANTHROPIC_VERSION = "2023-06-01"  # The version of Anthropic's interface; the anthropic package sends it too.


class _Details(msgspec.Struct):
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    thinking_tokens: int | None = None


class _Counts(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    input_tokens_details: _Details | None = None
    output_tokens_details: _Details | None = None

    def usage(self) -> Usage | None:
        """By OpenAI's definitions: what was read from a cache, or written to one, is part of the input."""
        if self.input_tokens is None:
            return None
        read, written = self.cache_read_input_tokens or 0, self.cache_creation_input_tokens or 0
        cached, thought = self.input_tokens_details or _Details(), self.output_tokens_details or _Details()
        return Usage(
            input_tokens=self.input_tokens + read + written,
            output_tokens=self.output_tokens or 0,
            cached_input_tokens=read or cached.cached_tokens or 0,
            reasoning_tokens=thought.reasoning_tokens or thought.thinking_tokens or 0,
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

    def counted(self) -> Usage | None:
        return self.usage.usage() if self.usage else None


class VendorWire(Wire[Completion]):
    """One vendor's interface; ``more_headers`` are the card's, ``form`` is what its replies are decoded to."""

    form: type[Any] = _Reply

    def __init__(self, more_headers: dict[str, str]) -> None:
        self.more_headers = more_headers

    def headers(self, key: str | None) -> dict[str, str]:
        return super().headers(key) | self.more_headers

    @abstractmethod
    def reply(self, reply: Any) -> Completion:
        """The completion in a decoded reply. Raises MalformedReply: it failed at the vendor's, or holds no answer."""

    def read(self, body: bytes) -> Completion:
        """The text and the calls of a reply. Raises MalformedReply: it is none, or one that failed at the vendor's."""
        try:
            return self.reply(msgspec.json.decode(body, type=self.form))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise malformed("a reply of this interface", body, error) from error

    def spent(self, body: bytes) -> Spent:
        try:
            return Spent(usage=msgspec.json.decode(body, type=self.form).counted())
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return Spent()

    def model(self, answer: Completion) -> str:
        return answer.model


class VendorConversation(VendorWire, ConversationWire):
    @abstractmethod
    def body(self, messages: Sequence[Message]) -> dict[str, Any]:
        """The conversation as the vendor's fields hold it."""

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


def _objects(value: Any) -> list[dict[str, Any]]:
    """Those of a list of any content; none of what is no list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


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
        usage=reply.counted(),
        tool_calls=tuple(made),
    )


class ResponsesWire(VendorConversation):
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
        parts = [
            part for item in reply.output if item.get("type") == "message" for part in _objects(item.get("content"))
        ]
        calls: list[tuple[str, Any]] = []
        for item in reply.output:
            if item.get("type") == "computer_call":
                actions = _objects(item.get("actions") or [item.get("action")])
                calls += [(str(action.pop("type", "")), action) for action in actions]
            elif item.get("type") == "function_call":
                calls.append((str(item.get("name")), msgspec.Raw(str(item.get("arguments") or "{}").encode())))
        texts = [str(part["text"]) for part in parts if part.get("type") == "output_text" and part.get("text")]
        refusal = "".join(str(part.get("refusal") or "") for part in parts)
        reason = (reply.incomplete_details or {}).get("reason") or ("stop" if reply.status == "completed" else "")
        return _completion(reply, texts, calls, str(reason), refusal)


class MessagesWire(VendorConversation):
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


class _Part(msgspec.Struct):
    text: str | None = None
    thought: bool | None = None


class _Content(msgspec.Struct):
    parts: list[_Part] | None = None


class _Candidate(msgspec.Struct, rename="camel"):
    content: _Content | None = None
    finish_reason: str | None = None


class _Generated(msgspec.Struct, rename="camel"):
    candidates: list[_Candidate] | None = None
    prompt_feedback: dict[str, Any] | None = None
    usage_metadata: dict[str, Any] | None = None
    model_version: str | None = None

    def counted(self) -> Usage | None:
        """Tokens of search results are part of the input, thoughts of the output."""
        told = {name: count for name, count in (self.usage_metadata or {}).items() if isinstance(count, int)}
        thought = told.get("thoughtsTokenCount", 0)
        if not told.get("promptTokenCount"):
            return None
        return Usage(
            input_tokens=told["promptTokenCount"] + told.get("toolUsePromptTokenCount", 0),
            output_tokens=told.get("candidatesTokenCount", 0) + thought,
            cached_input_tokens=told.get("cachedContentTokenCount", 0),
            reasoning_tokens=thought,
        )


class GenerateContentWire(VendorWire):
    """Google's generateContent, of which only what comes back is read here: what is asked is its agent's to write."""

    form = _Generated
    base_path, models_path = "/v1beta", "/models?pageSize=1000"

    def path(self, model: str) -> str:
        return f"/models/{quote(model, safe='')}:generateContent"

    def headers(self, key: str | None) -> dict[str, str]:
        return ({"x-goog-api-key": key} if key else {}) | self.more_headers

    def listed(self, body: bytes) -> list[str]:
        try:
            return [str(model["name"]) for model in msgspec.json.decode(body)["models"]]
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, KeyError, TypeError):
            return []

    def reply(self, reply: _Generated) -> Completion:
        """Text without thoughts; a prompt that was blocked has no candidates."""
        blocked = (reply.prompt_feedback or {}).get("blockReason")
        if not reply.candidates and not blocked:
            raise MalformedReply("the response has no candidates")
        first = reply.candidates[0] if reply.candidates else _Candidate()
        parts = (first.content and first.content.parts) or ()
        return Completion(
            text="".join(part.text or "" for part in parts if not part.thought),
            finish_reason=first.finish_reason or str(blocked or ""),
            refused=not reply.candidates,
            model=reply.model_version or "",
            usage=reply.counted(),
        )


def conversation_wire(card: ChatCard) -> ConversationWire:
    kinds: dict[str, type[VendorConversation]] = {"responses": ResponsesWire, "messages": MessagesWire}
    kind = kinds.get(card.endpoint.interface)
    return kind(card.endpoint.headers) if kind else CHAT
