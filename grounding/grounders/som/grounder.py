"""The grounder ``som``: marks on a screenshot, a chat model that names a number, the place that the number means."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from grounding.budget import Budget
from grounding.chat import ChatModel, ChatOptions, ChatRequest, render_messages, request_parameters, too_long
from grounding.grounders.som.card import SomCard
from grounding.grounders.som.kept import KeptMarks, keep
from grounding.grounders.som.picture import MarkedPicture, marked_picture
from grounding.grounders.som.proposals import Proposer, marked_size
from grounding.grounders.som.reply import read_number
from grounding.grounders.som.widgets import WidgetProposer
from grounding.llm import CallFailed, ChatClient, resolve_endpoint
from grounding.marks import drawing
from grounding.records import Failure, ImageSizes, Prediction, Query, Record
from grounding.tokens import RequestTokens
from grounding.wire import Completion

THREADS = 2
AHEAD = 4
"""Pictures made ready while all connections are busy: each holds a few megabytes until it is sent."""


class Prepared(Record, frozen=True, kw_only=True):
    """A request ready to be sent, and what its numbers mean; or why the screenshot can't be marked."""

    request: ChatRequest = ChatRequest(content=b"")
    picture: MarkedPicture | None = None
    failure: Failure | None = None


class SomGrounder:
    """Set-of-Mark over one chat model."""

    def __init__(self, card: SomCard, client: ChatClient, options: ChatOptions, proposer: Proposer) -> None:
        self.card = card
        self.name = card.name
        self._client = client
        self._parameters = request_parameters(card, options)
        self._model = ChatModel(card, client, self._parameters)
        self._proposer = proposer
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="marks")
        self._run_folder: Path | None = None

    @property
    def identity(self) -> str:
        """Model, prompt, parameters and rules of the card; the method of finding regions; how marks are drawn."""
        parts = {"model": self._model.identity, "proposer": self._proposer.identity, "drawing": drawing.VERSION}
        return f"som {msgspec.json.encode(parts, order='sorted').decode()}"

    @property
    def max_concurrency(self) -> int:
        """The model's connections, and a few pictures made ready for the next requests."""
        return self._client.max_connections + AHEAD

    def keep_in(self, folder: Path) -> None:
        """Keep every marked picture, and what its numbers mean, in ``marks/`` of this folder."""
        self._run_folder = folder

    async def ground(self, query: Query) -> Prediction:
        """Ask once; a reply that names no mark is ``unparsed``, kept in full.

        Raises:
            OSError: the marked picture can't be kept.
            BudgetReached: the cost limit leaves no room; nothing was sent.
        """
        long = too_long(self.card, query.instruction)
        if long is not None:
            return Prediction(step_id=query.step_id, key=query.key, point=None, failure=long)
        prepared = await asyncio.get_running_loop().run_in_executor(self._threads, self._prepare, query)
        if prepared.picture is None:
            return Prediction(step_id=query.step_id, key=query.key, point=None, failure=prepared.failure)
        sizes = prepared.picture.sizes
        try:
            reply = await self._client.complete(prepared.request.content, prepared.request.tokens)
        except CallFailed as error:
            failure = Failure(kind="error", message=str(error))
            return Prediction(
                step_id=query.step_id, key=query.key, point=None, sizes=sizes, failure=failure, call=error.call
            )
        found = _prediction(query, prepared.picture, reply.completion, sizes)
        return msgspec.structs.replace(found, call=reply.call)

    def request_for(self, query: Query) -> ChatRequest:
        """The request about a step with its marked picture, as it would be sent; nothing is, and nothing is kept.

        Raises:
            OSError, ValueError: the picture can't be read.
        """
        picture = marked_picture(query.screenshot, self._proposer, self.card.marks)
        messages = render_messages(self.card, query, picture.to_send())
        return self._model.request(lambda: messages, picture.sizes)

    def count(self, query: Query) -> RequestTokens:
        """Its tokens, without reading the picture: marks are drawn on it and change no size."""
        marked = marked_size(query.screenshot.size, self.card.marks.short_side)
        return self._model.count(query, ImageSizes(original=query.screenshot.size, sent=marked, model=marked))

    def _prepare(self, query: Query) -> Prepared:
        try:
            picture = marked_picture(query.screenshot, self._proposer, self.card.marks)
        except (OSError, ValueError) as error:
            return Prepared(failure=Failure(kind="error", message=f"{query.screenshot.path}: {error}"))
        if self._run_folder is not None:
            kept = KeptMarks(
                step_id=query.step_id,
                screenshot_sha256=query.screenshot.sha256,
                original=picture.sizes.original,
                marked=picture.sizes.sent,
                proposer=self._proposer.identity,
                marks=picture.marks,
            )
            keep(self._run_folder, query, picture.png, kept)
        messages = render_messages(self.card, query, picture.to_send())
        request = self._model.request(lambda: messages, picture.sizes)
        # The picture itself is in the request now; a second copy would wait for the reply.
        return Prepared(request=request, picture=msgspec.structs.replace(picture, png=b""))

    async def check(self) -> None:
        """Ask the endpoint whether it serves the model; load what finds the regions."""
        await self._model.check()
        await asyncio.get_running_loop().run_in_executor(self._threads, self._proposer.check)

    async def aclose(self) -> None:
        """Close connections and threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        await self._model.aclose()


def _prediction(query: Query, picture: MarkedPicture, said: Completion, sizes: ImageSizes) -> Prediction:
    count = len(picture.marks)
    number = None if said.refused else read_number(said.text, count)
    if number is None:
        ending = f" (finish reason: {said.finish_reason})" if said.finish_reason not in ("", "stop") else ""
        message = "the model refused" if said.refused else f"no mark from 1 to {count} in the reply{ending}"
        failure = Failure(kind="unparsed", message=message)
        return Prediction(step_id=query.step_id, key=query.key, point=None, raw=said.text, sizes=sizes, failure=failure)
    mark = picture.marks[number - 1]
    return Prediction(step_id=query.step_id, key=query.key, point=mark.point, box=mark.box, raw=said.text, sizes=sizes)


class OpenedSom(Record, frozen=True, kw_only=True):
    """A grounder and the address that its model was found at."""

    grounder: SomGrounder
    base_url: str


def open_som(card: SomCard, options: ChatOptions, *, budget: Budget, on_retry: Callable[[], None]) -> OpenedSom:
    """Put a card, a user's options and an endpoint together. Sends nothing and loads nothing yet.

    Raises:
        UserError: the address or the key is missing or can't be right.
    """
    endpoint = resolve_endpoint(card, options.base_url, flag="--base-url", dry=options.dry)
    client = ChatClient(
        card,
        endpoint,
        max_connections=options.max_connections or card.max_connections,
        timeout_s=options.timeout_s or card.timeout_s,
        max_retries=options.max_retries,
        budget=budget,
        on_retry=on_retry,
    )
    return OpenedSom(grounder=SomGrounder(card, client, options, proposer_for(card)), base_url=endpoint.base_url)


def proposer_for(card: SomCard) -> Proposer:
    """What finds the regions: SAM where the card gives weights, else the built-in method."""
    if card.marks.sam is None:
        return WidgetProposer()
    from grounding.grounders.som.sam import SamProposer

    return SamProposer(card.marks.sam)
