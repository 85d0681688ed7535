"""What comes back over HTTP: bounded bodies, clean messages, failures told apart, and how long a server asks to wait.

Refusals after which no other request of a run can fare better are known by the words of OpenAI, Anthropic, Google,
Perplexity and vLLM. The wait is told in the headers ``Retry-After``, in seconds or as a date, and ``Retry-After-Ms``.
"""

import email.utils
import re
import urllib.request
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

import aiohttp

from grounding.cards import ChatCard
from grounding.errors import printable
from grounding.records import Call, Record

AWAITED: dict[str, float] = {}
"""Since when (``time.monotonic``) somebody in this process waits for an address, for those who show progress."""
ENDED: set[str] = set()
"""Addresses of servers that this process had started and that have ended for good: nobody need wait for them."""


def proxy_for(base_url: str) -> str | None:
    """The proxy that the environment names for an address. Looked up here because aiohttp's ``trust_env`` would also
    read ~/.netrc, and refuse to send a key beside an entry.
    """
    parts = urlsplit(base_url)
    if parts.hostname in ("127.0.0.1", "localhost", "::1"):  # This machine, which no proxy reaches.
        return None
    if urllib.request.proxy_bypass(parts.netloc):
        return None
    return urllib.request.getproxies().get(parts.scheme)


class ServerAddress:
    def __init__(self, base_url: str) -> None:
        self.base_url = base_url
        self.proxy = proxy_for(base_url)
        self.open = self.taken = 0
        self.away = False


class Addresses:
    def __init__(self, base_urls: Sequence[str]) -> None:
        self.all = tuple(map(ServerAddress, base_urls))

    def take(self) -> ServerAddress:
        """The least busy one that is there; its ``open`` is to be counted down when the request is over."""
        chosen = min(self.all, key=lambda address: (address.away, address.open, address.taken))
        chosen.open += 1
        chosen.taken += 1
        return chosen

    @property
    def there(self) -> int:
        return sum(not address.away for address in self.all)


MAX_MESSAGE_CHARS = 500

# Some servers echo with a backslash before every slash, or in lines of 76 characters.
_DATA_URL = re.compile(r"(?:data:[\w/+.\\-]*;)?base64,[A-Za-z0-9+/=\\]*|[A-Za-z0-9+/\\]{72,}={0,2}")


def clean(text: str, key: str | None) -> str:
    """One line of at most 500 characters without the key, without pictures, and with nothing that moves a cursor."""
    if key:
        text = text.replace(key, "[key]").replace(key.replace("/", "\\/"), "[key]")
    text = printable(" ".join(_DATA_URL.sub("[base64]", text).split()))
    return text if len(text) <= MAX_MESSAGE_CHARS else text[:MAX_MESSAGE_CHARS] + "…"


MAX_BODY_BYTES = 16 << 20  # After decompression. The longest replies of models have some hundred kilobytes.
MAX_REFUSAL_BYTES = 1 << 16  # Of a refusal only its first sentences are of use.


class BodyTooLong(ValueError):
    """A response went on beyond the limit."""


async def read_body(response: aiohttp.ClientResponse) -> bytes:
    """The body of a response; of one that is no success, the beginning. Raises BodyTooLong: a successful response is
    longer than the limit.
    """
    most = MAX_BODY_BYTES if response.status == 200 else MAX_REFUSAL_BYTES
    pieces, size = [], 0
    async for piece in response.content.iter_any():
        pieces.append(piece)
        size += len(piece)
        if size > most:
            response.close()
            if response.status == 200:
                raise BodyTooLong(f"the reply is longer than {most >> 20} MB")
            break
    return b"".join(pieces)[:most]


def led_on(response: aiohttp.ClientResponse) -> str:
    """Where a redirect leads, in words, without what may be secret in it; "" for any other response. Nobody follows:
    the key and the picture were meant for one host only.
    """
    place = response.headers.get("Location", "")
    if not place or not 300 <= response.status < 400:
        return ""
    try:
        parts = urlsplit(place)
        host = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}" if parts.hostname else ""
        return f"it leads to {host}{parts.path}, which is not followed"
    except ValueError:
        return "it leads elsewhere, which is not followed"


MAX_WAIT_S = 900.0
"""The longest wait that a server may ask for: where it wants more (a day's quota, say), the request has failed."""
RETRIED_STATUS = {408, 409, 425, 429}


class CallFailed(Exception):
    """A request that ended without a reply, after the retries that its kind of error deserves. ``status`` is the HTTP
    status, None where no response came. ``call`` is what the tries took, where any of them was charged or may have
    been. ``unparsed``: the model did answer, in a way that nothing can read.
    """

    def __init__(
        self, message: str, *, status: int | None, attempts: int, call: Call | None = None, unparsed: bool = False
    ) -> None:
        super().__init__(message)
        self.status = status
        self.attempts = attempts
        self.call = call
        self.unparsed = unparsed


class Fault(Record, frozen=True, kw_only=True, eq=False):
    """A try that may have failed because its server is not there.
    ``sent``: the server may have worked on it. ``broken``: the connection was refused or broke; otherwise no reply came
    in time, or the server said that something is wrong there.
    """

    address: ServerAddress
    sent: bool
    broken: bool


class TryAgain(Exception):
    """One try that failed in a way that another try may mend. ``retry_after_s`` is how long this request is to wait
    first, None where the server didn't say. ``fault`` is None where the server is there, whatever it said.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retry_after_s: float | None = None,
        fault: Fault | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_s = retry_after_s
        self.fault = fault


def retry_after_s(headers: Mapping[str, str], now: float) -> float | None:
    """How long the server asks to wait, the finer of its headers first; None where it doesn't say."""
    for name, unit_s in (("Retry-After-Ms", 0.001), ("Retry-After", 1.0)):
        try:
            wait_s = float(headers.get(name, "")) * unit_s
        except ValueError:
            continue  # Not there, or not a number: it may be a date.
        return wait_s if wait_s > 0 else 0.0  # Also for a text such as nan.
    try:
        return max(0.0, email.utils.parsedate_to_datetime(headers.get("Retry-After", "")).timestamp() - now)
    except (ValueError, TypeError):
        return None


_KEY = re.compile(r"invalid_api_key|API_KEY_INVALID|API key not valid", re.IGNORECASE)
_MONEY = re.compile(
    r"insufficient_quota|credit balance is too low|billing_not_active|billing hard limit", re.IGNORECASE
)

_PARAMETER = re.compile(
    r"unsupported_parameter|unsupported_value|unknown_parameter|"
    r"Extra inputs are not permitted|Unknown name|unknown field",
    re.IGNORECASE,
)

_MODEL = re.compile(r"model_not_found|invalid_model", re.IGNORECASE)
_WINDOW = re.compile(
    r"context_length_exceeded|maximum context length|max(?:imum)?[_ ]model[_ ]len|prompt is too long", re.IGNORECASE
)


def where_to_look(error: CallFailed, card: ChatCard) -> str | None:
    """What a user has to put right before any request can succeed; None where the refusal is about this one alone."""
    said = str(error)
    variable = card.endpoint.key_variable
    if error.status in (401, 403) or (error.status == 400 and _KEY.search(said)):
        return f"the key in {variable}" if variable else "the key (the card names no variable for it)"
    if error.status == 402 or _MONEY.search(said):
        return "the account: it has no money left"
    if error.status is not None and 300 <= error.status < 400:
        return "the address: give the one that the model really has"
    if error.status in (404, 405):
        return "the model's name" if card.model in said else "the address: most end in /v1"
    if error.status == 400 and _MODEL.search(said):
        return "the model's name"
    if error.status == 400 and _PARAMETER.search(said):
        return "the card's parameters"
    return None


def beyond_window(error: CallFailed) -> bool:
    """Whether another try would fare no better, and not for want of a server. The request was longer than the model can
    take, or its answer is one that nothing can read.
    """
    return error.unparsed or (error.status == 400 and _WINDOW.search(str(error)) is not None)
