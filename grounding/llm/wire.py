"""What differs between interfaces: where a request goes, how the key is shown, what a reply says; and chat completions.

The bytes of a chat completion are those that the ``openai`` package sends. Everything else (connections, tries, limits,
money) is the client's and the same for all interfaces.
"""

import json
from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypeVar

import msgspec

from grounding.cards import Json
from grounding.records import Record, Usage


class TextPart(Record, frozen=True, kw_only=True):
    text: str


class ImagePart(Record, frozen=True, kw_only=True):
    """A picture in a message: a URL as JSON text, quotes included, so that a long one is never escaped or copied."""

    url_json: msgspec.Raw


class ToolCall(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A function that a model calls. ``arguments`` is the text that the model wrote: JSON, if it did well."""

    id: str
    name: str
    arguments: str


class Message(Record, frozen=True, kw_only=True):
    """One message of a conversation. A lone text goes out as a plain string, everything else as a list of parts.
    ``tool_calls`` are those of an assistant's message, which may have no part; ``answers`` is the id of the call that a
    message of the role ``tool`` answers, ``name`` that call's function.
    """

    role: Literal["system", "user", "assistant", "tool"]
    parts: tuple[TextPart | ImagePart, ...]
    tool_calls: tuple[ToolCall, ...] = ()
    answers: str = ""
    name: str = ""


def encode_request(
    model: str,
    messages: Sequence[Message],
    parameters: dict[str, Json],
    *,
    tools: Sequence[dict[str, Any]] = (),
) -> bytes:
    """The JSON body of a chat completion, as the ``openai`` package would send it. ``tools`` are the functions that the
    model may call, as the API has them; without any the field is left out.
    """
    body = {"messages": [_message_json(message) for message in messages], "model": model, **parameters}
    return msgspec.json.encode({**body, "tool_choice": "auto", "tools": list(tools)} if tools else body)


def _message_json(message: Message) -> dict[str, Any]:
    content: Any = [
        {"type": "text", "text": part.text}
        if isinstance(part, TextPart)
        else {"type": "image_url", "image_url": {"url": part.url_json}}
        for part in message.parts
    ]
    if not message.parts:
        content = None
    elif len(message.parts) == 1 and isinstance(message.parts[0], TextPart):
        content = message.parts[0].text
    plain = {"role": message.role, "content": content}
    if message.tool_calls:
        plain["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.role == "tool":
        plain["tool_call_id"] = message.answers
        if message.name:
            plain["name"] = message.name
    return plain


FILTERED = frozenset(
    {
        *("content_filter", "refusal", "safety", "recitation", "blocklist", "prohibited_content", "spii"),
        *("image_safety", "image_prohibited_content", "image_recitation"),
    }
)
"""Finish reasons, in lower case, of a reply that the vendor or the model stopped on purpose.

``content_filter`` is OpenAI's, ``refusal`` Anthropic's; the others are Google's own names (its FinishReason), which its
OpenAI-compatible endpoint has been seen to pass through.
"""


class Completion(Record, frozen=True, kw_only=True):
    """A reply as the server gave it: text and calls of its first choice; the text is empty where there was none."""

    text: str
    finish_reason: str
    refused: bool
    model: str
    usage: Usage | None
    tool_calls: tuple[ToolCall, ...] = ()

    @property
    def filtered(self) -> bool:
        reason = self.finish_reason.lower()
        return reason in FILTERED or reason.startswith("content_filter")


class MalformedReply(ValueError):
    """The body of a successful response is not a chat completion."""


class UnreadableReply(MalformedReply):
    """It is whole, and what the model wrote in it can't be held: half a character, or lists nested without end."""


class _WireUsage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    prompt_tokens_details: dict[str, Any] | None = None
    completion_tokens_details: dict[str, Any] | None = None


class _WireFunction(msgspec.Struct):
    name: str = ""
    arguments: str | dict[str, Any] | None = None


class _WireToolCall(msgspec.Struct):
    function: _WireFunction
    id: str | None = None


class _WireMessage(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[_WireToolCall] | None = None


class _WireChoice(msgspec.Struct):
    message: _WireMessage
    finish_reason: str | None = None


class _WireReply(msgspec.Struct):
    choices: list[_WireChoice]
    model: str | None = None
    usage: _WireUsage | None = None


def decode_reply(body: bytes) -> Completion:
    """Read the body of a successful response. Raises MalformedReply: it is not JSON (cut off, say), not UTF-8, not a
    completion, or has no choice. Raises UnreadableReply: it is all that, and yet can't be read.
    """
    try:
        wire = msgspec.json.decode(body, type=_WireReply)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise malformed("a chat completion", body, error) from error
    if not wire.choices:
        raise MalformedReply("the reply has no choices")
    choice = wire.choices[0]
    return Completion(
        text=choice.message.content or choice.message.refusal or "",
        finish_reason=choice.finish_reason or "",
        refused=bool(choice.message.refusal) and not choice.message.content,
        model=wire.model or "",
        usage=_usage(wire.usage),
        tool_calls=tuple(_tool_call(place, call) for place, call in enumerate(choice.message.tool_calls or ())),
    )


def malformed(what: str, body: bytes, error: Exception) -> MalformedReply:
    """What to raise for a body that could not be decoded; ``what`` it should have been. JSON that Python itself reads,
    though strictly it is none, has halves of characters in it; what Python gives up on is nested too deeply. Either is
    what a model wrote and no fault of the server.
    """
    try:
        _lenient(body)
        unreadable = not isinstance(error, msgspec.ValidationError)
    except RecursionError:
        unreadable = True
    except ValueError:
        unreadable = False
    if unreadable:
        return UnreadableReply(f"the reply can't be read: {error}")
    return MalformedReply(f"the reply is not {what}: {error}")


def _lenient(body: bytes) -> Any:
    def refuse(name: str) -> None:
        raise ValueError(name)

    return json.loads(body, parse_constant=refuse)


def _tool_call(place: int, wire: _WireToolCall) -> ToolCall:
    arguments = wire.function.arguments
    # Some servers send the object itself, and some no id.
    text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments or {}).decode()
    return ToolCall(id=wire.id or f"call_{place}", name=wire.function.name, arguments=text)


class _WireAnything(msgspec.Struct):
    usage: _WireUsage | None = None


def reported_usage(body: bytes) -> Usage | None:
    """The tokens that a response says were used, whatever else it says; None where it says nothing of them."""
    try:
        return _usage(msgspec.json.decode(body, type=_WireAnything).usage)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return _usage(msgspec.convert(_lenient(body), _WireAnything).usage)
    except (msgspec.ValidationError, ValueError, RecursionError):
        return None


def _usage(wire: _WireUsage | None) -> Usage | None:
    """The usage by OpenAI's definitions, in which reasoning is part of the output. Google's compatible endpoint counts
    its thinking in ``total_tokens`` alone: what prompt and completion leave of the total is reasoning, and billed as
    output.
    """
    if wire is None:
        return None
    prompt, completion = wire.prompt_tokens_details or {}, wire.completion_tokens_details or {}
    input_tokens, said = wire.prompt_tokens or 0, wire.completion_tokens or 0
    hidden = max(0, (wire.total_tokens or 0) - input_tokens - said)
    return Usage(
        input_tokens=input_tokens,
        output_tokens=said + hidden,
        cached_input_tokens=prompt.get("cached_tokens") or 0,
        reasoning_tokens=max(completion.get("reasoning_tokens") or 0, hidden),
    )


class Spent(Record, frozen=True, kw_only=True):
    """What a response says that it took. ``fee_usd`` is charged beside the tokens, such as for searches. ``total_usd``
    is the vendor's own sum, tokens and fees together; where it is there, it is what counts.
    """

    usage: Usage | None = None
    fee_usd: float = 0.0
    total_usd: float | None = None


AnswerT = TypeVar("AnswerT")


class Wire(Protocol[AnswerT]):
    """One interface. ``base_path`` is that of an address which has none of its own; ``models_path`` is where the models
    are listed, below the address.
    """

    @property
    def base_path(self) -> str:
        return "/v1"

    @property
    def models_path(self) -> str:
        return "/models"

    def path(self, model: str) -> str:
        """Where a request goes, below the address."""

    def headers(self, key: str | None) -> dict[str, str]:
        """What every request carries beside its type, the key among it."""
        return bearer(key)

    def read(self, body: bytes) -> AnswerT:
        """The answer in a successful response. Raises MalformedReply: it is cut off or something else."""

    def spent(self, body: bytes) -> Spent:
        """What any response, also a broken one, says of its cost; nothing where it says nothing."""

    def model(self, answer: AnswerT) -> str:
        """The model that answered, in the server's words."""

    def listed(self, body: bytes) -> list[str]:
        """The ids of a list of models in OpenAI's or Anthropic's shape; none where it is neither."""
        try:
            return [item["id"] for item in msgspec.json.decode(body)["data"] if isinstance(item["id"], str)]
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, KeyError, TypeError):
            return []


class ConversationWire(Wire[Completion], Protocol):
    def encode(
        self,
        model: str,
        messages: Sequence[Message],
        parameters: dict[str, Json],
        *,
        tools: Sequence[dict[str, Any]] = (),
    ) -> bytes: ...

    def model(self, answer: Completion) -> str:
        return answer.model


class ChatWire(ConversationWire):
    """Chat completions as the ``openai`` package speaks them."""

    encode = staticmethod(encode_request)

    def path(self, _model: str) -> str:
        return "/chat/completions"

    def read(self, body: bytes) -> Completion:
        return decode_reply(body)

    def spent(self, body: bytes) -> Spent:
        return Spent(usage=reported_usage(body))


CHAT = ChatWire()


def bearer(key: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}
