"""Extractions and judgements that were made before, in the place of making them: of an earlier run, or of the release.

What is taken over is written into the new run's folder with its evidence, so that the folder stands on its own.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Self

import msgspec

from grounding.errors import UserError
from grounding.journal import Journal
from grounding.records import Failure, Record
from grounding.webagents.agenticshop.judge.base import JudgedProduct, StoredEvidence, judgement_id
from grounding.webagents.agenticshop.records import Condition, CurationTask, Extraction, Judgement
from grounding.webagents.agenticshop.release import read_eval_results
from grounding.webagents.agenticshop.runfiles import EVIDENCE, CurationFolder, is_curation_run
from grounding.webagents.agenticshop.stages import CuratedPage
from grounding.webagents.agenticshop.web.evidence import EvidenceFolder

MANY = 64
"""Products are looked up this many at a time: nothing is waited for but the disk."""


class RecordedPages(Record, frozen=True, kw_only=True):
    """Extractions by product, and where they lie: the folder of a run, or a folder of the release's results."""

    path: Path
    extractions: dict[str, Extraction]

    def take_over(self, tasks: Sequence[CurationTask], wanted: Sequence[str], evidence: EvidenceFolder) -> Self:
        """The same with the evidence of the wanted products in a folder of its own.

        Raises:
            UserError: a file is missing or was changed.
            OSError: the folder can't be written.
        """
        if not is_curation_run(self.path):
            found = read_eval_results(self.path, tasks, evidence=evidence).extractions
            return msgspec.structs.replace(self, extractions={one.step_id: one for one in found})
        source = EvidenceFolder(self.path / EVIDENCE)
        for product in wanted:
            one = self.extractions.get(product)
            if one is not None and one.page is not None:
                for name in filter(None, (one.page.html_file, *(segment.file for segment in one.page.segments))):
                    evidence.put(source.get(name), name[name.index(".") :])
        return self


def recorded_pages(path: Path, tasks: Sequence[CurationTask]) -> RecordedPages:
    """The extractions of an earlier run, or of the release's results.

    Raises:
        UserError: it is neither, or it is damaged.
    """
    if is_curation_run(path):
        journal = CurationFolder(path).extractions(read_only=True)
        try:
            return RecordedPages(path=path, extractions={one.step_id: one for one in journal if one.failure is None})
        finally:
            journal.close()
    if not path.is_dir():
        raise UserError(f"--extractions {path}: expected the folder of an earlier run, or the release's eval_results")
    found = read_eval_results(path, tasks)
    _tell(path, found.odd)
    return RecordedPages(path=path, extractions={one.step_id: one for one in found.extractions})


def recorded_judges(path: Path, tasks: Sequence[CurationTask]) -> tuple[RecordedJudge, ...]:
    """The judges of an earlier run, or the one of the release's results, as judges who say it again.

    Raises:
        UserError: it is neither, or it is damaged, or nobody judged anything.
    """
    judgements: Iterable[Judgement]
    if is_curation_run(path):
        journal = CurationFolder(path).judgements(read_only=True)
        try:
            judgements = tuple(journal)
        finally:
            journal.close()
    elif path.is_dir():
        found = read_eval_results(path, tasks)
        _tell(path, found.odd)
        judgements = found.judgements
    else:
        raise UserError(f"--judgements {path}: expected the folder of an earlier run, or the release's eval_results")
    by_judge: dict[str, dict[str, Judgement]] = {}
    for one in judgements:
        by_judge.setdefault(one.judge, {})[one.step_id.removesuffix(f"/{one.judge}")] = one
    if not by_judge:
        raise UserError(f"--judgements {path}: nobody judged anything there")
    return tuple(RecordedJudge(name, known) for name, known in by_judge.items())


def _tell(path: Path, odd: Sequence[str]) -> None:
    for each in odd:
        print(f"grounding: warning: {path}: {each}", file=sys.stderr)


def content_hash(records: Mapping[str, msgspec.Struct]) -> str:
    """A hash of recorded answers, the same wherever they lie."""
    return hashlib.sha256(msgspec.json.encode(sorted(records.items()), order="sorted")).hexdigest()[:16]


class RecordedExtractStage:
    """Takes over what an earlier run saw and read."""

    name = "extract"
    max_concurrency = MANY

    def __init__(self, known: Mapping[str, Extraction], journal: Journal[Extraction]) -> None:
        self._known = known
        self.journal = journal

    def item_id(self, item: CuratedPage) -> str:
        """The product's id."""
        return item.product_id

    def key(self, item: CuratedPage, earlier: None) -> str:  # noqa: ARG002
        """The product, its URL and what was recorded of it."""
        parts = ("recorded", item.product_id, item.url, self._known.get(item.product_id))
        return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()[:32]

    async def run(self, item: CuratedPage, earlier: None, key: str) -> Extraction:  # noqa: ARG002
        """Take one over."""
        found = self._known.get(item.product_id)
        if found is None or found.url != item.url:
            what = "no page of this product" if found is None else f"the page of another URL ({found.url})"
            return Extraction(
                step_id=item.product_id,
                key=key,
                url=item.url,
                extractor="recorded",
                failure=Failure(kind="missing", message=f"{what} is recorded"),
            )
        return msgspec.structs.replace(found, key=key, call=None)


class RecordedJudge:
    """Says what somebody or something said before of the same products; it is believed about its own evidence."""

    max_concurrency = MANY

    def __init__(self, name: str, known: Mapping[str, Judgement]) -> None:
        self.name = name
        self.condition: Condition = next((one.condition for one in known.values()), "full")
        self._known = known
        self.identity = f"recorded {content_hash(known)}"

    async def judge(self, subject: JudgedProduct, evidence: StoredEvidence, key: str) -> Judgement:  # noqa: ARG002
        """Take over what is recorded of one product."""
        found = self._known.get(subject.product_id)
        step_id = judgement_id(subject.product_id, self.name)
        if found is None:
            failure = Failure(kind="missing", message="no judgement of this product is recorded")
            return Judgement(step_id=step_id, key=key, judge=self.name, failure=failure)
        return msgspec.structs.replace(found, step_id=step_id, key=key, judge=self.name, call=None)

    async def check(self) -> None:
        """Nothing can be missing."""

    async def aclose(self) -> None:
        """Nothing to close."""
