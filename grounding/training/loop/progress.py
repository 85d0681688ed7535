"""What a person sees while a stage trains: a bar with loss and reward, lines on request, nothing otherwise.

Everything goes to standard error; standard output belongs to results.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from grounding.display import LINE_EVERY_S
from grounding.options import Display
from grounding.training.records import MetricsLine, SampleLine

SAMPLE_EVERY_S = 30.0
_SAMPLE_LENGTH = 160


class StageProgress:
    """Shows the steps of one stage go by.

    Args:
        display: How; None for a bar on a terminal and nothing elsewhere.
        stage: What the stage is called.
    """

    def __init__(self, display: Display | None, stage: str) -> None:
        self._display: Display = display or ("rich" if sys.stderr.isatty() else "none")
        self._stage = stage
        self._console = Console(stderr=True)
        self._bar: Progress | None = None
        self._last_line = self._last_sample = float("-inf")
        self._first: tuple[int, float] | None = None
        self._train = MetricsLine(step=0, epoch=0.0)
        self._held_out: MetricsLine | None = None

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show what comes inside the block."""
        if self._display != "rich":
            yield
            return
        columns = (
            TextColumn("[bold]{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[words]}"),
        )
        with Progress(*columns, console=self._console) as bar:
            bar.add_task(self._stage, total=None, words="")
            self._bar = bar
            yield
        self._bar = None

    def metrics(self, line: MetricsLine, steps: int) -> None:
        """A line of figures came, at one of so many steps."""
        if line.kind == "held_out":
            self._held_out = line
        else:
            # A reward is only there at steps that drew completions: the last one stands until the next.
            self._train = msgspec.structs.replace(
                line, reward=self._train.reward if line.reward is None else line.reward
            )
        words = figures(self._train)
        if self._held_out is not None:
            words = f"{words} · held out: {figures(self._held_out)}".removeprefix(" · ")
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=line.step, total=steps, words=escape(words))
        elif self._display == "plain":
            now = time.monotonic()
            self._first = self._first or (line.step, now)
            if now - self._last_line >= LINE_EVERY_S or line.step >= steps:
                self._last_line = now
                print(f"{self._stage} {line.step}/{steps}{self._left(line, steps, now)}: {words}", file=sys.stderr)

    def sample(self, line: SampleLine) -> None:
        """A generation came; one is shown now and then."""
        now = time.monotonic()
        if self._display == "none" or now - self._last_sample < SAMPLE_EVERY_S:
            return
        self._last_sample = now
        text = f"{self._stage} {line.step}, {printable(line.example, 60)}: {printable(line.text, _SAMPLE_LENGTH)}"
        if line.reward is not None:
            text += f" (reward {line.reward:.3g})"
        if self._bar is not None:
            self._bar.console.print(text, style="dim", markup=False, highlight=False)
        else:
            print(text, file=sys.stderr)

    def tell(self, words: str) -> None:
        """Say something to whoever watches."""
        if self._display != "none":
            self.say(words)

    def say(self, words: str) -> None:
        """Say something that matters whatever the display is."""
        (self._bar.console if self._bar is not None else self._console).print(words, markup=False, highlight=False)

    def _left(self, line: MetricsLine, steps: int, now: float) -> str:
        first_step, first_at = self._first or (line.step, now)
        done = line.step - first_step
        if done <= 0 or line.step >= steps:
            return ""
        return f", {(now - first_at) / done * (steps - line.step):.0f} s left"


def figures(line: MetricsLine) -> str:
    """The figures of a line that a person wants to see, in words."""
    shown = {
        "loss": line.loss,
        "reward": line.reward,
        "KL": line.kl,
        "clipped": line.clipped_fraction,
        "preferences right": line.preference_accuracy,
    }
    return " · ".join(f"{name} {value:.3g}" for name, value in shown.items() if value is not None)


def printable(text: str, length: int) -> str:
    """What a model wrote as one line without control characters, at most so long."""
    plain = "".join(character if character.isprintable() else " " for character in text)
    plain = " ".join(plain.split())
    return plain if len(plain) <= length else plain[: length - 1] + "…"
