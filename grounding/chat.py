"""A card's model, asked about one step: renders the prompt, prepares the picture, sends, and times it.

Used by the chat planner and the chat grounder; a failure comes back as a record, never as an exception.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import msgspec

from grounding.budget import Budget
from grounding.cards import PREFILL_PARAMETERS, ChatCard, Json
from grounding.errors import UserError
from grounding.history import history_text
from grounding.llm import CallFailed, ChatClient, resolve_endpoint
from grounding.pictures import Picture, picture_sizes, prepare_picture
from grounding.records import Call, Failure, ImageSizes, Query, Record, Size
from grounding.wire import Completion, ImagePart, Message, TextPart, encode_request

PREPARE_THREADS = 4
_FIELD = re.compile(r"\{(instruction|history|width|height)\}")


class Asked(Record, frozen=True, kw_only=True):
    """What came of one question: a completion and what it took, or a failure."""

    completion: Completion | None = None
    call: Call | None = None
    sizes: ImageSizes | None = None
    failure: Failure | None = None


def fill_template(template: str, *, instruction: str, history: str, seen: Size) -> str:
    """Put a step into a template in one pass, so that braces in the user's own words stay as they are."""
    values = {
        "instruction": instruction,
        "history": history,
        "width": str(seen.width),
        "height": str(seen.height),
    }
    return _FIELD.sub(lambda match: values[match[1]], template)


def render_messages(card: ChatCard, query: Query, picture: Picture) -> tuple[Message, ...]:
    """The conversation for one step: the card's system text, one user message in the card's order, its prefill."""
    history = history_text(query.history) or card.no_history
    instruction = query.instruction.removesuffix(card.strip_suffix)
    seen = picture.sizes.model

    def fill(template: str) -> TextPart:
        return TextPart(text=fill_template(template, instruction=instruction, history=history, seen=seen))

    parts = tuple(ImagePart(url_json=picture.url_json) if part.text is None else fill(part.text) for part in card.user)
    system = [] if card.system is None else [Message(role="system", parts=(fill(card.system),))]
    prefill = [] if card.prefill is None else [Message(role="assistant", parts=(TextPart(text=card.prefill),))]
    return (*system, Message(role="user", parts=parts), *prefill)


class ChatOptions(Record, frozen=True, kw_only=True):
    """What a user may set for a chat model; None leaves a thing as the card has it."""

    base_url: str | None = None
    temperature: float | None = None
    seed: int | None = None
    max_connections: int | None = None
    timeout_s: float | None = None
    max_retries: int = 5


def request_parameters(card: ChatCard, options: ChatOptions) -> dict[str, Json]:
    """The card's parameters, those of the user's sampling options that the model takes, and what a prefill needs."""
    parameters = dict(card.parameters)
    if card.prefill is not None:
        parameters.update(PREFILL_PARAMETERS)
    if options.temperature is not None and "temperature" in card.takes:
        parameters["temperature"] = options.temperature
    if options.seed is not None and "seed" in card.takes:
        parameters["seed"] = options.seed
    return parameters


class ChatModel:
    """One model behind one endpoint, with the parameters of one run."""

    def __init__(self, card: ChatCard, client: ChatClient, parameters: dict[str, Json]) -> None:
        self.card = card
        self._client = client
        self._parameters = parameters
        self._threads = ThreadPoolExecutor(PREPARE_THREADS, thread_name_prefix="pictures")

    @property
    def identity(self) -> str:
        """Canonical text of all that can change a reply: model, prompt, image rule, reading rule, parameters."""
        volatile = (
            "title",
            "aliases",
            "endpoint",
            "price",
            "max_connections",
            "timeout_s",
            "source",
            "notes",
            "takes",
            "family",
            "serving",
            "published",
            "disagreements",
        )
        fields = {name: value for name, value in msgspec.to_builtins(self.card).items() if name not in volatile}
        fields["parameters"] = self._parameters
        return msgspec.json.encode(fields, order="sorted").decode()

    @property
    def max_concurrency(self) -> int:
        """Requests in flight plus the pictures that are made ready for the next ones."""
        return self._client.max_connections + min(16, self._client.max_connections)

    async def check(self) -> None:
        """Fail early when the endpoint is not there, refuses the key or does not serve the model."""
        await self._client.check()

    async def aclose(self) -> None:
        """Close connections and threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        await self._client.aclose()

    async def ask(self, query: Query) -> Asked:
        """Ask about one step. Waits for a free connection; pictures are made ready meanwhile.

        Raises:
            BudgetReached: the cost limit leaves no room; nothing was sent.
        """
        loop = asyncio.get_running_loop()
        try:
            sizes = picture_sizes(query.screenshot.size, self.card.image)
            body = await loop.run_in_executor(self._threads, self._body, query)
        except (OSError, ValueError) as error:
            return Asked(failure=Failure(kind="error", message=f"{query.screenshot.path}: {error}"))
        try:
            reply = await self._client.complete(body)
        except CallFailed as error:
            return Asked(sizes=sizes, failure=Failure(kind="error", message=str(error)))
        return Asked(completion=reply.completion, call=reply.call, sizes=sizes)

    def _body(self, query: Query) -> bytes:
        picture = prepare_picture(query.screenshot, self.card.image)
        return encode_request(self.card.model, render_messages(self.card, query, picture), self._parameters)


class OpenedChat(Record, frozen=True, kw_only=True):
    """A chat model and the address that it was found at."""

    model: ChatModel
    base_url: str


def open_chat(
    card: ChatCard, options: ChatOptions, *, flag: str, budget: Budget, on_retry: Callable[[], None]
) -> OpenedChat:
    """Put a card, a user's options and an endpoint together. Sends nothing yet.

    Raises:
        UserError: the address or the key is missing or can't be right, or the model's answer is not text.
    """
    if card.serving.how == "in-process":
        raise UserError(f"{card.name} ({card.title}) can't be asked over a chat endpoint: {card.serving.reason}")
    endpoint = resolve_endpoint(card, options.base_url, flag=flag)
    client = ChatClient(
        card,
        endpoint,
        max_connections=options.max_connections or card.max_connections,
        timeout_s=options.timeout_s or card.timeout_s,
        max_retries=options.max_retries,
        budget=budget,
        on_retry=on_retry,
    )
    return OpenedChat(model=ChatModel(card, client, request_parameters(card, options)), base_url=endpoint.base_url)


def identity_hash(identity: str) -> str:
    """Eight hex digits for a planner's or grounder's identity."""
    return hashlib.sha256(identity.encode()).hexdigest()[:8]
