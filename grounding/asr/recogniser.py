"""What a recogniser is, how one is found by its name (``whisper:turbo``), and the one that comes with the package.

A new one is a line in :data:`RECOGNISERS`: the address of a function of (what stands after the colon,
:class:`RecogniserOptions`) that returns a :class:`Recogniser`.
"""

import dataclasses
import difflib
import importlib
import importlib.metadata
import itertools
import multiprocessing
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Annotated, Any, Protocol

import msgspec
from cyclopts import Parameter

from grounding.asr.audio import Audio, Samples
from grounding.data.images import core_count
from grounding.data.speech import OPTION, Word
from grounding.errors import UserError
from grounding.records import Record

RECOGNISERS = {
    "pocketsphinx": "grounding.asr.recogniser:open_pocketsphinx",
    "whisper": "grounding.asr.whisper:open_whisper",
    "whisper-api": "grounding.asr.api:open_api",
}

_Some = Annotated[int, msgspec.Meta(ge=1)]


@Parameter(name="*")
@dataclasses.dataclass(frozen=True, kw_only=True)
class RecogniserOptions:
    """Everything that can be set about recognisers. Each takes what concerns it and refuses what it can't do.

    Attributes:
        language: What is spoken, such as en [default: the recogniser finds out].
        prompt: Text that whisper is told came before, such as names that will come up.
        beam_size: How many texts whisper weighs against each other [default: 1].
        device: cpu or cuda [default: cuda where there is one].
        connections: How many requests are open at once, for whisper-api.
        base_url: The address of the endpoint, for whisper-api.
        timeout_s: Seconds to wait for the endpoint's reply.
        max_retries: How often a request is tried again after 429, 5xx, a timeout or a dropped connection.
        server_wait_s: Seconds to wait for a server that is away; then the run ends, and the same command goes on with
            it.
    """

    language: str | None = None
    prompt: str | None = None
    beam_size: _Some | None = None
    device: str | None = None
    connections: Annotated[_Some, Parameter(name="--max-connections")] = 4
    base_url: str | None = None
    timeout_s: Annotated[float, msgspec.Meta(gt=0), Parameter(name="--timeout")] = 300.0
    max_retries: Annotated[int, msgspec.Meta(ge=0)] = 5
    server_wait_s: Annotated[float, msgspec.Meta(ge=0), Parameter(name="--server-wait")] = 600.0


class Recognition(Record, frozen=True, kw_only=True):
    """What was heard in one piece of audio; times are seconds from its start. ``compute_s`` is what it took."""

    text: str
    words: tuple[Word, ...] = ()
    compute_s: float = 0.0
    notes: tuple[str, ...] = ()


Answers = Iterator[tuple[Audio, Recognition | str]]
"""Pieces of audio in any order, each with what was heard in it, or a line that says why nothing could be."""


class Recogniser(Protocol):
    """Makes text of speech; models are loaded when the first piece comes.

    ``identity`` holds name, version, model and every option that can change the text; it is hashed into the keys of
    results. ``device`` says what it runs on, "" where nobody knows. ``longest_s`` is the longest audio that it takes at
    once (longer clips are cut at pauses), None for any.
    """

    name: str
    identity: str
    device: str
    longest_s: float | None

    def hear(self, pieces: Iterator[Audio]) -> Answers:
        """What is said in each piece; the next ones are taken as it has room for them. Equal samples give equal text.
        Raises UserError: what ends the run.
        """


def open_recogniser(spec: str, options: RecogniserOptions | None = None) -> Recogniser:
    """A recogniser by its name, with what it takes after a colon; no model is loaded yet and nobody is asked.

    ``pocketsphinx``; ``whisper`` (large-v3), ``whisper:turbo``, ``whisper:FILE.pt``; ``whisper-api:MODEL``. Options may
    follow and win over those given apart: ``whisper:turbo,language=en,beam_size=5``. Raises UserError: there is none of
    that name, a package is missing, or an option is not for it.
    """
    head, *parts = OPTION.split(spec)
    values = dataclasses.asdict(options or RecogniserOptions())
    given = {part.partition("=")[0]: part.partition("=")[2] for part in parts}
    if wrong := ", ".join(sorted(set(given) - set(values))):
        raise UserError(f"recogniser {spec!r}: {wrong} is no option of a recogniser; there are {', '.join(values)}")
    try:
        found = msgspec.convert({**values, **given}, RecogniserOptions, strict=False)
    except msgspec.ValidationError as error:
        raise UserError(f"recogniser {spec!r}: {error}") from None
    kind, _, argument = head.partition(":")
    if kind not in RECOGNISERS:
        close = difflib.get_close_matches(kind.casefold(), RECOGNISERS, n=1)
        guess = f" (did you mean {close[0]!r}?)" if close else ""
        raise UserError(f"no recogniser is called {kind!r}{guess}; there are: {', '.join(sorted(RECOGNISERS))}")
    module, _, opener = RECOGNISERS[kind].partition(":")
    made: Recogniser = getattr(importlib.import_module(module), opener)(argument, found)
    return made


def refuse(options: RecogniserOptions, names: Sequence[str], why: str) -> None:
    """Raise a UserError where one of these options was set."""
    for name in names:
        if getattr(options, name) != getattr(RecogniserOptions, name):
            raise UserError(f"{name}: {why}; leave it out")


_ERRORS = (RuntimeError, ValueError, LookupError, ArithmeticError, TypeError, AssertionError, OSError, MemoryError)
"""What a recogniser's library may raise over one clip (torch: RuntimeError, for want of memory, too)."""


def attempt(hear: Callable[[Audio], Recognition], audio: Audio) -> Recognition | str:
    try:
        return hear(audio)
    except _ERRORS as error:
        return " ".join(f"{type(error).__name__}: {error}".split())[:500]


# --- pocketsphinx -------------------------------------------------------------------------------------------------

LONGEST_S = 30.0  # Its lattice grows with the utterance; dictated sentences are what its models were made of.
FLOOR = 1e-3
"""Standard deviation of the noise that is added to every clip, -60 dB below full scale: about that of a quiet room.

A microphone never gives exact zeros, synthetic speech does, and the logarithm in the features then overshadows the
speech: on clips of espeak-ng the word error rate falls by up to half with this floor.
"""

_FRAMES_PER_S = 100
_VARIANT = re.compile(r"\(\d+\)$")
_FILLER = re.compile(r"<.*>|\[.*\]|\+\+.*\+\+")


class PocketSphinx:
    """CMU PocketSphinx: a recogniser of the time before neural ones, whose English model travels in its wheel.

    It needs no download, no GPU and little memory, and makes many mistakes. Its decoder works on one clip at a time and
    holds the interpreter while it does, hence processes.
    """

    name = "pocketsphinx"
    longest_s: float | None = LONGEST_S

    def __init__(self, identity: str) -> None:
        self.identity, self._processes = identity, core_count()
        self.device = f"{self._processes} processes"

    def hear(self, pieces: Iterator[Audio]) -> Answers:
        """Hear in processes that each hold a decoder.

        When one dies (a crash in C code, the kernel short of memory), the pieces that were being heard are heard again
        one by one, each in a process of its own; the one that kills that, too, has failed.
        """
        while suspects := (yield from self._pool(pieces, self._processes)):
            for piece in suspects:
                if (yield from self._pool(iter([piece]), 1)):
                    yield piece, "the recogniser's process died over this clip, twice"

    def _pool(
        self, pieces: Iterator[Audio], processes: int
    ) -> Generator[tuple[Audio, Recognition | str], None, list[Audio]]:
        if (first := next(pieces, None)) is None:
            return []
        pieces, running = itertools.chain([first], pieces), dict[Future[Recognition | str], Audio]()
        entering: list[Audio] = []
        # Not forked: threads and locks of this process would be copied in whatever state they are.
        spawn = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(processes, mp_context=spawn, initializer=_begin)
        try:
            while True:
                # One more than can run, so that none waits.
                while len(running) <= processes and (piece := next(pieces, None)) is not None:
                    entering = [piece]
                    running[pool.submit(_hear_here, piece)] = piece
                    entering = []
                if not running:
                    return []
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    result = future.result()
                    yield running.pop(future), result
        except BrokenProcessPool:
            return [*running.values(), *entering]
        finally:
            # Now: whoever stops in the middle of a long clip should not wait for its end.
            workers = list((pool._processes or {}).values())
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in workers:
                worker.terminate()
            for worker in workers:
                worker.join()


def open_pocketsphinx(argument: str, options: RecogniserOptions) -> PocketSphinx:
    refuse(options, ("prompt", "beam_size"), "pocketsphinx has no such option; use whisper for it")
    if options.device not in (None, "cpu"):
        raise UserError(f"device {options.device}: pocketsphinx runs on the processor only; leave it out")
    if argument or options.language not in (None, "en"):
        raise UserError(f"pocketsphinx has one model, of English: {argument or options.language} is for whisper")
    version = importlib.metadata.version("pocketsphinx")
    return PocketSphinx(f"pocketsphinx {version}, model en-us of the wheel, pieces of {LONGEST_S:g} s, floor {FLOOR:g}")


# --- in a worker's process ----------------------------------------------------------------------------------------

_decoder: Any = None


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the main process ends this one.
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A parent that is killed can't end its workers, which would wait for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _hear_here(audio: Audio) -> Recognition | str:
    global _decoder
    if _decoder is None:
        import pocketsphinx

        _decoder = pocketsphinx.Decoder(samprate=16000, loglevel="FATAL")
    return attempt(_decoded, audio)


def _decoded(audio: Audio) -> Recognition:
    started = time.perf_counter()
    _decoder.reinit_feat()  # Its estimate of the background noise would go over from clip to clip.
    _decoder.start_utt()
    try:
        _decoder.process_raw(_pcm(audio.samples), no_search=False, full_utt=True)
    finally:
        _decoder.end_utt()
    found = _decoder.hyp()
    words = tuple(
        Word(
            text=_VARIANT.sub("", each.word),
            start_s=each.start_frame / _FRAMES_PER_S,
            end_s=(each.end_frame + 1) / _FRAMES_PER_S,
            probability=min(1.0, float(each.prob)),
        )
        for each in (_decoder.seg() if found is not None else ())
        if not _FILLER.match(each.word)
    )
    return Recognition(text=found.hypstr if found else "", words=words, compute_s=time.perf_counter() - started)


def _pcm(samples: Samples) -> bytes:
    import numpy as np

    floor = np.random.default_rng(0).standard_normal(len(samples), dtype=np.float32) * np.float32(FLOOR)
    return (np.clip(samples + floor, -1.0, 1.0) * 32767).astype("<i2").tobytes()
