"""Stored answers of a run that curates products to verdicts and a summary: everything after the last question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from grounding.records import Call, Record
from grounding.scoring.costs import CallTotals, call_totals
from grounding.timefile import write_time
from grounding.webagents.agenticshop.checks import CheckedJudge, rule_checks
from grounding.webagents.agenticshop.judge.majority import MAJORITY, majority
from grounding.webagents.agenticshop.options import RULES
from grounding.webagents.agenticshop.records import Curation, Judgement, PageClass, Scenario
from grounding.webagents.agenticshop.runfiles import CurationFolder, CurationRunInfo
from grounding.webagents.agenticshop.scores.behaviour import (
    AttributionFigures,
    Behaviours,
    attribution_figures,
    behaviours,
    search_success,
    seconds_per_task,
)
from grounding.webagents.agenticshop.scores.figures import Estimate
from grounding.webagents.agenticshop.scores.judged import JudgeScores, TaskVerdicts, judge_scores
from grounding.webagents.agenticshop.scores.verdicts import PlaceOutcome, PlaceVerdict, place_verdicts
from grounding.webagents.agenticshop.signature import curation_signature
from grounding.webagents.agenticshop.stored import StoredRun, read_run


class CurationCounts(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What was scored: ``places`` is three for each task, ``outcomes`` what became of them, by the judge that counts.

    ``failures`` are the agent's, by kind; ``classes`` the pages that were looked at, by what they are.
    """

    tasks: int
    users: int
    places: int
    outcomes: dict[PlaceOutcome, int]
    failures: dict[str, int]
    classes: dict[PageClass, int]


class StageCosts(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What the requests of each stage took."""

    agent: CallTotals
    extractor: CallTotals
    judges: CallTotals


class CurationSummary(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The content of ``summary.json``.

    ``headline`` is the judge that counts: the majority of several, the one besides the rules, or the rules. Outcomes,
    attribution and search success are by it, as far as they hang on a judge at all. ``rule_checks`` hold all other
    judges against the rules on what those decide, where rules judged, too.
    """

    status: Literal["complete", "partial"]
    signature: str
    headline: str
    counts: CurationCounts
    judges: tuple[JudgeScores, ...]
    rule_checks: tuple[CheckedJudge, ...] = ()
    attribution: AttributionFigures
    attribution_by_scenario: dict[Scenario, AttributionFigures]
    search_success: dict[Scenario, Estimate]
    behaviours: Behaviours
    costs: StageCosts

    def of(self, judge: str) -> JudgeScores:
        """The figures of one judge.

        Raises:
            KeyError: there is no such judge in this run.
        """
        for one in self.judges:
            if one.judge == judge:
                return one
        raise KeyError(judge)


class CurationTime(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The content of ``time.json``: what differs each time that the same is found.

    ``wall_s`` is by the clock, ``task_s`` the mean of what the agent took for a task that it answered, both in seconds.
    """

    wall_s: float = 0.0
    task_s: float | None = None


class CurationScored(Record, frozen=True, kw_only=True):
    """A scored run: its description, everything stored, each judge's verdicts by task, and its figures.

    ``time`` is what differs each time. ``set_aside`` is where an earlier run of the same command was moved, if one was;
    ``report`` is the page, if one was written.
    """

    folder: Path
    info: CurationRunInfo
    stored: StoredRun
    verdicts: dict[str, tuple[TaskVerdicts, ...]]
    summary: CurationSummary
    time: CurationTime = CurationTime()
    set_aside: Path | None = None
    report: Path | None = None


def score_curation(folder: CurationFolder) -> CurationScored:
    """Put the stored answers of a run together again and write what is derived from them. Asks nobody.

    Raises:
        UserError: the folder holds no run, or a file in it is damaged.
    """
    info = folder.read_info()
    info = msgspec.structs.replace(info, signature=curation_signature(info))
    stored = with_majority(read_run(folder, info.judges))
    verdicts = {judge: _judged(stored, judge) for judge in stored.judgements}
    checks = rule_checks(stored)
    summary = msgspec.structs.replace(_summary(info, stored, verdicts), rule_checks=checks.judges)
    folder.write_info(info)
    folder.write_verdicts(one for places in verdicts.values() for task in places for one in task)
    folder.write_differences(checks.differences)
    time = CurationTime(wall_s=info.wall_s, task_s=seconds_per_task(_curations(stored)))
    write_time(folder, time)
    folder.write_summary(summary)
    return CurationScored(folder=folder.path, info=info, stored=stored, verdicts=verdicts, summary=summary, time=time)


def rescore_curation(path: Path) -> CurationScored:
    """Score a finished or stopped run again from its folder alone.

    Raises:
        UserError: there is no run in the folder, it is damaged, or a run is at work in it.
    """
    folder = CurationFolder(path)
    folder.read_info()
    folder.lock()
    try:
        return score_curation(folder)
    finally:
        folder.release()


def with_majority(stored: StoredRun) -> StoredRun:
    """The same with what most judges say, where several besides the rules were shown everything.

    The rules take no part: they leave many items open, and where they stand against a single model there is no majority
    but a tie. They are what the others are checked by.
    """
    full = {name: found for name, found in stored.judgements.items() if name != RULES and _sees_all(found)}
    if len(full) < 2:
        return stored
    agreed: dict[str, Judgement] = {}
    for task in stored.tasks:
        for extraction in stored.answers[task.id].extractions:
            if extraction is None:
                continue
            said = [found[extraction.step_id] for found in full.values() if extraction.step_id in found]
            # A product that a judge has not got to yet has no majority yet.
            if len(said) == len(full):
                agreed[extraction.step_id] = majority(said, task.checklist)
    return msgspec.structs.replace(stored, judgements={**stored.judgements, MAJORITY: agreed})


def _sees_all(found: Mapping[str, Judgement]) -> bool:
    return all(one.condition == "full" for one in found.values())


def headline_of(judgements: Mapping[str, Mapping[str, Judgement]]) -> str:
    """The judge that counts: the majority, else one that is shown everything, others before the rules; "" for none."""
    if MAJORITY in judgements:
        return MAJORITY
    full = [name for name, found in judgements.items() if _sees_all(found)]
    others = [name for name in full if name != RULES]
    return next(iter([*others, *full, *judgements]), "")


def _judged(stored: StoredRun, judge: str) -> tuple[TaskVerdicts, ...]:
    return tuple(
        place_verdicts(task, stored.answers[task.id], stored.judgements[judge], judge) for task in stored.tasks
    )


def _summary(
    info: CurationRunInfo, stored: StoredRun, verdicts: Mapping[str, tuple[TaskVerdicts, ...]]
) -> CurationSummary:
    headline = headline_of(stored.judgements)
    tasks = verdicts[headline] if headline else _judged(msgspec.structs.replace(stored, judgements={"": {}}), "")
    seed = info.asked.seed
    curations = _curations(stored)
    every_place = [one for found in verdicts.values() for places in found for one in places]
    unfinished = any(one.outcome in ("open", "error") for one in every_place or _flat(tasks))
    by_scenario: dict[Scenario, list[TaskVerdicts]] = {}
    for places in tasks:
        by_scenario.setdefault(places[0].scenario, []).append(places)
    return CurationSummary(
        status="partial" if unfinished or info.stopped else "complete",
        signature=info.signature,
        headline=headline,
        counts=_counts(stored, tasks),
        judges=tuple(judge_scores(judge, found, seed=seed) for judge, found in verdicts.items()),
        attribution=attribution_figures(tasks, seed=seed),
        attribution_by_scenario={
            scenario: attribution_figures(found, seed=seed) for scenario, found in by_scenario.items()
        },
        search_success=search_success(tasks, seed=seed),
        behaviours=behaviours(curations, {task.id: task.user for task in stored.tasks}, seed=seed),
        costs=StageCosts(
            agent=_totals((one.call, one.requests) for one in stored.every_curation),
            extractor=_totals((one.call, 1) for one in stored.every_extraction),
            judges=_totals((one.call, one.requests) for one in stored.every_judgement),
        ),
    )


def _curations(stored: StoredRun) -> list[Curation]:
    return [one for task in stored.tasks if (one := stored.answers[task.id].curation) is not None]


def _counts(stored: StoredRun, tasks: tuple[TaskVerdicts, ...]) -> CurationCounts:
    places = _flat(tasks)
    failures = Counter(
        one.failure.kind
        for task in stored.tasks
        if (one := stored.answers[task.id].curation) is not None and one.failure is not None
    )
    return CurationCounts(
        tasks=len(stored.tasks),
        users=len({task.user for task in stored.tasks}),
        places=len(places),
        outcomes=dict(sorted(Counter(one.outcome for one in places).items())),
        failures=dict(sorted(failures.items())),
        classes=dict(sorted(Counter(one.page_class for one in places if one.page_class is not None).items())),
    )


def _flat(tasks: Iterable[TaskVerdicts]) -> list[PlaceVerdict]:
    return [one for places in tasks for one in places]


def _totals(made: Iterable[tuple[Call | None, int]]) -> CallTotals:
    """What was paid here; a record's call may stand for several requests."""
    paid = [(call, requests) for call, requests in made if call is not None]
    totals = call_totals([call for call, _ in paid])
    return msgspec.structs.replace(totals, calls=sum(max(1, requests) for _, requests in paid))
