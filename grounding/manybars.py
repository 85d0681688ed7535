"""Several runs as a block of text for a terminal: a bar for each run at work, the rest in a few lines. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from grounding.money import dollars
from grounding.records import Record
from grounding.runqueue import QueueStateName

_WIDE_COLUMNS = 110
_NARROW_COLUMNS = 72
_COLOURS: dict[QueueStateName, str] = {"complete": "green", "partial": "yellow", "failed": "red"}
_DAY_S = 86_400


class RunShown(Record, frozen=True, kw_only=True):
    """A run at work. ``doing`` is what it does before its first step, "" from then on.

    ``rate_per_s`` leaves out answers that were there from before; None where none has come yet.
    """

    name: str
    doing: str = ""
    done: int = 0
    total: int = 0
    hits: int = 0
    errors: int = 0
    rate_per_s: float | None = None


class AllShown(Record, frozen=True, kw_only=True):
    """All runs at one moment.

    ``waiting`` counts the runs that wait, by their server ("" for none); ``ended`` the others by how they ended, and
    ``broken_off`` those that were at work when everything stopped. ``steps`` is 0 where it isn't known of every run.
    """

    running: tuple[RunShown, ...]
    waiting: Mapping[str, int]
    ended: Mapping[QueueStateName, int]
    broken_off: int = 0
    runs: int
    done: int
    steps: int
    elapsed_s: float
    rate_per_s: float | None = None
    spent_usd: float | None = None
    limit_usd: float | None = None
    stopped: bool = False


def one_line(text: str, most: int = 2_000) -> str:
    r"""A text without line ends and without anything that moves a terminal's cursor, and with a bound.

    >>> one_line("two\nlines \x1b[2J")
    'two lines [2J'
    """
    plain = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return plain if len(plain) <= most else f"{plain[: most - 1]}…"


def clock(seconds: float) -> str:
    """A time as hours, minutes and seconds, from a day on as days and hours.

    >>> clock(75), clock(3_661), clock(200_000)
    ('0:01:15', '1:01:01', '2 d 7 h')
    """
    whole = round(seconds)
    if whole >= _DAY_S:
        return f"{whole // _DAY_S} d {whole % _DAY_S // 3600} h"
    return f"{whole // 3600}:{whole % 3600 // 60:02}:{whole % 60:02}"


def rate(per_s: float | None) -> str:
    """Steps a second with as many places as tell them from nothing.

    >>> rate(1234.5), rate(12.34), rate(0.25), rate(None)
    ('1,234/s', '12.3/s', '0.25/s', '')
    """
    if per_s is None:
        return ""
    return f"{per_s:,.0f}/s" if per_s >= 100 else f"{per_s:.1f}/s" if per_s >= 1 else f"{per_s:.2f}/s"


def ended_words(ended: Mapping[QueueStateName, int]) -> str:
    """How many runs ended how.

    >>> ended_words({"complete": 5, "failed": 1})
    '5 complete · 1 failed'
    """
    return " · ".join(f"{ended[name]} {name}" for name in _COLOURS if ended.get(name))


def total_words(shown: AllShown) -> str:
    """The steps of all runs, how fast they go by, when they are through, and what they cost."""
    words = [f"{shown.done:,}/{shown.steps:,} steps" if shown.steps else f"{shown.done:,} steps"]
    left = left_s(shown.done, shown.steps, shown.rate_per_s)
    if shown.stopped:
        words.append(f"in {clock(shown.elapsed_s)}")
    else:
        words.append(rate(shown.rate_per_s))
        words.append(f"about {clock(left)} left" if left is not None else "")
    if shown.spent_usd is not None:
        of = f" of {dollars(shown.limit_usd)}" if shown.limit_usd is not None else ""
        words.append(f"{dollars(shown.spent_usd)}{of} spent")
    return " · ".join(filter(None, words))


def left_s(done: int, total: int, per_s: float | None) -> float | None:
    """Seconds that the rest takes at this rate; None where nobody can say."""
    return (total - done) / per_s if per_s and total > done else None


class Block:
    """The block, cut to the terminal that it is shown on: never higher or wider than that.

    Args:
        shown: What to show.
    """

    def __init__(self, shown: AllShown) -> None:
        self._shown = shown

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        below = [_cut(line) for line in self._lines()]
        # One line less than there are, for the cursor below the block.
        room = (console.height if console.height > 0 else 25) - 1
        below = below[-max(1, room) :]
        running = [run for run in self._shown.running if not run.doing]
        starting = [run for run in self._shown.running if run.doing]
        room -= len(below) + 1
        bars, starting_shown = running[: max(0, room)], starting[: max(0, room - len(running))]
        hidden = len(running) + len(starting) - len(bars) - len(starting_shown)
        if hidden and room > 0:
            # The line that says how many are left out takes a place, too.
            bars, starting_shown = running[: room - 1], starting[: max(0, room - 1 - len(running))]
            hidden = len(running) + len(starting) - len(bars) - len(starting_shown)
        if bars:
            yield _table(bars, options.max_width)
        for run in starting_shown:
            yield _cut(Text.assemble((one_line(run.name), "default"), (f"  {one_line(run.doing)} …", "dim")))
        if hidden and room > 0:
            yield _cut(Text(f"… and {hidden} more at work", style="dim"))
        yield from below

    def _lines(self) -> list[Text]:
        shown, lines = self._shown, []
        if shown.waiting:
            lines.append(Text.assemble(("waiting  ", "dim"), _waiting_words(shown.waiting)))
        over = Text("ended    ", style="dim")
        parts = [
            Text(f"{shown.ended[name]} {name}", style=_COLOURS[name]) for name in _COLOURS if shown.ended.get(name)
        ]
        if shown.broken_off:
            parts.append(Text(f"{shown.broken_off} broken off", style="yellow"))
        if parts:
            over.append_text(Text(" · ").join(parts))
            if not shown.stopped:
                over.append(f" of {shown.runs} runs", style="dim")
            lines.append(over)
        lines.append(Text.assemble(("all      ", "dim"), total_words(shown)))
        return lines


def _waiting_words(waiting: Mapping[str, int]) -> str:
    total = sum(waiting.values())
    named = [f"{count} for {one_line(server)}" for server, count in waiting.items() if server]
    return f"{total}{': ' if named else ''}{', '.join(named)}" + (
        f", {waiting['']} others" if named and waiting.get("") else ""
    )


def _table(runs: list[RunShown], width: int) -> Table:
    narrow, wide = width < _NARROW_COLUMNS, width >= _WIDE_COLUMNS
    any_error = any(run.errors for run in runs)
    table = Table(box=None, expand=True, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    table.add_column("run", ratio=1, no_wrap=True, overflow="ellipsis")
    if not narrow:
        table.add_column("", width=30 if wide else 10, no_wrap=True)
    for name in ("steps", "hits", *(("errors",) if any_error else ()), "rate", "left"):
        table.add_column(name, justify="right", no_wrap=True)
    for run in runs:
        left = left_s(run.done, run.total, run.rate_per_s)
        cells: list[_Name | Text | ProgressBar] = [_Name(run.name)]
        if not narrow:
            cells.append(ProgressBar(total=max(1, run.total), completed=run.done))
        cells += [
            Text(f"{run.done:,}/{run.total:,}"),
            Text(f"{100 * run.hits / run.done:.1f} %" if run.done else "-", style="green"),
        ]
        if any_error:
            cells.append(Text(f"{run.errors:,}" if run.errors else "", style="red"))
        cells += [Text(rate(run.rate_per_s)), Text("" if left is None else clock(left))]
        table.add_row(*cells)
    return table


class _Name:
    """A name that is cut in its middle: runs of one command often differ at its end."""

    def __init__(self, name: str) -> None:
        self._name = one_line(name)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(middle_cut(self._name, options.max_width), no_wrap=True, overflow="ellipsis")

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(min(8, options.max_width), min(cell_len(self._name), options.max_width))


def middle_cut(text: str, most: int) -> str:
    """A text of at most so many characters, with its beginning and its end.

    >>> middle_cut("qwen3-vl-8b + ui-tars-1.5-7b", 20)
    'qwen3-vl-8b …-1.5-7b'
    """
    if cell_len(text) <= most or most < 8:
        return text
    end = (most - 1) * 2 // 5
    return f"{text[: most - 1 - end]}…{text[-end:]}"


def _cut(line: Text) -> Text:
    line.no_wrap, line.overflow = True, "ellipsis"
    return line
