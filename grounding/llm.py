"""The one way to talk to a chat endpoint: a request body in, a reply or a typed failure out.

The wire format is that of the ``openai`` package. The body is built once, as bytes, and sent by aiohttp, which costs a
third of the CPU time of that package's own client on requests that carry a screenshot. Keys are kept out of every
message, and so are base64 pictures that a server may echo.
"""

from __future__ import annotations

import asyncio
import email.utils
import os
import re
import sys
import time
from collections.abc import Callable
from urllib.parse import urlsplit

import aiohttp
import msgspec
import tenacity

from grounding.addresses import Address, Addresses
from grounding.budget import Budget, cost_usd
from grounding.cards import ChatCard
from grounding.errors import UserError
from grounding.records import Call, Record
from grounding.wire import Completion, MalformedReply, decode_reply

MAX_MESSAGE_CHARS = 500
MAX_RETRY_AFTER_S = 300.0
CONNECT_S = 30.0
_RETRIED_STATUS = {408, 409, 425, 429}
# Some servers echo with a backslash before every slash, or in lines of 76 characters.
_DATA_URL = re.compile(r"(?:data:[\w/+.\\-]*;)?base64,[A-Za-z0-9+/=\\]*|[A-Za-z0-9+/\\]{72,}={0,2}")


class ChatReply(Record, frozen=True, kw_only=True):
    """A complete answer and what it took."""

    completion: Completion
    call: Call


class CallFailed(Exception):
    """A request that ended without a reply, after the retries that its kind of error deserves.

    ``status`` is the HTTP status, None where no response came.
    """

    def __init__(self, message: str, *, status: int | None, attempts: int) -> None:
        super().__init__(message)
        self.status = status
        self.attempts = attempts


class _TryAgain(Exception):
    def __init__(self, message: str, *, status: int | None = None, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_s = retry_after_s


class Endpoint(Record, frozen=True, kw_only=True):
    """An address and, apart from it, the key: the key is read when a request is sent and shown by nothing.

    ``base_url`` may be several addresses, separated by blanks, where servers of the same model share the work.
    """

    base_url: str
    key_variable: str | None = None

    def key(self) -> str | None:
        """The key from the environment, or None."""
        return os.environ.get(self.key_variable) if self.key_variable else None


def resolve_endpoint(card: ChatCard, base_url: str | None, *, flag: str) -> Endpoint:
    """The endpoint a card is to be reached at; ``base_url`` is the user's and wins over the card's.

    Several addresses are separated by blanks.

    Raises:
        UserError: no address, an address that is none, or no key where the card's own endpoint wants one.
    """
    chosen = base_url or card.endpoint.base_url
    if not chosen:
        serve = f"\nTo serve it yourself: {card.endpoint.how_to_serve}" if card.endpoint.how_to_serve else ""
        raise UserError(
            f"{card.name} ({card.title}) needs a server: give its address with {flag} http://HOST:PORT/v1.{serve}"
        )
    addresses = dict.fromkeys(_address(each, flag) for each in chosen.split(" "))
    endpoint = Endpoint(
        base_url=" ".join(sorted(addresses)),
        key_variable=card.endpoint.key_variable,
    )
    key = endpoint.key()
    if key is not None and any(character.isspace() or not character.isprintable() for character in key):
        raise UserError(f"the key in {endpoint.key_variable} has a blank or a line end in it: set it without")
    if not key and endpoint.key_variable and base_url is None:
        raise UserError(
            f"{card.name} ({card.title}) at {endpoint.base_url} needs a key: set {endpoint.key_variable}, "
            f"or use a server of your own with {flag} http://HOST:PORT/v1"
        )
    return endpoint


def _address(chosen: str, flag: str) -> str:
    if any(mark in chosen for mark in "@?#"):  # Asked first: nothing of such an address may be shown.
        raise UserError(
            f"{flag}: the address has a user, a password or a query in it (@, ? or #); give the plain address, and the "
            "key in the environment variable that the card names (endpoint.key_variable)"
        )
    if not _is_address(chosen):
        raise UserError(f"{flag} {chosen!r}: expected an address such as http://127.0.0.1:8000/v1")
    parts = urlsplit(chosen)
    path = parts.path.rstrip("/").removesuffix("/chat/completions") or "/v1"
    return f"{parts.scheme}://{parts.netloc}{path}"


def _is_address(text: str) -> bool:
    """Whether a request could be sent there at all."""
    try:
        parts = urlsplit(text)
        _ = parts.port  # Raises for a port that is none.
        host = (parts.hostname or "").encode("idna")  # Raises for two dots in a row and names that are too long.
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(host) and not any(character.isspace() for character in text)


class ChatClient:
    """Asynchronous client for one model: bounded connections, bounded retries by class of error, one budget.

    ``max_connections`` bounds the requests open at once over all addresses together. Each request, and each retry, goes
    to the least busy server; one that no longer takes connections is given up with a warning while another is there.

    Retried with backoff (and the server's Retry-After): 408, 409, 425, 429 and 5xx, timeouts, dropped or refused
    connections, replies that are not complete JSON. Any other 4xx is final at once.
    """

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
    ) -> None:
        self._card = card
        self._endpoint = endpoint
        self._addresses = Addresses(endpoint.base_url.split(" "), self._warn_gone)
        self._slots = asyncio.Semaphore(max_connections)
        self._max_connections = max_connections
        self._timeout_s = timeout_s
        self._max_retries = max_retries
        self._budget = budget or Budget(None)
        self._on_retry = on_retry
        self._backoff_s = backoff_s
        self._session: aiohttp.ClientSession | None = None

    @property
    def max_connections(self) -> int:
        """How many requests may be open at once."""
        return self._max_connections

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            key = self._endpoint.key()
            headers = {"Accept": "application/json", "Content-Type": "application/json"}
            if key:
                headers["Authorization"] = f"Bearer {key}"
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
        key = self._endpoint.key()
        if key:
            text = text.replace(key, "[key]").replace(key.replace("/", "\\/"), "[key]")
        text = " ".join(_DATA_URL.sub("[base64]", text).split())
        return text if len(text) <= MAX_MESSAGE_CHARS else text[:MAX_MESSAGE_CHARS] + "…"

    async def check(self) -> None:
        """Ask every address for its models, so that a wrong address, key or model name is known before a run.

        Raises:
            UserError: nothing answers at one of them, the key is refused, or the model is not served.
        """
        for address in self._addresses.all:
            await self._check(address)

    async def _check(self, address: Address) -> None:
        url, timeout = f"{address.base_url}/models", aiohttp.ClientTimeout(total=30)
        try:
            async with self._open().get(url, timeout=timeout, proxy=address.proxy) as response:
                status, body = response.status, await response.read()
        except (aiohttp.ClientError, TimeoutError) as error:
            how = self._card.endpoint.how_to_serve
            raise UserError(
                f"nothing answers at {address.base_url} ({self._clean(str(error)) or type(error).__name__}); "
                f"start the server of {self._card.name} there, or correct the address."
                + (f"\nTo serve it yourself: {how}" if how else "")
            ) from error
        if status in (401, 403):
            name = self._endpoint.key_variable
            what = f"check the key in {name}" if name else "the card names no key variable (endpoint.key_variable)"
            raise UserError(f"{address.base_url} refuses the key (HTTP {status}): {what}")
        if status != 200:
            return  # Not every endpoint lists its models; the first request will tell.
        try:
            listed = [item["id"] for item in msgspec.json.decode(body)["data"] if isinstance(item["id"], str)]
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, KeyError, TypeError):
            return
        if listed and not any(name == self._card.model or name.endswith(f"/{self._card.model}") for name in listed):
            shown = ", ".join(listed[:5]) + (f" and {len(listed) - 5} more" if len(listed) > 5 else "")
            raise UserError(
                f"{address.base_url} does not serve {self._card.model} (it serves {shown}); serve it under that "
                "name (vLLM: --served-model-name), or write a card with another `model:`"
            )

    async def complete(self, body: bytes) -> ChatReply:
        """Send one request and wait for the whole reply.

        Raises:
            CallFailed: no reply, after the retries.
            BudgetReached: the cost limit leaves no room for it; nothing was sent.
        """
        async with self._slots:
            reserved = await self._budget.reserve()
            spent: float | None = None
            try:
                reply = await self._with_retries(body)
                spent = reply.call.cost_usd
            finally:
                self._budget.settle(reserved, spent)
        return reply

    async def _with_retries(self, body: bytes) -> ChatReply:
        attempts = 0
        try:
            async for attempt in tenacity.AsyncRetrying(
                retry=tenacity.retry_if_exception_type(_TryAgain),
                stop=tenacity.stop_after_attempt(self._max_retries + 1),
                wait=self._wait_s,
                before_sleep=self._count_retry,
                reraise=True,
            ):
                with attempt:
                    attempts += 1
                    return await self._once(body, attempts)
        except _TryAgain as error:
            tries = f" (after {attempts} tries)" if attempts > 1 else ""
            raise CallFailed(f"{error}{tries}", status=error.status, attempts=attempts) from error
        raise AssertionError("tenacity ends with a result or an exception")

    def _wait_s(self, state: tenacity.RetryCallState) -> float:
        failed = state.outcome.exception() if state.outcome else None
        if isinstance(failed, _TryAgain) and failed.retry_after_s is not None:
            return min(failed.retry_after_s, MAX_RETRY_AFTER_S)
        return float(tenacity.wait_random_exponential(multiplier=self._backoff_s, max=30)(state))

    def _count_retry(self, _state: tenacity.RetryCallState) -> None:
        if self._on_retry is not None:
            self._on_retry()

    async def _once(self, body: bytes, attempts: int) -> ChatReply:
        started, began = time.perf_counter(), time.monotonic()
        address = self._addresses.take()
        url = f"{address.base_url}/chat/completions"
        try:
            async with self._open().post(url, data=body, proxy=address.proxy) as response:
                status, headers, content = response.status, response.headers, await response.read()
            self._addresses.answered(address)
        except aiohttp.ConnectionTimeoutError as error:
            self._addresses.failed(address, began)
            raise _TryAgain(f"no connection within {min(CONNECT_S, self._timeout_s):g} s") from error
        except TimeoutError as error:
            raise _TryAgain(f"no reply within {self._timeout_s:g} s") from error
        except aiohttp.ClientError as error:
            if isinstance(error, aiohttp.ClientConnectionError | aiohttp.ClientPayloadError):
                self._addresses.failed(address, began)
            raise _TryAgain(f"connection failed: {self._clean(str(error)) or type(error).__name__}") from error
        finally:
            self._addresses.give_back(address)
        seconds = time.perf_counter() - started
        if status != 200:
            raise self._refused(status, headers.get("Retry-After-Ms"), headers.get("Retry-After"), content, attempts)
        try:
            completion = decode_reply(content)
        except MalformedReply as error:
            raise _TryAgain(str(error)) from error
        call = Call(
            seconds=seconds,
            attempts=attempts,
            usage=completion.usage,
            cost_usd=cost_usd(completion.usage, self._card.price),
            model=completion.model,
        )
        return ChatReply(completion=completion, call=call)

    def _refused(
        self, status: int, retry_after_ms: str | None, retry_after: str | None, content: bytes, attempts: int
    ) -> Exception:
        text = self._clean(content.decode("utf-8", "replace"))
        message = f"HTTP {status}: {text}" if text else f"HTTP {status}"
        out_of_money = status == 429 and "insufficient_quota" in text
        if (status in _RETRIED_STATUS or status >= 500) and not out_of_money:
            return _TryAgain(message, status=status, retry_after_s=_retry_after_s(retry_after_ms, retry_after))
        return CallFailed(message, status=status, attempts=attempts)


def _retry_after_s(milliseconds: str | None, seconds_or_date: str | None) -> float | None:
    """How long the server asks to wait, from either of its headers; None where it doesn't say."""
    for text, unit_s in ((milliseconds, 0.001), (seconds_or_date, 1.0)):
        try:
            if text is not None:
                return max(0.0, float(text) * unit_s)
        except ValueError:
            pass  # Not a number: it may be a date.
    if seconds_or_date is None:
        return None
    try:
        return max(0.0, email.utils.parsedate_to_datetime(seconds_or_date).timestamp() - time.time())
    except ValueError:
        return None
