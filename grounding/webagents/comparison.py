"""Scored runs of web agents in, how they differ from one of them and whether it could be chance out.

Differences are paired by task; intervals and p-values come from one bootstrap that draws users, both runs' together: a
hard task makes both runs worse and says nothing about their difference. What is right or wrong of a task has McNemar's
test, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from grounding.errors import UserError
from grounding.options import ScoringName
from grounding.records import Record
from grounding.scoring.intervals import RESAMPLES
from grounding.scoring.paired import differences_of
from grounding.scoring.significance import McNemar, holm, mcnemar, minimum_detectable

ALL = "all"
FEW_USERS = 10
"""With fewer than that a bootstrap is too sure of itself."""


class TaskResult(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What a run made of one task: a value for each measure, and whether it is right, where one can say so.

    ``group`` is its type or scenario. A measure that says nothing of the task is None in ``values``.
    """

    user: str
    group: str
    values: tuple[float | None, ...]
    right: bool | None = None


class ScoredRun(Record, frozen=True, kw_only=True):
    """A run as it can be compared. ``same`` are the things that two runs must have in common, by their names."""

    path: Path
    name: str
    status: str
    same: dict[str, str]
    results: dict[str, TaskResult]


class Difference(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One measure of a run minus that of the baseline, over the tasks of one group or all, in the measure's unit.

    ``p`` is two-sided; ``p_holm`` corrected over all measures of all runs. ``detectable`` is the true difference that
    would have been found with a power of 80 %. None where nothing differs.
    """

    group: str
    measure: str
    tasks: int
    value: float
    baseline_value: float
    difference: float
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None = None
    detectable: float | None


class ComparedRun(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A run beside the baseline. ``differs`` says what keeps the two from being comparable, where that was forced."""

    name: str
    folder: str
    tasks: int
    users: int
    differs: tuple[str, ...]
    measures: tuple[Difference, ...]
    right: McNemar | None


class RunComparison(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Runs beside one baseline, by one reading. ``right`` says what McNemar's test counts as right."""

    schema: Literal[2] = 2
    rule: ScoringName
    baseline: str
    baseline_folder: str
    right: str
    seed: int
    resamples: int
    runs: tuple[ComparedRun, ...]
    warnings: tuple[str, ...]


def chosen_paths(paths: Sequence[Path], baseline: Path | None) -> tuple[Path, ...]:
    """The baseline and the runs that are compared with it, each once.

    Raises:
        UserError: there is one run only.
    """
    first = baseline or paths[0]
    others = [path for path in dict.fromkeys(paths) if path.resolve() != first.resolve()]
    if not others:
        raise UserError(f"expected at least two runs to compare, got {first} alone; name another run folder")
    return (first, *others)


def compare_runs(
    runs: Sequence[ScoredRun],
    measures: Sequence[str],
    groups: Sequence[str],
    *,
    rule: ScoringName,
    right: str = "",
    force: bool = False,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> RunComparison:
    """Every run beside the first, paired by task.

    Args:
        runs: The baseline and the others.
        measures: The names of the values of each task.
        groups: The types or scenarios, in the order in which they are shown.
        rule: The reading that the values are of.
        right: What is counted as right; "" where nothing is.
        force: Compare what differs in data, too, over the tasks that both have.
        seed: Of the bootstrap.
        resamples: Its size.

    Raises:
        UserError: two runs can't be compared.
    """
    base, *rest = runs
    compared = [_compared(run, base, measures, groups, force=force, seed=seed, resamples=resamples) for run in rest]
    few = min(run.users for run in compared)
    return RunComparison(
        rule=rule,
        baseline=base.name,
        baseline_folder=str(base.path),
        right=right,
        seed=seed,
        resamples=resamples,
        runs=_corrected(compared),
        warnings=(
            *(f"{run.path}: the run is partial; what it lacks counts as wrong" for run in runs if _partial(run)),
            *((f"only {few} users are drawn: intervals are too narrow with so few",) if few < FEW_USERS else ()),
        ),
    )


def _partial(run: ScoredRun) -> bool:
    return run.status != "complete"


def _differs(run: ScoredRun, base: ScoredRun) -> list[str]:
    found = [
        f"{what}: {run.same.get(what, 'nothing')} and {there}"
        for what, there in base.same.items()
        if run.same.get(what) != there
    ]
    for whose, only in (
        ("the run", run.results.keys() - base.results.keys()),
        ("the baseline", base.results.keys() - run.results.keys()),
    ):
        if only:
            found.append(f"the tasks: {len(only)} are only in {whose}, such as {min(only)}")
    return found


_Pair = tuple[TaskResult, TaskResult]


def _compared(
    run: ScoredRun,
    base: ScoredRun,
    measures: Sequence[str],
    groups: Sequence[str],
    *,
    force: bool,
    seed: int,
    resamples: int,
) -> ComparedRun:
    differs = _differs(run, base)
    if differs and not force:
        listed = "\n".join(f"  - {each}" for each in differs)
        raise UserError(
            f"{run.path} and {base.path} can't be compared. What differs (run and baseline):\n{listed}\n"
            "Run one of them again like the other, or go on with the tasks that both have: --force"
        )
    pairs = [(one, base.results[name]) for name, one in run.results.items() if name in base.results]
    if not pairs:
        raise UserError(f"{run.path} and {base.path} have no task in common; nothing can be compared")
    found: list[Difference] = []
    for group in (ALL, *groups):
        of_group = [pair for pair in pairs if group in (ALL, pair[0].group)]
        if of_group:
            found += _differences(group, of_group, measures, seed=seed, resamples=resamples)
    said = [(mine.right, other.right) for mine, other in pairs if mine.right is not None and other.right is not None]
    return ComparedRun(
        name=run.name,
        folder=str(run.path),
        tasks=len(pairs),
        users=len({mine.user for mine, _ in pairs}),
        differs=tuple(differs),
        measures=tuple(found),
        right=mcnemar(said.count((True, False)), said.count((False, True)), len(said)) if said else None,
    )


def _differences(
    group: str, pairs: Sequence[_Pair], measures: Sequence[str], *, seed: int, resamples: int
) -> list[Difference]:
    users = {user: place for place, user in enumerate(dict.fromkeys(mine.user for mine, _ in pairs))}
    above, below, their_above, their_below = (np.zeros((len(users), len(measures))) for _ in range(4))
    for mine, other in pairs:
        place = users[mine.user]
        for column, (value, their) in enumerate(zip(mine.values, other.values, strict=True)):
            # What only one of the two has a value for is no pair.
            if value is not None and their is not None:
                above[place, column] += value
                their_above[place, column] += their
                below[place, column] += 1
                their_below[place, column] += 1
    found = differences_of(np.hstack([above, below, their_above, their_below]), seed=seed, resamples=resamples)
    rows = []
    for column, (name, each) in enumerate(zip(measures, found, strict=True)):
        n = int(below[:, column].sum())
        if not n:
            continue
        drawn = bool(each.standard_error)
        rows.append(
            Difference(
                group=group,
                measure=name,
                tasks=n,
                value=float(above[:, column].sum() / n),
                baseline_value=float(their_above[:, column].sum() / n),
                difference=0.0 if each.value is None else each.value,
                low=each.low if drawn else None,
                high=each.high if drawn else None,
                p=each.p if drawn else None,
                detectable=minimum_detectable(each.standard_error) if each.standard_error else None,
            )
        )
    return rows


def _corrected(runs: Sequence[ComparedRun]) -> tuple[ComparedRun, ...]:
    """Put Holm's correction in: all bootstrap tests are one family."""
    corrected = iter(holm([each.p for run in runs for each in run.measures if each.p is not None]))
    return tuple(
        msgspec.structs.replace(
            run,
            measures=tuple(
                each if each.p is None else msgspec.structs.replace(each, p_holm=next(corrected))
                for each in run.measures
            ),
        )
        for run in runs
    )
