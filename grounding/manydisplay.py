"""Several runs at once on a terminal: each tells its own progress, and all are shown together.

Everything goes to standard error, as with one run; see :mod:`grounding.display`.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType

from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from grounding.display import LINE_EVERY_S, Progress
from grounding.manybars import AllShown, Block, RunShown, clock, ended_words, one_line, total_words
from grounding.options import Display
from grounding.runqueue import ENDED, QueueState, QueueStateName, distinct_names

_STYLES: dict[QueueStateName, str] = {"complete": "green", "partial": "yellow", "failed": "red"}
_RATE_OVER_S = 60.0
_RATE_FROM_S = 1.0
_SAMPLE_EVERY_S = 0.5


class RunProgress(Progress):
    """The progress of one run of several: what a run tells :class:`grounding.display.Progress`, it tells this.

    Made by :meth:`ManyProgress.run`.
    """

    def __init__(self, name: str, told: Callable[[RunProgress], None]) -> None:
        super().__init__("none")
        self.name = name
        self.doing = "starting"
        self._told = told
        self._samples: deque[tuple[float, int]] = deque()

    @contextmanager
    def phase(self, words: str) -> Iterator[None]:
        """Say what is being done before the first step."""
        before, self.doing = self.doing, words
        try:
            yield
        finally:
            self.doing = before

    @contextmanager
    def steps(self, total: int) -> Iterator[None]:
        """Show the steps go by."""
        self._total, self._started, self.doing = total, time.monotonic(), ""
        self._samples.append((self._started, 0))
        yield
        self._told(self)

    def _show(self, advance: int) -> None:
        if advance:
            now = time.monotonic()
            if not self._samples or now - self._samples[-1][0] >= _SAMPLE_EVERY_S:
                self._samples.append((now, self._asked))
                while now - self._samples[0][0] > _RATE_OVER_S and len(self._samples) > 2:
                    self._samples.popleft()
        self._told(self)

    @property
    def _asked(self) -> int:
        """Steps that took an answer now: those that were there from before say nothing of how long the rest takes."""
        return max(0, self.done - self._stored)

    @property
    def done(self) -> int:
        """How many steps are through."""
        return self._outcomes.total()

    @property
    def total(self) -> int:
        """How many there are; 0 before the run knows."""
        return self._total

    @property
    def rate_per_s(self) -> float | None:
        """Steps a second over the last minute; None where too little was answered yet to tell."""
        if not self._samples:
            return None
        (since, before), now = self._samples[0], time.monotonic()
        asked = self._asked - before
        return asked / (now - since) if asked > 0 and now - since >= _RATE_FROM_S else None

    def shown(self) -> RunShown:
        """The run as it stands."""
        return RunShown(
            name=self.name,
            doing=self.doing,
            done=self.done,
            total=self._total,
            hits=self._outcomes["hit"],
            errors=self._outcomes["error"],
            rate_per_s=self.rate_per_s,
        )

    def words(self) -> str:
        """The outcomes so far, as one run's own line has them."""
        return self._words(colour=False)

    @property
    def elapsed_s(self) -> float:
        """Seconds since the first step; 0 before."""
        return time.monotonic() - self._started if self._started else 0.0


class ManyProgress:
    """Shows several runs side by side. To be used in a ``with``, from any number of threads.

    On a terminal there is one block: a bar for each run at work, as many as the terminal is high, below them what
    waits, what has ended and what it costs. What is said meanwhile (by ``say``, or by anybody on standard error) stands
    above it, and so does a line for each run that has ended.

    Args:
        display: How; None for the block on a terminal and nothing elsewhere.
        names: What each run is called, all of them different, in the order in which they are to be run.
        servers: For each run the name of the server that it shares with others, "" for none.
        steps: For each run how many steps it has, 0 where that isn't known.
        spent_usd: Tells what all of them have spent so far; None where no price is known.
        limit_usd: The limit on that.

    Raises:
        ValueError: two runs are called the same.
    """

    def __init__(
        self,
        display: Display | None,
        names: Sequence[str],
        *,
        servers: Sequence[str] = (),
        steps: Sequence[int] = (),
        spent_usd: Callable[[], float] | None = None,
        limit_usd: float | None = None,
    ) -> None:
        if len(set(names)) < len(names):
            raise ValueError("two runs have one name: they could not be told apart")
        self._display: Display = display or ("rich" if sys.stderr.isatty() else "none")
        self._servers = dict(zip(names, servers or [""] * len(names), strict=True))
        self._steps = dict(zip(names, steps or [0] * len(names), strict=True))
        self._spent_usd, self._limit_usd = spent_usd, limit_usd
        self._states: dict[str, QueueStateName] = dict.fromkeys(names, "waiting")
        self._runs: dict[str, RunProgress] = {}
        self._last_line: dict[str, float] = {}
        self._changing = threading.RLock()
        self._began = time.monotonic()
        self._stopped = False
        self._console = Console(stderr=True)
        self._live: Live | None = None

    @classmethod
    def over(
        cls, display: Display | None, queue: QueueState, *, spent_usd: Callable[[], float] | None = None
    ) -> ManyProgress:
        """The progress of the runs of a queue, under the names that :func:`grounding.runqueue.distinct_names` gives.

        Raises:
            ValueError: two of them have one id.
        """
        names = distinct_names(queue)
        return cls(
            display,
            [names[run.run_id] for run in queue.runs],
            servers=[run.server for run in queue.runs],
            steps=[run.steps for run in queue.runs],
            spent_usd=spent_usd,
            limit_usd=queue.cost_limit_usd,
        )

    def __enter__(self) -> ManyProgress:
        self._began = time.monotonic()
        if self._display == "rich":
            # Standard output belongs to results and may well be a file.
            self._live = Live(
                console=self._console,
                get_renderable=self._block,
                refresh_per_second=4,
                redirect_stdout=False,
                vertical_overflow="crop",
            )
            self._live.start(refresh=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped = True
        if self._live is not None:
            self._live.stop()
            self._live = None
        elif self._display == "plain":
            shown = self.shown()
            words = [ended_words(shown.ended), f"{shown.broken_off} broken off" if shown.broken_off else ""]
            words += [f"{sum(shown.waiting.values())} not begun" if shown.waiting else "", total_words(shown)]
            self._print(Text(f"all: {' · '.join(filter(None, words))}"))

    def pays(self, spent_usd: Callable[[], float]) -> None:
        """Who tells from now on what all runs have spent so far, where that wasn't known at the beginning."""
        self._spent_usd = spent_usd

    # --- what becomes of the runs ---

    def run(self, name: str) -> RunProgress:
        """The progress of a run that starts now; it is handed to the run instead of a ``Progress`` of its own.

        Raises:
            KeyError: no run is called so.
        """
        with self._changing:
            if name not in self._states:
                raise KeyError(f"no run is called {name!r}")
            self._states[name] = "running"
            self._runs[name] = RunProgress(name, self._told)
        if self._display == "plain":
            self._print(Text(f"{one_line(name)}: starting"))
        return self._runs[name]

    def ended(self, name: str, state: QueueStateName, problem: str = "") -> None:
        """A run is over; ``problem`` says why it failed or is not complete.

        Raises:
            KeyError: no run is called so.
            ValueError: that is no way for a run to end.
        """
        if state not in ENDED:
            raise ValueError(f"a run does not end as {state!r}")
        with self._changing:
            if name not in self._states:
                raise KeyError(f"no run is called {name!r}")
            self._states[name] = state
            run = self._runs.get(name)
        words: list[str] = [state]
        if run is not None and run.total:
            percent = f", {100 * run.shown().hits / run.done:.1f} % hits" if run.done else ""
            words.append(f"{run.done:,}/{run.total:,} steps in {clock(run.elapsed_s)}{percent}")
        if problem:
            words.append(one_line(problem))
        line = Text(f"{one_line(name)}: ")
        line.append(words[0], style=_STYLES[state])
        line.append("".join(f"; {each}" for each in words[1:]))
        self._print(line)

    def say(self, text: str) -> None:
        """Put a line, such as a warning, above the block."""
        self._print(Text(one_line(text)))

    # --- what is shown ---

    def shown(self) -> AllShown:
        """Everything as it stands."""
        with self._changing:
            states, runs = dict(self._states), dict(self._runs)
        at_work = [run.shown() for name, run in runs.items() if states[name] == "running"]
        waiting: dict[str, int] = {}
        for name, state in states.items():
            if state == "waiting":
                waiting[self._servers[name]] = waiting.get(self._servers[name], 0) + 1
        ended: dict[QueueStateName, int] = {}
        for state in states.values():
            if state in ENDED:
                ended[state] = ended.get(state, 0) + 1
        sizes = [(runs[name].total if name in runs else 0) or self._steps[name] for name in states]
        rates = [each.rate_per_s for each in at_work if each.rate_per_s is not None]
        return AllShown(
            running=() if self._stopped else tuple(at_work),
            waiting=waiting,
            ended=ended,
            broken_off=len(at_work) if self._stopped else 0,
            runs=len(states),
            done=sum(run.done for run in runs.values()),
            steps=sum(sizes) if all(sizes) else 0,
            elapsed_s=time.monotonic() - self._began,
            rate_per_s=sum(rates) if rates else None,
            spent_usd=self._spent_usd() if self._spent_usd is not None else None,
            limit_usd=self._limit_usd,
            stopped=self._stopped,
        )

    def _block(self) -> RenderableType:
        return Block(self.shown())

    def _told(self, run: RunProgress) -> None:
        """A run has moved. The block is drawn by its own clock; lines come when the last is old enough."""
        if self._display != "plain":
            return
        now = time.monotonic()
        with self._changing:
            at_work = sum(state == "running" for state in self._states.values())
            # Many runs together say no more in a minute than a few.
            every_s = max(LINE_EVERY_S, 2.0 * at_work)
            is_through = run.done == run.total
            if now - self._last_line.get(run.name, self._began) < every_s or is_through:
                return
            self._last_line[run.name] = now
        self._print(Text(f"{one_line(run.name)}: {run.done}/{run.total} steps, {run.elapsed_s:.0f} s: {run.words()}"))

    def _print(self, line: Text) -> None:
        if self._display == "rich":
            self._console.print(line, soft_wrap=True, highlight=False)
        elif self._display == "plain":
            print(line.plain, file=sys.stderr, flush=True)
