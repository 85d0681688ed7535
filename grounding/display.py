"""What a person sees while a run goes on: a bar on a terminal, lines on request, nothing otherwise.

Everything goes to standard error; standard output belongs to results.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

from grounding.options import Display
from grounding.records import Plan, Prediction
from grounding.runner import Done
from grounding.scoring.verdicts import judge
from grounding.steps import StepItem

LINE_EVERY_S = 5.0
_COLOURS = {"hit": "green", "miss": "yellow", "unparsed": "magenta", "error": "red", "missing": "red"}


class OutcomeProgress:
    """Counts outcomes as they come and shows them.

    Args:
        display: How; None for a bar on a terminal and nothing elsewhere.
        colours: Every outcome that there can be, in the order in which they are shown, and its colour.
        always: The outcomes that are shown from the beginning.
        unit: What goes by.
    """

    def __init__(
        self, display: Display | None, colours: Mapping[str, str], always: Collection[str], unit: str = "steps"
    ) -> None:
        self._colours, self._always, self._unit = colours, always, unit
        self._display: Display = display or ("rich" if sys.stderr.isatty() else "none")
        self._console = Console(stderr=True)
        self._outcomes: Counter[str] = Counter()
        self._stored = 0
        self._retries = 0
        self._total = 0
        self._started = 0.0
        self._last_line = 0.0
        self._bar: RichProgress | None = None

    @contextmanager
    def phase(self, words: str) -> Iterator[None]:
        """Say what is being done before the first step."""
        if self._display != "rich":
            yield
            return
        with self._console.status(f"{words} …"):
            yield

    @contextmanager
    def steps(self, total: int) -> Iterator[None]:
        """Show the steps go by."""
        self._total, self._started = total, time.monotonic()
        if self._display == "rich":
            columns = (
                TextColumn(f"[bold]{self._unit}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
                TextColumn("{task.fields[words]}"),
            )
            with RichProgress(*columns, console=self._console) as bar:
                self._bar = bar
                bar.add_task(self._unit, total=total, words="")
                yield
            self._bar = None
            return
        yield
        if self._display == "plain":
            self._line()

    def retried(self) -> None:
        """A request is tried again."""
        self._retries += 1
        self._show(0)

    def kept(self) -> None:
        """An answer was there from before."""
        self._stored += 1

    def count(self, outcome: str) -> None:
        """A step is through."""
        self._outcomes[outcome] += 1
        self._show(1)

    def _show(self, advance: int) -> None:
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], advance=advance, words=self._words(colour=True))
        elif self._display == "plain" and time.monotonic() - self._last_line > LINE_EVERY_S:
            self._line()

    def _words(self, *, colour: bool) -> str:
        def word(name: str) -> str:
            text = f"{name} {self._outcomes[name]}"
            return f"[{self._colours[name]}]{text}[/]" if colour else text

        words = [word(name) for name in self._colours if self._outcomes[name] or name in self._always]
        if self._retries:
            words.append(f"retries {self._retries}")
        if self._stored:
            words.append(f"kept from before {self._stored}")
        return " · ".join(words)

    def _line(self) -> None:
        self._last_line = time.monotonic()
        done = self._outcomes.total()
        elapsed = time.monotonic() - self._started
        words = self._words(colour=False)
        print(f"{done}/{self._total} {self._unit}, {elapsed:.0f} s: {words}", file=sys.stderr, flush=True)


class Progress(OutcomeProgress):
    """The progress of a run over steps that are judged at once."""

    def __init__(self, display: Display | None) -> None:
        super().__init__(display, _COLOURS, ("hit", "miss"))

    def record(self, done: Done) -> None:
        """A record was made or found."""
        if done.stage == "ground" and done.source == "stored":
            self.kept()

    def item(self, item: StepItem, last: Any) -> None:
        """A step is through; ``last`` is its prediction, or the plan it ended at."""
        prediction = last if isinstance(last, Prediction) else None
        self.count(judge(item.step, last if isinstance(last, Plan) else None, prediction).outcome)
