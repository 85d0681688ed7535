from __future__ import annotations

from pathlib import Path

import pytest

from grounding.records import Failure
from grounding.webagents.agenticshop.judge.checking import check_judge, judged_twice
from grounding.webagents.agenticshop.judge.rules import judged_by_rules
from grounding.webagents.agenticshop.records import ChecklistItem, ItemVerdict, Judgement, VerdictFlag

from .asked import asked
from .subjects import items, subject

CHECKLIST = (*items("a", "b", "c", dimension="price_sensitivity"), *items("d", "e", "f"))
Said = dict[str, bool | VerdictFlag]


def judged(judge: str, said: Said, rank: int = 0) -> Judgement:
    verdicts = tuple(
        ItemVerdict(item=name, satisfied=each is True, reasoning=judge, flags=() if isinstance(each, bool) else (each,))
        for name, each in said.items()
    )
    return Judgement(step_id=f"s/u/{rank}/{judge}", key="k", judge=judge, verdicts=verdicts)


def test_counts_kappa_and_differences() -> None:
    ids = [item.id for item in CHECKLIST]
    rules = judged("rules", dict(zip(ids, [True, True, False, False, "undecided", True], strict=True)))
    model = judged("m", dict(zip(ids, [True, False, False, True, True, "missing"], strict=True)))
    found = check_judge("m", judged_twice({"s/u/0": CHECKLIST}, [rules], [model]))
    total = found.total
    assert (total.both_yes, total.rules_only, total.model_only, total.both_no) == (1, 1, 1, 1)
    assert (total.compared, total.undecided, total.missing) == (4, 1, 1)
    assert total.kappa == pytest.approx(0.0)
    assert total.agree_percent == 50.0
    assert [each.dimension for each in found.dimensions] == ["price_sensitivity", "functional_requirements"]
    assert found.dimensions[0].agree_percent == pytest.approx(200 / 3)
    assert [(each.text, each.rules_satisfied, each.model_satisfied) for each in found.differences] == [
        ("b", True, False),
        ("d", False, True),
    ]
    assert found.differences[0].rules_reasoning == "rules"
    assert found.differences[0].model_reasoning == "m"


def test_kappa_by_hand() -> None:
    # 8 of 10 agree; rules say yes to 6 and the model to 6: (0.8 - 0.52) / 0.48
    said = [(True, True)] * 5 + [(True, False)] + [(False, True)] + [(False, False)] * 3
    checklist = items(*map(str, range(10)))
    rules = judged("rules", {item.id: one for item, (one, _) in zip(checklist, said, strict=True)})
    model = judged("m", {item.id: two for item, (_, two) in zip(checklist, said, strict=True)})
    found = check_judge("m", judged_twice({"s/u/0": checklist}, [rules], [model]))
    assert found.total.kappa == pytest.approx((0.8 - 0.52) / 0.48)


def test_only_what_both_have_judged() -> None:
    one, two, three = (judged("rules", {"x/0": True}, rank) for rank in range(3))
    other = judged("m", {"x/0": True}, 1)
    gone = Judgement(step_id="s/u/2/m", key="k", judge="m", failure=Failure(kind="error", message="gone"))
    checklists: dict[str, tuple[ChecklistItem, ...]] = {f"s/u/{rank}": () for rank in range(3)}
    assert [each.product for each in judged_twice(checklists, [one, two, three], [other, gone])] == ["s/u/1"]


def test_nothing_to_compare() -> None:
    found = check_judge("m", ())
    assert (found.total.compared, found.total.kappa, found.total.agree_percent) == (0, None, None)
    assert found.dimensions == ()


def test_the_fake_judge_differs_in_honest_ways(tmp_path: Path) -> None:
    checklist = (
        *items("Price is under $48", "Total price including shipping is under $50", dimension="price_sensitivity"),
        *items("Brand is Copper Gooseneck Kettle", dimension="brand_preferences"),
        *items("Average rating is 4.5 stars or higher", "Shipping is free", "Product is in stock"),
    )
    product = subject(checklist)
    model, _ = asked(product, tmp_path)
    found = check_judge("p", judged_twice({product.product_id: checklist}, [judged_by_rules(product)], [model]))
    assert found.total.compared == 6
    differing = {each.text for each in found.differences}
    assert "Price is under $48" in differing
    assert "Total price including shipping is under $50" in differing
    assert "Average rating is 4.5 stars or higher" not in differing
