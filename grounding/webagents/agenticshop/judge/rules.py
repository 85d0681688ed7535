"""The rule judge: needs no model, decides what follows from an item's words and a page's facts, and leaves the rest.

What the page doesn't say is failed (the release's judge is told the same of data that is not available). What no rule
decides is flagged ``undecided`` and is not satisfied. Nothing that a page says changes a rule: its words are compared
and never read as more.
"""

from __future__ import annotations

from functools import cache

from grounding.webagents.agenticshop.judge.base import (
    JudgedProduct,
    StoredEvidence,
    judgement_id,
    no_product,
    not_judged,
    nothing_satisfied,
)
from grounding.webagents.agenticshop.judge.deciding import rules as deciding
from grounding.webagents.agenticshop.judge.deciding.rules import decide
from grounding.webagents.agenticshop.judge.deciding.shown import Shown, shown
from grounding.webagents.agenticshop.judge.parsing import items
from grounding.webagents.agenticshop.judge.parsing.items import Reading, read_item
from grounding.webagents.agenticshop.records import ChecklistItem, Condition, ItemVerdict, Judgement, VerdictFlag

NAME = "rules"


class RuleJudge:
    """Decides by rules alone."""

    name = NAME
    condition: Condition = "full"
    max_concurrency = 8

    @property
    def identity(self) -> str:
        """The versions of how items are read and how rules decide."""
        return f"judge rules reading.{items.VERSION} deciding.{deciding.VERSION}"

    async def judge(self, subject: JudgedProduct, evidence: StoredEvidence, key: str) -> Judgement:  # noqa: ARG002
        """Judge one product from what was extracted of its page."""
        return judged_by_rules(subject, key)

    async def check(self) -> None:
        """Nothing can be missing."""

    async def aclose(self) -> None:
        """Nothing to close."""


def judged_by_rules(subject: JudgedProduct, key: str = "") -> Judgement:
    """What the rules say of a product.

    Args:
        subject: The product.
        key: Goes into the answer as it is.
    """
    failure = subject.extraction.failure
    if failure is not None:
        return not_judged(subject, NAME, "full", key, failure)
    why = no_product(subject.extraction)
    if why:
        return nothing_satisfied(subject, NAME, "full", key, why)
    page = shown(subject.extraction)
    if page is None:
        return _undecided(subject, key, "nothing was read from the page")
    return Judgement(
        step_id=judgement_id(subject.product_id, NAME),
        key=key,
        judge=NAME,
        verdicts=tuple(rule_verdict(item, page) for item in subject.checklist),
    )


def _undecided(subject: JudgedProduct, key: str, reason: str) -> Judgement:
    """The judgement of a page that there may be a product on, and whose facts nobody wrote down."""
    return Judgement(
        step_id=judgement_id(subject.product_id, NAME),
        key=key,
        judge=NAME,
        verdicts=tuple(
            ItemVerdict(item=item.id, satisfied=False, reasoning=f"not decided: {reason}", flags=("undecided",))
            for item in subject.checklist
        ),
    )


@cache
def reading(item: ChecklistItem) -> Reading:
    """How an item is read; kept, because every product of a user is held against the same items."""
    return read_item(item)


def rule_verdict(item: ChecklistItem, page: Shown) -> ItemVerdict:
    """What the rules say of one item."""
    read = reading(item)
    if read.rule is None:
        return ItemVerdict(item=item.id, satisfied=False, reasoning=f"not decided: {read.reason}", flags=("undecided",))
    found = decide(read.rule, page)
    if found.satisfied is None:
        reasoning = f"not decided: asked is that {read.rule.words}; {found.reason}"
        return ItemVerdict(item=item.id, satisfied=False, reasoning=reasoning, quote=found.quote, flags=("undecided",))
    flags: tuple[VerdictFlag, ...] = ("no-evidence",) if found.satisfied and not found.quote else ()
    return ItemVerdict(
        item=item.id,
        satisfied=found.satisfied,
        reasoning=f"asked is that {read.rule.words}; {found.reason}",
        quote=found.quote,
        flags=flags,
    )
