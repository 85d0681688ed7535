"""Signals that end a program, made into the one exception that Python has for that."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def terminated_like_interrupted() -> Iterator[None]:
    """Inside the block a polite kill (SIGTERM) ends the program as Ctrl-C does: by KeyboardInterrupt, tidily."""

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # As in a script's background jobs.
            signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.raise_signal(signal.SIGINT)

    try:
        before = signal.signal(signal.SIGTERM, interrupt)
    except ValueError:  # Not in the main thread, where signals can't be set.
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
