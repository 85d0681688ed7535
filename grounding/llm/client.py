"""Sends requests to one model: within its connections, the budget and the provider's limits, with bounded retries."""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic

import aiohttp
import tenacity

from grounding.cards import ChatCard, Price
from grounding.errors import Halted
from grounding.llm.budget import Budget, BudgetReached, added, cost_usd
from grounding.llm.endpoint import LOOK_S, Endpoint, check_address, sign_of_life
from grounding.llm.http import (
    AWAITED,
    ENDED,
    MAX_REFUSAL_BYTES,
    MAX_WAIT_S,
    RETRIED_STATUS,
    Addresses,
    BodyTooLong,
    CallFailed,
    Fault,
    ServerAddress,
    TryAgain,
    clean,
    led_on,
    read_body,
    retry_after_s,
)
from grounding.llm.ratelimits import RateLimiter, shared_limiter
from grounding.llm.tokens import RequestTokens
from grounding.llm.wire import CHAT, AnswerT, Completion, ConversationWire, MalformedReply, Spent, UnreadableReply, Wire
from grounding.records import Call, Record


@dataclass
class Bill:
    """What one try cost, as far as is known by now. ``spent`` is what a response said. ``unreported_usd`` is the most
    that may have been charged without a report: all of it (``most_usd``) once the try was sent, nothing again once a
    response says otherwise. A refusal (any status but 200) without a usage is free: no provider is known to charge.
    """

    price: Price | None
    most_usd: float
    spent: Spent = field(default_factory=Spent)
    unreported_usd: float = 0.0

    @property
    def cost_usd(self) -> float | None:
        """What the server reported, in dollars; None where it reported nothing or there is no price. Its own sum counts
        where it tells one, else the price of its tokens and what it takes beside them.
        """
        if self.spent.total_usd is not None:
            return self.spent.total_usd
        of_tokens = cost_usd(self.spent.usage, self.price)
        return None if of_tokens is None else of_tokens + self.spent.fee_usd

    def told(self, spent: Spent, *, free: bool) -> None:
        """A response came. ``free``: without a usage it cost nothing; else it stays unreported."""
        self.spent = spent
        if free or spent.usage is not None or spent.total_usd is not None:
            self.unreported_usd = 0.0


class TryBills:
    """The bills of all tries of one request. ``lost`` counts those in which the server went away."""

    def __init__(self, price: Price | None) -> None:
        self.price = price
        self.bills: list[Bill] = []
        self.seconds = 0.0
        self.lost = 0

    def most_usd(self, tokens: RequestTokens | None) -> float | None:
        """The most that a try can cost: nothing where there is no price, None where nobody knows."""
        if self.price is None:
            return 0.0
        if tokens is None or tokens.input_most is None or tokens.output_most is None:
            return None
        dearest_usd = max(self.price.input_usd, self.price.cached_input_usd or 0.0)
        return (tokens.input_most * dearest_usd + tokens.output_most * self.price.output_usd) / 1_000_000

    def call(self, model: str = "", *, answered: bool = True) -> Call:
        costs = [bill.cost_usd for bill in self.bills if bill.cost_usd is not None]
        failed = self.bills[:-1] if answered else self.bills
        return Call(
            seconds=self.seconds,
            attempts=len(self.bills),
            usage=self.bills[-1].spent.usage if answered else None,
            cost_usd=sum(costs) if costs else None,
            model=model,
            failed_usage=added([bill.spent.usage for bill in failed if bill.spent.usage is not None]),
            unreported_usd=sum(bill.unreported_usd for bill in self.bills),
        )

    def failed_call(self) -> Call | None:
        """What a request without an answer took; None where nothing was charged and nothing may have been."""
        if all(bill.spent.usage is None and not bill.unreported_usd for bill in self.bills):
            return None
        return self.call(answered=False)

    def failed(self, message: str, *, status: int | None = None, unparsed: bool = False) -> CallFailed:
        """The end of a request; its record keeps what the tries cost, or may have."""
        return CallFailed(message, status=status, attempts=len(self.bills), call=self.failed_call(), unparsed=unparsed)


SERVER_WAIT_S = 600.0  # How long a run waits for its servers, unless the user says otherwise.
MOST_LOST = 3  # So many servers may go away while they work on one request, before it counts as the reason.
_LOOK_AGAIN_S = 0.25  # A server that is being ended may still answer a moment after it has dropped its requests.
_MOST_BETWEEN_LOOKS_S = 5.0
_TELL_EVERY_S = 60.0


class ServerGone(Halted):
    """No server answered for longer than the user waits: the run ends, and the same command resumes it."""


class ServerHealth:
    """Whether the servers behind one client are there, and what becomes of tries that failed because they were not. A
    try that broke, ran into its timeout or was answered with a 5xx makes us look: does the address answer at all (any
    status below 500 on its list of models)? One that does not is away: it gets no more requests until it answers again,
    and the try does not count. While all are away nothing is sent.
    """

    def __init__(
        self, addresses: Addresses, look: Callable[[ServerAddress], Awaitable[str]], *, name: str, wait_s: float
    ) -> None:
        self._addresses, self._look, self._name, self._wait_s = addresses, look, name, wait_s
        self._watched: dict[ServerAddress, asyncio.Future[bool]] = {}
        self._watches: set[asyncio.Task[None]] = set()
        self._back = asyncio.Event()
        self._none_since = 0.0
        self._wrong = ""

    async def wait(self) -> None:
        """Return as soon as a server is there."""
        while not self._addresses.there:
            waited_s = time.monotonic() - self._none_since
            if waited_s >= self._wait_s or all(address.base_url in ENDED for address in self._addresses.all):
                answered = f"answered for {waited_s:.0f} s" if waited_s > 1 else "answers"
                raise ServerGone(
                    f"no server of {self._name} {answered} ({self._wrong}); what was answered is kept, and the same "
                    "command goes on from there once one is back"
                )
            with suppress(TimeoutError):
                async with asyncio.timeout(min(self._wait_s - waited_s, 1.0)):
                    await self._back.wait()

    async def excuses(self, fault: Fault | None, request: TryBills) -> bool:
        """Whether a try failed for want of a server and doesn't count."""
        if fault is None:
            return False
        address = fault.address
        if not address.away:
            if address not in self._watched:
                self._watched[address] = asyncio.get_running_loop().create_future()
                watch = asyncio.create_task(self._watch(address, self._watched[address], twice=fault.broken))
                self._watches.add(watch)
                watch.add_done_callback(self._watches.discard)
            if not await asyncio.shield(self._watched[address]):
                return False
        request.lost += fault.sent
        return request.lost <= MOST_LOST

    async def aclose(self) -> None:
        for watch in self._watches:
            watch.cancel()
        await asyncio.gather(*self._watches, return_exceptions=True)
        self._await_nobody()

    async def _watch(self, address: ServerAddress, verdict: asyncio.Future[bool], *, twice: bool) -> None:
        try:
            wrong = await self._look(address)
            if twice and not wrong:
                await asyncio.sleep(_LOOK_AGAIN_S)
                wrong = await self._look(address)
            if wrong:
                self._leaves(address, wrong)
            verdict.set_result(bool(wrong))
            if wrong:
                await self._until_back(address)
        finally:
            del self._watched[address]
            verdict.cancel()

    def _leaves(self, address: ServerAddress, wrong: str) -> None:
        address.away = True
        left = self._addresses.there
        if left:
            others = "the other server" if left == 1 else f"the other {left} servers"
            self._say(f"nothing answers at {address.base_url} any more; going on with {others}")
            return
        self._none_since, self._wrong = time.monotonic(), f"{address.base_url}: {wrong}"
        if self._wait_s > 0:
            AWAITED[address.base_url] = self._none_since
            self._say(f"nothing answers at {address.base_url} ({wrong}); waiting for it, up to {self._wait_s:g} s")

    async def _until_back(self, address: ServerAddress) -> None:
        since, told_s, every_s = time.monotonic(), 0.0, _LOOK_AGAIN_S
        await asyncio.sleep(every_s)
        while await self._look(address):
            every_s = min(1.5 * every_s, _MOST_BETWEEN_LOOKS_S)
            waited_s = time.monotonic() - since
            if not self._addresses.there and waited_s - told_s >= _TELL_EVERY_S and waited_s < self._wait_s:
                told_s = waited_s
                self._say(f"still waiting for {address.base_url}, {waited_s:.0f} of {self._wait_s:g} s")
            await asyncio.sleep(every_s)
        address.away = False
        self._await_nobody()
        self._say(f"{address.base_url} answers again after {time.monotonic() - since:.0f} s")
        self._back.set()
        self._back = asyncio.Event()

    def _await_nobody(self) -> None:
        for address in self._addresses.all:
            AWAITED.pop(address.base_url, None)

    def _say(self, words: str) -> None:
        print(f"grounding: {self._name}: {words}", file=sys.stderr, flush=True)


CONNECT_S = 30.0
TOLD_PAUSE_S = 5.0  # A pause of all requests that is at least so long is told on standard error.


class Reply(Record, Generic[AnswerT], frozen=True, kw_only=True):
    completion: AnswerT
    call: Call


ChatReply = Reply[Completion]


class ModelClient(Generic[AnswerT]):
    """Asynchronous client for one model: bounded connections, bounded retries by class of error, one budget. ``wire``
    is the interface that the model is behind. ``role`` is the model's part in the run (agent, user, judge), under which
    the budget is told of paid requests. ``max_connections`` bounds the requests open at once at each address. Each
    request, and each retry, goes to the least busy server; one that is away gets none until it answers again, which is
    told. Retried with backoff (and the server's Retry-After): 408, 409, 425, 429 and 5xx, timeouts, dropped or refused
    connections, replies that are not complete JSON. Anything else is final at once, redirects among it: nobody follows
    them. A 429 with a wait stops all requests of the model until that time. While no server is there all requests wait,
    up to ``server_wait_s``; see :mod:`grounding.llm.client`.
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
        server_wait_s: float = SERVER_WAIT_S,
        role: str = "agent",
    ) -> None:
        self._card = card
        self._role = role
        self._endpoint = endpoint
        self._wire = wire
        self._addresses = Addresses(endpoint.base_url.split(" "))
        # While one of them rests, what it would take must not go to the others on top of their own.
        self._open_at = {each.base_url: asyncio.Semaphore(max_connections) for each in self._addresses.all}
        self._max_connections = max_connections * len(self._open_at)
        self._slots = asyncio.Semaphore(self._max_connections)
        self._timeout_s = timeout_s
        self._max_retries = max_retries
        self._budget = budget or Budget(None)
        self._on_retry = on_retry or (lambda: None)
        self._backoff_s = backoff_s
        self._limiter = limiter or shared_limiter(card, endpoint)
        self._look_s = min(LOOK_S, timeout_s, max(5.0, server_wait_s))
        self._health = ServerHealth(self._addresses, self._look, name=card.name, wait_s=server_wait_s)
        self._session: aiohttp.ClientSession | None = None

    @property
    def max_connections(self) -> int:
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
        await self._health.aclose()
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _look(self, address: ServerAddress) -> str:
        return await sign_of_life(self._open(), address, self._endpoint, self._wire, within_s=self._look_s)

    def _clean(self, text: str) -> str:
        return clean(text, self._endpoint.key())

    async def check(self) -> None:
        """Ask every address for its models, so that a wrong address, key or model name is known before a run."""
        for address in self._addresses.all:
            await check_address(self._open(), address, self._card, self._endpoint, self._wire)

    async def complete(self, body: bytes, tokens: RequestTokens | None = None) -> Reply[AnswerT]:
        """Send one request and wait for the whole reply. ``tokens`` is what it will take, for the cost limit and the
        limits per minute; None where nobody knows. Raises CallFailed: no reply, after the retries. Raises
        BudgetReached: the cost limit leaves no room for it; nothing was sent. Raises ServerGone: no server was there
        for too long; nothing was paid.
        """
        async with self._slots:
            tally = TryBills(self._card.price)
            reply: Reply[AnswerT] | None = None
            try:
                reply = await self._with_retries(body, tokens, tally)
                return reply
            finally:
                took = tally.failed_call() if reply is None else reply.call
                if took is not None:
                    self._budget.paid(self._role, took)

    async def _with_retries(self, body: bytes, tokens: RequestTokens | None, tally: TryBills) -> Reply[AnswerT]:
        try:
            async for attempt in tenacity.AsyncRetrying(
                retry=tenacity.retry_if_exception_type(TryAgain),
                stop=tenacity.stop_after_attempt(self._max_retries + 1),
                wait=self._wait_s,
                before_sleep=lambda _: self._on_retry(),
                reraise=True,
            ):
                with attempt:
                    return await self._while_there(body, tokens, tally)
        except TryAgain as error:
            tries = f" (after {len(tally.bills)} tries)" if len(tally.bills) > 1 else ""
            raise tally.failed(f"{error}{tries}", status=error.status) from error
        raise AssertionError("tenacity ends with a result or an exception")

    async def _while_there(self, body: bytes, tokens: RequestTokens | None, tally: TryBills) -> Reply[AnswerT]:
        """One try that counts, and before it those that failed for want of a server."""
        try:
            while True:
                await self._health.wait()
                try:
                    return await self._within_budget(body, tokens, tally)
                except TryAgain as error:
                    if not await self._health.excuses(error.fault, tally):
                        raise
                    if error.fault is not None and not error.fault.sent:
                        tally.bills.pop()
        except ServerGone as gone:
            if tally.failed_call() is None:
                raise
            raise tally.failed(str(gone)) from gone

    def _wait_s(self, state: tenacity.RetryCallState) -> float:
        failed = state.outcome.exception() if state.outcome else None
        if isinstance(failed, TryAgain) and failed.retry_after_s is not None:
            return failed.retry_after_s
        return float(tenacity.wait_random_exponential(multiplier=self._backoff_s, max=30)(state))

    async def _within_budget(self, body: bytes, tokens: RequestTokens | None, tally: TryBills) -> Reply[AnswerT]:
        """One try: money is set aside first, then the provider's limits are waited for, then it is sent."""
        most_usd = tally.most_usd(tokens)
        try:
            reserved_usd = await self._budget.reserve(most_usd)
        except BudgetReached as reached:
            if tally.failed_call() is None:
                raise
            raise tally.failed(f"no other try: {reached}") from reached
        most_usd = reserved_usd if most_usd is None else most_usd
        bill = Bill(tally.price, 0.0 if tally.price is None else most_usd)
        tally.bills.append(bill)
        try:
            admission = await self._limiter.acquire(tokens.expected if tokens else 0)
            try:
                return await self._once(body, tally)
            finally:
                usage = bill.spent.usage
                used = admission.tokens if usage is None else usage.input_tokens + usage.output_tokens
                self._limiter.settle(admission, used)
        finally:
            self._budget.settle(reserved_usd, bill.cost_usd, bill.unreported_usd)

    async def _once(self, body: bytes, tally: TryBills) -> Reply[AnswerT]:
        bill = tally.bills[-1]
        started = time.perf_counter()
        address = self._addresses.take()
        url = f"{address.base_url}{self._wire.path(self._card.model)}"
        bill.unreported_usd = bill.most_usd  # Once sent it may be charged, even if nothing ever comes back.

        def fault(*, sent: bool, broken: bool) -> Fault:
            return Fault(address=address, sent=sent, broken=broken)

        try:
            slot = self._open_at[address.base_url]
            post = partial(self._open().post, url, data=body, proxy=address.proxy, allow_redirects=False)
            async with slot, post() as response:
                status, headers, leads = response.status, response.headers, led_on(response)
                content = await read_body(response)
        except aiohttp.ConnectionTimeoutError as error:
            bill.unreported_usd = 0.0
            message = f"no connection within {min(CONNECT_S, self._timeout_s):g} s"
            raise TryAgain(message, fault=fault(sent=False, broken=True)) from error
        except TimeoutError as error:
            message = f"no reply within {self._timeout_s:g} s"
            raise TryAgain(message, fault=fault(sent=True, broken=False)) from error
        except aiohttp.ClientError as error:
            refused = isinstance(error, aiohttp.ClientConnectorError)
            if refused:
                bill.unreported_usd = 0.0
            broken = isinstance(error, aiohttp.ClientConnectionError | aiohttp.ClientPayloadError)
            message = f"connection failed: {self._clean(str(error)) or type(error).__name__}"
            raise TryAgain(message, fault=fault(sent=not refused, broken=True) if broken else None) from error
        except BodyTooLong as error:
            raise tally.failed(str(error), status=200, unparsed=True) from error
        finally:
            tally.seconds = time.perf_counter() - started
            address.open -= 1
        if status != 200:
            bill.told(self._wire.spent(content), free=True)
            text = leads or content.decode("utf-8", "replace")
            failed = self._refused(status, retry_after_s(headers, time.time()), self._clean(text), tally)
            if status >= 500 and isinstance(failed, TryAgain):
                failed.fault = fault(sent=True, broken=False)
            raise failed
        try:
            completion = self._wire.read(content)
        except MalformedReply as error:
            bill.told(self._wire.spent(content), free=False)
            # What it says instead may be the reason, such as an error under the status 200.
            message = self._clean(f"{error}: {content[:MAX_REFUSAL_BYTES].decode('utf-8', 'replace')}")
            if isinstance(error, UnreadableReply):
                raise tally.failed(message, status=200, unparsed=True) from error
            raise TryAgain(message) from error
        bill.told(self._wire.spent(content), free=False)
        return Reply(completion=completion, call=tally.call(self._clean(self._wire.model(completion))))

    def _refused(self, status: int, wait_s: float | None, text: str, tally: TryBills) -> TryAgain | CallFailed:
        """What a status other than 200 means: retried are 408, 409, 425, 429 and 5xx; any other is final. Final as
        well: a 429 that says that the account has no money left, and a wait of more than a quarter of an hour.
        """
        message = f"HTTP {status}: {text}" if text else f"HTTP {status}"
        out_of_money = status == 429 and "insufficient_quota" in text
        if (status not in RETRIED_STATUS and status < 500) or out_of_money:
            return tally.failed(message, status=status)
        if wait_s is not None and wait_s > MAX_WAIT_S:
            return tally.failed(f"{message} (the server asks for a wait of {wait_s:.0f} s)", status=status)
        if status != 429 or wait_s is None:
            return TryAgain(message, status=status, retry_after_s=wait_s)
        if self._limiter.pause(wait_s) and wait_s >= TOLD_PAUSE_S:
            print(
                f"grounding: {self._card.name}: the provider asks for a pause of {wait_s:.0f} s; all requests wait",
                file=sys.stderr,
                flush=True,
            )
        # The limiter keeps this one waiting with all others.
        return TryAgain(message, status=status, retry_after_s=0.0)


class ChatClient(ModelClient[Completion]):
    def __init__(self, card: ChatCard, endpoint: Endpoint, wire: ConversationWire = CHAT, **options: Any) -> None:
        super().__init__(card, endpoint, wire, **options)
        self.encode = wire.encode
