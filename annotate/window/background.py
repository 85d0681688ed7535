"""Work in other threads whose results come back into the window's thread, which alone may touch widgets."""

from __future__ import annotations

import tkinter as tk
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

_LOOK_EVERY_MS = 20


class Background:
    """Two worker threads and a timer that looks for what they have finished.

    Args:
        root: The window whose timer is used; it runs only while something is under way.
    """

    def __init__(self, root: tk.Misc) -> None:
        self._root = root
        self._pool: ThreadPoolExecutor | None = None
        self._waiting: list[tuple[Future[Any], Callable[[Any], object], Callable[[Exception], object]]] = []
        self._timer: str | None = None

    def run(
        self, work: Callable[[], Any], done: Callable[[Any], object], failed: Callable[[Exception], object]
    ) -> None:
        """Start ``work``; later call ``done`` with its result, or ``failed`` with its error."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(2, thread_name_prefix="annotate")
        self._waiting.append((self._pool.submit(work), done, failed))
        if self._timer is None:
            self._timer = self._root.after(_LOOK_EVERY_MS, self._look)

    def _look(self) -> None:
        ready = [job for job in self._waiting if job[0].done()]
        self._waiting = [job for job in self._waiting if not job[0].done()]
        self._timer = self._root.after(_LOOK_EVERY_MS, self._look) if self._waiting or ready else None
        for future, done, failed in ready:
            error = future.exception()
            # Each on its own, so that an error in one keeps no other from being called.
            if error is None:
                self._root.after_idle(done, future.result())
            elif isinstance(error, Exception):
                self._root.after_idle(failed, error)

    def close(self) -> None:
        """Forget what has not begun; do not wait for the rest."""
        if self._timer is not None:
            self._root.after_cancel(self._timer)
            self._timer = None
        self._waiting.clear()
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
