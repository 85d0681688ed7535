"""What a run folder holds of each task, put together: the answers that belong to each other, and no stale ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grounding.journal import Journal
from grounding.records import Record
from grounding.webagents.agenticshop.judge.base import judgement_id, judgement_key
from grounding.webagents.agenticshop.records import Curation, CurationTask, Extraction, Judgement
from grounding.webagents.agenticshop.runfiles import CurationFolder, JudgeMade
from grounding.webagents.agenticshop.scores.verdicts import Answers
from grounding.webagents.agenticshop.stages import curated_pages, judged_product


class StoredRun(Record, frozen=True, kw_only=True):
    """The tasks of a run with their answers, and each judge's judgements by product.

    Of a page that was looked at for another URL, and of a judgement on other evidence or another checklist, nothing is
    here. ``every`` has all records that were ever written: what they cost was paid.
    """

    tasks: tuple[CurationTask, ...]
    answers: dict[str, Answers]
    judgements: dict[str, dict[str, Judgement]]
    every_curation: tuple[Curation, ...]
    every_extraction: tuple[Extraction, ...]
    every_judgement: tuple[Judgement, ...]


def read_run(folder: CurationFolder, judges: Sequence[JudgeMade]) -> StoredRun:
    """Read what a run has so far.

    Raises:
        UserError: a file is damaged.
    """
    tasks = folder.read_tasks()
    curations = folder.curations(read_only=True)
    extractions = folder.extractions(read_only=True)
    judgements = folder.judgements(read_only=True)
    try:
        answers = {task.id: _answers(task, curations, extractions) for task in tasks}
        return StoredRun(
            tasks=tasks,
            answers=answers,
            judgements={one.name: _judged(tasks, answers, one, judgements) for one in judges},
            every_curation=tuple(curations.every()),
            every_extraction=tuple(extractions.every()),
            every_judgement=tuple(judgements.every()),
        )
    finally:
        for journal in (curations, extractions, judgements):
            journal.close()


def _answers(task: CurationTask, curations: Journal[Curation], extractions: Journal[Extraction]) -> Answers:
    curation = curations.last(task.id)
    found = [(page, extractions.last(page.product_id)) for page in curated_pages(task, curation)]
    return Answers(
        curation=curation,
        extractions=tuple(one if one is not None and one.url == page.url else None for page, one in found),
    )


def _judged(
    tasks: Sequence[CurationTask],
    answers: Mapping[str, Answers],
    judge: JudgeMade,
    judgements: Journal[Judgement],
) -> dict[str, Judgement]:
    found = {}
    for task in tasks:
        for extraction in answers[task.id].extractions:
            if extraction is None:
                continue
            one = judgements.last(judgement_id(extraction.step_id, judge.name))
            if one is not None and one.key == judgement_key(judge.identity, judged_product(task, extraction)):
                found[extraction.step_id] = one
    return found
