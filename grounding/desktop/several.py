"""Several desktop runs as one command: all checked before the first question, run in turn, compared step by step."""

from __future__ import annotations

import asyncio
import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from grounding.attended import INTERRUPTED
from grounding.budget import Budget
from grounding.desktop.agents import is_builtin
from grounding.desktop.comparison import DesktopComparison, DesktopRow, print_comparison, write_comparison
from grounding.desktop.preparation import PreparedDesktop, prepare_desktop
from grounding.desktop.runfiles import DesktopFolder
from grounding.desktop.running import desktop_progress, evaluate_desktop, paid_calls
from grounding.desktop.scorebook import DesktopScored
from grounding.desktop_records import DesktopDataset
from grounding.errors import UserError
from grounding.loaders import load_desktop
from grounding.options import DesktopScoringName, EvalOptions
from grounding.report.show import EXIT_INTERRUPTED, EXIT_OK, EXIT_PARTIAL
from grounding.scoring.desktop import DESKTOP_RULES, DesktopRule, micro_difference
from grounding.scoring.paired import Difference
from grounding.serving.shelf import ServerShelf

_NOT_NAMED = frozenset({"command", "display", "log_dir", "fresh"})
_DATASETS_KEPT = 2


@dataclass(frozen=True)
class InTurn:
    """Runs in their order: what came of each, why nothing did, and whether the user broke off."""

    scored: tuple[DesktopScored | None, ...]
    problems: tuple[str, ...]
    interrupted: bool


def evaluate_several(
    runs: Sequence[EvalOptions],
    *,
    scoring: DesktopScoringName,
    as_json: bool,
    baseline: str | None,
    published: bool,
    write_to: Callable[[Sequence[str]], Path] | None = None,
) -> int:
    """Run every combination and print one table; the exit code is 0 where all are complete, 1 where not, 130 at Ctrl-C.

    Args:
        runs: The options of each.
        scoring: Which rule the table shows.
        as_json: Print the comparison as JSON instead.
        baseline: The name of the run that the others are compared with; None for the one without a memory where memory
            is what varies, else the first.
        published: Show the paper's table, too.
        write_to: Says where to write the comparison, given the runs' ids; None to write none.

    Raises:
        UserError: something is missing or wrong for one of them; nothing was asked of any model yet.
    """
    varying = tuple(
        name
        for name in EvalOptions.__struct_fields__
        if name not in _NOT_NAMED and len({getattr(run, name) for run in runs}) > 1
    )
    names = [_name(run, varying) for run in runs]
    runs = _fit(runs)
    first = _baseline(runs, names, varying, baseline)
    load = functools.lru_cache(_DATASETS_KEPT)(load_desktop)
    run_ids = _check_all(runs, names, load)
    with ServerShelf() as shelf:
        ran = _in_turn(runs, names, run_ids, load, shelf)
    result = DesktopComparison(
        command=runs[0].command,
        varying=varying,
        baseline=first,
        rows=tuple(
            DesktopRow(
                name=name,
                folder=str(found.folder) if found else "",
                problem=problem,
                summary=found.summary if found else None,
                difference=_difference(found, ran.scored[first]) if number != first else {},
            )
            for number, (name, found, problem) in enumerate(zip(names, ran.scored, ran.problems, strict=True))
        ),
    )
    if write_to is not None:
        write_comparison(write_to(run_ids), result)
    if as_json:
        print(msgspec.json.format(msgspec.json.encode(result), indent=2).decode())
    else:
        print_comparison(result, ran.scored, scoring, published)
    if ran.interrupted:
        print("interrupted; the same command again goes on from here", file=sys.stderr)
        return EXIT_INTERRUPTED
    complete = all(found is not None and found.summary.status == "complete" for found in ran.scored)
    return EXIT_OK if complete else EXIT_PARTIAL


def _in_turn(
    runs: Sequence[EvalOptions],
    names: Sequence[str],
    run_ids: Sequence[str],
    load: Callable[..., DesktopDataset],
    shelf: ServerShelf,
) -> InTurn:
    """Run one after the other; servers that the next run needs too stay up."""
    scored: list[DesktopScored | None] = []
    problems = [""] * len(runs)
    interrupted = False
    for number, options in enumerate(runs):
        if interrupted:
            scored.append(None)
            problems[number] = INTERRUPTED
            continue
        if options.display in ("plain", "rich") or (options.display is None and sys.stderr.isatty()):
            print(f"[{number + 1}/{len(runs)}] {names[number]}", file=sys.stderr, flush=True)
        # What is going to be set aside is not paid under this limit.
        others = [run_id for at, run_id in enumerate(run_ids) if at < number or (at > number and not options.fresh)]
        elsewhere = [call for run_id in others for call in paid_calls(DesktopFolder(options.log_dir / run_id))]
        try:
            scored.append(evaluate_desktop(options, load=load, elsewhere=elsewhere, shelf=shelf))
        except UserError as error:
            print(f"grounding: {names[number]}: {error}", file=sys.stderr, flush=True)
            scored.append(None)
            problems[number] = str(error)
            continue
        interrupted = scored[-1] is not None and scored[-1].info.stopped == INTERRUPTED
    return InTurn(scored=tuple(scored), problems=tuple(problems), interrupted=interrupted)


def _fit(runs: Sequence[EvalOptions]) -> tuple[EvalOptions, ...]:
    """Each run without what is meant for another of them: address, style and tries for an agent without a model."""
    if len({run.grounder for run in runs}) < 2:
        return tuple(runs)
    usual = EvalOptions()
    return tuple(
        msgspec.structs.replace(run, base_url=(), style=usual.style, attempts=usual.attempts)
        if is_builtin(run.grounder)
        else run
        for run in runs
    )


def _name(options: EvalOptions, varying: Sequence[str]) -> str:
    values = [getattr(options, name) for name in varying]
    shown = [value.stem if isinstance(value, Path) else value for value in values]
    return " ".join("none" if value is None else f"{value}" for value in shown)


def _baseline(runs: Sequence[EvalOptions], names: Sequence[str], varying: Sequence[str], wanted: str | None) -> int:
    if wanted is not None:
        if wanted not in names:
            raise UserError(f"--baseline {wanted}: no run is called so; the runs are {', '.join(names)}")
        return names.index(wanted)
    without = [number for number, run in enumerate(runs) if run.memory == "none"]
    return without[0] if "memory" in varying and without else 0


def _check_all(runs: Sequence[EvalOptions], names: Sequence[str], load: Callable[..., object]) -> tuple[str, ...]:
    """Prepare every run once, so that nothing is asked before all of them are known to be possible; their ids."""
    found: dict[str, str] = {}
    for options, name in zip(runs, names, strict=True):
        try:
            prepared = prepare_desktop(options, Budget(None), desktop_progress("none"), load=load)  # type: ignore[arg-type]
            asyncio.run(_check(prepared, options))
        except UserError as error:
            raise UserError(f"{name}: {error} (nothing was asked yet)") from error
        other = found.setdefault(prepared.info.run_id, name)
        if other != name:
            raise UserError(f"{other} and {name}: that is the same run twice; leave one out")
    return tuple(found)


async def _check(prepared: PreparedDesktop, options: EvalOptions) -> None:
    """Ask the server of a run that is to come whether it can be asked, unless everything is answered already."""
    agent = prepared.agent
    try:
        if agent.base_url and prepared.servers is None and prepared.beside is None:
            folder = DesktopFolder(options.log_dir / prepared.info.run_id)
            answered = 0
            if (folder.path / "predictions.jsonl").exists() and not options.fresh:
                journal = folder.predictions(read_only=True)
                answered = journal.settled_count
                journal.close()
            if answered < prepared.selection.step_count:
                await agent.agent.check()
    finally:
        await agent.agent.aclose()


def _difference(run: DesktopScored | None, baseline: DesktopScored | None) -> dict[DesktopRule, Difference]:
    if run is None or baseline is None:
        return {}
    try:
        return {
            rule: micro_difference(run.judged, baseline.judged, rule, seed=baseline.info.asked.seed)
            for rule in DESKTOP_RULES
        }
    except ValueError:
        return {}  # Over other steps: the runs are a series of data sets, not of agents.
