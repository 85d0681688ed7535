"""The window's side of the process that looks at screenshots: ask, look in now and then, never wait.

Everything that was found stays in memory while the picture's file is the same. The process is started by the first
request and again by the next one if it has died.
"""

from __future__ import annotations

import contextlib
import queue
import subprocess
import sys
import tempfile
import threading
from collections import OrderedDict
from pathlib import Path
from typing import IO

import msgspec

from annotate.proposals.records import Found, Request
from grounding.records import Record

KEPT = 128


class _Key(Record, frozen=True, kw_only=True):
    """A picture as it was, and the words that it was compared with."""

    image: str
    changed_ns: int
    length: int
    instruction: str


class ProposalSource:
    """Finds proposals in a process of its own.

    Args:
        command: How that process is started, for tests.
    """

    def __init__(self, command: tuple[str, ...] = (sys.executable, "-m", "annotate.proposals.worker")) -> None:
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._arrived: queue.SimpleQueue[Found | None] = queue.SimpleQueue()
        self._errors: IO[bytes] | None = None
        self._asked: Request | None = None
        self._asked_key: _Key | None = None
        self._kept: OrderedDict[_Key, Found] = OrderedDict()
        self._number = 0

    @property
    def is_waiting(self) -> bool:
        """Whether something is still to come."""
        return self._asked is not None

    @property
    def pid(self) -> int | None:
        """The process that looks at screenshots; None while there is none."""
        return None if self._process is None else self._process.pid

    def known(self, image: Path, instruction: str) -> Found | None:
        """What was found before in this picture for these words; None where it must be asked for."""
        key = _key(image, instruction)
        return None if key is None else self._kept.get(key)

    def ask(self, image: Path, instruction: str) -> Found | None:
        """What is known of a picture; where that is nothing, have it looked at instead of what was asked for before."""
        known = self.known(image, instruction)
        if known is not None:
            self._asked = None
            return known
        if self._asked is not None and (self._asked.image, self._asked.instruction) == (str(image), instruction):
            return None
        self._number += 1
        request = Request(number=self._number, image=str(image), instruction=instruction)
        self._asked, self._asked_key = request, _key(image, instruction)
        line = msgspec.json.encode(request) + b"\n"
        try:
            self._send(line)
        except OSError:
            # It died since the last request: once more, to a new one.
            self._forget_process()
            try:
                self._send(line)
            except OSError as error:
                self._asked = None
                return _failed(request, f"the process that looks at screenshots can't be started: {error}")
        return None

    def look_in(self) -> Found | None:
        """The newest finding for what was asked last, if one has come since; does not wait."""
        newest = None
        while True:
            try:
                found = self._arrived.get_nowait()
            except queue.Empty:
                return newest
            if found is None:
                newest = self._died() or newest
            elif self._asked is not None and found.number == self._asked.number:
                newest = found
                if found.complete:
                    self._keep(found)
                    self._asked = None

    def close(self) -> None:
        """End the process; it needs no warning, it only reads."""
        process = self._process
        self._forget_process()
        if process is not None:
            process.kill()
            process.wait()

    def _send(self, line: bytes) -> None:
        if self._process is None or self._process.poll() is not None:
            self._forget_process()
            self._start()
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(line)
        self._process.stdin.flush()

    def _start(self) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - read when the process has died
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors
        )
        self._arrived = queue.SimpleQueue()
        threading.Thread(
            target=_receive, args=(self._process, self._arrived), name="annotate-proposals", daemon=True
        ).start()

    def _forget_process(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            # Its end of the pipe may be gone with it.
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        self._process = None
        if self._errors is not None:
            self._errors.close()
            self._errors = None

    def _died(self) -> Found | None:
        process, request = self._process, self._asked
        if process is None:
            return None
        code = process.wait()
        said = self._last_words()
        self._forget_process()
        self._asked = None
        if request is None:
            return None
        return _failed(
            request, f"the process that looks at screenshots ended with code {code}{said}; the same key starts it again"
        )

    def _last_words(self) -> str:
        if self._errors is None:
            return ""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return f" ({lines[-1][:200]})" if lines else ""

    def _keep(self, found: Found) -> None:
        # What failed is asked for again.
        if self._asked_key is None or found.problem:
            return
        self._kept[self._asked_key] = found
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)


def _receive(process: subprocess.Popen[bytes], arrived: queue.SimpleQueue[Found | None]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        arrived.put(msgspec.json.decode(line, type=Found))
    arrived.put(None)


def _key(image: Path, instruction: str) -> _Key | None:
    try:
        status = image.stat()
    except OSError:
        return None
    return _Key(image=str(image), changed_ns=status.st_mtime_ns, length=status.st_size, instruction=instruction)


def _failed(request: Request, problem: str) -> Found:
    return Found(
        number=request.number, image=request.image, instruction=request.instruction, complete=True, problem=problem
    )
