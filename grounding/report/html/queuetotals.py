"""What the runs on a page amount to together: sums, servers, and the table of planners and grounders. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from grounding.records import Record
from grounding.report.html.queuecontent import Cell, MatrixRows, RunRow, ServerRow, ShownState

AT_WORK: frozenset[ShownState] = frozenset(("waiting", "starting", "running"))
"""States of runs that are going to be brought further by somebody who is there."""

_MOST_SIDE = 60


class Sums(Record, frozen=True, kw_only=True):
    """All runs together; see :class:`~grounding.report.html.queuecontent.QueuePage`."""

    done: int
    steps: int
    rate_per_s: float | None
    left_s: float | None
    spent_usd: float | None
    unreported_usd: float


def sums_of(runs: Sequence[RunRow]) -> Sums:
    """The sums. ``steps`` is 0 where it isn't known of every run; the time left needs that and a rate."""
    left = sum(max(0, run.steps - run.done) for run in runs if run.state in AT_WORK)
    rates = [run.rate_per_s for run in runs if run.state in AT_WORK and run.rate_per_s is not None]
    rate = sum(rates) if rates else None
    prices = [run.spent_usd for run in runs if run.spent_usd is not None]
    all_known = all(run.steps for run in runs)
    return Sums(
        done=sum(run.done for run in runs),
        steps=sum(run.steps for run in runs) if all_known else 0,
        rate_per_s=rate,
        left_s=left / rate if rate and left and all_known else None,
        spent_usd=sum(prices) if prices else None,
        unreported_usd=sum(run.unreported_usd for run in runs),
    )


def servers_of(runs: Sequence[RunRow]) -> tuple[ServerRow, ...]:
    """The servers that runs share, in the order in which they come."""
    names = dict.fromkeys(run.server for run in runs if run.server)
    return tuple(_server(name, [run for run in runs if run.server == name]) for name in names)


def _server(name: str, runs: Sequence[RunRow]) -> ServerRow:
    states: dict[ShownState, int] = {}
    for run in runs:
        states[run.state] = states.get(run.state, 0) + 1
    sums = sums_of(runs)
    return ServerRow(name=name, states=states, done=sums.done, steps=sums.steps, rate_per_s=sums.rate_per_s)


def matrix_of(runs: Sequence[RunRow]) -> MatrixRows | None:
    """Planners and grounders as a table of runs; None where there is one of each, or far too many."""
    planners = tuple(dict.fromkeys(run.planner for run in runs if run.planner))
    grounders = tuple(dict.fromkeys(run.grounder for run in runs if run.grounder))
    if len(planners) * len(grounders) < 2 or max(len(planners), len(grounders)) > _MOST_SIDE:
        return None
    keys: dict[tuple[str, str], list[int]] = {}
    for run in runs:
        keys.setdefault((run.planner, run.grounder), []).append(run.key)
    return MatrixRows(
        planners=planners,
        grounders=grounders,
        cells=tuple(
            tuple(Cell(keys=tuple(keys.get((planner, grounder), ()))) for grounder in grounders) for planner in planners
        ),
    )
