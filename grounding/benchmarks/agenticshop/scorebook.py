"""The folder of a run that curates products, and its scores; ``verdicts.jsonl`` and ``summary.json`` are derived.

Judges take no part in the run's id: another judge over the same products is another look at the same run. Of a page
that was looked at for another URL, and of a judgement on other evidence or another checklist, nothing is used.
"""

from collections.abc import Iterable
from contextlib import closing
from functools import partialmethod
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from grounding.data.release import data_name
from grounding.llm.chat import identity_hash
from grounding.options import ScoringName
from grounding.records import Record
from grounding.run.journal import Journal, calls_of
from grounding.run.lock import AboutRun, DescribedFolder, write_time
from grounding.scoring.summary import CallTotals, TimeTotals, call_totals

from .judge.base import MAJORITY, REFERENCE, JudgedProduct, judgement_id, judgement_key, majority
from .records import COUNTED_PRODUCTS, Curation, CurationTask, Extraction, Judgement, PageClass, curated_pages
from .scores import (
    Behaviours,
    JudgeAnswers,
    JudgeScores,
    PlaceOutcome,
    TaskVerdicts,
    behaviours,
    counted,
    judge_scores,
    place_verdicts,
)

BENCHMARK: Literal["agenticshop"] = "agenticshop"
EVIDENCE = "evidence"
ROLES = ("agent", "extractor", "judge")
SCORING = "agenticshop.2"  # Both readings are always computed; the number goes up when the arithmetic of one changes.
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

    @property
    def evidence(self) -> Path:
        return self.path / EVIDENCE

    def write_tasks(self, tasks: Iterable[CurationTask]) -> None:
        self.replace_lines("steps.jsonl", (CurationTaskLine(task=task) for task in tasks))

    def read_tasks(self) -> tuple[CurationTask, ...]:
        lines = self.read_lines("steps.jsonl", CurationTaskLine, what="a task of a run that curates products")
        return tuple(line.task for line in lines)

    def _journal(self, name: str, kind: type[AnswerT], *, read_only: bool = False) -> Journal[AnswerT]:
        return Journal(self.path / name, kind, read_only=read_only)

    curations = partialmethod(_journal, "curations.jsonl", Curation)
    extractions = partialmethod(_journal, "extractions.jsonl", Extraction)
    judgements = partialmethod(_journal, "judgements.jsonl", Judgement)


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


class StoredRun(Record, frozen=True, kw_only=True):
    tasks: tuple[CurationTask, ...]
    answers: dict[str, JudgeAnswers]
    judgements: dict[str, dict[str, Judgement]]

    @property
    def curations(self) -> list[Curation]:
        return [one for task in self.tasks if (one := self.answers[task.id].curation) is not None]

    @property
    def extractions(self) -> list[Extraction]:
        return [one for task in self.tasks for one in self.answers[task.id].extractions if one is not None]

    def verdicts(self, judge: str) -> tuple[TaskVerdicts, ...]:
        """The verdicts of a judge by task; those of "" hang on no judge."""
        said = self.judgements.get(judge, {})
        return tuple(place_verdicts(task, self.answers[task.id], said, judge) for task in self.tasks)


def read_stored(folder: CurationFolder, info: CurationRunInfo) -> StoredRun:
    """What a run has so far, with what most judges say where several models were shown the same."""
    tasks, answers = folder.read_tasks(), {}
    said: dict[str, dict[str, Judgement]] = {one.name: {} for one in info.judges}
    with (
        closing(folder.curations(read_only=True)) as curations,
        closing(folder.extractions(read_only=True)) as extractions,
        closing(folder.judgements(read_only=True)) as judgements,
    ):
        for task in tasks:
            curation = curations.last(task.id)
            found = [(page, extractions.last(page.product_id)) for page in curated_pages(task, curation)]
            current = tuple(one if one is not None and one.url == page.url else None for page, one in found)
            answers[task.id] = JudgeAnswers(curation=curation, extractions=current)
            for judge in info.judges:
                for extraction in filter(None, current):
                    one = judgements.last(judgement_id(extraction.step_id, judge.name))
                    product = JudgedProduct(checklist=task.checklist, extraction=extraction)
                    if one is not None and one.key == judgement_key(judge.identity, product):
                        said[judge.name][extraction.step_id] = one
    # The reference takes no part, which leaves most items open, nor does the release's judge, which looks things up.
    full = [of for name, of in said.items() if name != REFERENCE and _sees_all(of) and not name.endswith("@official")]
    if len(full) > 1:
        # A product that a judge has not got to yet has no majority yet.
        said[MAJORITY] = {
            one.step_id: majority([of[one.step_id] for of in full], task.checklist)
            for task in tasks
            for one in filter(None, answers[task.id].extractions)
            if all(one.step_id in of for of in full)
        }
    return StoredRun(tasks=tasks, answers=answers, judgements=said)


def _sees_all(judgements: dict[str, Judgement]) -> bool:
    return all(one.condition == "full" for one in judgements.values())


def headline_of(judgements: dict[str, dict[str, Judgement]]) -> str:
    """The judge that counts: the majority, else one that is shown everything, the reference last; "" for none."""
    full = [name for name, found in judgements.items() if _sees_all(found)]
    return next(iter(sorted(full, key=lambda name: (name != MAJORITY, name == REFERENCE)) or judgements), "")


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

    def of(self, judge: str) -> JudgeScores:
        return next(one for one in self.judges if one.judge == judge)

    @property
    def own(self) -> JudgeScores:
        return self.of(self.headline)


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
        return {places[0].task: places for places in self.verdicts.get(self.summary.headline, ())}


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
    summary = summary or _summary(folder.path, info, stored, verdicts)
    return CurationScored(folder=folder.path, info=info, stored=stored, verdicts=verdicts, summary=summary)


def _summary(
    folder: Path, info: CurationRunInfo, stored: StoredRun, verdicts: dict[str, tuple[TaskVerdicts, ...]]
) -> CurationSummary:
    headline, seed = headline_of(stored.judgements), info.asked.seed
    tasks = verdicts.get(headline) or stored.verdicts("")
    places = [one for found in tasks for one in found]
    every = (one.outcome for found in (tasks, *verdicts.values()) for of_task in found for one in of_task)
    unfinished = not {"open", "error"}.isdisjoint(every)
    users = {task.id: task.user for task in stored.tasks}
    # No prompt of a model with a search of its own asks what its steps are for.
    says_why = info.asked.agent != "search"
    return CurationSummary(
        status="partial" if unfinished or info.stopped else "complete",
        signature=info.signature,
        headline=headline,
        counts=CurationCounts(
            tasks=len(stored.tasks),
            users=len(set(users.values())),
            places=len(places),
            outcomes=counted(one.outcome for one in places),
            failures=counted(one.failure.kind for one in stored.curations if one.failure),
            classes=counted(one.page_class for one in places if one.page_class is not None),
        ),
        judges=tuple(judge_scores(name, found, seed=seed) for name, found in (verdicts or {"": tasks}).items()),
        behaviours=behaviours(stored.curations, users, says_why=says_why, seed=seed),
        costs={f"{role}s" if role == "judge" else role: call_totals(calls_of(folder, role) or []) for role in ROLES},
    )
