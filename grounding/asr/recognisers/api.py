"""Any endpoint of the form of OpenAI's ``POST /v1/audio/transcriptions``, such as a vLLM server that serves a Whisper.

Clips go out as 16-bit FLAC at 16 kHz. Word times are asked for (``verbose_json``, ``timestamp_granularities[]=word``);
a server that refuses that is asked for segments, then for the bare text, and is spared the question from then on.
Retries, waits and the redaction of keys are those of the chat models (``grounding.llm``).
"""

from __future__ import annotations

import asyncio
import io
import threading
import time
from collections.abc import Coroutine, Sequence
from concurrent.futures import CancelledError
from typing import Any, Literal, TypeVar

import msgspec

from grounding.asr.audio import SAMPLE_RATE_HZ, Audio
from grounding.asr.recogniser import TEMPERATURES, RecogniserOptions, Recognition, RecognitionFailed, Workers
from grounding.asr.records import Word
from grounding.cards import ChatCard
from grounding.errors import UserError
from grounding.llm.endpoint import Endpoint, resolve_endpoint
from grounding.llm.failures import CallFailed, TryAgain, refusal
from grounding.llm.headers import retry_after_s
from grounding.llm.hopeless import where_to_look
from grounding.llm.ratelimits import RateLimiter
from grounding.llm.redaction import clean
from grounding.records import Record

OPENAI = "https://api.openai.com/v1"
LONGEST_S = 600.0
"""So long a piece, as 16-bit FLAC at 16 kHz, is under the 25 MB that OpenAI's endpoint takes in the worst case."""

_MAX_REPLY_BYTES = 16 << 20
_FLAG = "--base-url"
_PATH = "/audio/transcriptions"

Form = Literal["words", "segments", "text"]
_FORMS: tuple[Form, ...] = ("words", "segments", "text")
_REFUSED_FORM = (400, 422)

Result = TypeVar("Result")


class _SaidWord(Record, frozen=True, kw_only=True):
    word: str
    start: float
    end: float
    probability: float | None = None


class _Usage(Record, frozen=True, kw_only=True):
    seconds: float | None = None


class _Reply(Record, frozen=True, kw_only=True):
    text: str
    language: str | None = None
    words: tuple[_SaidWord, ...] | None = None
    usage: _Usage | None = None


class ApiRecogniser:
    """One model at one address. Thread-safe: requests of all threads share connections, limits and what was learned."""

    workers: Workers = "connections"
    longest_s: float | None = LONGEST_S

    def __init__(self, card: ChatCard, endpoint: Endpoint, options: RecogniserOptions, backoff_s: float = 0.5) -> None:
        """Nobody is asked yet. ``backoff_s`` is the scale of the random, growing waits between tries."""
        self.name = f"whisper-api:{card.model}"
        asked = {"language": options.language, "prompt": options.prompt, "temperature": options.temperatures[0]}
        self.identity = f"whisper-api {card.model} at {endpoint.base_url}, {asked}"
        self.at_once = options.connections
        self._card, self._endpoint, self._options = card, endpoint, options
        self._backoff_s = backoff_s
        self._form: Form = "words"
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._session: Any = None
        self._limiter = RateLimiter()

    def hear(self, batch: Sequence[Audio]) -> list[Recognition]:
        """Ask for the clips one after the other.

        Raises:
            RecognitionFailed: no transcript, after the retries.
            UserError: no request can succeed: the key, the model's name or the address is wrong.
        """
        return [self._run(self._hear(audio)) for audio in batch]

    def close(self) -> None:
        """End what is still being asked, and the connections."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None:
            asyncio.run_coroutine_threadsafe(self._stop(), loop).result(10)
            loop.call_soon_threadsafe(loop.stop)

    def _run(self, work: Coroutine[Any, Any, Result]) -> Result:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=_serve, args=(self._loop,), name="asr-api", daemon=True).start()
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except CancelledError as error:
            raise RecognitionFailed("broken off") from error

    async def _stop(self) -> None:
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _hear(self, audio: Audio) -> Recognition:
        content, started, form = _flac(audio), time.perf_counter(), self._form
        while True:
            try:
                reply = await self._with_retries(content, form)
            except CallFailed as error:
                simpler = _FORMS[_FORMS.index(form) + 1 :]
                if error.status in _REFUSED_FORM and simpler and not _is_about_model(error, self._card):
                    form = simpler[0]
                    continue
                look = where_to_look(error, self._card)
                if look is not None and error.status != 400:
                    raise UserError(
                        f"{self._endpoint.base_url} refuses {self._card.model}: {error}; check {look}"
                    ) from error
                raise RecognitionFailed(f"{self._endpoint.base_url}: {error}") from error
            # Learned only now: a clip that is refused in every form says nothing about the others.
            self._form = max(self._form, form, key=_FORMS.index)
            return self._recognition(reply, audio, time.perf_counter() - started)

    async def _with_retries(self, content: bytes, form: Form) -> _Reply:
        import tenacity

        attempts = 0
        try:
            async for attempt in tenacity.AsyncRetrying(
                retry=tenacity.retry_if_exception_type(TryAgain),
                stop=tenacity.stop_after_attempt(self._options.max_retries + 1),
                wait=self._wait_s,
                reraise=True,
            ):
                with attempt:
                    attempts += 1
                    await self._limiter.acquire()
                    return await self._once(content, form, attempts)
        except TryAgain as error:
            tries = f" (after {attempts} tries)" if attempts > 1 else ""
            raise CallFailed(f"{error}{tries}", status=error.status, attempts=attempts) from error
        raise AssertionError("tenacity ends with a result or an exception")

    def _wait_s(self, state: Any) -> float:
        import tenacity

        failed = state.outcome.exception() if state.outcome else None
        if isinstance(failed, TryAgain) and failed.retry_after_s is not None:
            return failed.retry_after_s
        return float(tenacity.wait_random_exponential(multiplier=self._backoff_s, max=30)(state))

    async def _once(self, content: bytes, form: Form, attempts: int) -> _Reply:
        import aiohttp

        key = self._endpoint.key()
        url = f"{self._endpoint.base_url}{_PATH}"
        try:
            async with self._open().post(url, data=self._fields(content, form), allow_redirects=False) as response:
                status, headers = response.status, response.headers
                said = await response.content.read(_MAX_REPLY_BYTES)
        except TimeoutError as error:
            raise TryAgain(f"no reply within {self._options.timeout_s:g} s") from error
        except aiohttp.ClientError as error:
            raise TryAgain(f"connection failed: {clean(str(error), key) or type(error).__name__}") from error
        self._limiter.observe(headers)
        if status != 200:
            wait_s = retry_after_s(headers, time.time())
            text = clean(said.decode("utf-8", "replace"), key)
            failed = refusal(status, text, retry_after_s=wait_s, attempts=attempts, call=None)
            if status == 429 and wait_s is not None and isinstance(failed, TryAgain):
                self._limiter.pause(wait_s)
            raise failed
        try:
            return msgspec.json.decode(said, type=_Reply)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise TryAgain(
                f"the reply is no transcript: {clean(said[:500].decode('utf-8', 'replace'), key)}"
            ) from error

    def _open(self) -> Any:
        if self._session is None:
            import aiohttp

            key = self._endpoint.key()
            headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
            limit_s = self._options.timeout_s
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(total=limit_s, connect=min(30.0, limit_s)),
                headers=headers,
                trust_env=not _is_here(self._endpoint.base_url),
            )
        return self._session

    def _fields(self, content: bytes, form: Form) -> Any:
        import aiohttp

        fields = aiohttp.FormData()
        fields.add_field("file", content, filename="clip.flac", content_type="audio/flac")
        fields.add_field("model", self._card.model)
        fields.add_field("temperature", f"{self._options.temperatures[0]:g}")
        fields.add_field("response_format", "json" if form == "text" else "verbose_json")
        if form != "text":
            fields.add_field("timestamp_granularities[]", "word" if form == "words" else "segment")
        for name, value in (("language", self._options.language), ("prompt", self._options.prompt)):
            if value is not None:
                fields.add_field(name, value)
        return fields

    def _recognition(self, reply: _Reply, audio: Audio, taken_s: float) -> Recognition:
        billed_s = audio.seconds
        if reply.usage is not None and reply.usage.seconds is not None:
            billed_s = reply.usage.seconds
        price = self._options.usd_per_minute
        said = reply.words or ()
        return Recognition(
            text=reply.text.strip(),
            words=tuple(
                Word(text=each.word.strip(), start_s=each.start, end_s=each.end, probability=each.probability)
                for each in said
            ),
            language=reply.language or "",
            compute_s=taken_s,
            cost_usd=None if price is None else price * billed_s / 60,
        )


def open_api(argument: str, options: RecogniserOptions) -> ApiRecogniser:
    """The recogniser of a model's name at its endpoint; OpenAI's where no address is given.

    Raises:
        UserError: no name, no key for OpenAI's endpoint, an address that is none, or an option it doesn't take.
    """
    if not argument:
        raise UserError("whisper-api: which model? Give its name at the endpoint: whisper-api:openai/whisper-large-v3")
    if options.beam_size is not None:
        raise UserError("beam_size: a transcription endpoint has no such option; leave it out")
    if options.device is not None or options.model_dir is not None:
        raise UserError("device and model_dir are not for whisper-api: its server decides; leave them out")
    if options.temperatures != TEMPERATURES and len(options.temperatures) > 1:
        raise UserError(f"temperatures {options.temperatures}: an endpoint takes one; give one")
    import aiohttp  # noqa: F401  (the thread of the requests should not be the one to find it missing)

    from grounding.cards import EndpointCard

    card = ChatCard(
        name="whisper-api",
        title="a transcription endpoint",
        model=argument,
        user=(),
        endpoint=EndpointCard(base_url=OPENAI, key_variable=options.key_variable or None),
    )
    given = options.base_url.rstrip("/").removesuffix(_PATH) if options.base_url else None
    return ApiRecogniser(card, resolve_endpoint(card, given, flag=_FLAG), options)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()


def _is_here(base_url: str) -> bool:
    """Whether an address is this machine's own, which no proxy reaches."""
    from urllib.parse import urlsplit

    return urlsplit(base_url).hostname in ("127.0.0.1", "localhost", "::1")


def _is_about_model(error: CallFailed, card: ChatCard) -> bool:
    """Whether a refusal has another reason than the form of the reply."""
    said = str(error).casefold()
    return where_to_look(error, card) is not None and "response_format" not in said and "timestamp" not in said


def _flac(audio: Audio) -> bytes:
    import numpy as np
    import soundfile

    file = io.BytesIO()
    samples = np.round(np.clip(audio.samples, -1.0, 1.0) * 32767).astype(np.int16)
    soundfile.write(file, samples, SAMPLE_RATE_HZ, format="FLAC", subtype="PCM_16")
    return file.getvalue()
