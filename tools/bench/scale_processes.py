"""Child processes of the scale benchmark: started, watched through /proc, timed phase by phase.

Times are taken on CLOCK_MONOTONIC, and CPU seconds are the process's own (its workers' are not in them): on a machine
that does other work too they mean more than the clock.
"""

from __future__ import annotations

import bisect
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from grounding.records import Record

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Sample(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A look at a process: when, its CPU seconds and resident memory so far."""

    at_s: float
    cpu_s: float
    rss_mb: float


class Ended(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A process from start to exit."""

    started_s: float
    ended_s: float
    cpu_s: float
    peak_mb: float
    returncode: int
    samples: tuple[Sample, ...]
    output: str

    @property
    def wall_s(self) -> float:
        """Start to exit."""
        return self.ended_s - self.started_s

    def at(self, moment_s: float) -> Sample:
        """The look at the process nearest before a moment; CPU seconds are those in between, by the clock."""
        times = [sample.at_s for sample in self.samples]
        after = bisect.bisect_left(times, moment_s)
        if after == 0:
            return Sample(at_s=moment_s, cpu_s=0.0, rss_mb=self.samples[0].rss_mb if self.samples else 0.0)
        before = self.samples[after - 1]
        if after == len(times):
            return before
        later = self.samples[after]
        share = (moment_s - before.at_s) / max(1e-9, later.at_s - before.at_s)
        return Sample(at_s=moment_s, cpu_s=before.cpu_s + share * (later.cpu_s - before.cpu_s), rss_mb=before.rss_mb)

    def between(self, start_s: float, end_s: float) -> float:
        """CPU seconds between two moments."""
        return self.at(end_s).cpu_s - self.at(start_s).cpu_s


class Child:
    """A running command whose output goes to a file, watched from a thread."""

    def __init__(self, command: Sequence[str], *, tree: Path, every_s: float = 0.1) -> None:
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - the child writes to it until it ends
        environment = {**os.environ, "PYTHONPATH": str(tree)}
        self.started_s = time.monotonic()
        self._process = subprocess.Popen(
            command, stdout=self._output, stderr=subprocess.STDOUT, cwd=tree, env=environment
        )
        self.pid = self._process.pid
        self._samples: list[Sample] = []
        self._ended = threading.Event()
        self._watcher = threading.Thread(target=self._watch, args=(every_s,), daemon=True)
        self._watcher.start()

    def _watch(self, every_s: float) -> None:
        while not self._ended.wait(every_s):
            sample = _look(self.pid)
            if sample is None:
                return
            self._samples.append(sample)

    def send(self, number: int) -> None:
        """Send a signal."""
        self._process.send_signal(number)

    def wait_until(self, holds: Callable[[], bool], every_s: float = 0.02) -> None:
        """Wait for something while the process runs.

        Raises:
            SystemExit: it ended before.
        """
        while not holds():
            if _look(self.pid) is None:
                raise SystemExit(f"the process ended too early:\n{self.wait().output}")
            time.sleep(every_s)

    def wait(self) -> Ended:
        """Wait for its end, whatever that is."""
        _, status, usage = os.wait4(self.pid, 0)
        ended_s = time.monotonic()
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self._ended.set()
        self._watcher.join()
        cpu_s = usage.ru_utime + usage.ru_stime
        last = Sample(at_s=ended_s, cpu_s=cpu_s, rss_mb=self._samples[-1].rss_mb if self._samples else 0.0)
        self._output.seek(0)
        output = self._output.read().decode("utf-8", "replace")
        self._output.close()
        return Ended(
            started_s=self.started_s,
            ended_s=ended_s,
            cpu_s=cpu_s,
            peak_mb=usage.ru_maxrss / 1024,
            returncode=self._process.returncode,
            samples=(*self._samples, last),
            output=output,
        )


def _look(pid: int) -> Sample | None:
    """The process as it is now; None where it has ended, whether or not anybody has asked for its status."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return None
    if fields[0] == "Z":
        return None
    cpu_s = (int(fields[11]) + int(fields[12])) / _TICKS
    return Sample(at_s=time.monotonic(), cpu_s=cpu_s, rss_mb=pages * _PAGE / 1e6)


def completed(command: Sequence[str], *, tree: Path, accepted: Sequence[int] = (0,)) -> Ended:
    """Run a command to its end.

    Raises:
        SystemExit: it ended with another code.
    """
    ended = Child(command, tree=tree).wait()
    if ended.returncode not in accepted:
        raise SystemExit(f"{' '.join(command)} ended with {ended.returncode}:\n{ended.output[-4000:]}")
    return ended


def python(*arguments: str) -> list[str]:
    """A command of this interpreter."""
    return [sys.executable, *arguments]
