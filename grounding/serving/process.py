"""One server process: started under a keeper, waited for until it is healthy, stopped with all that it started."""

import http.client
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from grounding.errors import UserError
from grounding.serving import keeper

INTERRUPT_S = 15.0
TERMINATE_S = 5.0
LAST_LINES = 20
_TAIL_BYTES = 16384
_CAUSE_BYTES = 1 << 20
_MAX_CAUSE_CHARS = 600
_ASK_EVERY_S, _LOOK_S = 0.5, 5.0
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_ERROR = re.compile(rb"\w*(?:Error|Exception): \S.*")
OnWait = Callable[[float, str], None]
"""Told again and again while a server starts: the seconds so far, and the last line of its log."""


def last_lines(log: Path, count: int, begin: int = 0) -> list[str]:
    """The last lines after ``begin`` that say anything, without colours and what a progress bar overwrote."""
    try:
        with log.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(begin, file.tell() - _TAIL_BYTES))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    lines = (_COLOURS.sub("", line.rstrip("\r").rpartition("\r")[2]).rstrip() for line in text.split("\n"))
    return [line for line in lines if line][-count:]


def first_error(log: Path, begin: int) -> str:
    """The first error that a log names after so many bytes; the last lines of a server often only point up to it."""
    try:
        with log.open("rb") as file:
            file.seek(begin)
            found = _ERROR.search(file.read(_CAUSE_BYTES))
    except OSError:
        return ""
    return found[0].decode("utf-8", "replace").strip()[:_MAX_CAUSE_CHARS] if found else ""


def ask_health(address: str, within_s: float) -> str:
    """Ask ``GET /health`` once; what was wrong in words, empty where the server is well. Blocks."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=within_s)
    try:
        connection.request("GET", "/health")
        status = connection.getresponse().status
    except TimeoutError:
        return f"no answer to /health within {within_s:g} s"
    except (OSError, http.client.HTTPException) as error:
        return f"no connection for /health ({getattr(error, 'strerror', None) or type(error).__name__})"
    finally:
        connection.close()
    return "" if status == http.client.OK else f"/health answers with {status}"


class Server:
    """A running server process. It ends when ``stop`` is called, and also when this process ends in any way at all: the
    keeper between them notices.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        base_url: str,
        log: Path,
        *,
        environment: dict[str, str] | None = None,
        interrupt_s: float = INTERRUPT_S,
        terminate_s: float = TERMINATE_S,
        apart: bool = False,
    ) -> None:
        """Start it; its output goes to the end of ``log``. ``apart`` is for a process whose children may be killed."""
        self.base_url = base_url
        self.log = log
        self.arguments = tuple(arguments)
        self._code: int | None = None
        self._deadline_s = interrupt_s + terminate_s + 10.0
        way = (keeper.APART,) if apart else ()
        try:
            log.parent.mkdir(parents=True, exist_ok=True)
            with log.open("ab") as output:
                self._log_begin = output.tell()
                self._keeper: subprocess.Popen[bytes] = subprocess.Popen(
                    [*(sys.executable, "-ISs", keeper.__file__), *way, str(interrupt_s), str(terminate_s), *arguments],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=output,
                    env=environment,
                    start_new_session=True,  # The terminal's Ctrl-C must reach the server through `stop` alone.
                )
        except OSError as error:
            raise UserError(f"{log}: the server's log can't be written: {error.strerror}") from error

    @property
    def exit_code(self) -> int | None:
        """How it ended; None while it runs."""
        told = self._keeper.stdout
        if self._code is None and told is not None and not told.closed and _has_news(told):
            line = told.readline()  # The keeper still has to clear away what the server left.
            self._code = int(line) if line else self._keeper.wait(self._deadline_s)
        return self._code

    def wait_healthy(self, timeout_s: float, on_wait: OnWait) -> float:
        """Wait until it answers ``GET /health``; returns the seconds that took."""
        started = time.monotonic()
        while True:
            seconds = time.monotonic() - started
            if self.exit_code is not None:
                raise UserError(self.obituary())
            if not ask_health(self.base_url, _LOOK_S):
                return seconds
            if seconds > timeout_s:
                raise UserError(f"the server was not healthy after {timeout_s:.0f} s. {self._last_words()}")
            on_wait(seconds, "".join(last_lines(self.log, 1, self._log_begin)))
            time.sleep(_ASK_EVERY_S)

    def obituary(self) -> str:
        code = self.exit_code
        words = f"signal {code - 128}" if code is not None and code > 128 else f"exit code {code}"
        return f"the server ended by itself ({words}): {' '.join(self.arguments[:3])} … {self._last_words()}"

    def _last_words(self) -> str:
        lines = last_lines(self.log, LAST_LINES, self._log_begin)
        said = "".join(f"\n    {line}" for line in lines) or " (nothing)"
        cause = first_error(self.log, self._log_begin)
        return (f"First error: {cause}\n" if cause else "") + f"The end of its log {self.log}:{said}"

    def begin_stop(self) -> None:
        pipe: IO[bytes] | None = self._keeper.stdin
        if pipe is not None and not pipe.closed:
            pipe.close()

    def stop(self) -> None:
        self.begin_stop()
        self._keeper.wait(self._deadline_s)
        if self._keeper.stdout is not None:
            self._keeper.stdout.close()


def _has_news(pipe: IO[bytes]) -> bool:
    """Whether reading would return at once. Unlike ``select``, this takes descriptors beyond 1,023."""
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    return bool(poll.poll(0))
