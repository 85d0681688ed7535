"""Many small transfers, several at once, with a bar on a terminal and a line elsewhere; nothing here knows what of."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager

AT_ONCE = 8
"""How many files are on their way at the same time."""

_LINE_EVERY_S = 30.0


class Stopped(Exception):
    """Another transfer failed, or the user broke off."""


class Transfer:
    """How far it is. Threads tell it; it is shown on standard error.

    Args:
        what: What is fetched, for people.
        total_bytes: How much it will be; None where nobody knows.
        files: How many files there are.
    """

    def __init__(self, what: str, total_bytes: int | None, files: int) -> None:
        self._what, self._total, self._files = what, total_bytes, files
        self._bytes = self._done = 0
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._show: Callable[[], None] = lambda: None

    def more(self, count: int) -> None:
        """So many bytes more have come.

        Raises:
            Stopped: there is no use in going on.
        """
        if self._stop.is_set():
            raise Stopped
        with self._lock:
            self._bytes += count
        self._show()

    def one_done(self) -> None:
        """A file is in its place."""
        with self._lock:
            self._done += 1
        self._show()

    def stop(self) -> None:
        """Let every thread end at its next word."""
        self._stop.set()

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show it while it goes on, and say at the end what came."""
        started = time.monotonic()
        if sys.stderr.isatty():
            with self._bar():
                yield
        else:
            last = [started]

            def line() -> None:
                now = time.monotonic()
                with self._lock:
                    if now - last[0] < _LINE_EVERY_S:
                        return
                    last[0] = now
                self._say(f"{self._done:,} of {self._files:,} files, {size_text(self._bytes)} so far")

            self._show = line
            yield
        seconds = time.monotonic() - started
        self._say(f"{self._done:,} files, {size_text(self._bytes)} in {seconds:.1f} s")

    @contextmanager
    def _bar(self) -> Iterator[None]:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("fetching"),
            BarColumn(),
            DownloadColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[words]}"),
        )
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("fetching", total=self._total, words="")

            def show() -> None:
                bar.update(task, completed=self._bytes, words=f"{self._done:,} of {self._files:,} files")

            self._show = show
            yield

    def _say(self, words: str) -> None:
        print(f"grounding: {self._what}: {words}", file=sys.stderr, flush=True)


def work_off(jobs: Iterable[Callable[[], None]], transfer: Transfer, *, at_once: int = AT_ONCE) -> None:
    """Do all jobs, several at once; the first failure ends all and is raised.

    Jobs are drawn one by one, so that a million of them take no memory.
    """
    drawn, lock = iter(jobs), threading.Lock()

    def draw() -> Callable[[], None] | None:
        with lock:
            return next(drawn, None)

    def work() -> None:
        try:
            while (job := draw()) is not None:
                transfer.more(0)
                job()
        except BaseException:
            transfer.stop()
            raise

    with ThreadPoolExecutor(at_once) as pool:
        try:
            done, _ = wait([pool.submit(work) for _ in range(at_once)])
        except BaseException:
            transfer.stop()
            raise
    failed = [error for one in done if (error := one.exception()) is not None]
    real = [error for error in failed if not isinstance(error, Stopped)]
    if failed:
        raise (real or failed)[0]


def size_text(size_bytes: float) -> str:
    """A number of bytes for people."""
    for unit in ("B", "kB", "MB", "GB"):
        if size_bytes < 1000:
            return f"{size_bytes:.0f} {unit}" if unit == "B" else f"{size_bytes:.1f} {unit}"
        size_bytes /= 1000
    return f"{size_bytes:.1f} TB"
