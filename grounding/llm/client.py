"""Sends requests to one model: within its connections, the budget and the provider's limits, with bounded retries."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from typing import Generic

import aiohttp
import tenacity

from grounding.addresses import Addresses
from grounding.budget import Budget, BudgetReached
from grounding.cards import ChatCard
from grounding.llm.endpoint import Endpoint
from grounding.llm.failures import CallFailed, TryAgain, refusal
from grounding.llm.headers import retry_after_s
from grounding.llm.listing import check_address
from grounding.llm.ratelimits import RateLimiter, shared_limiter
from grounding.llm.redaction import clean
from grounding.llm.tally import Tally
from grounding.llm.wires import CHAT, AnswerT, Wire
from grounding.records import Call, Record
from grounding.tokens import RequestTokens
from grounding.wire import Completion, MalformedReply

CONNECT_S = 30.0
TOLD_PAUSE_S = 5.0
"""A pause of all requests that is at least so long is told on standard error."""


class Reply(Record, Generic[AnswerT], frozen=True, kw_only=True):
    """A complete answer and what it took."""

    completion: AnswerT
    call: Call


ChatReply = Reply[Completion]


class ModelClient(Generic[AnswerT]):
    """Asynchronous client for one model: bounded connections, bounded retries by class of error, one budget.

    ``wire`` is the interface that the model is behind.

    ``max_connections`` bounds the requests open at once over all addresses together. Each request, and each retry, goes
    to the least busy server; one that no longer takes connections is given up with a warning while another is there.

    Retried with backoff (and the server's Retry-After): 408, 409, 425, 429 and 5xx, timeouts, dropped or refused
    connections, replies that are not complete JSON. Any other 4xx is final at once. A 429 with a wait stops all
    requests of the model until that time.
    """

    def __init__(
        self,
        card: ChatCard,
        endpoint: Endpoint,
        wire: Wire[AnswerT],
        *,
        max_connections: int,
        timeout_s: float,
        max_retries: int,
        budget: Budget | None = None,
        on_retry: Callable[[], None] | None = None,
        backoff_s: float = 0.5,
        limiter: RateLimiter | None = None,
    ) -> None:
        self._card = card
        self._endpoint = endpoint
        self._wire = wire
        self._addresses = Addresses(endpoint.base_url.split(" "), self._warn_gone)
        self._slots = asyncio.Semaphore(max_connections)
        self._max_connections = max_connections
        self._timeout_s = timeout_s
        self._max_retries = max_retries
        self._budget = budget or Budget(None)
        self._on_retry = on_retry
        self._backoff_s = backoff_s
        self._limiter = limiter or shared_limiter(card, endpoint)
        self._session: aiohttp.ClientSession | None = None

    @property
    def max_connections(self) -> int:
        """How many requests may be open at once."""
        return self._max_connections

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            headers = {"Accept": "application/json", "Content-Type": "application/json"}
            headers |= self._wire.headers(self._endpoint.key())
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
                timeout=aiohttp.ClientTimeout(total=self._timeout_s, connect=min(CONNECT_S, self._timeout_s)),
                headers=headers,
                raise_for_status=False,
            )
        return self._session

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _warn_gone(self, base_url: str, left: int) -> None:
        others = "the other server" if left == 1 else f"the other {left} servers"
        print(f"grounding: nothing answers at {base_url} any more; going on with {others}", file=sys.stderr, flush=True)

    def _clean(self, text: str) -> str:
        return clean(text, self._endpoint.key())

    async def check(self) -> None:
        """Ask every address for its models, so that a wrong address, key or model name is known before a run.

        Raises:
            UserError: nothing answers at one of them, the key is refused, or the model is not served.
        """
        for address in self._addresses.all:
            await check_address(self._open(), address, self._card, self._endpoint, self._wire)

    def leave_out(self, base_url: str) -> None:
        """Send nothing more to one of the addresses."""
        self._addresses.leave_out(base_url)

    async def complete(self, body: bytes, tokens: RequestTokens | None = None) -> Reply[AnswerT]:
        """Send one request and wait for the whole reply.

        Args:
            body: The request.
            tokens: How many tokens it will take, for the cost limit and the limits per minute; None where nobody knows.

        Raises:
            CallFailed: no reply, after the retries.
            BudgetReached: the cost limit leaves no room for it; nothing was sent.
        """
        async with self._slots:
            return await self._with_retries(body, tokens)

    async def _with_retries(self, body: bytes, tokens: RequestTokens | None) -> Reply[AnswerT]:
        tally = Tally(self._card.price)
        try:
            async for attempt in tenacity.AsyncRetrying(
                retry=tenacity.retry_if_exception_type(TryAgain),
                stop=tenacity.stop_after_attempt(self._max_retries + 1),
                wait=self._wait_s,
                before_sleep=self._count_retry,
                reraise=True,
            ):
                with attempt:
                    return await self._within_budget(body, tokens, tally)
        except TryAgain as error:
            tries = f" (after {tally.attempts} tries)" if tally.attempts > 1 else ""
            raise CallFailed(
                f"{error}{tries}", status=error.status, attempts=tally.attempts, call=tally.failed_call()
            ) from error
        raise AssertionError("tenacity ends with a result or an exception")

    def _wait_s(self, state: tenacity.RetryCallState) -> float:
        failed = state.outcome.exception() if state.outcome else None
        if isinstance(failed, TryAgain) and failed.retry_after_s is not None:
            return failed.retry_after_s
        return float(tenacity.wait_random_exponential(multiplier=self._backoff_s, max=30)(state))

    def _count_retry(self, _state: tenacity.RetryCallState) -> None:
        if self._on_retry is not None:
            self._on_retry()

    async def _within_budget(self, body: bytes, tokens: RequestTokens | None, tally: Tally) -> Reply[AnswerT]:
        """One try: money is set aside first, then the provider's limits are waited for, then it is sent."""
        most_usd = tally.most_usd(tokens)
        try:
            reserved_usd = await self._budget.reserve(most_usd)
        except BudgetReached as reached:
            call = tally.failed_call()
            if call is None:
                raise
            # What the tries before cost must not be forgotten: only a record keeps it.
            raise CallFailed(f"no other try: {reached}", status=None, attempts=tally.attempts, call=call) from reached
        bill = tally.next_try(reserved_usd if most_usd is None else most_usd)
        try:
            admission = await self._limiter.acquire(tokens.expected if tokens else 0)
            try:
                return await self._once(body, tally)
            finally:
                self._limiter.settle(admission, bill.tokens(admission.tokens))
        finally:
            self._budget.settle(reserved_usd, bill.cost_usd, bill.unreported_usd)

    async def _once(self, body: bytes, tally: Tally) -> Reply[AnswerT]:
        bill = tally.bill
        started, began = time.perf_counter(), time.monotonic()
        address = self._addresses.take()
        url = f"{address.base_url}{self._wire.path(self._card.model)}"
        bill.sent()
        try:
            async with self._open().post(url, data=body, proxy=address.proxy) as response:
                status, headers, content = response.status, response.headers, await response.read()
            self._addresses.answered(address)
        except aiohttp.ConnectionTimeoutError as error:
            bill.not_sent()
            self._addresses.failed(address, began)
            raise TryAgain(f"no connection within {min(CONNECT_S, self._timeout_s):g} s") from error
        except TimeoutError as error:
            raise TryAgain(f"no reply within {self._timeout_s:g} s") from error
        except aiohttp.ClientError as error:
            if isinstance(error, aiohttp.ClientConnectorError):
                bill.not_sent()
            if isinstance(error, aiohttp.ClientConnectionError | aiohttp.ClientPayloadError):
                self._addresses.failed(address, began)
            raise TryAgain(f"connection failed: {self._clean(str(error)) or type(error).__name__}") from error
        finally:
            tally.seconds = time.perf_counter() - started
            self._addresses.give_back(address)
        self._limiter.observe(headers)
        if status != 200:
            bill.refused(self._wire.spent(content))
            raise self._refused(status, retry_after_s(headers, time.time()), content, tally)
        try:
            completion = self._wire.read(content)
        except MalformedReply as error:
            bill.answered(self._wire.spent(content))
            raise TryAgain(self._clean(str(error))) from error
        bill.answered(self._wire.spent(content))
        return Reply(completion=completion, call=tally.call(self._wire.model(completion)))

    def _refused(self, status: int, wait_s: float | None, content: bytes, tally: Tally) -> Exception:
        text = self._clean(content.decode("utf-8", "replace"))
        failed = refusal(status, text, retry_after_s=wait_s, attempts=tally.attempts, call=tally.failed_call())
        if status != 429 or wait_s is None or not isinstance(failed, TryAgain):
            return failed
        if self._limiter.pause(wait_s) and wait_s >= TOLD_PAUSE_S:
            print(
                f"grounding: {self._card.name}: the provider asks for a pause of {wait_s:.0f} s; all requests wait",
                file=sys.stderr,
                flush=True,
            )
        # The limiter keeps this one waiting with all others.
        return TryAgain(str(failed), status=status, retry_after_s=0.0)


class ChatClient(ModelClient[Completion]):
    """The client of a chat endpoint."""

    def __init__(
        self,
        card: ChatCard,
        endpoint: Endpoint,
        *,
        max_connections: int,
        timeout_s: float,
        max_retries: int,
        budget: Budget | None = None,
        on_retry: Callable[[], None] | None = None,
        backoff_s: float = 0.5,
        limiter: RateLimiter | None = None,
    ) -> None:
        super().__init__(
            card,
            endpoint,
            CHAT,
            max_connections=max_connections,
            timeout_s=timeout_s,
            max_retries=max_retries,
            budget=budget,
            on_retry=on_retry,
            backoff_s=backoff_s,
            limiter=limiter,
        )
