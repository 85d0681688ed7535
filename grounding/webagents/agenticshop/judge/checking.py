"""A model judge held against the rule judge on the items that rules decide: counts, Cohen's kappa, and each difference.

Rules are right about little, and there they can be read: where a model says otherwise, one of the two misread the item
or the page. What neither of them decides takes no part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from grounding.records import Record
from grounding.scoring.kappa import cohens_kappa
from grounding.webagents.agenticshop.judge.majority import ABSTAINS
from grounding.webagents.agenticshop.records import (
    DIMENSIONS,
    ChecklistItem,
    Dimension,
    ItemVerdict,
    Judgement,
    VerdictFlag,
)


class Difference(Record, frozen=True, kw_only=True, omit_defaults=False):
    """An item that rules and a model decide differently, and what each gives as its reason."""

    product: str
    item: str
    text: str
    rules_satisfied: bool
    rules_reasoning: str
    rules_quote: str
    model_satisfied: bool
    model_reasoning: str
    model_quote: str
    model_flags: tuple[VerdictFlag, ...] = ()


class CheckedItems(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How a model and rules agree on the items of one dimension, or of all (None).

    ``both_yes`` to ``both_no`` count the items that both decide; the word before ``_only`` says who calls it satisfied.
    ``undecided`` were left open by the rules, ``missing`` are decided by rules and not by the model. ``kappa`` is None
    where chance alone would agree always.
    """

    dimension: Dimension | None
    both_yes: int
    rules_only: int
    model_only: int
    both_no: int
    undecided: int
    missing: int
    kappa: float | None
    standard_error: float | None

    @property
    def compared(self) -> int:
        """How many items both decide."""
        return self.both_yes + self.rules_only + self.model_only + self.both_no

    @property
    def agree_percent(self) -> float | None:
        """The share of them on which both say the same; None for none."""
        return 100 * (self.both_yes + self.both_no) / self.compared if self.compared else None


class JudgeCheck(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One model judge against the rules: all items, each dimension that has some, and every difference."""

    judge: str
    products: int
    total: CheckedItems
    dimensions: tuple[CheckedItems, ...]
    differences: tuple[Difference, ...]


class JudgedTwice(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A product with the verdicts of rules and of a model on the same checklist."""

    product: str
    checklist: tuple[ChecklistItem, ...]
    rules: Judgement
    model: Judgement


class _Pair(Record, frozen=True, kw_only=True, omit_defaults=False):
    product: str
    item: ChecklistItem
    rules: ItemVerdict
    model: ItemVerdict | None


def judged_twice(
    checklists: Mapping[str, tuple[ChecklistItem, ...]], rules: Iterable[Judgement], model: Iterable[Judgement]
) -> tuple[JudgedTwice, ...]:
    """The products that both have judged without a failure, in the order of the rules' judgements.

    Args:
        checklists: The items of each product, by its id.
        rules: The rule judge's.
        model: One model judge's.
    """
    others = {_product(each): each for each in model if each.failure is None}
    return tuple(
        JudgedTwice(product=product, checklist=checklists[product], rules=each, model=others[product])
        for each in rules
        if each.failure is None and (product := _product(each)) in others and product in checklists
    )


def check_judge(judge: str, products: Sequence[JudgedTwice]) -> JudgeCheck:
    """How a model judge agrees with the rules.

    Args:
        judge: The model judge's name.
        products: What both have judged.
    """
    pairs = [pair for each in products for pair in _pairs(each)]
    by_dimension = (
        _checked(dimension, [pair for pair in pairs if pair.item.dimension == dimension]) for dimension in DIMENSIONS
    )
    return JudgeCheck(
        judge=judge,
        products=len(products),
        total=_checked(None, pairs),
        dimensions=tuple(each for each in by_dimension if each.compared or each.undecided or each.missing),
        differences=tuple(_difference(pair) for pair in pairs if _differ(pair)),
    )


def _product(judgement: Judgement) -> str:
    return judgement.step_id.removesuffix(f"/{judgement.judge}")


def _pairs(each: JudgedTwice) -> list[_Pair]:
    rules = {one.item: one for one in each.rules.verdicts}
    model = {one.item: one for one in each.model.verdicts}
    return [
        _Pair(product=each.product, item=item, rules=rules[item.id], model=model.get(item.id))
        for item in each.checklist
        if item.id in rules
    ]


def _decided(verdict: ItemVerdict | None) -> bool:
    return verdict is not None and not ABSTAINS & set(verdict.flags)


def _checked(dimension: Dimension | None, pairs: Sequence[_Pair]) -> CheckedItems:
    table = [[0, 0], [0, 0]]
    undecided = missing = 0
    for pair in pairs:
        if not _decided(pair.rules):
            undecided += 1
        elif pair.model is None or not _decided(pair.model):
            missing += 1
        else:
            table[not pair.rules.satisfied][not pair.model.satisfied] += 1
    kappa = cohens_kappa(table)
    return CheckedItems(
        dimension=dimension,
        both_yes=table[0][0],
        rules_only=table[0][1],
        model_only=table[1][0],
        both_no=table[1][1],
        undecided=undecided,
        missing=missing,
        kappa=kappa.value,
        standard_error=kappa.standard_error,
    )


def _differ(pair: _Pair) -> bool:
    both = _decided(pair.rules) and _decided(pair.model)
    return both and pair.model is not None and pair.rules.satisfied is not pair.model.satisfied


def _difference(pair: _Pair) -> Difference:
    model = pair.model
    if model is None:
        raise ValueError("a difference needs two verdicts")
    return Difference(
        product=pair.product,
        item=pair.item.id,
        text=pair.item.text,
        rules_satisfied=pair.rules.satisfied,
        rules_reasoning=pair.rules.reasoning,
        rules_quote=pair.rules.quote,
        model_satisfied=model.satisfied,
        model_reasoning=model.reasoning,
        model_quote=model.quote,
        model_flags=model.flags,
    )
