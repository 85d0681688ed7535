"""What a judge is, what an answer of it hangs on, and what most of several judges say.

A judge sees the checklist and the stored evidence of one product, and never learns which agent found it at which rank.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from grounding.benchmarks.agenticshop.asking import StageModel
from grounding.benchmarks.agenticshop.records import ChecklistItem, Condition, Extraction, ItemVerdict, Judgement
from grounding.benchmarks.agenticshop.scores import UNDECIDED
from grounding.records import Failure, Record

if TYPE_CHECKING:
    from grounding.benchmarks.agenticshop.web.evidence import EvidenceFolder


class JudgedProduct(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One product and what it is judged by. The extraction's id holds the rank and is never shown to a judge."""

    checklist: tuple[ChecklistItem, ...]
    extraction: Extraction


class ProductJudge(StageModel, Protocol):
    """Says of each item of a checklist whether a product satisfies it; ``condition`` is what it is shown."""

    @property
    def condition(self) -> Condition: ...

    async def judge(self, subject: JudgedProduct, evidence: EvidenceFolder, key: str) -> Judgement:
        """Raises BudgetReached where the cost limit leaves no room, UserError where no product can be judged so."""


def judgement_id(product_id: str, judge: str) -> str:
    return f"{product_id}/{judge}"


def judgement_key(identity: str, subject: JudgedProduct) -> str:
    """What a judgement hangs on: the judge, the URL, the checklist's words and all of the evidence.

    Neither the agent nor the rank is in it, so the same product on the same evidence has the same key wherever it is
    judged for the same user. Of the time only the day counts, because a delivery date is read against it.
    """
    found, shown = subject.extraction, subject.extraction.page
    if shown is not None:
        shown = msgspec.structs.replace(shown, fetched_at=shown.fetched_at[:10], seconds=0.0, blocked_requests=0)
    parts = (identity, found.url, subject.checklist, shown, found.page_class, found.class_reason, found.facts)
    return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()[:32]


def no_product(extraction: Extraction) -> str:
    """Why there is no product that could satisfy anything, in words; "" where there is one (paper, section 3.4)."""
    page, kind = extraction.page, extraction.page_class
    if page is None:
        return "there is no page to judge"
    if page.failure is not None:
        return f"the page can't be had: {page.failure.message}"
    return "" if kind in (None, "product") else f"no product's own page, but {kind} ({extraction.class_reason})"


def unjudged(
    judge: ProductJudge, subject: JudgedProduct, key: str, *, why: str = "", failure: Failure | None = None
) -> Judgement:
    """A judgement that satisfies nothing: there is no evidence (``why``), or a ``failure``: all is ``missing``."""
    return Judgement(
        step_id=judgement_id(subject.extraction.step_id, judge.name),
        key=key,
        judge=judge.name,
        condition=judge.condition,
        verdicts=tuple(
            ItemVerdict(item=item.id, satisfied=False, reasoning=why, flags=("missing",) if failure else ())
            for item in subject.checklist
        ),
        failure=failure,
    )


MAJORITY = "majority"


def majority(judgements: Sequence[Judgement], checklist: Sequence[ChecklistItem]) -> Judgement:
    """What most judges say of each item of a product.

    An item is satisfied if strictly more judges say so than say that it is not. One that nobody decides is
    ``undecided``, or ``missing`` where no judge left it open on purpose. The evidence is that of the first of the
    majority. Where every judge failed, an error, which asking again may mend, is the failure before others.
    """
    failures = sorted((one.failure for one in judgements if one.failure), key=lambda one: one.kind != "error")
    standing = [one for one in judgements if one.failure is None]
    return Judgement(
        step_id=judgement_id(judgements[0].product, MAJORITY),
        key=hashlib.sha256(msgspec.json.encode([(one.judge, one.key) for one in judgements])).hexdigest()[:32],
        judge=MAJORITY,
        verdicts=tuple(_verdict(item, standing) for item in checklist),
        failure=None if standing else failures[0],
    )


def _verdict(item: ChecklistItem, judgements: Sequence[Judgement]) -> ItemVerdict:
    said = [(each.judge, one) for each in judgements for one in each.verdicts if one.item == item.id]
    decided = [(judge, one) for judge, one in said if UNDECIDED.isdisjoint(one.flags)]
    yes, no = ([pair for pair in decided if pair[1].satisfied is side] for side in (True, False))
    if not decided:
        open_ = any("undecided" in one.flags for _, one in said)
        flags: Any = ("undecided" if open_ else "missing",)
        return ItemVerdict(item=item.id, satisfied=False, reasoning="no judge decides it", flags=flags)
    agreeing = [one for _, one in (yes if len(yes) > len(no) else no)]
    best = next((one for one in agreeing if (one.quote or one.place) and not one.flags), agreeing[0])
    of_side = {"satisfied": yes, "not satisfied": no}
    told = "; ".join(f"{what}: {', '.join(judge for judge, _ in of)}" for what, of in of_side.items() if of)
    tie = " (a tie is not satisfied)" if len(yes) == len(no) else ""
    return msgspec.structs.replace(best, reasoning=told + tie)
