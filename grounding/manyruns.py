"""Several runs as one command: all of them checked before the first question, then run one after the other."""

from __future__ import annotations

import asyncio
import functools
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from grounding.attended import INTERRUPTED
from grounding.budget import Budget
from grounding.display import Progress
from grounding.errors import UserError
from grounding.evaluation import check_endpoints, evaluate, paid_calls
from grounding.grounders import asks_a_server
from grounding.loaders import load_dataset
from grounding.options import EvalOptions
from grounding.places import models_dir
from grounding.planners import BUILTIN
from grounding.planstore import StoredPlanner
from grounding.preparation import Prepared, prepare
from grounding.records import Record
from grounding.runfolder import Asked, RunFolder
from grounding.scorebook import Scored

_DATASETS_KEPT = 2


class PlannedRun(Record, frozen=True, kw_only=True):
    """One of several runs, before it starts: its id is known, and that nothing it needs is missing."""

    options: EvalOptions
    run_id: str
    planner: str
    grounder: str
    priced: bool


class RunOutcome(Record, frozen=True, kw_only=True):
    """What became of one of several runs: a scored run, or why there is none."""

    run: PlannedRun
    scored: Scored | None = None
    problem: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether every step was answered."""
        return self.scored is not None and self.scored.summary.status == "complete"


class Ran(Record, frozen=True, kw_only=True):
    """All runs in their order; ``interrupted`` where the user broke off."""

    outcomes: tuple[RunOutcome, ...]
    interrupted: bool = False


def plan_runs(runs: Sequence[EvalOptions]) -> tuple[PlannedRun, ...]:
    """Check everything that every run needs: cards, keys, data, files, servers. Asks nothing that costs.

    Raises:
        UserError: something is missing or wrong for one of them, or two of them are the same run; says which.
    """
    load = functools.lru_cache(_DATASETS_KEPT)(load_dataset)
    fitted, prepared = [], []
    for options in runs:
        with _named(options):
            fitted.append(_fit(options, runs))
            # The limit is for all together: whether it can be kept is asked below.
            unlimited = msgspec.structs.replace(fitted[-1], cost_limit=None)
            prepared.append(prepare(unlimited, Budget(None), Progress("none"), load=load))
    _check_distinct(fitted, prepared)
    _check_asked_once(prepared)
    planned = tuple(
        PlannedRun(
            options=options,
            run_id=one.info.run_id,
            planner=one.asked.planner,
            grounder=one.asked.grounder,
            priced=any(card is not None and card.price is not None for card in (one.planner.card, one.grounder.card)),
        )
        for options, one in zip(fitted, prepared, strict=True)
    )
    _check_limit(planned)
    asyncio.run(_check_all(fitted, prepared))
    return planned


def run_all(runs: Sequence[PlannedRun]) -> Ran:
    """Run one after the other, each in its own folder; those that are complete already ask nothing.

    A run that can't go on leaves its reason and the others are run. The cost limit is for all together.
    """
    load = functools.lru_cache(_DATASETS_KEPT)(load_dataset)
    outcomes: list[RunOutcome] = []
    paid = {run.run_id: () if run.options.fresh else paid_calls(_folder(run)) for run in runs}
    for number, run in enumerate(runs, start=1):
        display = run.options.display
        if display == "plain" or (display is None and sys.stderr.isatty()) or display == "rich":
            print(f"[{number}/{len(runs)}] {_described(run)}", file=sys.stderr, flush=True)
        try:
            elsewhere = [call for run_id, calls in paid.items() if run_id != run.run_id for call in calls]
            scored = evaluate(_limited(run), Progress(display), load=load, elsewhere=elsewhere)
        except UserError as error:
            print(f"grounding: {_described(run)}: {error}", file=sys.stderr, flush=True)
            outcomes.append(RunOutcome(run=run, problem=str(error)))
            continue
        except KeyboardInterrupt:
            return Ran(outcomes=tuple(outcomes), interrupted=True)
        outcomes.append(RunOutcome(run=run, scored=scored))
        paid[run.run_id] = paid_calls(_folder(run))
        if scored.info.stopped == INTERRUPTED:
            return Ran(outcomes=tuple(outcomes), interrupted=True)
    return Ran(outcomes=tuple(outcomes))


def _folder(run: PlannedRun) -> RunFolder:
    return RunFolder(run.options.log_dir / run.run_id)


def title(run: PlannedRun) -> str:
    """A run's name in a few characters, as in the paper's tables: planner, plus sign, grounder."""
    return f"{run.planner} + {run.grounder}"


def _described(run: PlannedRun) -> str:
    """The name, and where the words come from if they are not the true ones."""
    return " · ".join(filter(None, (title(run), run.options.transcript)))


def fit_all(runs: Sequence[EvalOptions]) -> tuple[EvalOptions, ...]:
    """Each run without the options that are meant for another of them.

    Raises:
        UserError: a grounder's name is not known.
    """
    return tuple(_fit(options, runs) for options in runs)


def _fit(options: EvalOptions, runs: Sequence[EvalOptions]) -> EvalOptions:
    """Leave out what is meant for another of the runs: an address for one that asks no server."""
    several_grounders = len({one.grounder for one in runs}) > 1
    several_planners = len({one.planner for one in runs}) > 1
    if several_grounders and options.base_url and not asks_a_server(options.grounder, models_dir() / "grounders"):
        options = msgspec.structs.replace(options, base_url=())
    if several_planners and options.planner_base_url and options.planner in BUILTIN:
        options = msgspec.structs.replace(options, planner_base_url=None)
    return options


def _check_limit(runs: Sequence[PlannedRun]) -> None:
    limit_usd = runs[0].options.cost_limit
    if limit_usd is not None and not limit_usd > 0:
        raise UserError(f"--cost-limit {limit_usd}: expected US dollars, more than 0")
    if limit_usd is not None and not any(run.priced for run in runs):
        raise UserError(
            "--cost-limit: none of these models' cards states a price (field price), so no limit can be kept"
        )


def _limited(run: PlannedRun) -> EvalOptions:
    """The run with the cost limit where one can be kept: without a price nothing is known to cost anything."""
    return run.options if run.priced else msgspec.structs.replace(run.options, cost_limit=None)


@contextmanager
def _named(options: EvalOptions) -> Iterator[None]:
    """Put the pair before what is wrong with it."""
    try:
        yield
    except UserError as error:
        pair = " + ".join(
            Path(name).stem if name.endswith(".yaml") else name for name in (options.planner, options.grounder)
        )
        raise UserError(f"{pair}: {error} (nothing was asked yet)") from error


def _check_distinct(runs: Sequence[EvalOptions], prepared: Sequence[Prepared]) -> None:
    first: dict[str, EvalOptions] = {}
    for options, one in zip(runs, prepared, strict=True):
        other = first.setdefault(one.info.run_id, options)
        if other is not options:
            differing = [
                f"--{name.replace('_', '-')} {getattr(other, name)} and {getattr(options, name)}"
                for name in EvalOptions.__struct_fields__
                if getattr(other, name) != getattr(options, name)
            ]
            raise UserError(
                f"{', '.join(differing)}: that is the same run twice, for it changes no answer; leave one out"
            )


def _check_asked_once(prepared: Sequence[Prepared]) -> None:
    """Refuse runs that would pay for the same plans again because nothing keeps them."""

    def plans_of(asked: Asked) -> Asked:
        return msgspec.structs.replace(asked, grounder="", grounder_identity="", base_url="")

    paid = [one for one in prepared if one.planner.card and not isinstance(one.planner.planner, StoredPlanner)]
    for asked, times in Counter(plans_of(one.asked) for one in paid).items():
        if times > 1:
            raise UserError(
                f"the planner {asked.planner} would be asked, and paid, {times} times for the same plans, because no "
                "store keeps them: leave out --no-plan-store and GROUNDING_NO_CACHE, or name one with --plan-store"
            )


async def _check_all(runs: Sequence[EvalOptions], prepared: Sequence[Prepared]) -> None:
    for options, one in zip(runs, prepared, strict=True):
        if isinstance(one.planner.planner, StoredPlanner):
            one.planner.planner.store.prepare()
        with _named(options):
            await check_endpoints(one, options)
