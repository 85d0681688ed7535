"""Runs one server and sees to its end. Started as a script, apart from the package; knows only the standard library.

    python keeper.py [--apart] INTERRUPT_S TERMINATE_S COMMAND [ARGUMENT ...]

Its standard input is a pipe whose other end only the grounding process holds. When that end closes, because the process
closed it or died in whatever way, the server and everything it started are ended: SIGINT to the server's group; SIGTERM
to what is left once the server has ended, at the latest after INTERRUPT_S seconds; SIGKILL TERMINATE_S seconds later.
The keeper is the "subreaper" of the server: processes that leave the server's
group, or outlive their parent, stay its descendants and are found. Server and keeper write to standard error; when the
server ends by itself its exit code (128 + n after signal n) is the one line on standard output, and the keeper's own.

With ``--apart`` the keeper is a grandchild of the grounding process, and the child between them only waits for it. Ray
kills the children of a worker before it ends the worker, and a keeper that is killed can end no server.
"""

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
EXIT_NOT_STARTED = 127
APART = "--apart"
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_LOOK_EVERY_S = 0.05
# What a server that has ended may leave its children to end by themselves.
_TIDY_S = 1.0


def descendants(of: int) -> list[int]:
    """The living processes below one, from /proc; those that only wait to be reaped are left out."""
    children: dict[int, list[tuple[int, str]]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:  # Ended since the folder was listed.
            continue
        state, parent = stat.rpartition(")")[2].split()[:2]  # The name before it may hold blanks and brackets.
        children.setdefault(int(parent), []).append((int(entry.name), state))
    found: list[int] = []
    left = [of]
    while left:
        for pid, state in children.get(left.pop(), []):
            left.append(pid)
            if state not in "ZX":
                found.append(pid)
    return found


def _send(number: int, kill: Callable[[int, int], None], pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # Ended meanwhile, which is what was wanted.
        kill(pid, number)


class Subreaper:
    """A process that what it starts stays below, and its way to know how the one child that counts ended. ``code`` is
    that child's exit code (128 + n after signal n), None while it runs.
    """

    def __init__(self, command: list[str], **options: Any) -> None:
        """Start the child, which ends when this process does; ``options`` are those of ``subprocess.Popen``."""
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        parent = os.getpid()

        def end_with_the_parent() -> None:
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
            if os.getppid() != parent:  # It died before the line above took effect.
                os._exit(1)

        self.child: subprocess.Popen[bytes] = subprocess.Popen(command, preexec_fn=end_with_the_parent, **options)
        self.code: int | None = None

    def reap(self) -> None:
        """Take in what ended; remember how the child did."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.child.pid:
                code = os.waitstatus_to_exitcode(status)
                self.child.returncode = code
                self.code = 128 - code if code < 0 else code

    def within(self, seconds: float, is_so: Callable[[], bool]) -> bool:
        """Wait for something to become so, taking in what ends; whether it did in time."""
        until = time.monotonic() + seconds
        while True:
            self.reap()
            if is_so():
                return True
            if time.monotonic() >= until:
                return False
            time.sleep(_LOOK_EVERY_S)


class Keeper(Subreaper):
    def __init__(self, command: list[str]) -> None:
        super().__init__(command, stdin=subprocess.DEVNULL, stdout=sys.stderr.fileno(), start_new_session=True)

    def end(self, interrupt_s: float, terminate_s: float) -> None:
        def nothing_left() -> bool:
            return not descendants(os.getpid())

        self.reap()
        if self.code is None:
            _send(signal.SIGINT, os.killpg, self.child.pid)
            self.within(interrupt_s, lambda: self.code is not None)
        if self.within(min(_TIDY_S, interrupt_s), nothing_left):
            return
        for pid in descendants(os.getpid()):
            _send(signal.SIGTERM, os.kill, pid)
        if self.within(terminate_s, nothing_left):
            return
        while not self.within(0.0, nothing_left):  # Again and again: a dying tree may still fork.
            for pid in descendants(os.getpid()):
                _send(signal.SIGKILL, os.kill, pid)
            time.sleep(_LOOK_EVERY_S)


def step_aside() -> None:
    """Go on in a child process; this one passes signals on, and ends as the child does."""
    child = os.fork()
    if child == 0:
        return
    for number in _ENDING:
        signal.signal(number, lambda number, _: _send(number, os.kill, child))
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    os._exit(128 - code if code < 0 else code)


def main() -> int:
    if sys.argv[1] == APART:
        del sys.argv[1]
        step_aside()
    interrupt_s, terminate_s, command = float(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
    told, tell = os.pipe()
    os.set_blocking(tell, False)
    signal.set_wakeup_fd(tell)
    for number in (signal.SIGCHLD, *_ENDING):
        signal.signal(number, lambda *_: None)  # The number arrives at the pipe.
    try:
        keeper = Keeper(command)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        return EXIT_NOT_STARTED
    wanted = True
    while wanted and keeper.code is None:
        ready, _, _ = select.select([sys.stdin.fileno(), told], [], [])
        if told in ready and any(number != signal.SIGCHLD for number in os.read(told, 64)):
            wanted = False
        if sys.stdin.fileno() in ready:
            wanted = False
        keeper.reap()
    if keeper.code is not None:
        print(keeper.code, flush=True)
    keeper.end(interrupt_s, terminate_s)
    return 0 if keeper.code is None else keeper.code


if __name__ == "__main__":
    sys.exit(main())
