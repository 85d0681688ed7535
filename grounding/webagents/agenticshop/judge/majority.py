"""Several judges of one product as one: what most of those say who decide an item."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from grounding.records import Failure
from grounding.webagents.agenticshop.judge.base import judgement_id
from grounding.webagents.agenticshop.records import ChecklistItem, ItemVerdict, Judgement, VerdictFlag

MAJORITY = "majority"
ABSTAINS: frozenset[VerdictFlag] = frozenset({"undecided", "missing"})


def majority(judgements: Sequence[Judgement], checklist: Sequence[ChecklistItem]) -> Judgement:
    """What most judges say of each item of a product.

    An item is satisfied if strictly more judges say so than say that it is not. A judge that doesn't decide an item,
    says nothing of it, or failed takes no part in it; with a tie the item is not satisfied, since it was not shown. An
    item that nobody decides is ``undecided``, or ``missing`` where no judge left it open on purpose. The quote or place
    is that of the first judge who is in the majority and whose evidence was found.

    Args:
        judgements: One by each judge, in their order; of the same product.
        checklist: The items that were judged.

    Returns:
        A judgement by ``majority`` without calls of its own. It has a failure where every judge failed: the first
        error among theirs, which asking again may mend.

    Raises:
        ValueError: there are none, a judge occurs twice, or they are of different products.
    """
    if not judgements:
        raise ValueError("expected the judgement of one judge at least")
    products = {each.step_id.removesuffix(f"/{each.judge}") for each in judgements}
    if len(products) != 1 or len({each.judge for each in judgements}) != len(judgements):
        raise ValueError("expected one judgement by each judge, all of the same product")
    failures = [each.failure for each in judgements if each.failure is not None]
    standing = [each for each in judgements if each.failure is None]
    conditions = {each.condition for each in judgements}
    return Judgement(
        step_id=judgement_id(products.pop(), MAJORITY),
        key=hashlib.sha256(msgspec.json.encode([(each.judge, each.key) for each in judgements])).hexdigest()[:32],
        judge=MAJORITY,
        condition=conditions.pop() if len(conditions) == 1 else "full",
        verdicts=tuple(_verdict(item, standing) for item in checklist),
        failure=None if standing else _worst(failures),
    )


def _worst(failures: Sequence[Failure]) -> Failure:
    return next((each for each in failures if each.kind == "error"), failures[0])


def _verdict(item: ChecklistItem, judgements: Sequence[Judgement]) -> ItemVerdict:
    said = [(each.judge, one) for each in judgements for one in each.verdicts if one.item == item.id]
    deciding = [(judge, one) for judge, one in said if not ABSTAINS & set(one.flags)]
    if not deciding:
        left_open = any("undecided" in one.flags for _, one in said)
        flag: VerdictFlag = "undecided" if left_open else "missing"
        return ItemVerdict(item=item.id, satisfied=False, reasoning="no judge decides it", flags=(flag,))
    yes = [judge for judge, one in deciding if one.satisfied]
    no = [judge for judge, one in deciding if not one.satisfied]
    satisfied = len(yes) > len(no)
    agreeing = [one for _, one in deciding if one.satisfied is satisfied]
    shown = [one for one in agreeing if (one.quote or one.place) and not one.flags]
    best = shown[0] if shown else agreeing[0]
    return ItemVerdict(
        item=item.id,
        satisfied=satisfied,
        reasoning=_counted(yes, no),
        quote=best.quote,
        place=best.place,
        flags=best.flags,
    )


def _counted(yes: Sequence[str], no: Sequence[str]) -> str:
    told = [f"{what}: {', '.join(judges)}" for what, judges in (("satisfied", yes), ("not satisfied", no)) if judges]
    tie = " (a tie is not satisfied)" if len(yes) == len(no) else ""
    return "; ".join(told) + tie
