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
import os
import select
import shutil
import signal
import sys
import time

from grounding.serving.keeper import Subreaper, descendants

_LOOK_EVERY_S = 0.05


class Warden(Subreaper):
    """The bridge, and the way to the end of all that it started."""

    def __init__(self, command: list[str]) -> None:
        super().__init__(command)
        # The writer has to see the end of its pipes when the bridge dies, so nobody else may hold them.
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)

    def end(self, ending_s: float, terminate_s: float) -> None:
        """Give the bridge its time, then end whatever is left below this process."""

        def nothing_left() -> bool:
            return not descendants(os.getpid())

        self.within(ending_s, lambda: self.code is not None)
        self._tell_all(signal.SIGTERM)
        self.within(terminate_s, nothing_left)
        while not self.within(0.0, nothing_left):  # Again and again: a dying tree may still fork.
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
