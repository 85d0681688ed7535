"""What ``import grounding`` offers: the command line's evaluation, data sets and comparison, from Python."""

import asyncio
import inspect
import shlex
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, get_args, get_type_hints

from grounding import data as loaders
from grounding.cards.functions import offer
from grounding.data.option import local_folder
from grounding.errors import UserError
from grounding.records import Dataset
from grounding.report.compare import ComparisonResult, compare_runs
from grounding.report.frames import Run
from grounding.run import session
from grounding.run.benchmark import Benchmark, benchmark_for

Function = Callable[..., Any]


def evaluate(
    dataset: str = "sample-web",
    *,
    grounder: str | Function | None = None,
    planner: str | Function = "none",
    log_dir: str | Path = "results",
    **options: Any,
) -> Run:
    """Run a planner and a grounder over a data set, or go on with such a run.

    On desktop tasks ``grounder`` is an agent, as for ``--grounder``. In a shop and for curated products agent and model
    are options: ``evaluate("sample-shop", agent="rules", memory="last")``.

    Args:
        dataset: A name or path, as for ``--dataset``.
        grounder: A name of ``--grounder``, or a function of (image, instruction): see :mod:`grounding.cards.functions`.
        planner: The same for ``--planner``; its function returns the grounder's instruction.
        log_dir: Where the run's folder is made, or found and continued.
        **options: Any option of ``grounding eval`` by its name with underscores, such as ``limit=20``, ``fresh=True``
            or ``base_url="http://127.0.0.1:8000/v1"``.

    Raises:
        UserError: something is missing or wrong; says what.
    """
    benchmark = benchmark_for(dataset)
    if benchmark.name and (callable(grounder) or callable(planner)):
        raise UserError(f"{dataset}: a function finds places, and its tasks are not answered with points")
    given = {"dataset": dataset, "log_dir": Path(log_dir), "planner": _named(planner), **options}
    if grounder is not None:
        given["grounder"] = _named(grounder)
    return Run(_outside_loops(lambda: _evaluated(benchmark, given)))


def _evaluated(benchmark: Benchmark[Any, Any, Any], options: Mapping[str, Any]) -> Path:
    from grounding.eval import evaluate_command

    usual = {name: each.default for name, each in inspect.signature(evaluate_command).parameters.items()}
    hints = get_type_hints(evaluate_command)
    unknown = sorted(set(options) - set(usual))
    if unknown:
        raise UserError(f"evaluate has no option {', '.join(unknown)}; `grounding eval --help` lists them")
    given = dict(usual)
    for name, value in options.items():
        if isinstance(value, str) and Path in (get_args(hints[name]) or (hints[name],)):
            value = Path(value)
        given[name] = (value,) if isinstance(usual[name], tuple) and not isinstance(value, tuple | list) else value
    given["data_dir"] = None if given["data_dir"] is None else local_folder(given["data_dir"])
    benchmark.takes.check(given, usual, given["dataset"])
    shown = {name: options[name] for name in ("dataset", "grounder", "planner") if name in options}
    command = "grounding.evaluate " + " ".join(f"{name}={shlex.quote(value)}" for name, value in shown.items())
    runs = benchmark.runs(given, benchmark.axes, command)
    if len(runs) > 1:
        raise UserError(f"these options are {len(runs)} runs: give one value each, and compare the runs afterwards")
    folder: Path = session.evaluate(benchmark, runs[0]).folder
    return folder


def load_dataset(name: str, data_dir: str | Path | None = None) -> Dataset:
    """A data set whose steps are answered with points; ``steps()`` of it are all of them in order.

    Args:
        name: As for ``--dataset``.
        data_dir: Where its files lie; not needed for a bundled one.

    Raises:
        UserError: the name is not known, the files are not there, or the data are wrong.
    """
    return loaders.load_dataset(name, data_dir, history="auto")


def compare(*runs: str | Path | Run, baseline: str | Path | Run | None = None, **options: Any) -> ComparisonResult:
    """How runs differ from the first one, or from ``baseline``: what ``grounding compare --json`` prints.

    Raises:
        UserError: a run is not scored, or two can't be compared; says what differs.
    """
    paths = [each.folder if isinstance(each, Run) else Path(each) for each in runs]
    beside = baseline.folder if isinstance(baseline, Run) else baseline
    return compare_runs(paths, baseline=None if beside is None else Path(beside), **options)


def _named(who: str | Function) -> str:
    return offer(who) if callable(who) else who


def _outside_loops(work: Callable[[], Any]) -> Any:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        here = True
    else:
        here = False
    if here:
        return work()
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work).result()
