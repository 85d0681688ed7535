"""Scored runs over one shop in, how they differ from one of them and whether it could be chance out.

Differences are paired by task, intervals and p-values come from one bootstrap that draws users, both runs' together: a
hard task makes both runs worse and says nothing about their difference. Function accuracy has McNemar's exact test,
too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from grounding.errors import UserError
from grounding.records import Record
from grounding.scoring.intervals import RESAMPLES
from grounding.scoring.paired import differences_of
from grounding.scoring.significance import McNemar, holm, mcnemar, minimum_detectable
from grounding.webagents.personalwab.records import TaskType
from grounding.webagents.personalwab.runfiles import ShopFolder, ShopRunInfo, is_shop_run
from grounding.webagents.personalwab.scores import TYPES
from grounding.webagents.personalwab.verdicts import ShopRule, ShopVerdict

Measure = Callable[[ShopVerdict], float]
_MEASURES: tuple[tuple[str, Measure], ...] = (
    ("function", lambda one: float(one.function)),
    ("result", lambda one: one.result),
    ("outcome", lambda one: one.outcome),
    ("steps", lambda one: float(one.steps)),
)
FEW_USERS = 10
"""With fewer than that a bootstrap is too sure of itself."""


class ShopDifference(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One measure of a run minus that of the baseline, over the tasks of one type or all; shares of 1, or steps.

    ``p`` is two-sided; ``p_holm`` corrected over all measures of all runs. ``detectable`` is the true difference that
    would have been found with a power of 80 %. None where nothing differs.
    """

    type: TaskType | Literal["all"]
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


class ComparedShopRun(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A run beside the baseline. ``differs`` says what keeps the two from being comparable, where that was forced."""

    name: str
    folder: str
    tasks: int
    users: int
    differs: tuple[str, ...]
    measures: tuple[ShopDifference, ...]
    right_function: McNemar


class ShopComparison(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Runs beside one baseline, by one reading."""

    schema: Literal[1] = 1
    rule: ShopRule
    baseline: str
    baseline_folder: str
    seed: int
    resamples: int
    runs: tuple[ComparedShopRun, ...]
    warnings: tuple[str, ...]


class _Loaded(Record, frozen=True, kw_only=True):
    path: Path
    info: ShopRunInfo
    verdicts: dict[str, ShopVerdict]

    @property
    def name(self) -> str:
        asked = self.info.asked
        model = f" ({asked.model})" if asked.model else ""
        return f"{asked.agent}, memory {asked.memory}{model}"


def compare_shops(
    paths: Sequence[Path],
    *,
    baseline: Path | None = None,
    rule: ShopRule = "paper",
    force: bool = False,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> ShopComparison:
    """Every run beside the baseline, paired by task. Judges nothing and writes nothing.

    Args:
        paths: Run folders, each scored.
        baseline: The run that the others are compared with; None for the first.
        rule: The reading that is compared.
        force: Compare what differs in data or track, too, over the tasks that both have.
        seed: Of the bootstrap.
        resamples: Its size.

    Raises:
        UserError: a folder holds no scored run over a shop, there is one run only, or two can't be compared.
    """
    first = baseline or paths[0]
    others = [path for path in dict.fromkeys(paths) if path.resolve() != first.resolve()]
    if not others:
        raise UserError(f"expected at least two runs to compare, got {first} alone; name another run folder")
    base, *rest = [_load(path, rule) for path in (first, *others)]
    runs = [_compared(run, base, force=force, seed=seed, resamples=resamples) for run in rest]
    partial = [run.path for run in (base, *rest) if run.info.status != "complete"]
    few = min(run.users for run in runs)
    return ShopComparison(
        rule=rule,
        baseline=base.name,
        baseline_folder=str(first),
        seed=seed,
        resamples=resamples,
        runs=_corrected(runs),
        warnings=(
            *(f"{path}: the run is partial; tasks without an episode count as wrong" for path in partial),
            *((f"only {few} users are drawn: intervals are too narrow with so few",) if few < FEW_USERS else ()),
        ),
    )


def _load(path: Path, rule: ShopRule) -> _Loaded:
    if not is_shop_run(path):
        raise UserError(f"{path} is no run over a shop: runs of one kind only can be compared with each other")
    info = ShopFolder(path).read_info()
    try:
        decoder = msgspec.json.Decoder(ShopVerdict)
        found = [decoder.decode(line) for line in (path / "verdicts.jsonl").read_bytes().splitlines()]
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: the scores can't be read: {error}; `grounding score {path}` makes them") from error
    return _Loaded(path=path, info=info, verdicts={one.task_id: one for one in found if one.rule == rule})


def _differs(run: _Loaded, base: _Loaded) -> list[str]:
    mine, other = run.info.asked, base.info.asked
    found = []
    for what, here, there in (
        ("the data set", mine.dataset, other.dataset),
        ("the data: fingerprint", mine.fingerprint[:12], other.fingerprint[:12]),
        ("the track", mine.track, other.track),
        ("the attempt that counts", run.info.attempt or "the reading's own", base.info.attempt or "the reading's own"),
    ):
        if here != there:
            found.append(f"{what}: {here} and {there}")
    for whose, only in (
        ("the run", run.verdicts.keys() - base.verdicts.keys()),
        ("the baseline", base.verdicts.keys() - run.verdicts.keys()),
    ):
        if only:
            found.append(f"the tasks: {len(only)} are only in {whose}, such as {min(only)}")
    return found


def _compared(run: _Loaded, base: _Loaded, *, force: bool, seed: int, resamples: int) -> ComparedShopRun:
    differs = _differs(run, base)
    if differs and not force:
        listed = "\n".join(f"  - {each}" for each in differs)
        raise UserError(
            f"{run.path} and {base.path} can't be compared. What differs (run and baseline):\n{listed}\n"
            "Run one of them again like the other, or go on with the tasks that both have: --force"
        )
    pairs = [(one, base.verdicts[name]) for name, one in run.verdicts.items() if name in base.verdicts]
    if not pairs:
        raise UserError(f"{run.path} and {base.path} have no task in common; nothing can be compared")
    measures: list[ShopDifference] = []
    kinds: tuple[TaskType | Literal["all"], ...] = ("all", *TYPES)
    for kind in kinds:
        of_kind = [pair for pair in pairs if kind in ("all", pair[0].type)]
        if of_kind:
            measures += _measures(kind, of_kind, seed=seed, resamples=resamples)
    won = sum(mine.function and not other.function for mine, other in pairs)
    lost = sum(other.function and not mine.function for mine, other in pairs)
    return ComparedShopRun(
        name=run.name,
        folder=str(run.path),
        tasks=len(pairs),
        users=len({mine.user_id for mine, _ in pairs}),
        differs=tuple(differs),
        measures=tuple(measures),
        right_function=mcnemar(won, lost, len(pairs)),
    )


def _measures(
    kind: TaskType | Literal["all"], pairs: Sequence[tuple[ShopVerdict, ShopVerdict]], *, seed: int, resamples: int
) -> list[ShopDifference]:
    users = {user: place for place, user in enumerate(dict.fromkeys(mine.user_id for mine, _ in pairs))}
    above, below, their_above, their_below = (np.zeros((len(users), len(_MEASURES))) for _ in range(4))
    for mine, other in pairs:
        place = users[mine.user_id]
        for column, (_, measure) in enumerate(_MEASURES):
            above[place, column] += measure(mine)
            their_above[place, column] += measure(other)
        below[place] += 1
        their_below[place] += 1
    found = differences_of(np.hstack([above, below, their_above, their_below]), seed=seed, resamples=resamples)
    rows = []
    for column, ((name, _), each) in enumerate(zip(_MEASURES, found, strict=True)):
        drawn = bool(each.standard_error)
        rows.append(
            ShopDifference(
                type=kind,
                measure=name,
                tasks=len(pairs),
                value=float(above[:, column].sum() / len(pairs)),
                baseline_value=float(their_above[:, column].sum() / len(pairs)),
                difference=0.0 if each.value is None else each.value,
                low=each.low if drawn else None,
                high=each.high if drawn else None,
                p=each.p if drawn else None,
                detectable=minimum_detectable(each.standard_error) if each.standard_error else None,
            )
        )
    return rows


def _corrected(runs: Sequence[ComparedShopRun]) -> tuple[ComparedShopRun, ...]:
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
