"""Several runs as one command: all of them checked before the first question, then run one after the other."""

from __future__ import annotations

import asyncio
import functools
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from grounding.attended import INTERRUPTED
from grounding.board import Board
from grounding.budget import Budget
from grounding.display import Progress
from grounding.errors import UserError
from grounding.evaluation import check_endpoints, evaluate
from grounding.grounders import asks_a_server
from grounding.loaders import load_dataset
from grounding.options import EvalOptions
from grounding.payments import each_paid_call
from grounding.places import models_dir
from grounding.planned import PlannedRun, Ran, RunOutcome, broken_off, described, limited, run_folder
from grounding.planners import BUILTIN
from grounding.planstore import StoredPlanner
from grounding.preparation import Prepared, prepare
from grounding.records import Dataset
from grounding.runfolder import Asked
from grounding.serving.shelf import ServerShelf

_DATASETS_KEPT = 2


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
            steps=len(one.selection.step_ids),
            server="" if one.servers is None and one.beside is None else one.grounder.grounder.name,
        )
        for options, one in zip(fitted, prepared, strict=True)
    )
    _check_limit(planned)
    asyncio.run(_check_all(fitted, prepared))
    return planned


def run_all(runs: Sequence[PlannedRun], folder: Path) -> Ran:
    """Run them all, each in its own folder; those that are complete already ask nothing.

    One after the other in this process; on a cluster side by side, as far as there is room. A run that can't go on
    leaves its reason and the others are run. The cost limit is for all together. The servers of a model stay up until
    no run needs them any more.

    Args:
        runs: The runs, in the order of the table.
        folder: The command's own folder (:func:`grounding.board.board_folder`), which says what each is at.
    """
    load = functools.lru_cache(_DATASETS_KEPT)(load_dataset)
    with Board(folder, runs) as board, ServerShelf() as shelf:
        if runs[0].options.executor == "ray":
            # Only runs on a cluster load what reaches one.
            from grounding.clusterruns import run_on_cluster

            return run_on_cluster(runs, board, load)
        return _one_after_the_other(runs, board, load, shelf)


def _one_after_the_other(
    runs: Sequence[PlannedRun], board: Board, load: Callable[..., Dataset], shelf: ServerShelf
) -> Ran:
    outcomes: list[RunOutcome] = []

    def ended(outcome: RunOutcome) -> None:
        outcomes.append(outcome)
        board.ended(outcome)

    for number, run in enumerate(runs, start=1):
        display = run.options.display
        if display == "plain" or (display is None and sys.stderr.isatty()) or display == "rich":
            print(f"[{number}/{len(runs)}] {described(run)}", file=sys.stderr, flush=True)
        board.starting(run)
        try:
            # What is going to be set aside is not paid under this limit.
            others = (*runs[: number - 1], *(other for other in runs[number:] if not other.options.fresh))
            elsewhere = (call for other in others for call in each_paid_call(run_folder(other)))
            scored = evaluate(
                limited(run),
                Progress(display),
                load=load,
                elsewhere=elsewhere,
                shelf=shelf,
                begun=functools.partial(board.running, run),
            )
        except UserError as error:
            print(f"grounding: {described(run)}: {error}", file=sys.stderr, flush=True)
            ended(RunOutcome(run=run, problem=str(error)))
            continue
        except KeyboardInterrupt:
            board.interrupted()
            return broken_off(runs, outcomes)
        ended(RunOutcome(run=run, scored=scored))
        if scored.info.stopped == INTERRUPTED:
            return broken_off(runs, outcomes)
    return Ran(outcomes=tuple(outcomes))


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
