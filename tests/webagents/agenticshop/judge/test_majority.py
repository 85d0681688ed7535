from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.records import Failure
from grounding.webagents.agenticshop.judge.majority import majority
from grounding.webagents.agenticshop.records import ItemVerdict, Judgement, VerdictFlag

from .subjects import items

CHECKLIST = items("one")
(ITEM,) = CHECKLIST
YES, NO, OPEN, GONE = "yes", "no", "open", "gone"
FLAGS: dict[str, tuple[VerdictFlag, ...]] = {OPEN: ("undecided",), GONE: ("missing",)}


def judged(judge: str, said: str, *, quote: str = "", flags: tuple[VerdictFlag, ...] = ()) -> Judgement:
    verdict = ItemVerdict(item=ITEM.id, satisfied=said == YES, quote=quote, flags=FLAGS.get(said, flags))
    return Judgement(step_id=f"s/u/0/{judge}", key=judge, judge=judge, verdicts=(verdict,))


def failed(judge: str, kind: str = "error") -> Judgement:
    failure = Failure(kind=kind, message=judge)  # type: ignore[arg-type]
    return Judgement(step_id=f"s/u/0/{judge}", key=judge, judge=judge, failure=failure)


@pytest.mark.parametrize(
    ("said", "satisfied", "flags"),
    [
        ([YES], True, ()),
        ([YES, YES, NO], True, ()),
        ([YES, NO], False, ()),
        ([YES, NO, OPEN], False, ()),
        ([YES, OPEN, GONE], True, ()),
        ([YES, YES, NO, NO], False, ()),
        ([OPEN, GONE], False, ("undecided",)),
        ([GONE, GONE], False, ("missing",)),
    ],
)
def test_most_of_those_who_decide(said: list[str], satisfied: bool, flags: tuple[str, ...]) -> None:
    judgement = majority([judged(str(number), each) for number, each in enumerate(said)], CHECKLIST)
    (verdict,) = judgement.verdicts
    assert (verdict.satisfied, verdict.flags) == (satisfied, flags)
    assert (judgement.step_id, judgement.judge) == ("s/u/0/majority", "majority")


@given(st.lists(st.sampled_from([YES, NO, OPEN, GONE]), min_size=1, max_size=7), st.randoms())
def test_the_order_of_judges_changes_no_verdict(said: list[str], random: object) -> None:
    judges = [judged(str(number), each) for number, each in enumerate(said)]
    shuffled = list(judges)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert majority(judges, CHECKLIST).verdicts[0].satisfied is majority(shuffled, CHECKLIST).verdicts[0].satisfied
    assert majority(judges, CHECKLIST).verdicts[0].satisfied is (said.count(YES) > said.count(NO))


def test_the_evidence_is_of_one_who_agrees() -> None:
    judges = [
        judged("a", NO, quote="of the other side"),
        judged("b", YES, quote="made up", flags=("quote-not-found",)),
        judged("c", YES, quote="found"),
    ]
    (verdict,) = majority(judges, CHECKLIST).verdicts
    assert (verdict.quote, verdict.flags) == ("found", ())
    assert verdict.reasoning == "satisfied: b, c; not satisfied: a"


def test_who_failed_takes_no_part() -> None:
    judgement = majority([failed("a"), judged("b", YES)], CHECKLIST)
    assert judgement.failure is None
    assert judgement.verdicts[0].satisfied
    nobody = majority([failed("a", "unparsed"), failed("b")], CHECKLIST)
    assert nobody.failure == Failure(kind="error", message="b")
    assert nobody.verdicts[0].flags == ("missing",)


def test_what_can_t_be_put_together() -> None:
    with pytest.raises(ValueError, match="at least"):
        majority([], CHECKLIST)
    with pytest.raises(ValueError, match="by each judge"):
        majority([judged("a", YES), judged("a", NO)], CHECKLIST)
    other = Judgement(step_id="s/u/1/b", key="b", judge="b")
    with pytest.raises(ValueError, match="same product"):
        majority([judged("a", YES), other], CHECKLIST)


def test_another_answer_has_another_key() -> None:
    assert majority([judged("a", YES)], CHECKLIST).key != majority([judged("b", YES)], CHECKLIST).key
