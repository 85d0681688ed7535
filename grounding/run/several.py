"""``grounding eval``, ``score`` and repeats over any benchmark: one run or several in turn, printed as one result."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import re
import shlex
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grounding.console import EXIT_INTERRUPTED, EXIT_OK, EXIT_PARTIAL, EXIT_WRONG, folded, print_json, say, wide_console
from grounding.data.speech import TRUTH, parse_condition
from grounding.errors import UserError
from grounding.llm.budget import Budget
from grounding.options import EvalOptions, options_from
from grounding.run.benchmark import AnyBenchmark, Result, Row, Shared
from grounding.run.display import ManyProgress, QueuedRun, QueueState, QueueStateName, names_apart, write_queue
from grounding.run.folder import utc_now
from grounding.run.lock import LockedFolder
from grounding.run.runner import INTERRUPTED
from grounding.run.session import check_endpoints, evaluate, rescore


def evaluate_command(
    benchmark: AnyBenchmark,
    given: Mapping[str, Any],
    usual: Mapping[str, Any],
    *,
    command: str,
    write_page: Callable[[Path, Sequence[Path]], Path | None],
    axes: Sequence[str] = (),
    swept: Sequence[str] = (),
) -> int:
    """Run what the arguments of ``grounding eval`` ask for and print it.

    ``usual`` is what each argument is where nobody gives it. ``axes`` are options with a value for each run, by default
    the benchmark's own; ``swept`` those of ``grounding sweep``, which table and files are then about. ``write_page``
    writes the page over several runs into the command's folder; it takes their folders, the baseline's first.

    Returns:
        The exit code: 0 where every run is complete, 1 where not, 2 where nothing was measured, 130 at Ctrl-C.
    """
    dataset = given["dataset"] if isinstance(given["dataset"], str) else " ".join(given["dataset"])
    benchmark.takes.check(given, usual, dataset)
    axes = axes or benchmark.axes
    runs = benchmark.runs(given, axes, command)
    epochs, baseline, as_json = given["epochs"], given["baseline"], given["json"]
    if epochs < 1:
        raise UserError(f"--epochs {epochs}: expected 1 or more")
    if epochs > 1 and baseline is not None:
        raise UserError("--baseline compares runs and --epochs repeats them: compare the folders afterwards")
    repeated = tuple(benchmark.epoch(options, number) for options in runs for number in range(epochs))
    if swept and len(repeated) < 2:
        raise UserError("nothing is swept: these combinations are all the same run")
    if given["dry_run"]:
        from grounding.run.dry import dry_run_command

        return dry_run_command(benchmark, repeated, as_json=as_json)
    if len(repeated) == 1 and baseline is not None:
        raise UserError("--baseline compares runs, and this is one: give an option such as --memory more values")
    chosen = None if given["scoring"] == usual["scoring"] else given["scoring"]
    kind = "sweep" if swept else "epochs" if epochs > 1 else "matrix"
    result = _run_all(benchmark, repeated, swept or _varying(repeated, axes), baseline, kind)
    if swept:
        result = replace(result, written=_write(benchmark, result))
    if result.folder is not None and not given["no_report"]:
        base = result.rows[result.baseline].scored
        compared = [] if base is None else [base, *(one for one in result.scored if one is not base)]
        result = replace(result, page=write_page(result.folder, [one.folder for one in compared]))
    console = wide_console(benchmark.wide)
    if epochs > 1:
        varying = _varying(runs, axes)
        names = [" · ".join(filter(None, (dataset, benchmark.name_of(run, varying)))) for run in runs]
        _print_repeats(console, benchmark, result, names, chosen, as_json=as_json)
    else:
        _show(console, benchmark, result, chosen, as_json=as_json, published=given["published"])
    return _end(console, benchmark, result, as_json=as_json)


def score_command(
    benchmark: AnyBenchmark, run: Path, given: Mapping[str, Any], *, as_json: bool, published: bool
) -> int:
    """Score a run again and print it, as ``grounding score`` does. ``given`` has None for options that nobody gave."""
    shown = {**given, "published": published or None}
    names = {*benchmark.again, "scoring"} | ({"published"} & benchmark.takes.names)
    benchmark.takes.only(*names).check(shown, dict.fromkeys(shown), str(run))
    chosen = {parameter: given[name] for name, parameter in benchmark.again.items() if given[name] is not None}
    result = Result((Row("", None, rescore(benchmark, run, **chosen)),))
    console = wide_console(benchmark.wide)
    _show(console, benchmark, result, given["scoring"], as_json=as_json, published=published)
    return _end(console, benchmark, result, as_json=as_json, now=False)


def exit_code(benchmark: AnyBenchmark, result: Result[Any], *, now: bool = True) -> int:
    """What runs amount to, and what the user is told of it; ``now``: they were run now and not only scored again."""
    if now and any(_broken_off(row) for row in result.rows):
        print("interrupted; the same command again goes on from here", file=sys.stderr)
        return EXIT_INTERRUPTED
    void = benchmark.void(result.scored[0]) if len(result.rows) == 1 else ""
    if void:
        print(f"grounding: {void}", file=sys.stderr)
        return EXIT_WRONG
    return EXIT_OK if all(_is_complete(benchmark, row) for row in result.rows) else EXIT_PARTIAL


def _is_complete(benchmark: AnyBenchmark, row: Row[Any]) -> bool:
    """Whether every item was answered, or recorded answers were looked up for every item and some were there."""
    return row.scored is not None and row.scored.summary.status == "complete" and not benchmark.void(row.scored)


def _show(
    console: Console,
    benchmark: AnyBenchmark,
    result: Result[Any],
    scoring: str | None,
    *,
    as_json: bool,
    published: bool,
) -> None:
    for one in result.scored:
        if one.set_aside is not None:
            print(f"the earlier run was set aside as {one.set_aside}", file=sys.stderr)
    if as_json:
        print_json(benchmark.as_json(result))
    elif result.scored or len(result.rows) > 1:
        benchmark.show(console, result, scoring, published=published)


def _end(console: Console, benchmark: AnyBenchmark, result: Result[Any], *, as_json: bool, now: bool = True) -> int:
    if result.page is not None and not as_json:
        say(console, f"report     {result.page}")
    if console.is_terminal and not as_json:
        for number, line in enumerate(next_lines(result)):
            named = f"{'' if number else 'next':<11}{line}"
            print(folded(named, console.width, indent=15) if line.startswith("grounding ") else named)
    return exit_code(benchmark, result, now=now)


def _run_all(
    benchmark: AnyBenchmark, runs: Sequence[Any], varying: Sequence[str], wanted: str | None, kind: str
) -> Result[Any]:
    if len(runs) == 1:
        return Result((Row("", runs[0], evaluate(benchmark, runs[0])),), runs[0].command)
    shared = Shared(alone=False)
    with closing(shared.servers):
        planned = _plan(benchmark, runs, varying, shared, swept=kind == "sweep")
        first = _baseline(benchmark, planned, varying, wanted)
        # The same for the same runs in whatever order.
        ids = hashlib.sha256(msgspec.json.encode(sorted(each.run_id for each in planned))).hexdigest()[:10]
        folder = runs[0].log_dir / f"{kind}_{ids}"
        rows = _in_turn(benchmark, planned, folder, shared)
    return Result(rows, runs[0].command, tuple(varying), first, folder, swept=kind == "sweep")


def _baseline(benchmark: AnyBenchmark, planned: Sequence[Planned], varying: Sequence[str], wanted: str | None) -> int:
    """Which run is called so, whatever stands between the parts of its name; the benchmark's own choice for None."""

    def bare(name: str) -> list[str]:
        return name.replace(",", " ").replace("+", " ").split()

    if wanted is None:
        return benchmark.baseline([each.options for each in planned], varying)
    found = [number for number, each in enumerate(planned) if bare(each.name) == bare(wanted)]
    if not found:
        names = ", ".join(each.name for each in planned)
        raise UserError(f"--baseline {wanted}: no run is called so; the runs are {names}")
    return found[0]


def _varying(runs: Sequence[Any], axes: Sequence[str]) -> tuple[str, ...]:
    fields = (name for name in runs[0].__struct_fields__ if name in axes or name == "seed")
    return tuple(name for name in fields if len({getattr(run, name) for run in runs}) > 1)


@dataclass(frozen=True)
class Planned:
    name: str
    options: Any
    run_id: str
    items: int
    about: Mapping[str, str]

    @property
    def folder(self) -> Path:
        folder: Path = self.options.log_dir / self.run_id
        return folder


def _plan(
    benchmark: AnyBenchmark, runs: Sequence[Any], varying: Sequence[str], shared: Shared, *, swept: bool
) -> tuple[Planned, ...]:
    """Prepare every run once, so that nothing is asked before all of them are known to be possible."""
    prepared = []
    for options in runs:
        with _named(benchmark.name_of(options, varying)):
            # The limit is for all together: whether it can be kept is asked of all together.
            asked: Any = msgspec.structs.replace(options, cost_limit=None) if benchmark.limits_together else options
            prepared.append(benchmark.prepare(asked, Budget(None), benchmark.progress("none"), shared))
    planned: dict[str, Planned] = {}
    for options, one in zip(benchmark.together(list(zip(runs, prepared, strict=True))), prepared, strict=True):
        name, run_id = benchmark.title(one, options, varying, swept=swept), one.info.run_id
        other = planned.get(run_id)
        if other is not None and other.options == options:
            continue
        if other is not None:
            given = ", ".join(f"--{field.replace('_', '-')}" for field in varying)
            raise UserError(f"{other.name} and {name} ({given}): that is the same run twice; leave one out")
        with _named(name):
            items = asyncio.run(check_endpoints(benchmark, one))
        planned[run_id] = Planned(name, options, run_id, items, benchmark.queued(one))
    return tuple(planned.values())


@contextmanager
def _named(name: str) -> Iterator[None]:
    try:
        yield
    except UserError as error:
        raise UserError(f"{name}: {error} (nothing was asked yet)") from error


def _in_turn(benchmark: AnyBenchmark, planned: Sequence[Planned], folder: Path, shared: Shared) -> tuple[Row[Any], ...]:
    """Run one after the other; one that can't go on leaves its reason, and the others are run. The cost limit is for
    all together. Servers stay until no run needs them any more.
    """
    rows: list[Row[Any]] = []
    first = planned[0].options
    runs = tuple(
        msgspec.structs.replace(
            QueuedRun(name=run.name, run_id=run.run_id, folder=str(run.folder), steps=run.items), **run.about
        )
        for run in planned
    )
    queue = QueueState(command=first.command, started_at=utc_now(), cost_limit_usd=first.cost_limit, runs=runs)

    def change(run: Planned, **changes: str) -> None:
        nonlocal queue
        queue = queue.with_run(run.run_id, **changes)
        write_queue(folder, queue)

    # Locked as long as the command lives, so that others can tell whether it does.
    with (
        LockedFolder(folder, what="the folder of these runs").held(),
        closing(ManyProgress(first.display, queue)) as shown,
    ):
        write_queue(folder, queue)
        names = names_apart([run.name for run in planned], [run.run_id.rpartition("_")[2] for run in planned])
        for number, (run, called) in enumerate(zip(planned, names, strict=True)):
            if rows and _broken_off(rows[-1]):
                rows.append(Row(run.name, run.options, None, INTERRUPTED))
                continue
            change(run, state="starting", started_at=utc_now())
            progress = benchmark.progress(run.options.display)
            shown.begins(called, progress)
            # What is going to be set aside is not paid under this limit.
            others = (*planned[:number], *(other for other in planned[number + 1 :] if not other.options.fresh))
            scored, problem = None, ""
            try:
                scored = evaluate(
                    benchmark,
                    run.options,
                    shared,
                    progress=progress,
                    elsewhere=itertools.chain.from_iterable(benchmark.paid(other.folder) for other in others),
                    begun=partial(change, run, state="running"),
                )
            except UserError as error:
                print(f"grounding: {run.name}: {error}", file=sys.stderr, flush=True)
                problem = str(error)
            except KeyboardInterrupt:
                problem = INTERRUPTED
            rows.append(Row(run.name, run.options, scored, problem))
            state: QueueStateName = "failed" if scored is None else scored.summary.status
            if problem == INTERRUPTED:
                state = "partial"
            why = problem if scored is None else scored.info.stopped
            change(run, state=state, problem=why, ended_at=utc_now())
            shown.ended(called, state, "" if scored is None else why)
    return tuple(rows)


def _broken_off(row: Row[Any]) -> bool:
    return row.problem == INTERRUPTED or (row.scored is not None and row.scored.info.stopped == INTERRUPTED)


def _write(benchmark: AnyBenchmark, result: Result[Any]) -> Any:
    try:
        return benchmark.write(result)
    except OSError as error:
        raise UserError(
            f"{result.folder}: can't be written: {error.strerror}. The runs themselves are kept."
        ) from error


def _print_repeats(
    console: Console,
    benchmark: AnyBenchmark,
    result: Result[Any],
    names: Sequence[str],
    scoring: str | None,
    *,
    as_json: bool,
) -> None:
    printed, epochs = [], len(result.rows) // len(names)
    for start, named in zip(range(0, len(result.rows), epochs), names, strict=True):
        rows = result.rows[start : start + epochs]
        complete = [row.scored for row in rows if row.scored is not None and _is_complete(benchmark, row)]
        found = [benchmark.figures(one, scoring) for one in complete]
        spread = {
            name: _spread([value for one in found if (value := one[name]) is not None])
            for name in (found[0] if found else ())
        }
        folders = [str(row.scored.folder) if row.scored is not None else "" for row in rows]
        problems = [
            f"epoch {number}: {row.problem or 'partial: left out of the spread'}"
            for number, row in enumerate(rows, start=1)
            if row.scored not in complete
        ]
        more = benchmark.repeats(complete)
        printed.append({"name": named, "folders": folders, "problems": problems, "spread": spread, **more})
        if as_json:
            continue
        table = Table(title=Text(f"{named} · {len(complete)} epochs"), title_style="bold", title_justify="left")
        table.add_column("metric", overflow="fold")
        for head in ("mean", "sd", "lowest", "highest"):
            table.add_column(head, justify="right")
        for name, figures in spread.items():
            table.add_row(Text(name), *("-" if value is None else f"{value:.2f}" for value in figures.values()))
        console.print(table)
        for head, line in more.items():
            say(console, f"{head:<10} {line}")
        for line in problems:
            say(console, f"warning    {line}", "yellow")
        for number, folder in enumerate(folders, start=1):
            say(console, f"run folder {folder}  (epoch {number})")
    if as_json:
        print_json(printed)


def _spread(values: Sequence[float]) -> dict[str, float | None]:
    if not values:
        return dict.fromkeys(("mean", "sd", "lowest", "highest"))
    sd = statistics.stdev(values) if len(values) > 1 else None
    return {"mean": statistics.fmean(values), "sd": sd, "lowest": min(values), "highest": max(values)}


# --- what a user can do next ----------------------------------------------------------------------------------------


def next_lines(result: Result[Any]) -> list[str]:
    """Commands that show and compare what was run, and whether the same one goes on: a line or two, none for no run."""
    if not result.scored:
        return []
    folder = str(result.folder or result.scored[0].folder)
    lines = [shlex.join(["grounding", "view", folder])]
    if len(result.scored) > 1 and result.folder is not None:
        lines.append(shlex.join(["grounding", "compare", folder, "--flips"]))
    # "interrupted" says by itself that the same command goes on.
    reasons = {row.problem if row.scored is None else row.scored.info.stopped for row in result.rows}
    if INTERRUPTED in reasons or all(one.summary.status == "complete" for one in result.scored):
        return lines
    if any("cost limit" in reason for reason in reasons):
        return [*lines, "the same command with a higher --cost-limit goes on, and asks nothing twice"]
    return [*lines, "the same command again asks only for what has no answer yet"]


_NAMED = re.compile(r"(?P<name>.+?)=(?P<url>https?://.*)")
PLANNERS, GROUNDERS = "--planner", "--grounder"


def combine(given: Mapping[str, Any], axes: Sequence[str], *, command: str) -> tuple[EvalOptions, ...]:
    """One run for every combination of the values of the ``axes``; the last axis changes fastest. Several planners
    share one ``--plans`` and several grounders one ``--predictions``: those files belong to the ``replay`` among them.
    An address ``NAME=URL`` belongs to the planner or grounder of that name. ``given`` has a sequence of values for each
    of the ``axes``; an empty one stands for the option's default.
    """
    given = {"planner": "none", "grounder": None, "zoom": ("none",), **given}
    values = {axis: tuple(dict.fromkeys(given[axis])) or (None,) for axis in axes}
    planners, grounders = values.get("planner", ()), values.get("grounder", ())
    _check_owner("--plans", _used(given.get("plans")), PLANNERS, planners)
    _check_owner("--predictions", _used(given.get("predictions")), GROUNDERS, grounders)
    _check_names("--base-url", given.get("base_url", ()), GROUNDERS, grounders)
    _check_names("--planner-base-url", given.get("planner_base_url", ()), PLANNERS, planners)
    runs = []
    for chosen in itertools.product(*values.values()):
        one = {**given, **dict(zip(values, chosen, strict=True))}
        if len(planners) > 1 and one["planner"] != "replay":
            one["plans"] = None
        if len(planners) > 1 and one["planner"] in ("none", "replay"):  # These ask no model.
            one |= {"planner_prompt": None, "planner_model": None, "plan_ahead": False}
        if len(grounders) > 1 and one["grounder"] != "replay":
            one["predictions"] = None
        # --zoom alone is the card's; where it is not given it is "none".
        one["zoom"] = "none" if "zoom" not in values else "card" if one["zoom"] in (None, True) else one["zoom"]
        if one.get("transcript") is not None:
            condition = parse_condition(one["transcript"])
            one["transcript"] = None if condition.kind == TRUTH else str(condition)
        one["base_url"] = addresses(given.get("base_url", ()), one["grounder"])
        one["planner_base_url"] = " ".join(addresses(given.get("planner_base_url", ()), one["planner"])) or None
        runs.append(options_from(one, command=command))
    return tuple(dict.fromkeys(runs))


def addresses(given: Sequence[str], name: str | None) -> tuple[str, ...]:
    """The addresses that belong to a model: those with its name before them, else those without a name."""
    named = [match["url"] for text in given if (match := _NAMED.fullmatch(text)) and match["name"] == name]
    return tuple(named) or tuple(text for text in given if _NAMED.fullmatch(text) is None)


def _used(value: Any) -> bool:
    return any(one is not None for one in value) if isinstance(value, Sequence) else value is not None


def _check_owner(flag: str, used: bool, owner: str, names: Sequence[str | None]) -> None:
    if used and len(names) > 1 and "replay" not in names:
        raise UserError(
            f"{flag}: which of the {len(names)} values of {owner} plays the file back? Name `replay` among them, as in "
            f"{owner} {names[0]} replay"
        )


def _check_names(flag: str, given: Sequence[str], owner: str, names: Sequence[str | None]) -> None:
    for text in given:
        match = _NAMED.fullmatch(text)
        if match is not None and match["name"] not in names:
            known = ", ".join(str(name) for name in names if name is not None)
            raise UserError(f"{flag} {match['name']}=…: none of {owner} is called so; given are {known or 'none'}")
