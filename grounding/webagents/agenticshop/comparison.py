"""Scored runs over the same users as they can be compared with each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from grounding.errors import UserError
from grounding.scoring.intervals import RESAMPLES
from grounding.webagents.agenticshop.records import SCENARIOS
from grounding.webagents.agenticshop.runfiles import CurationFolder, is_curation_run
from grounding.webagents.agenticshop.scorebook import CurationSummary
from grounding.webagents.agenticshop.scores.judged import TaskVerdicts, by_task, is_success, task_score
from grounding.webagents.agenticshop.scores.verdicts import PlaceVerdict
from grounding.webagents.comparison import RunComparison, ScoredRun, TaskResult, chosen_paths, compare_runs

MEASURES = ("score", "wrong links")


def compare_curations(
    paths: Sequence[Path],
    *,
    baseline: Path | None = None,
    force: bool = False,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> RunComparison:
    """Every run beside the baseline, paired by task, each by the judge that counts in it. Asks nobody.

    Args:
        paths: Run folders, each scored.
        baseline: The run that the others are compared with; None for the first.
        force: Compare what differs in data or judges, too, over the tasks that both have.
        seed: Of the bootstrap.
        resamples: Its size.

    Raises:
        UserError: a folder holds no scored run of this kind, there is one run only, or two can't be compared.
    """
    return compare_runs(
        [_load(path) for path in chosen_paths(paths, baseline)],
        MEASURES,
        SCENARIOS,
        rule="paper",
        right="three product pages",
        force=force,
        seed=seed,
        resamples=resamples,
    )


def _load(path: Path) -> ScoredRun:
    if not is_curation_run(path):
        raise UserError(
            f"{path} is no run that curates products: runs of one kind only can be compared with each other"
        )
    folder = CurationFolder(path)
    info = folder.read_info()
    headline = folder.read_summary(CurationSummary).headline
    verdicts = folder.read_lines("verdicts.jsonl", PlaceVerdict, what="a verdict over a place")
    tasks = by_task([one for one in verdicts if one.judge == headline])
    asked = info.asked
    model = f" ({asked.model})" if asked.model else ""
    return ScoredRun(
        path=path,
        name=f"{asked.agent}{model}",
        status=info.status,
        same={
            "the data set": asked.dataset,
            "the data: fingerprint": asked.fingerprint[:12],
            "the judge that counts": headline,
            "the judges": ", ".join(one.name for one in info.judges),
            "the extractor": asked.extractor,
        },
        results={places[0].task: _result(places) for places in tasks},
    )


def _result(places: TaskVerdicts) -> TaskResult:
    named = [one for one in places if one.url and one.outcome in ("judged", "not-product", "unreachable")]
    wrong = sum(bool(one.attribution) for one in named) / len(named) if named else None
    return TaskResult(
        user=places[0].user, group=places[0].scenario, values=(task_score(places), wrong), right=is_success(places)
    )
