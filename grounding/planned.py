"""Runs before they start, and what became of them: the records that commands with several runs share."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from grounding.attended import INTERRUPTED
from grounding.options import EvalOptions
from grounding.records import Record
from grounding.runfolder import RunFolder
from grounding.scorebook import Scored


class PlannedRun(Record, frozen=True, kw_only=True):
    """One of several runs, before it starts: its id is known, and that nothing it needs is missing.

    ``steps`` is how many are scored. ``server`` names the model that the command starts servers of for it, "" for none.
    """

    options: EvalOptions
    run_id: str
    planner: str
    grounder: str
    priced: bool
    steps: int = 0
    server: str = ""


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


def title(run: PlannedRun) -> str:
    """A run's name in a few characters, as in the paper's tables: planner, plus sign, grounder."""
    return f"{run.planner} + {run.grounder}"


def described(run: PlannedRun) -> str:
    """The name, and where the words come from if they are not the true ones."""
    return " · ".join(filter(None, (title(run), run.options.transcript)))


def broken_off(runs: Sequence[PlannedRun], outcomes: Sequence[RunOutcome]) -> Ran:
    """What came of the runs until the user broke off, in the order of the runs."""
    found = {outcome.run.run_id: outcome for outcome in outcomes}
    whole = tuple(found.get(run.run_id) or RunOutcome(run=run, problem=INTERRUPTED) for run in runs)
    return Ran(outcomes=whole, interrupted=True)


def limited(run: PlannedRun) -> EvalOptions:
    """The run with the cost limit where one can be kept: without a price nothing is known to cost anything."""
    return run.options if run.priced else msgspec.structs.replace(run.options, cost_limit=None)


def run_folder(run: PlannedRun) -> RunFolder:
    """Where a run is written."""
    return RunFolder(run.options.log_dir / run.run_id)
