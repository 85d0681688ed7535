"""What runs are at, for those who look: bars on a terminal, lines on request, and files for other programs.

Everything that is shown goes to standard error; standard output belongs to results. ``queue.json`` lies in the folder
of a command with several runs (of a sweep, of a matrix), beside the folders of its runs. ``progress.json`` lies in a
run's folder while the run is at work; one that was killed leaves it there. Both are replaced as a whole at every
change, so that no reader finds half of one.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichProgress
from rich.table import Column
from rich.text import Text

from grounding.atomic import atomic_write
from grounding.errors import UserError, printable
from grounding.llm.budget import dollars
from grounding.llm.http import AWAITED
from grounding.options import Display
from grounding.records import Point, Record, Region, Screenshot
from grounding.run.lock import LockedFolder

QUEUE, PROGRESS = "queue.json", "progress.json"
LINE_EVERY_S = 5.0
QUIET_S = 1.5
NARROW, WIDE_ENOUGH = 72, 120  # So many columns have room for the time that is left, and for all that is counted.
LATEST = 12  # So many of the newest steps are kept to be looked at.
_MOST_BYTES = 64 << 20
_RATE_OVER_S, _RATE_FROM_S, _SAMPLE_EVERY_S = 60.0, 1.0, 0.5

QueueStateName = Literal["waiting", "starting", "running", "complete", "partial", "failed"]
# States that a run leaves only when the command is given again.
ENDED: frozenset[QueueStateName] = frozenset(("complete", "partial", "failed"))
_HITS = {"hit": "green", "miss": "yellow", "unparsed": "magenta", "error": "red", "missing": "red"}
_RESULTS = {"green": "hit", "yellow": "miss", "magenta": "unparsed", "red": "error"}


# --- files ------------------------------------------------------------------------------------------------------------


class QueuedRun(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One of the runs. Times are those of :func:`grounding.run.folder.utc_now`, "" where they have not come. ``folder``
    is the run's folder; of it only the last part counts (see :func:`folder_of`). ``steps`` is how many are scored, 0
    where nobody knows yet. ``server`` names the group of runs that share one server, "" for a run that asks none or
    none of the command's. ``problem`` says why a run failed or ended early.
    """

    name: str
    run_id: str
    folder: str
    steps: int = 0
    state: QueueStateName = "waiting"
    problem: str = ""
    server: str = ""
    started_at: str = ""
    ended_at: str = ""
    planner: str = ""
    grounder: str = ""


class QueueState(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The content of ``queue.json``. ``cost_limit_usd`` is for all runs together."""

    schema: Literal[1] = 1
    command: str
    started_at: str
    cost_limit_usd: float | None = None
    runs: tuple[QueuedRun, ...] = ()

    def with_run(self, run_id: str, **changes: Any) -> QueueState:
        runs = tuple(msgspec.structs.replace(run, **changes) if run.run_id == run_id else run for run in self.runs)
        return msgspec.structs.replace(self, runs=runs)


class LatestStep(Record, frozen=True, kw_only=True):
    id: str
    instruction: str
    screenshot: Screenshot
    region: Region | None = None
    point: Point | None = None
    outcome: str


class RunState(Record, frozen=True, kw_only=True):
    """The content of ``progress.json``. ``doing`` is what is done before the first step, "" from then on. ``kept``
    steps were answered by an earlier start of the same run; ``rate_per_s`` leaves them out and is None until it can be
    told. ``waiting_s`` is for how long a server has been waited for. ``spent_usd`` is what servers reported, None where
    no price is known, and ``unreported_usd`` the most that may have been charged besides; ``limit_usd`` is the run's
    limit on both. ``latest`` has the newest step first.
    """

    doing: str = ""
    done: int = 0
    steps: int = 0
    counts: Mapping[str, int] = {}
    kept: int = 0
    retries: int = 0
    rate_per_s: float | None = None
    waiting_s: float | None = None
    spent_usd: float | None = None
    unreported_usd: float = 0.0
    limit_usd: float | None = None
    latest: tuple[LatestStep, ...] = ()


def names_apart(names: Sequence[str], ends: Sequence[str], among: Sequence[str] = ()) -> tuple[str, ...]:
    """Each name, with its end behind it where another one is the same. ``among`` says of each what is shown beside it,
    where that tells them apart, too.

    >>> names_apart(["a + b", "a + b", "c"], ["01", "02", "03"])
    ('a + b (01)', 'a + b (02)', 'c')
    """
    keys = list(zip(names, among or names, strict=True))
    times = Counter(keys)
    return tuple(
        name if times[key] == 1 else f"{name} ({end})" for name, key, end in zip(names, keys, ends, strict=True)
    )


def folder_of(folder: Path, run: QueuedRun) -> Path:
    """Where a run's files lie: beside the queue's folder, wherever that has been moved to, and nowhere else."""
    name = Path(run.folder).name
    return folder.parent / (Path(run.run_id).name if name in ("", "..") else name)


def write_queue(folder: Path, state: QueueState) -> None:
    """Replace ``queue.json`` in one step; the folder is made where there is none."""
    folder.mkdir(parents=True, exist_ok=True)
    LockedFolder(folder).replace_json(QUEUE, state)


def read_queue(folder: Path) -> QueueState:
    """Read ``queue.json``."""
    path = folder / QUEUE
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise UserError(f"{path}: expected at most {_MOST_BYTES >> 20} MiB; this is no queue that a command wrote")
        return msgspec.json.decode(path.read_bytes(), type=QueueState)
    except OSError as error:
        raise UserError(
            f"{folder} is not a folder of several runs: {QUEUE} can't be read ({error.strerror})"
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(
            f"{path}: not a queue of this version: {error}; the same command again writes it anew"
        ) from error


def write_progress(folder: Path, state: RunState | None) -> None:
    """Replace ``progress.json``, or take it away (None). A disk that refuses it costs no run: it is only looked at."""
    with contextlib.suppress(OSError):
        if state is None:
            (folder / PROGRESS).unlink(missing_ok=True)
        else:
            atomic_write(folder / PROGRESS, msgspec.json.encode(state), flush=False)


def read_progress(folder: Path) -> RunState | None:
    try:
        return msgspec.json.decode((folder / PROGRESS).read_bytes(), type=RunState)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def is_held(folder: Path) -> bool:
    """Whether a process of this machine is at work on a folder, by the lock that it holds on it. To find out, the lock
    is taken for an instant where it is free: ask this only of folders in which nothing has moved for a while, so as not
    to keep a run that is just starting out of its own folder.
    """
    try:
        opened = os.open(folder, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except OSError:
        return True
    finally:
        os.close(opened)


# --- one run ----------------------------------------------------------------------------------------------------------


class Progress:
    """Counts outcomes as they come and shows them.

    Args:
        display: How; None for a bar on a terminal and nothing elsewhere.
        colours: Every outcome that there can be, in the order in which they are shown, and its colour.
        always: The outcomes that are shown from the beginning; the first is the good one.
        unit: What goes by.

    ``money`` tells what servers have reported and the most that they may have charged besides, in US dollars; it is set
    by a run whose price is known.
    """

    def __init__(
        self,
        display: Display | None,
        colours: Mapping[str, str] = _HITS,
        always: Sequence[str] = ("hit", "miss"),
        unit: str = "steps",
    ) -> None:
        self.doing = ""
        self.total = self._kept = self._retries = 0
        self.money: Callable[[], tuple[float, float]] | None = None
        self._colours, self._always, self._unit = colours, always, unit
        self._display: Display = display or ("rich" if sys.stderr.isatty() else "none")
        self._unasked = display is None and self._display == "none"
        self._console = Console(stderr=True)
        self._outcomes: Counter[str] = Counter()
        self._latest: deque[LatestStep] = deque(maxlen=LATEST)
        self._started = self._last_line = 0.0
        self._samples: deque[tuple[float, int]] = deque()
        self._bar: RichProgress | None = None

    @property
    def done(self) -> int:
        return self._outcomes.total()

    @property
    def rate_per_s(self) -> float | None:
        """Answers a second over the last minute, without those from before; None where too few came yet to tell."""
        if not self._samples:
            return None
        (since, before), now = self._samples[0], time.monotonic()
        asked = self.done - self._kept - before
        return asked / (now - since) if asked > 0 and now - since >= _RATE_FROM_S else None

    @contextmanager
    def phase(self, words: str) -> Iterator[None]:
        before, self.doing = self.doing, words
        shown = self._console.status(f"{words} …") if self._display == "rich" else contextlib.nullcontext()
        try:
            with shown:
                yield
        finally:
            self.doing = before

    @contextmanager
    def steps(self, total: int) -> Iterator[None]:
        self.total, self._started, self.doing = total, time.monotonic(), ""
        self._samples.append((self._started, 0))
        if self._display == "rich":
            bar_column = BarColumn(bar_width=None, table_column=Column(ratio=1))
            count = MofNCompleteColumn(table_column=Column(no_wrap=True, min_width=2 * len(str(total)) + 1))
            columns = (TextColumn(f"[bold]{self._unit}"), bar_column, count, TimeElapsedColumn())
            words = (TextColumn("{task.fields[left]}"), TextColumn("{task.fields[words]}"), _Awaited())
            # Standard output belongs to results and may well be a file.
            with RichProgress(*columns, *words, console=self._console, redirect_stdout=False, expand=True) as bar:
                self._bar = bar
                bar.add_task(self._unit, total=self.total, words="", left="")
                yield
            self._bar = None
            return
        # What takes less time says nothing but its result.
        word = "grounding: at work; --display plain shows here how far it is"
        timer = threading.Timer(QUIET_S, print, (word,), {"file": sys.stderr, "flush": True})
        timer.daemon = True
        if self._unasked:
            timer.start()
        try:
            yield
        finally:
            timer.cancel()
        if self._display == "plain":
            self._line()

    def retried(self) -> None:
        self._retries += 1
        self._show()

    def kept(self) -> None:
        self._kept += 1

    def count(self, outcome: str, step: LatestStep | None = None) -> None:
        self._outcomes[outcome] += 1
        if step is not None:
            self._latest.appendleft(step)
        now = time.monotonic()
        if not self._samples or now - self._samples[-1][0] >= _SAMPLE_EVERY_S:
            self._samples.append((now, self.done - self._kept))
            while now - self._samples[0][0] > _RATE_OVER_S and len(self._samples) > 2:
                self._samples.popleft()
        self._show()

    def _show(self) -> None:
        if self._bar is not None:
            words = self._words(colour=True) if self._console.width >= WIDE_ENOUGH else self.hit_words
            left = self._left() if self._console.width >= NARROW else ""
            self._bar.update(self._bar.task_ids[0], completed=self.done, words=words, left=left)
        elif self._display == "plain" and self._started and time.monotonic() - self._last_line > LINE_EVERY_S:
            self._line()

    def _words(self, *, colour: bool) -> str:
        found = [name for name in self._colours if self._outcomes[name] or name in self._always]
        words = [f"{name} {self._outcomes[name]}" for name in found]
        if colour:
            words = [f"[{self._colours[name]}]{text}[/]" for name, text in zip(found, words, strict=True)]
        words += [f"retries {self._retries}"] if self._retries else []
        return " · ".join([*words, *([f"kept from before {self._kept}"] if self._kept else [])])

    def _line(self) -> None:
        self._last_line = time.monotonic()
        words = f"{self.done}/{self.total} {self._unit}, {self._last_line - self._started:.0f} s"
        print(f"{words}: {self._words(colour=False)}", file=sys.stderr, flush=True)

    def _left(self) -> str:
        rate = self.rate_per_s
        if rate is None:
            return ""
        left = f" · {clock((self.total - self.done) / rate)} left" if self.total > self.done else ""
        return f"{rate:,.0f}/s{left}" if rate >= 100 else f"{rate:.{1 if rate >= 1 else 2}f}/s{left}"

    @property
    def hit_words(self) -> str:
        errors = self._outcomes["error"]
        words = f" · {errors:,} error{'s' if errors > 1 else ''}" if errors else ""
        good = "hits" if self._always[0] == "hit" else self._always[0]
        return f"{100 * self._outcomes[self._always[0]] / self.done:.1f} % {good}{words}" if self.done else ""

    def ended_words(self) -> str:
        elapsed_s = time.monotonic() - self._started if self._started else 0.0
        words = [f"{self.done:,}/{self.total:,} {self._unit} in {clock(elapsed_s)}", self.hit_words]
        return ", ".join(filter(None, words))

    def state(self) -> RunState:
        """The run as it stands, its counts in the five words that all benchmarks share, by the colours of their own."""
        counts = dict.fromkeys(_HITS, 0)
        for name, colour in self._colours.items():
            counts[name if name in counts else _RESULTS[colour]] += self._outcomes[name]
        spent_usd, unreported_usd = (None, 0.0) if self.money is None else self.money()
        return RunState(
            doing=self.doing,
            done=self.done,
            steps=self.total,
            counts=counts,
            kept=self._kept,
            retries=self._retries,
            rate_per_s=self.rate_per_s,
            waiting_s=_waiting_s(),
            spent_usd=spent_usd,
            unreported_usd=unreported_usd,
            latest=tuple(self._latest),
        )


# --- several ----------------------------------------------------------------------------------------------------------


class ManyProgress:
    """Says which of a command's runs begins, how each ended, and what all came to; each shows its own steps meanwhile.
    The runs are called as by :func:`names_apart`.
    """

    def __init__(self, display: Display | None, queue: QueueState) -> None:
        self._silent = (display or ("rich" if sys.stderr.isatty() else "none")) == "none"
        self._count, self._limit_usd = len(queue.runs), queue.cost_limit_usd
        self._runs: dict[str, Progress] = {}
        self._ended: Counter[QueueStateName] = Counter()
        self._began = time.monotonic()

    def begins(self, name: str, progress: Progress) -> None:
        self._runs[name] = progress
        self._say(f"{name}: starting")

    def ended(self, name: str, state: QueueStateName, problem: str = "") -> None:
        self._ended[state] += 1
        run = self._runs.get(name)
        words = [run.ended_words() if run is not None and run.total else "", problem]
        self._say("; ".join([f"{name}: {state}", *filter(None, words)]))

    def close(self) -> None:
        done = sum(run.done for run in self._runs.values())
        words = [f"{self._ended[name]} {name}" for name in ("complete", "partial", "failed") if self._ended[name]]
        words = [" · ".join([*words[:-1], f"{words[-1]} of {self._count}"])] if words else []
        paid = [sum(run.money()) for run in self._runs.values() if run.money is not None]
        if paid:
            limit = f" of {dollars(self._limit_usd)}" if self._limit_usd is not None else ""
            words.append(f"{dollars(sum(paid))}{limit} spent")
        self._say(" · ".join([f"all: {done:,} steps in {clock(time.monotonic() - self._began)}", *words]))

    def _say(self, text: str) -> None:
        if not self._silent:
            print(" ".join(printable(text).split()), file=sys.stderr, flush=True)


class _Awaited(ProgressColumn):
    max_refresh = 0.5

    def render(self, _task: Task) -> Text:
        waited = _waiting_s()
        return Text("" if waited is None else f"waiting for the server, {waited:.0f} s", style="red")


def _waiting_s() -> float | None:
    since = min(AWAITED.values(), default=None)
    return None if since is None else time.monotonic() - since


def clock(seconds: float) -> str:
    """A time as hours, minutes and seconds, from a day on as days and hours.

    >>> clock(75), clock(3_661), clock(200_000)
    ('0:01:15', '1:01:01', '2 d 7 h')
    """
    whole = round(seconds)
    if whole >= 86_400:
        return f"{whole // 86_400} d {whole % 86_400 // 3600} h"
    return f"{whole // 3600}:{whole % 3600 // 60:02}:{whole % 60:02}"
