"""openai-whisper's ``transcribe`` for several clips at once, with the decoder's calls of all of them gathered.

The package transcribes one file at a time, window by window; its ``decode`` takes many windows, but nothing in it makes
use of that. Here each clip runs through the package's own ``transcribe``, unchanged, in a thread of its own with a
stand-in for the model. Where it asks for a window to be decoded, the thread waits; once every clip waits (or is
through), windows with equal options are decoded in one call. Only one thread runs at any time, because the package puts
hooks into the model while it decodes and aligns. Word times are therefore made clip by clip, as the package does it.

Sampling (the fallback temperatures) draws from torch's generator: such windows are decoded alone, with a seed from the
clip's samples, so that a text doesn't depend on what else is in the batch.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Result = TypeVar("Result")


@dataclass(eq=False)
class _Asked:
    """A window that waits to be decoded, and what came of it."""

    window: Any
    options: Any
    seed: int
    answer: Any = None
    error: Exception | None = None


class _Turns:
    """Hands the one right to run from thread to thread: a clip's thread has it, or the gathering one."""

    def __init__(self, clips: int) -> None:
        self._here = threading.Condition()
        self._running = clips
        self.waiting: list[tuple[_Asked, threading.Event]] = []
        self.run = threading.Lock()

    def ask(self, asked: _Asked) -> None:
        """Wait, without the right to run, until the window is decoded."""
        done = threading.Event()
        with self._here:
            self.waiting.append((asked, done))
            self._running -= 1
            self._here.notify_all()
        self.run.release()
        done.wait()
        self.run.acquire()

    def through(self) -> None:
        """A clip is at its end."""
        with self._here:
            self._running -= 1
            self._here.notify_all()

    def gathered(self) -> list[tuple[_Asked, threading.Event]]:
        """Everything that was asked once no clip runs any more; empty when all are through."""
        with self._here:
            self._here.wait_for(lambda: self._running == 0)
            found, self.waiting = self.waiting, []
            self._running = len(found)
            return found


class StandIn:
    """The model as one clip's ``transcribe`` sees it: everything is the model's, but decoding is asked for."""

    def __init__(self, model: Any, turns: _Turns, seed: int) -> None:
        self._model, self._turns, self._seed = model, turns, seed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """A pass through the network, for the word times."""
        return self._model(*arguments, **named)

    def decode(self, window: Any, options: Any) -> Any:
        """One window of shape (mels, 3000)."""
        asked = _Asked(window=window, options=options, seed=self._seed)
        self._turns.ask(asked)
        if asked.error is not None:
            raise asked.error
        return asked.answer


class Gathering(Generic[Result]):
    """Runs clips together.

    Args:
        model: openai-whisper's.
        transcribe: Called with the stand-in for the model and one clip.
        errors: What a clip may raise; it becomes that clip's result.
    """

    def __init__(
        self, model: Any, transcribe: Callable[[StandIn, Any], Result], errors: tuple[type[Exception], ...]
    ) -> None:
        self._model, self._transcribe, self._errors = model, transcribe, errors
        self.decoder_calls = 0
        self.windows = 0

    def run(self, clips: Sequence[Any], seeds: Sequence[int]) -> list[Result | Exception]:
        """The result of each clip, or what it raised."""
        turns = _Turns(len(clips))
        results: list[Result | Exception | None] = [None] * len(clips)

        def one(at: int) -> None:
            with turns.run:
                try:
                    results[at] = self._transcribe(StandIn(self._model, turns, seeds[at]), clips[at])
                except self._errors as error:
                    results[at] = error
                except BaseException as error:
                    results[at] = RuntimeError(f"{type(error).__name__}: {error}")
                    raise
                finally:
                    turns.through()

        threads = [threading.Thread(target=one, args=(at,), daemon=True) for at in range(len(clips))]
        for thread in threads:
            thread.start()
        while asked := turns.gathered():
            with turns.run:
                self._decode([each for each, _ in asked])
            for _, done in asked:
                done.set()
        for thread in threads:
            thread.join()
        return [result if result is not None else RuntimeError("the clip has no result") for result in results]

    def _decode(self, asked: Sequence[_Asked]) -> None:
        left = list(asked)
        while left:
            first = left[0]
            alone = first.options.temperature > 0
            group = [first] if alone else [each for each in left if each.options == first.options]
            left = [each for each in left if not any(each is member for member in group)]
            try:
                self._decode_group(group)
            except self._errors as error:
                if len(group) == 1:
                    first.error = error
                    continue
                for each in group:  # Such as one batch too large for the device: alone they may fit.
                    self._decode_alone(each)

    def _decode_alone(self, asked: _Asked) -> None:
        try:
            self._decode_group([asked])
        except self._errors as error:
            asked.error = error

    def _decode_group(self, group: Sequence[_Asked]) -> None:
        import torch

        self.decoder_calls += 1
        self.windows += len(group)
        options = group[0].options
        with torch.random.fork_rng(enabled=options.temperature > 0):
            if options.temperature > 0:
                torch.manual_seed(group[0].seed)
            answers = self._model.decode(torch.stack([each.window for each in group]), options)
        for each, answer in zip(group, answers, strict=True):
            each.answer = answer
