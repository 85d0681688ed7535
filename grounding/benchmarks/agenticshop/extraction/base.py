"""What every extractor is, and what it gives back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from grounding.benchmarks.agenticshop.asking import StageModel
from grounding.benchmarks.agenticshop.records import PageClass, ProductFacts, RenderedPage
from grounding.records import Call, Failure, Record

if TYPE_CHECKING:
    from grounding.benchmarks.agenticshop.web.evidence import EvidenceFolder


class Extracted(Record, frozen=True, kw_only=True):
    """What one page says. Fields as in ``records.Extraction``, which it becomes a part of.

    ``page_class`` is None only beside a ``failure``; where structure alone is not ``sure`` of it, a model may decide.
    ``facts`` is None where the page is no product's. ``raw`` is a model's reply as it came, "" where none was asked.
    """

    page_class: PageClass | None = None
    class_reason: str = ""
    sure: bool = True
    facts: ProductFacts | None = None
    raw: str = ""
    call: Call | None = None
    failure: Failure | None = None


class Extractor(StageModel, Protocol):
    """Raises BudgetReached where the cost limit leaves no room, UserError where every request is refused."""

    async def extract(self, page: RenderedPage, evidence: EvidenceFolder) -> Extracted: ...
