"""What the rule judge says of the other judges of a run, on the items that rules decide."""

from __future__ import annotations

from grounding.records import Record
from grounding.webagents.agenticshop.judge.checking import CheckedItems, Difference, check_judge, judged_twice
from grounding.webagents.agenticshop.options import RULES
from grounding.webagents.agenticshop.records import product_id
from grounding.webagents.agenticshop.stored import StoredRun


class CheckedJudge(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How a judge agrees with the rules over what both have judged; dimensions without items are left out."""

    judge: str
    products: int
    total: CheckedItems
    dimensions: tuple[CheckedItems, ...]


class JudgedDifferently(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A line of ``differences.jsonl``: an item of which a judge says otherwise than the rules."""

    judge: str
    difference: Difference


class RuleChecks(Record, frozen=True, kw_only=True, omit_defaults=False):
    """All judges of a run but the rules, held against them; nothing where the rules did not judge."""

    judges: tuple[CheckedJudge, ...] = ()
    differences: tuple[JudgedDifferently, ...] = ()


def rule_checks(stored: StoredRun) -> RuleChecks:
    """Hold each judge of a run against the rules, the majority among them. Asks nobody."""
    rules = stored.judgements.get(RULES)
    if rules is None:
        return RuleChecks()
    checklists = {
        product_id(task.id, rank): task.checklist
        for task in stored.tasks
        for rank in range(len(stored.answers[task.id].extractions))
    }
    found = [
        check_judge(judge, judged_twice(checklists, rules.values(), said.values()))
        for judge, said in stored.judgements.items()
        if judge != RULES
    ]
    return RuleChecks(
        judges=tuple(
            CheckedJudge(judge=one.judge, products=one.products, total=one.total, dimensions=one.dimensions)
            for one in found
        ),
        differences=tuple(
            JudgedDifferently(judge=one.judge, difference=difference) for one in found for difference in one.differences
        ),
    )
