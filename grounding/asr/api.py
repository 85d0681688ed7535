"""Any endpoint of the form of OpenAI's ``POST /v1/audio/transcriptions``, such as a vLLM server that serves a Whisper.

Clips go out as 16-bit FLAC at 16 kHz. Word times are asked for (``verbose_json``, ``timestamp_granularities[]=word``);
a server that refuses that is asked for the bare text, and is spared the question from then on. Retries, waits and the
redaction of keys are those of the chat models (``grounding.llm``).
"""

import asyncio
import secrets
import time
from collections.abc import Iterator

import msgspec

from grounding.asr.audio import Audio, flac
from grounding.asr.recogniser import Answers, RecogniserOptions, Recognition, refuse
from grounding.cards import ChatCard, EndpointCard
from grounding.data.speech import Word
from grounding.errors import UserError
from grounding.llm import CallFailed, Endpoint, ModelClient, Spent, resolve_endpoint
from grounding.llm.client import ServerGone
from grounding.llm.http import where_to_look
from grounding.llm.wire import Wire, bearer, malformed
from grounding.records import Record

OPENAI = "https://api.openai.com/v1"
# So long a piece, as 16-bit FLAC at 16 kHz, is under the 25 MB that OpenAI's endpoint takes in the worst case.
LONGEST_S = 600.0
_BOUNDARY = secrets.token_hex(16)
_PATH = "/audio/transcriptions"
_REFUSED_FORM = (400, 422)


class _SaidWord(Record, frozen=True, kw_only=True):
    word: str
    start: float
    end: float
    probability: float | None = None


class _Reply(Record, frozen=True, kw_only=True):
    text: str
    words: tuple[_SaidWord, ...] | None = None


class _Transcriptions(Wire[_Reply]):
    def path(self, _model: str) -> str:
        return _PATH

    def headers(self, key: str | None) -> dict[str, str]:
        return bearer(key) | {"Content-Type": f"multipart/form-data; boundary={_BOUNDARY}"}

    def read(self, body: bytes) -> _Reply:
        try:
            return msgspec.json.decode(body, type=_Reply)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise malformed("a transcript", body, error) from error

    def spent(self, _body: bytes) -> Spent:
        return Spent()

    def model(self, _answer: _Reply) -> str:
        return ""


class ApiRecogniser:
    """One model at one address. ``backoff_s`` is the scale of the random, growing waits between tries."""

    longest_s: float | None = LONGEST_S
    device = ""

    def __init__(self, card: ChatCard, endpoint: Endpoint, options: RecogniserOptions, backoff_s: float = 0.5) -> None:
        self.name = f"whisper-api:{card.model}"
        asked = {"language": options.language, "prompt": options.prompt, "temperature": 0.0}
        self.identity = f"whisper-api {card.model} at {endpoint.base_url}, {asked}"
        self._card, self._endpoint, self._options, self._backoff_s = card, endpoint, options, backoff_s
        self._with_words = True

    def hear(self, pieces: Iterator[Audio]) -> Answers:
        running: dict[asyncio.Task[Recognition | str], Audio] = {}
        with asyncio.Runner() as runner:
            client = ModelClient(
                self._card,
                self._endpoint,
                _Transcriptions(),
                max_connections=self._options.connections,
                timeout_s=self._options.timeout_s,
                max_retries=self._options.max_retries,
                backoff_s=self._backoff_s,
                server_wait_s=self._options.server_wait_s,
            )
            try:
                while True:
                    while len(running) < self._options.connections and (piece := next(pieces, None)) is not None:
                        running[runner.get_loop().create_task(self._ask(client, piece))] = piece
                    if not running:
                        return
                    done, _ = runner.run(asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED))
                    for task in done:
                        yield running.pop(task), task.result()
            finally:
                for task in running:
                    task.cancel()
                runner.run(client.aclose())

    async def _ask(self, client: ModelClient[_Reply], audio: Audio) -> Recognition | str:
        content, started, with_words = flac(audio.samples), time.perf_counter(), self._with_words
        try:
            try:
                reply = (await client.complete(self._body(content, with_words=with_words))).completion
            except CallFailed as error:
                if not with_words or error.status not in _REFUSED_FORM or _is_about_model(error, self._card):
                    raise
                reply = (await client.complete(self._body(content, with_words=False))).completion
                # Learned only now: a clip that is refused in every form says nothing about the others.
                self._with_words = False
        except ServerGone as gone:
            raise UserError(f"{self._endpoint.base_url}: {gone}") from gone
        except CallFailed as error:
            look = where_to_look(error, self._card)
            if look is not None and error.status != 400:
                raise UserError(
                    f"{self._endpoint.base_url} refuses {self._card.model}: {error}; check {look}"
                ) from error
            return f"{self._endpoint.base_url}: {error}"
        return Recognition(
            text=reply.text.strip(),
            words=tuple(
                Word(text=each.word.strip(), start_s=each.start, end_s=each.end, probability=each.probability)
                for each in reply.words or ()
            ),
            compute_s=time.perf_counter() - started,
        )

    def _body(self, content: bytes, *, with_words: bool) -> bytes:
        fields = {"model": self._card.model, "temperature": "0"}
        fields["response_format"] = "verbose_json" if with_words else "json"
        fields |= {"timestamp_granularities[]": "word"} if with_words else {}
        given = {"language": self._options.language, "prompt": self._options.prompt}
        fields |= {name: value for name, value in given.items() if value is not None}
        parts = [('name="file"; filename="clip.flac"\r\nContent-Type: audio/flac', content)]
        parts += [(f'name="{name}"', value.encode()) for name, value in fields.items()]
        head = f"--{_BOUNDARY}\r\nContent-Disposition: form-data; "
        written = b"".join(f"{head}{about}\r\n\r\n".encode() + value + b"\r\n" for about, value in parts)
        return written + f"--{_BOUNDARY}--\r\n".encode()


def open_api(argument: str, options: RecogniserOptions) -> ApiRecogniser:
    """The recogniser of a model's name at its endpoint; OpenAI's, with its key, where no address is given."""
    if not argument:
        raise UserError("whisper-api: which model? Give its name at the endpoint: whisper-api:openai/whisper-large-v3")
    refuse(options, ["beam_size", "device"], "a transcription endpoint has no such option")
    card = ChatCard(
        name="whisper-api",
        title="a transcription endpoint",
        model=argument,
        user=(),
        endpoint=EndpointCard(base_url=OPENAI, key_variable="OPENAI_API_KEY"),
    )
    given = options.base_url.rstrip("/").removesuffix(_PATH) if options.base_url else None
    return ApiRecogniser(card, resolve_endpoint(card, given, flag="--base-url"), options)


def _is_about_model(error: CallFailed, card: ChatCard) -> bool:
    """Whether a refusal has another reason than the form of the reply."""
    said = str(error).casefold()
    return where_to_look(error, card) is not None and "response_format" not in said and "timestamp" not in said
