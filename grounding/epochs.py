"""``grounding eval --epochs N``: the same run N times, each in its own folder, and how far the results lie apart.

The first epoch is the run as it is without the option, so one that is there already is not asked again. Each later
epoch has a seed of its own and its number in every key, so no answer of another epoch is taken for one of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grounding.board import board_folder
from grounding.errors import UserError
from grounding.manyruns import plan_runs, run_all
from grounding.matrix import exit_code
from grounding.options import EvalOptions
from grounding.planned import PlannedRun, RunOutcome, title
from grounding.records import Record
from grounding.report.matrix import WIDE
from grounding.report.show import wide_console
from grounding.scorebook import scored_tasks
from grounding.scoring import registered
from grounding.scoring.spread import Repeats, Spread, spread


class Repeated(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One pair's epochs: their folders in order, and the spread over those that are complete; None without one."""

    name: str
    folders: tuple[str, ...]
    problems: tuple[str, ...]
    spread: Spread | None


def expand(runs: Sequence[EvalOptions], epochs: int) -> tuple[EvalOptions, ...]:
    """Each run once per epoch, epochs of one run side by side.

    Raises:
        UserError: there is not at least one epoch.
    """
    if epochs < 1:
        raise UserError(f"--epochs {epochs}: expected 1 or more")
    return tuple(_epoch(options, number) for options in runs for number in range(1, epochs + 1))


def _epoch(options: EvalOptions, number: int) -> EvalOptions:
    if number == 1:
        return options
    return msgspec.structs.replace(options, epoch=number, seed=(options.seed or 0) + number - 1)


def evaluate_epochs(runs: Sequence[EvalOptions], epochs: int, *, as_json: bool) -> int:
    """Run every pair as often as asked and print the spread; the exit code is as for several runs.

    Raises:
        UserError: something is missing or wrong for one of the runs; nothing was asked of any model yet.
    """
    planned = plan_runs(expand(runs, epochs))
    ran = run_all(planned, board_folder("epochs", planned))
    outcomes = ran.outcomes
    pairs = [outcomes[start : start + epochs] for start in range(0, len(outcomes), epochs)]
    repeated = tuple(_repeated(pair) for pair in pairs)
    if as_json:
        print(msgspec.json.format(msgspec.json.encode(repeated), indent=2).decode())
    else:
        console = wide_console(WIDE)
        for each, pair in zip(repeated, pairs, strict=True):
            _print(console, each, pair[0].run)
    return exit_code(ran, outcomes)


def _repeated(outcomes: Sequence[RunOutcome]) -> Repeated:
    complete = [outcome.scored for outcome in outcomes if outcome.scored is not None and outcome.is_complete]
    problems = [
        f"epoch {number}: {outcome.problem or 'partial: left out of the spread'}"
        for number, outcome in enumerate(outcomes, start=1)
        if not outcome.is_complete
    ]
    return Repeated(
        name=title(outcomes[0].run),
        folders=tuple(str(outcome.run.options.log_dir / outcome.run.run_id) for outcome in outcomes),
        problems=tuple(problems),
        spread=spread(registered(), [scored_tasks(scored) for scored in complete]) if complete else None,
    )


def _print(console: Console, repeated: Repeated, run: PlannedRun) -> None:
    found = repeated.spread
    if found is not None:
        heading = f"{run.options.dataset} · {repeated.name} · {found.epochs} epochs"
        table = Table(title=Text(heading), title_style="bold", title_justify="left")
        table.add_column("metric", overflow="fold")
        for name in ("mean", "sd", "lowest", "highest"):
            table.add_column(name, justify="right", overflow="fold")
        for each in found.metrics:
            sd = "-" if each.sd is None else f"{each.sd:.2f}"
            numbers = (f"{each.mean:.1f}", sd, f"{each.lowest:.1f}", f"{each.highest:.1f}")
            table.add_row(each.metric.replace("_", " "), *numbers)
        console.print(table)
        for what, counts in (("steps", found.steps), ("tasks", found.tasks)):
            console.print(Text(_right(what, counts)), soft_wrap=True, highlight=False)
        if (
            found.epochs > 1
            and all(each.sd == 0 for each in found.metrics)
            and found.steps.in_all == found.steps.in_any
        ):
            text = "spread     none: every epoch hit the same steps"
            console.print(Text(text), soft_wrap=True, highlight=False)
    for problem in repeated.problems:
        console.print(Text(f"warning    {problem}", style="yellow"), soft_wrap=True, highlight=False)
    for number, folder in enumerate(repeated.folders, start=1):
        console.print(Text(f"run folder {folder}  (epoch {number})"), soft_wrap=True, highlight=False)


def _right(what: str, counts: Repeats) -> str:
    def share(k: int) -> str:
        return f"{k}/{counts.n} ({100 * k / counts.n:.1f} %)" if counts.n else "0/0"

    return f"{what:<10} right in all epochs {share(counts.in_all)} · in any {share(counts.in_any)}"
