"""A card's model, asked about one step: renders the prompt, prepares the picture, sends, and times it.

Used by the chat planner and the chat grounder; a failure comes back as a record, never as an exception.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, runtime_checkable

import msgspec

from grounding.cards import PREFILL_PARAMETERS, ChatCard, ImageRule, Json
from grounding.cards.identity import card_identity
from grounding.data.history import history_text
from grounding.data.images import Picture, picture_sizes, prepare_picture
from grounding.errors import UserError
from grounding.llm import CallFailed, ChatClient, resolve_endpoint
from grounding.llm.budget import Budget
from grounding.llm.client import SERVER_WAIT_S
from grounding.llm.http import beyond_window, where_to_look
from grounding.llm.tokens import RequestTokens, request_tokens
from grounding.llm.vendors import conversation_wire
from grounding.llm.wire import Completion, ConversationWire, ImagePart, Message, TextPart
from grounding.records import Call, Failure, ImageSizes, Query, Record, Size

PREPARE_THREADS = 4
NO_PICTURE = Size(width=0, height=0)
NO_PICTURES = ImageSizes(original=NO_PICTURE, sent=NO_PICTURE, model=NO_PICTURE)
"""The sizes of a conversation in words alone."""
_FIELD = re.compile(r"\{(instruction|history|goal|steps_done|width|height)\}")


class Exchange(Record, frozen=True, kw_only=True):
    completion: Completion | None = None
    call: Call | None = None
    sizes: ImageSizes | None = None
    failure: Failure | None = None


class ChatRequest(Record, frozen=True, kw_only=True):
    content: bytes
    tokens: RequestTokens | None = None


class NotSent(Exception):
    """Raised in a dry run in the place of the answer to a request, which it carries."""

    def __init__(self, request: ChatRequest) -> None:
        super().__init__("a dry run sends nothing")
        self.request = request


def render_messages(card: ChatCard, query: Query, picture: Picture) -> tuple[Message, ...]:
    seen = picture.sizes.model
    values = {
        "instruction": query.instruction.removesuffix(card.strip_suffix),
        "history": history_text(query.history) or card.no_history,
        "goal": query.goal or card.no_goal,
        "steps_done": str(query.steps_done),
        "width": str(seen.width),
        "height": str(seen.height),
    }

    def fill(template: str) -> TextPart:
        """In one pass, so that braces in the user's own words stay as they are."""
        return TextPart(text=_FIELD.sub(lambda match: values[match[1]], template))

    parts = tuple(ImagePart(url_json=picture.url_json) if part.text is None else fill(part.text) for part in card.user)
    system = [] if card.system is None else [Message(role="system", parts=(fill(card.system),))]
    prefill = [] if card.prefill is None else [Message(role="assistant", parts=(TextPart(text=card.prefill),))]
    return (*system, Message(role="user", parts=parts), *prefill)


def _filled(tools: Any, seen: Size) -> Any:
    if isinstance(tools, dict):
        return {name: _filled(value, seen) for name, value in tools.items()}
    if isinstance(tools, list | tuple):
        return [_filled(each, seen) for each in tools]
    return {"{width}": seen.width, "{height}": seen.height}.get(tools, tools) if isinstance(tools, str) else tools


class ChatOptions(Record, frozen=True, kw_only=True):
    """What a user may set for a chat model; None leaves a thing as the card has it. ``dry``: nothing will be sent, so
    neither an address nor a key has to be there.
    """

    base_url: str | None = None
    temperature: float | None = None
    seed: int | None = None
    max_connections: int | None = None
    timeout_s: float | None = None
    max_retries: int = 5
    server_wait_s: float = SERVER_WAIT_S
    dry: bool = False


def request_parameters(card: ChatCard, options: ChatOptions) -> dict[str, Json]:
    parameters = dict(card.parameters)
    if card.prefill is not None:
        parameters.update(PREFILL_PARAMETERS)
    if options.temperature is not None and "temperature" in card.takes:
        parameters["temperature"] = options.temperature
    if options.seed is not None and "seed" in card.takes:
        parameters["seed"] = options.seed
    return parameters


@runtime_checkable
class AsksByRequest(Protocol):
    """A planner or grounder with a chat model behind it, which can show its requests without sending them."""

    def request_for(self, query: Query) -> ChatRequest: ...

    def count(self, query: Query) -> RequestTokens: ...


class ChatModel:
    def __init__(self, card: ChatCard, client: ChatClient, parameters: dict[str, Json], *, dry: bool = False) -> None:
        self.card = card
        self._dry = dry
        self._client = client
        self._parameters = parameters
        self._threads = ThreadPoolExecutor(PREPARE_THREADS, thread_name_prefix="pictures")
        self._answered = False

    @property
    def identity(self) -> str:
        """Canonical text of all that can change a reply: model, prompt, image rule, reading rule, parameters."""
        return card_identity(self.card, parameters=self._parameters)

    @property
    def parameters(self) -> dict[str, Json]:
        return dict(self._parameters)

    def varied(self, **parameters: Json) -> ChatModel:
        """The same model at the same endpoint and under the same limits with other parameters; None leaves one out."""
        chosen: dict[str, Json] = self._parameters | parameters
        kept = {name: value for name, value in chosen.items() if value is not None}
        return ChatModel(self.card, self._client, dict(kept), dry=self._dry)

    @property
    def max_concurrency(self) -> int:
        """Requests in flight plus the pictures that are made ready for the next ones."""
        return self._client.max_connections + min(16, self._client.max_connections)

    async def check(self) -> None:
        await self._client.check()

    async def aclose(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        await self._client.aclose()

    async def ask(self, query: Query) -> Exchange:
        """Ask about one step. Waits for a free connection; pictures are made ready meanwhile. An instruction that is
        longer than the model can take is ``unparsed`` and not sent. Raises BudgetReached: the cost limit leaves no
        room; nothing was sent.
        """
        long = too_long(self.card, query.instruction)
        if long is not None:
            return Exchange(failure=long)
        try:
            sizes = self._sizes(query)
        except ValueError as error:
            return Exchange(failure=Failure(kind="error", message=f"{query.screenshot.path}: {error}"))
        return await self.send(lambda: self._messages(query), sizes, tools=_filled(self.card.tools, sizes.model))

    async def send(
        self,
        render: Callable[[], Sequence[Message]],
        sizes: ImageSizes,
        *,
        tools: Sequence[dict[str, Any]] = (),
    ) -> Exchange:
        """Ask with any conversation. ``render`` makes the conversation, in a worker thread; an OSError or ValueError in
        it is the answer's failure. ``sizes`` are those of the largest picture in it. Raises BudgetReached: the cost
        limit leaves no room; nothing was sent. Raises NotSent: this is a dry run.
        """
        loop = asyncio.get_running_loop()
        try:
            body = await loop.run_in_executor(self._threads, self.request, render, sizes, tools)
        except (OSError, ValueError) as error:
            return Exchange(failure=Failure(kind="error", message=str(error)))
        if self._dry:
            raise NotSent(body)
        try:
            reply = await self._client.complete(body.content, body.tokens)
        except CallFailed as error:
            failure = call_failure(error, self.card, answered=self._answered)
            return Exchange(sizes=sizes, call=error.call, failure=failure)
        self._answered = True
        return Exchange(completion=reply.completion, call=reply.call, sizes=sizes)

    def request_for(self, query: Query) -> ChatRequest:
        """The request that ``ask`` would send about a step; reads the picture, sends nothing. Raises OSError,
        ValueError: the picture can't be read, or the model refuses its shape.
        """
        sizes = self._sizes(query)
        return self.request(lambda: self._messages(query), sizes, _filled(self.card.tools, sizes.model))

    def count(self, query: Query, sizes: ImageSizes | None = None) -> RequestTokens:
        """The tokens of that request, from the size of the picture alone; ``sizes`` where it is not the card's own.
        Raises ValueError: the model refuses a picture of this shape.
        """
        sizes = sizes or self._sizes(query)
        messages = render_messages(self.card, query, Picture(url_json=msgspec.Raw(b'""'), sizes=sizes))
        return request_tokens(self.card, messages, sizes, self._parameters)

    def _rule(self, query: Query) -> ImageRule:
        return self.card.image.by_the_server if query.untouched else self.card.image

    def _sizes(self, query: Query) -> ImageSizes:
        return picture_sizes(query.screenshot.size, self._rule(query))

    def _messages(self, query: Query) -> tuple[Message, ...]:
        try:
            picture = prepare_picture(query.screenshot, self._rule(query))
        except (OSError, ValueError) as error:
            raise ValueError(f"{query.screenshot.path}: {error}") from error
        return render_messages(self.card, query, picture)

    def request(
        self,
        render: Callable[[], Sequence[Message]],
        sizes: ImageSizes,
        tools: Sequence[dict[str, Any]] = (),
    ) -> ChatRequest:
        """Make a request and send nothing; the tokens are counted where a price or a limit makes them matter. Raises
        OSError, ValueError: a picture can't be read, or the model refuses its shape.
        """
        messages = render()
        content = self._client.encode(self.card.model, messages, self._parameters, tools=tools)
        counted = self._dry or self.card.price is not None or self.card.tokens_per_minute is not None
        offered = msgspec.json.encode(tools).decode() if tools else ""
        tokens = request_tokens(self.card, messages, sizes, self._parameters, tools=offered) if counted else None
        return ChatRequest(content=content, tokens=tokens)


def call_failure(error: CallFailed, card: ChatCard, *, answered: bool) -> Failure:
    """What to record of a request that failed. A UserError says what has to be put right before any can succeed, where
    none was ``answered`` so far.
    """
    look = None if answered else where_to_look(error, card)
    if look is not None:
        model = f"{card.name}: the endpoint refuses every request for {card.model}"
        raise UserError(f"{model} ({error}); check {look}") from error
    return Failure(kind="unparsed" if beyond_window(error) else "error", message=str(error))


def too_long(card: ChatCard, instruction: str) -> Failure | None:
    """Why a model is not asked to follow an instruction that it can't take in; None where it can. Another try would
    fare no better, and another planner's words may: so it is ``unparsed``, not an error.
    """
    most = card.max_instruction_chars
    if len(instruction) <= most:
        return None
    return Failure(
        kind="unparsed",
        message=f"the instruction is {len(instruction)} characters long; {card.name} is given at most {most}",
    )


class OpenedChat(Record, frozen=True, kw_only=True):
    model: ChatModel
    base_url: str


def asked_as(card: ChatCard, options: ChatOptions) -> dict[str, Any]:
    return {
        "max_connections": options.max_connections or card.max_connections,
        "timeout_s": options.timeout_s or card.timeout_s,
        "max_retries": options.max_retries,
        "server_wait_s": options.server_wait_s,
    }


def open_chat(
    card: ChatCard,
    options: ChatOptions,
    *,
    flag: str,
    budget: Budget,
    on_retry: Callable[[], None],
    wire: ConversationWire | None = None,
) -> OpenedChat:
    """Put a card, a user's options and an endpoint together. Sends nothing yet. A ``wire`` that is not the card's is
    spoken without any of its parameters.
    """
    if card.serving.how == "in-process":
        raise UserError(
            f"{card.name} ({card.title}) can't be asked over a chat endpoint: {card.serving.reason}. Run it in this "
            f"process: `grounding eval --grounder {card.name} --backend hf`, without --base-url"
        )
    parameters = request_parameters(card, options) if wire is None else {}
    wire = wire or conversation_wire(card)
    endpoint = resolve_endpoint(card, options.base_url, flag=flag, dry=options.dry, wire=wire)
    role = flag.removeprefix("--").removesuffix("base-url").rstrip("-") or "agent"
    client = ChatClient(card, endpoint, wire, **asked_as(card, options), budget=budget, on_retry=on_retry, role=role)
    model = ChatModel(card, client, parameters, dry=options.dry)
    return OpenedChat(model=model, base_url=endpoint.base_url)


def identity_hash(identity: str) -> str:
    return hashlib.sha256(identity.encode()).hexdigest()[:8]
