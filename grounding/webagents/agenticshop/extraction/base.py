"""What every extractor is, and what it gives back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from grounding.records import Call, Failure, Record
from grounding.webagents.agenticshop.records import PageClass, ProductFacts, RenderedPage

if TYPE_CHECKING:
    from grounding.webagents.agenticshop.web.evidence import EvidenceFolder


class Extracted(Record, frozen=True, kw_only=True):
    """What one page says. Fields as in ``records.Extraction``, which it becomes a part of.

    ``page_class`` is None only beside a ``failure``. ``facts`` is None where the page is no product's. ``raw`` is a
    model's reply as it came, "" where no model was asked.
    """

    page_class: PageClass | None = None
    class_reason: str = ""
    facts: ProductFacts | None = None
    raw: str = ""
    call: Call | None = None
    failure: Failure | None = None


class Extractor(Protocol):
    """Reads kept pages. ``identity`` is canonical text of all but the page that can change what comes."""

    @property
    def name(self) -> str:
        """A short name for tables and folders."""
        ...

    @property
    def identity(self) -> str:
        """Version of the rules, or model, prompt and settings."""
        ...

    @property
    def max_concurrency(self) -> int:
        """How many pages it reads at once."""
        ...

    async def extract(self, page: RenderedPage, evidence: EvidenceFolder) -> Extracted:
        """Read one page. A page that can't be read is no exception: its class or the failure says so.

        Raises:
            BudgetReached: the cost limit leaves no room; nothing was sent.
            UserError: the endpoint refuses for a reason that holds for every request.
        """
        ...

    async def check(self) -> None:
        """Fail early when it can't work."""
        ...

    async def aclose(self) -> None:
        """Let go of what it holds."""
        ...
