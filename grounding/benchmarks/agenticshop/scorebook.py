"""The folder of a run that curates products, and its scores; ``verdicts.jsonl`` and ``summary.json`` are derived.

Judges take no part in the run's id: another judge over the same products is another look at the same run. Of a page
that was looked at for another URL, and of a judgement on other evidence or another checklist, nothing is used.
"""

from collections.abc import Iterable
from functools import partialmethod
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from grounding.data.release import data_name
from grounding.llm.chat import identity_hash
from grounding.options import ScoringName
from grounding.records import Record
from grounding.run.journal import calls_of, scan
from grounding.run.lock import AboutRun, DescribedFolder, write_time
from grounding.scoring.summary import CallTotals, TimeTotals, call_totals

from .judge.base import MAJORITY, REFERENCE, JudgedProduct, judgement_id, judgement_key, majority
from .records import COUNTED_PRODUCTS, Curation, CurationTask, Extraction, Judgement, PageClass, curated_pages
from .scores import (
    Behaviours,
    JudgeScores,
    PlaceOutcome,
    StoredRun,
    TaskVerdicts,
    behaviours,
    counted,
    judge_scores,
)

BENCHMARK: Literal["agenticshop"] = "agenticshop"
EVIDENCE = "evidence"  # The folder of kept pages within that of a run.
ROLES = {"agent": "agent", "extractor": "extractor", "judges": "judge"}  # As costs are shown, and as they are kept.
SCORING = "agenticshop.4"  # Both readings are always computed; the number goes up when the arithmetic of one changes.
AnswerT = TypeVar("AnswerT", Curation, Extraction, Judgement)


class CurationAsked(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Everything that can change a curation or an extraction; its hash is the run's id. ``web``: "own" shops or not."""

    dataset: str
    fingerprint: str
    select: str
    agent: str
    agent_identity: str
    model: str
    base_url: str
    extractor: str
    extractor_identity: str
    recorded: str
    web: Literal["own", "open"]
    seed: int
    version: str


class JudgeMade(Record, frozen=True, kw_only=True, omit_defaults=False):
    name: str
    identity: str


class CurationRunInfo(AboutRun, frozen=True, kw_only=True, omit_defaults=False):
    benchmark: Literal["agenticshop"] = BENCHMARK
    asked: CurationAsked
    judges: tuple[JudgeMade, ...]
    preset: ScoringName


class CurationTaskLine(Record, frozen=True, kw_only=True):
    task: CurationTask


class CurationFolder(DescribedFolder[CurationRunInfo]):
    info_type = CurationRunInfo
    kind = "a run that curates products"

    def write_tasks(self, tasks: Iterable[CurationTask]) -> None:
        self.replace_lines("steps.jsonl", (CurationTaskLine(task=task) for task in tasks))

    def read_tasks(self) -> tuple[CurationTask, ...]:
        lines = self.read_lines("steps.jsonl", CurationTaskLine, what="a task of a run that curates products")
        return tuple(line.task for line in lines)

    def _latest(self, name: str, kind: type[AnswerT]) -> dict[str, AnswerT]:
        """The last answers by what they answer; a UserError where the file is not there or damaged."""
        return {one.step_id: one for one in scan(self.path / name, kind)}

    curations = partialmethod(_latest, "curations.jsonl", Curation)
    extractions = partialmethod(_latest, "extractions.jsonl", Extraction)
    judgements = partialmethod(_latest, "judgements.jsonl", Judgement)


def curation_signature(info: CurationRunInfo) -> str:
    """The signature of a run, ``key:value`` pairs joined by bars: everything that can change a score. What the open web
    answers is not in it: two runs over it are comparable only as far as its pages stay.
    """
    asked = info.asked
    judges = ",".join(f"{one.name}@{identity_hash(one.identity)}" for one in info.judges)
    parts = {
        "dataset": f"{data_name(asked.dataset, info.departs)}@{asked.fingerprint[:12]}",
        "web": asked.web,
        "agent": f"{asked.agent}@{identity_hash(asked.agent_identity)}",
        "model": asked.model or "none",
        "extractor": f"{asked.extractor}@{identity_hash(asked.extractor_identity)}",
        "recorded": asked.recorded or "none",
        "judge": judges or "none",
        "products": COUNTED_PRODUCTS,
        "select": asked.select,
        "scoring": SCORING,
        "clusters": "user",
        "seed": asked.seed,
        "version": asked.version,
    }
    return "|".join(f"{name}:{value}" for name, value in parts.items())


def read_stored(folder: CurationFolder, info: CurationRunInfo) -> StoredRun:
    """What a run has so far, with what most judges say where several models were shown the same."""
    tasks, curations = folder.read_tasks(), folder.curations()
    extractions, judgements = folder.extractions(), folder.judgements()
    pages: dict[str, Extraction] = {}
    said: dict[str, dict[str, Judgement]] = {one.name: {} for one in info.judges}
    for task in tasks:
        for page in curated_pages(task, curations.get(task.id)):
            found = extractions.get(page.product_id)
            if found is None or found.url != page.url:
                continue
            pages[page.product_id] = found
            for judge in info.judges:
                one = judgements.get(judgement_id(page.product_id, judge.name))
                subject = JudgedProduct(checklist=task.checklist, extraction=found)
                if one is not None and one.key == judgement_key(judge.identity, subject):
                    said[judge.name][page.product_id] = one
    in_order = {task.id: curations[task.id] for task in tasks if task.id in curations}
    run = StoredRun(tasks=tasks, curations=in_order, extractions=pages, judgements=said)
    # The reference takes no part, which leaves most items open, nor does the release's judge, which looks things up.
    takes_part = (name for name in said if name != REFERENCE and not name.endswith("@official"))
    full = [said[name] for name in takes_part if run.sees_pages(name)]
    if len(full) > 1:
        # A product that a judge has not got to yet has no majority yet.
        checklists = {task.id: task.checklist for task in tasks}
        said[MAJORITY] = {
            name: majority([of[name] for of in full], checklists[name.rpartition("/")[0]])
            for name in pages
            if all(name in of for of in full)
        }
    return run


def headline_of(run: StoredRun) -> str:
    """The judge that counts: the majority, else one that is shown everything, the reference last; "" for none."""
    full = filter(run.sees_pages, run.judgements)
    return next(iter(sorted(full, key=lambda name: (name != MAJORITY, name == REFERENCE)) or run.judgements), "")


class CurationCounts(Record, frozen=True, kw_only=True, omit_defaults=False):
    tasks: int
    users: int
    places: int
    outcomes: dict[PlaceOutcome, int]
    failures: dict[str, int]
    classes: dict[PageClass, int]


class CurationSummary(Record, frozen=True, kw_only=True, omit_defaults=False):
    """``headline`` is the judge that counts; where nobody judged, ``judges`` has what hangs on none as ""."""

    status: Literal["complete", "partial"]
    signature: str
    headline: str
    counts: CurationCounts
    judges: tuple[JudgeScores, ...]
    behaviours: Behaviours
    costs: dict[str, CallTotals]

    @property
    def own(self) -> JudgeScores:
        return next(one for one in self.judges if one.judge == self.headline)


class CurationScored(Record, frozen=True, kw_only=True):
    folder: Path
    info: CurationRunInfo
    stored: StoredRun
    verdicts: dict[str, tuple[TaskVerdicts, ...]]
    summary: CurationSummary
    set_aside: Path | None = None
    report: Path | None = None

    @property
    def places(self) -> dict[str, TaskVerdicts]:
        """By task what the judge that counts says; where nobody judged, what hangs on no judge."""
        headline = self.summary.headline
        return {places[0].task: places for places in self.verdicts.get(headline) or self.stored.verdicts(headline)}


def score_curation(folder: CurationFolder) -> CurationScored:
    """Write what is derived from a run's answers; raises a UserError where there is no run, or a file is damaged."""
    info = folder.read_info()
    info = msgspec.structs.replace(info, signature=curation_signature(info))
    scored = _scored(folder, info)
    folder.write_info(info)
    verdicts = scored.verdicts.values()
    folder.replace_lines("verdicts.jsonl", (one for found in verdicts for places in found for one in places))
    write_time(folder, TimeTotals(wall_s=info.wall_s))
    folder.write_summary(scored.summary)
    return scored


def read_scored(path: Path) -> CurationScored:
    """A run as it was scored last. Writes nothing; raises as :func:`score_curation`, also where it never was."""
    folder = CurationFolder(path)
    return _scored(folder, folder.read_info(), folder.read_summary(CurationSummary))


def _scored(folder: CurationFolder, info: CurationRunInfo, summary: CurationSummary | None = None) -> CurationScored:
    stored = read_stored(folder, info)
    verdicts = {judge: stored.verdicts(judge) for judge in stored.judgements}
    summary = summary or _summary(folder.path, info, stored, verdicts or {"": stored.verdicts("")})
    return CurationScored(folder=folder.path, info=info, stored=stored, verdicts=verdicts, summary=summary)


def _summary(
    folder: Path, info: CurationRunInfo, stored: StoredRun, verdicts: dict[str, tuple[TaskVerdicts, ...]]
) -> CurationSummary:
    headline, seed = headline_of(stored), info.asked.seed
    places = [one for of_task in verdicts[headline] for one in of_task]
    outcomes = {one.outcome for tasks in verdicts.values() for of_task in tasks for one in of_task}
    unfinished = not outcomes.isdisjoint(("open", "error"))
    return CurationSummary(
        status="partial" if unfinished or info.stopped else "complete",
        signature=info.signature,
        headline=headline,
        counts=CurationCounts(
            tasks=len(stored.tasks),
            users=len({task.user for task in stored.tasks}),
            places=len(places),
            outcomes=counted(one.outcome for one in places),
            failures=counted(one.failure.kind for one in stored.curations.values() if one.failure),
            classes=counted(one.page_class for one in places if one.page_class is not None),
        ),
        judges=tuple(judge_scores(name, found, seed=seed) for name, found in verdicts.items()),
        # No prompt of a model with a search of its own asks what its steps are for.
        behaviours=behaviours(stored, says_why=info.asked.agent != "search", seed=seed),
        costs={name: call_totals(calls_of(folder, role) or []) for name, role in ROLES.items()},
    )
