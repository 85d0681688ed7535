"""``grounding eval`` with several planners or grounders: every pair is run, the result is one table."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import msgspec

from grounding.board import board_folder
from grounding.errors import UserError
from grounding.manyruns import plan_runs, run_all
from grounding.options import EvalOptions, ScoringName
from grounding.planned import PlannedRun, Ran, RunOutcome, title
from grounding.records import Record
from grounding.report.matrix import WIDE, MatrixRow, print_matrix
from grounding.report.show import EXIT_INTERRUPTED, EXIT_OK, EXIT_PARTIAL, wide_console
from grounding.scorebook import scored_tasks
from grounding.scoring import Comparison, Summary, compare, registered


class NamedSummary(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One run of several, as ``--json`` prints it. ``difference`` is to the baseline, None where it can't be told."""

    name: str
    planner: str
    grounder: str
    folder: str
    problem: str
    summary: Summary | None
    difference: Comparison | None


def evaluate_matrix(
    runs: Sequence[EvalOptions], *, scoring: ScoringName, as_json: bool, baseline: str | None = None
) -> int:
    """Run every pair and print the table; the exit code is 0 where all are complete, 1 where not, 130 at Ctrl-C.

    Raises:
        UserError: something is missing or wrong for one of the pairs; nothing was asked of any model yet.
    """
    planned = plan_runs(runs)
    first = _baseline(planned, baseline)
    ran = run_all(planned, board_folder("matrix", planned))
    outcomes = ran.outcomes
    compared = comparisons(outcomes, first)
    rows = tuple(_row(outcome) for outcome in outcomes)
    if as_json:
        named = [
            NamedSummary(
                name=title(outcome.run),
                planner=outcome.run.planner,
                grounder=outcome.run.grounder,
                folder=row.folder,
                problem=outcome.problem,
                summary=row.summary,
                difference=compared.get(number),
            )
            for number, (outcome, row) in enumerate(zip(outcomes, rows, strict=True))
        ]
        print(msgspec.json.format(msgspec.json.encode(named), indent=2).decode())
    else:
        print_matrix(
            wide_console(WIDE),
            rows,
            title=_title(outcomes),
            headings=("planner + grounder",),
            scoring=scoring,
            compared=compared,
            baseline=first,
        )
    return exit_code(ran, outcomes)


def exit_code(ran: Ran, outcomes: Sequence[RunOutcome]) -> int:
    """What several runs amount to, and the word to somebody who broke them off."""
    if ran.interrupted:
        print("interrupted; the same command again goes on from here", file=sys.stderr)
        return EXIT_INTERRUPTED
    return EXIT_OK if all(outcome.is_complete for outcome in outcomes) else EXIT_PARTIAL


def comparisons(outcomes: Sequence[RunOutcome], baseline: int) -> dict[int, Comparison]:
    """How each run differs from the baseline, by its number; without those that are over other steps or not there."""
    base = outcomes[baseline].scored
    if base is None:
        return {}
    theirs = scored_tasks(base)
    found = {}
    for number, outcome in enumerate(outcomes):
        if number == baseline or outcome.scored is None:
            continue
        try:
            found[number] = compare(
                registered(),
                scored_tasks(outcome.scored),
                theirs,
                seed=base.info.asked.seed,
                clusters=base.info.clusters,
            )
        except ValueError:
            continue  # Over other steps: the runs are a series of data sets, not of models.
    return found


def _baseline(planned: Sequence[PlannedRun], wanted: str | None) -> int:
    names = [title(run) for run in planned]
    if wanted is None:
        return 0
    bare = [name.replace(" ", "") for name in names]
    if wanted.replace(" ", "") not in bare:
        raise UserError(f"--baseline {wanted}: no run is called so; the runs are {', '.join(names)}")
    return bare.index(wanted.replace(" ", ""))


def _row(outcome: RunOutcome) -> MatrixRow:
    scored = outcome.scored
    return MatrixRow(
        values=(title(outcome.run),),
        block=outcome.run.grounder,
        summary=scored.summary if scored else None,
        problem=outcome.problem,
        folder=str(scored.folder) if scored else "",
    )


def _title(outcomes: Sequence[RunOutcome]) -> str:
    scored = next((outcome.scored for outcome in outcomes if outcome.scored is not None), None)
    if scored is None:
        return "no run"
    counts = scored.summary.counts
    return f"{scored.info.asked.dataset} · {counts.steps} steps in {counts.tasks} tasks"
