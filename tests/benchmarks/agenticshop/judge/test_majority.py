"""What most judges say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.benchmarks.agenticshop.judge.base import majority
from grounding.benchmarks.agenticshop.records import ItemVerdict, Judgement, VerdictFlag
from grounding.records import Failure

from .subjects import items

ONE = items("one")
YES, NO, OPEN, GONE = "yes", "no", "open", "gone"
FLAGS: dict[str, tuple[VerdictFlag, ...]] = {OPEN: ("undecided",), GONE: ("missing",)}


def judged(judge: str, said: str, *, quote: str = "", flags: tuple[VerdictFlag, ...] = ()) -> Judgement:
    verdict = ItemVerdict(item=ONE[0].id, satisfied=said == YES, quote=quote, flags=FLAGS.get(said, flags))
    return Judgement(step_id=f"s/u/0/{judge}", key=judge, judge=judge, verdicts=(verdict,))


def failed(judge: str, kind: str) -> Judgement:
    failure = Failure(kind=kind, message=judge)  # type: ignore[arg-type]
    return Judgement(step_id=f"s/u/0/{judge}", key=judge, judge=judge, failure=failure)


@pytest.mark.parametrize(
    ("said", "flags"),
    [([OPEN, GONE], ("undecided",)), ([GONE, GONE], ("missing",)), ([YES, OPEN, GONE], ()), ([YES, NO, OPEN], ())],
)
def test_what_nobody_decides_is_flagged(said: list[str], flags: tuple[str, ...]) -> None:
    judgement = majority([judged(str(number), each) for number, each in enumerate(said)], ONE)
    assert judgement.verdicts[0].flags == flags
    assert (judgement.step_id, judgement.judge) == ("s/u/0/majority", "majority")


@given(st.lists(st.sampled_from([YES, NO, OPEN, GONE]), min_size=1, max_size=7))
def test_most_of_those_who_decide_in_any_order(said: list[str]) -> None:
    judges = [judged(str(number), each) for number, each in enumerate(said)]
    for order in (judges, judges[::-1]):
        assert majority(order, ONE).verdicts[0].satisfied is (said.count(YES) > said.count(NO))


def test_the_evidence_is_of_one_who_agrees() -> None:
    judges = [
        judged("a", NO, quote="of the other side"),
        judged("b", YES, quote="made up", flags=("quote-not-found",)),
        judged("c", YES, quote="found"),
    ]
    (verdict,) = majority(judges, ONE).verdicts
    assert (verdict.quote, verdict.flags) == ("found", ())
    assert verdict.reasoning == "satisfied: b, c; not satisfied: a"


def test_who_failed_takes_no_part() -> None:
    judgement = majority([failed("a", "error"), judged("b", YES)], ONE)
    assert (judgement.failure, judgement.verdicts[0].satisfied) == (None, True)
    nobody = majority([failed("a", "unparsed"), failed("b", "error")], ONE)
    assert nobody.failure == Failure(kind="error", message="b")
    assert nobody.verdicts[0].flags == ("missing",)
    assert majority([judged("a", YES)], ONE).key != majority([judged("b", YES)], ONE).key
