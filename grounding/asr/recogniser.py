"""What a recogniser is, and how one is found by its name: ``pocketsphinx``, ``whisper:turbo``, ``replay:FILE``.

Built in are pocketsphinx, whisper, whisper-api and replay. A package may bring others with the entry point group
``grounding.recognisers``: a function of (what stands after the colon, :class:`RecogniserOptions`) that returns a
:class:`Recogniser`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

import msgspec

from grounding.asr.audio import Audio
from grounding.asr.records import Clip, Word
from grounding.errors import UserError
from grounding.records import Record

ENTRY_POINTS = "grounding.recognisers"
BUILT_IN = ("pocketsphinx", "whisper", "whisper-api", "replay")
DEFAULT = "pocketsphinx"

Workers = Literal["processes", "batch", "connections", "recorded"]
"""How a recogniser works on many clips. ``processes``: a copy of it in each of several processes, one clip each.
``batch``: several clips in one call. ``connections``: several calls at once, one clip each, from threads.
``recorded``: it hears nothing and only looks up (:class:`Recorded`)."""

TEMPERATURES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
"""openai-whisper's own series: the next one where a text is too repetitive or too improbable."""


class RecogniserOptions(Record, frozen=True, kw_only=True):
    """Everything that can be set about recognisers. Each takes what concerns it and refuses what it can't do.

    ``language`` is a code such as ``en``, None to have it found. ``prompt`` is text the recogniser is told came before.
    ``temperatures``: sampling temperatures, each tried where the one before failed. ``beam_size``: None for greedy.
    ``device``: ``cpu`` or ``cuda``, None for what there is. ``batch_size``: clips in one call. ``processes``: None for
    as many as there are cores. ``base_url`` of the endpoint, ``key_variable`` the environment variable with its key.
    ``usd_per_minute``: what a minute of audio costs there, None where nobody knows. ``model_dir``: a folder with an
    acoustic model, a language model and a dictionary for pocketsphinx.
    """

    language: str | None = None
    prompt: str | None = None
    temperatures: tuple[float, ...] = TEMPERATURES
    beam_size: int | None = None
    device: str | None = None
    batch_size: int = 16
    processes: int | None = None
    connections: int = 4
    base_url: str | None = None
    key_variable: str = "OPENAI_API_KEY"
    timeout_s: float = 300.0
    max_retries: int = 5
    usd_per_minute: float | None = None
    model_dir: str | None = None


class Recognition(Record, frozen=True, kw_only=True):
    """What was heard in one piece of audio; times are seconds from its start.

    ``compute_s`` is what it took; in a batch, the clip's share by length. ``cost_usd`` is None where nobody knows.
    """

    text: str
    words: tuple[Word, ...] = ()
    language: str = ""
    compute_s: float = 0.0
    cost_usd: float | None = None
    notes: tuple[str, ...] = ()


class RecognitionFailed(Exception):
    """The recogniser couldn't make anything of this piece of audio; others may fare better. One line."""


@runtime_checkable
class Recogniser(Protocol):
    """Makes text of speech. With ``processes`` it must survive pickling: load models when the first clip comes.

    ``hear`` raises :class:`RecognitionFailed` for what concerns these clips, and a UserError for what ends the run.
    """

    @property
    def name(self) -> str:
        """Its name with the model, such as ``whisper:turbo``."""

    @property
    def identity(self) -> str:
        """Name, version, model and every option that can change the text; hashed into the keys of results."""

    @property
    def workers(self) -> Workers:
        """How it works on many clips."""

    @property
    def at_once(self) -> int:
        """Processes, clips in a batch, or connections."""

    @property
    def longest_s(self) -> float | None:
        """The longest audio that one call takes; longer clips are cut at pauses. None for any length."""

    def hear(self, batch: Sequence[Audio]) -> list[Recognition]:
        """What is said in each clip, in order. The same samples give the same text, whatever else is in the batch."""

    def close(self) -> None:
        """Let go of models and connections."""


class Recorded(Protocol):
    """A recogniser that looks transcripts up: what ``workers == "recorded"`` promises beside the other properties."""

    def recall(self, clip: Clip) -> Recognition | None:
        """The recorded transcript of a clip; None where there is none."""


def open_recogniser(spec: str, options: RecogniserOptions | None = None) -> Recogniser:
    """A recogniser by its name, with what it takes after a colon; no model is loaded yet and nobody is asked.

    ``pocketsphinx``; ``whisper`` (large-v3), ``whisper:turbo``, ``whisper:FILE.pt``; ``whisper-api:MODEL``;
    ``replay:FILE.json``; or the name of an entry point. Options may follow and win over those given apart:
    ``whisper:turbo,language=en,beam_size=5`` (temperatures with slashes: ``temperatures=0/0.4``).

    Raises:
        UserError: there is none of that name, a package is missing, or an option is not for it.
    """
    head, options = split_options(spec, options or RecogniserOptions())
    _check(options)
    kind, _, argument = head.partition(":")
    if kind == "pocketsphinx":
        from grounding.asr.recognisers.pocketsphinx import open_pocketsphinx

        return open_pocketsphinx(argument, options)
    if kind == "whisper":
        from grounding.asr.recognisers.whisper import open_whisper

        return open_whisper(argument, options)
    if kind == "whisper-api":
        from grounding.asr.recognisers.api import open_api

        return open_api(argument, options)
    if kind == "replay":
        from grounding.asr.recognisers.replay import open_replay

        return open_replay(argument, options)
    return _brought(kind, argument, options)


def split_options(spec: str, options: RecogniserOptions) -> tuple[str, RecogniserOptions]:
    """The name without the options that stand behind it, and the options with those put in.

    A comma belongs to the name unless the name of an option and ``=`` follow, so paths may have commas.

    Raises:
        UserError: a value that the option doesn't take.
    """
    names = "|".join(RecogniserOptions.__struct_fields__)
    head, *parts = re.split(rf",(?=(?:{names})=)", spec)
    given: dict[str, Any] = {}
    for part in parts:
        name, _, value = part.partition("=")
        given[name] = value.split("/") if name == "temperatures" else value
    try:
        put_in = msgspec.convert(given, RecogniserOptions, strict=False)
    except msgspec.ValidationError as error:
        raise UserError(f"recogniser {spec!r}: {error}") from error
    return head, msgspec.structs.replace(options, **{name: getattr(put_in, name) for name in given})


def recogniser_names() -> tuple[str, ...]:
    """The names before the colon: built-in ones, then those of other packages."""
    from importlib.metadata import entry_points

    return *BUILT_IN, *sorted({point.name for point in entry_points(group=ENTRY_POINTS)} - set(BUILT_IN))


def _check(options: RecogniserOptions) -> None:
    if not options.temperatures or not all(0 <= each <= 2 for each in options.temperatures):
        raise UserError(f"temperatures {options.temperatures}: expected one or more numbers from 0 to 2")
    for name in ("beam_size", "batch_size", "processes", "connections"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise UserError(f"{name} {value}: expected 1 or more")
    if not options.timeout_s > 0:
        raise UserError(f"timeout {options.timeout_s}: expected seconds, more than 0")
    if options.max_retries < 0:
        raise UserError(f"max_retries {options.max_retries}: expected 0 or more")
    if options.usd_per_minute is not None and not options.usd_per_minute >= 0:
        raise UserError(f"usd_per_minute {options.usd_per_minute}: expected US dollars, 0 or more")


def _brought(kind: str, argument: str, options: RecogniserOptions) -> Recogniser:
    from importlib.metadata import entry_points

    for point in entry_points(group=ENTRY_POINTS, name=kind):
        try:
            make: Callable[..., Any] = point.load()
        except (ImportError, AttributeError) as error:
            raise UserError(
                f"the recogniser {kind!r} ({point.value}) cannot be imported: {error}; see to the package with it"
            ) from error
        found = make(argument, options)
        if not isinstance(found, Recogniser):
            raise UserError(f"the recogniser {kind!r} ({point.value}) returns {type(found).__name__}, no recogniser")
        return found
    names = recogniser_names()
    close = difflib.get_close_matches(kind.casefold(), names, n=1)
    guess = f" (did you mean {close[0]!r}?)" if close else ""
    raise UserError(f"no recogniser is called {kind!r}{guess}; there are: {', '.join(names)}")
