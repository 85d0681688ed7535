"""Runs the bridge and sees to its end: of all that a run starts, nothing outlives the writer.

    python -m grounding.executors.ray.warden LIFELINE_FD FOLDER ENDING_S TERMINATE_S COMMAND [ARGUMENT ...]

The bridge gets this process's standard input and output, which are the writer's pipes. LIFELINE_FD is the reading end
of a pipe whose other end only the writer holds: it closes when the writer closes it or dies in whatever way. Then the
bridge has ENDING_S seconds to end by itself. What is left of it and of everything it started (a local Ray cluster: this
process is their "subreaper", so they stay its descendants) is told to end by SIGTERM, and killed TERMINATE_S seconds
later. The same where the bridge ends first. At last FOLDER (if not empty) is removed with all that Ray wrote there.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable

from grounding.serving.keeper import PR_SET_CHILD_SUBREAPER, PR_SET_PDEATHSIG, descendants

_LOOK_EVERY_S = 0.05


class Warden:
    """The bridge, and the way to the end of all that it started."""

    def __init__(self, command: list[str]) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        warden = os.getpid()

        def end_with_the_warden() -> None:
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
            if os.getppid() != warden:  # It died before the line above took effect.
                os._exit(1)

        self._bridge = subprocess.Popen(command, preexec_fn=end_with_the_warden)
        self.code: int | None = None
        # The writer has to see the end of its pipes when the bridge dies, so nobody else may hold them.
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)

    def reap(self) -> None:
        """Take in what ended; remember how the bridge did."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._bridge.pid:
                code = os.waitstatus_to_exitcode(status)
                self._bridge.returncode = code
                self.code = 128 - code if code < 0 else code

    def _within(self, seconds: float, is_so: Callable[[], bool]) -> bool:
        until = time.monotonic() + seconds
        while True:
            self.reap()
            if is_so():
                return True
            if time.monotonic() >= until:
                return False
            time.sleep(_LOOK_EVERY_S)

    def end(self, ending_s: float, terminate_s: float) -> None:
        """Give the bridge its time, then end whatever is left below this process."""

        def nothing_left() -> bool:
            return not descendants(os.getpid())

        self._within(ending_s, lambda: self.code is not None)
        self._tell_all(signal.SIGTERM)
        self._within(terminate_s, nothing_left)
        while not self._within(0.0, nothing_left):  # Again and again: a dying tree may still fork.
            self._tell_all(signal.SIGKILL)
            time.sleep(_LOOK_EVERY_S)

    def _tell_all(self, number: int) -> None:
        for pid in descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError):  # Ended meanwhile, which is what was wanted.
                os.kill(pid, number)


def main() -> int:
    """Run the bridge until it ends or is no longer wanted."""
    lifeline, folder = int(sys.argv[1]), sys.argv[2]
    ending_s, terminate_s, command = float(sys.argv[3]), float(sys.argv[4]), sys.argv[5:]
    told, tell = os.pipe()
    os.set_blocking(tell, False)
    signal.set_wakeup_fd(tell)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # The number arrives at the pipe.
    try:
        warden = Warden(command)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        return 127
    let_go = killed = False
    while not (let_go or killed or warden.code is not None):
        ready, _, _ = select.select([lifeline, told], [], [])
        killed = told in ready and any(number != signal.SIGCHLD for number in os.read(told, 64))
        let_go = lifeline in ready
        warden.reap()
    warden.end(ending_s if let_go and warden.code is None else 0.0, terminate_s)
    if folder:
        shutil.rmtree(folder, ignore_errors=True)
    return 0 if warden.code is None else warden.code


if __name__ == "__main__":
    sys.exit(main())
