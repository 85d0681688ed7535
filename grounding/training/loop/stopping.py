"""Breaking off tidily: the first Ctrl-C or SIGTERM lets a step end and be saved, the second one doesn't wait."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class StopSwitch:
    """Whether the user asked to stop. Signals are only caught inside ``watched``, in the main thread.

    Args:
        on_asked: Called when that happens, to say what will be done.
    """

    def __init__(self, on_asked: Callable[[], None] = lambda: None) -> None:
        self.asked = False
        self._on_asked = on_asked
        self._deferring = False

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Catch Ctrl-C and SIGTERM inside the block; outside ``deferring`` they are a KeyboardInterrupt at once."""
        # A program in the background of a script ignores Ctrl-C, and goes on doing so.
        wanted = [signal.SIGTERM]
        if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
            wanted.append(signal.SIGINT)
        before = {}
        try:
            for number in wanted:
                before[number] = signal.signal(number, self._signalled)
        except ValueError:  # Not in the main thread, where signals can't be set.
            yield
            return
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def deferring(self) -> Iterator[None]:
        """Inside the block the first signal only sets ``asked``."""
        self._deferring = True
        try:
            yield
        finally:
            self._deferring = False

    def _signalled(self, _signal: int, _frame: FrameType | None) -> None:
        if self.asked or not self._deferring:
            raise KeyboardInterrupt
        self.asked = True
        self._on_asked()
