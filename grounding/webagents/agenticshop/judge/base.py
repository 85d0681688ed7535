"""What a judge is, what it is shown, and what an answer of it hangs on.

A judge sees one product of one user: the checklist and the stored evidence. It never learns which agent found the
product or at which rank, and it opens no page: judging is repeated from the evidence alone.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Protocol

import msgspec

from grounding.records import Failure, Record
from grounding.webagents.agenticshop.records import ChecklistItem, Condition, Extraction, ItemVerdict, Judgement


class StoredEvidence(Protocol):
    """What a judge needs of a folder of evidence."""

    @property
    def path(self) -> Path:
        """Where the files lie."""
        ...

    def get(self, name: str) -> bytes:
        """The content of a file."""
        ...


class JudgedProduct(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One product and what it is judged by.

    ``product_id`` names the answer and is never shown to a judge: it holds the rank. ``url`` is what the agent wrote.
    """

    product_id: str
    url: str
    checklist: tuple[ChecklistItem, ...]
    extraction: Extraction


class Judge(Protocol):
    """Says of each item of a checklist whether a product satisfies it."""

    @property
    def name(self) -> str:
        """The name in tables and in the answer's ``step_id``."""
        ...

    @property
    def condition(self) -> Condition:
        """What the judge is shown."""
        ...

    @property
    def identity(self) -> str:
        """Everything besides the product that can change a verdict."""
        ...

    @property
    def max_concurrency(self) -> int:
        """How many products may be judged at once."""
        ...

    async def judge(self, subject: JudgedProduct, evidence: StoredEvidence, key: str) -> Judgement:
        """Judge one product; what goes wrong is in the record.

        Raises:
            BudgetReached: the cost limit leaves no room; nothing was sent.
            UserError: no product can be judged this way.
        """
        ...

    async def check(self) -> None:
        """Fail early where the judge can't be asked at all."""
        ...

    async def aclose(self) -> None:
        """Close what is open."""
        ...


def judgement_id(product_id: str, judge: str) -> str:
    """The name of a judgement: ``SCENARIO/USER/RANK/JUDGE``."""
    return f"{product_id}/{judge}"


def judgement_key(identity: str, subject: JudgedProduct) -> str:
    """What a judgement hangs on: the judge, the URL, the checklist's words and all of the evidence.

    Neither the agent nor the rank is in it, so the same product on the same evidence has the same key wherever it is
    judged for the same user. Of the time only the day counts, because a delivery date is read against it.

    Args:
        identity: :attr:`Judge.identity`.
        subject: The product.
    """
    page = subject.extraction.page
    shown = None
    if page is not None:
        shown = msgspec.structs.replace(page, fetched_at=page.fetched_at[:10], seconds=0.0, blocked_requests=0)
    extraction = subject.extraction
    parts = (
        identity,
        subject.url,
        subject.checklist,
        shown,
        extraction.page_class,
        extraction.class_reason,
        extraction.facts,
    )
    return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()[:32]


def no_product(extraction: Extraction) -> str:
    """Why there is no product that could satisfy anything, in words; "" where there is one.

    Missing evidence is failed evidence (paper, section 3.4 and its tables of all against successful pages): a page that
    can't be had, that blocks its visitors, or that shows no single product satisfies no item.
    """
    page = extraction.page
    if page is None:
        return "there is no page to judge"
    if page.failure is not None:
        return f"the page can't be had: {page.failure.message}"
    if extraction.page_class == "error":
        return _because("the page is an error page", extraction.class_reason)
    if extraction.page_class == "blocked":
        return _because("the page asks whether its visitor is human and shows no product", extraction.class_reason)
    if extraction.page_class == "listing":
        return _because("the page lists several products and is no product's own", extraction.class_reason)
    if extraction.page_class == "other":
        return _because("the page is no product's", extraction.class_reason)
    return ""


def _because(what: str, reason: str) -> str:
    return f"{what} ({reason})" if reason else what


def nothing_satisfied(subject: JudgedProduct, judge: str, condition: Condition, key: str, reason: str) -> Judgement:
    """The judgement of a product of which there is no evidence: no item is satisfied."""
    return Judgement(
        step_id=judgement_id(subject.product_id, judge),
        key=key,
        judge=judge,
        condition=condition,
        verdicts=tuple(ItemVerdict(item=item.id, satisfied=False, reasoning=reason) for item in subject.checklist),
    )


def not_judged(subject: JudgedProduct, judge: str, condition: Condition, key: str, failure: Failure) -> Judgement:
    """The judgement that could not be made: every item is ``missing``."""
    return Judgement(
        step_id=judgement_id(subject.product_id, judge),
        key=key,
        judge=judge,
        condition=condition,
        verdicts=tuple(ItemVerdict(item=item.id, satisfied=False, flags=("missing",)) for item in subject.checklist),
        failure=failure,
    )
