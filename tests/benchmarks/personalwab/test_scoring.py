"""What calls are worth by both readings, and the figures of a run."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.personalwab.shops import task as shop_task
from grounding.benchmarks.personalwab.prompts import product_text
from grounding.benchmarks.personalwab.records import Episode, FunctionCall, Observation, Product, Review, TaskType, Turn
from grounding.benchmarks.personalwab.scoring import (
    Attempt,
    ShopVerdict,
    judge_shop,
    review_pairs,
    shop_scores,
)
from grounding.records import Failure

SEARCH, RECOMMEND, REVIEW = "search_product_by_query", "get_recommendations_by_history", "add_product_review"
NINE = tuple(f"A{place}" for place in range(9))
TARGET = "B0TARGET"


def listed(name: str, *asins: str, valid: bool = True, texts: dict[str, str] | None = None) -> Turn:
    products = [Product(asin=asin, title=(texts or {}).get(asin, "x")) for asin in asins]
    text = str([f"Product {place}: \n{product_text(one)}\n" for place, one in enumerate(products)])
    seen = Observation(text=text, asins=asins, schema_valid=valid)
    return Turn(call=FunctionCall(name=name, arguments="{}"), observation=seen)


def refused(name: str) -> Turn:
    seen = Observation(text="Error: no", error="bad-arguments", schema_valid=False)
    return Turn(call=FunctionCall(name=name, arguments="{}"), observation=seen)


def reviewed(text: str) -> Turn:
    call = FunctionCall(name=REVIEW, arguments=json.dumps({"review": text}))
    return Turn(call=call, observation=Observation(text="added"))


def judged(
    kind: TaskType, *turns: Turn, rule: str = "paper", likeness: float = 0.5, failure: Failure | None = None
) -> ShopVerdict:
    own = Review(asin=TARGET, timestamp_ms=5, text="my own words") if kind == "review" else None
    task = shop_task(type=kind, target_asin=TARGET, target_review=own)
    episode = Episode(task_id=task.id, key="k", turns=turns, end="stopped", failure=failure)
    pairs = dict.fromkeys(review_pairs([task], {task.id: episode}), likeness)
    return judge_shop(task, episode, pairs, rule=rule)  # type: ignore[arg-type]


HALF = listed(SEARCH, "A", "B", texts={"B": "goes with B0TARGET"})


@pytest.mark.parametrize(
    ("kind", "turn", "likeness", "paper", "official"),
    [
        *(
            ("search", listed(SEARCH, *NINE[:rank], TARGET, *NINE[rank:]), 0.5, *[(True, 1 - rank / 10) * 2] * 2)
            for rank in range(10)
        ),
        # A shorter list is worth less by the release, which finds the id in anybody's text.
        ("search", listed(SEARCH, "A", TARGET, "B", "C"), 0.5, (True, 0.9, True, 0.9), (True, 0.75, True, 0.75)),
        ("search", HALF, 0.5, (True, 0, True, 0), (True, 0.5, True, 0.5)),
        # The wrong list has an outcome and no result.
        ("recommend", listed(SEARCH, TARGET), 0.5, (False, 0, False, 1), (False, 0, False, 1)),
        # Arguments against the schema count by the release alone.
        ("recommend", listed(RECOMMEND, valid=False), 0.5, (False, 0, False, 0), (True, 0, True, 0)),
        ("recommend", refused(RECOMMEND), 0.5, (False, 0, False, 0), (False, 0, False, 0)),
        # A likeness below 0 is kept by the release alone.
        ("review", reviewed("other words"), -0.2, (True, 0, True, 0), (True, -0.2, True, -0.2)),
        ("review", listed(SEARCH, TARGET), 0.5, (False, 0, False, 0), (False, 0, False, 0)),
    ],
)
def test_what_a_call_is_worth(
    kind: TaskType, turn: Turn, likeness: float, paper: tuple[float, ...], official: tuple[float, ...]
) -> None:
    for rule, (function, result, _, outcome) in (("paper", paper), ("official", official)):
        found = judged(kind, turn, rule=rule, likeness=likeness)
        assert (found.function, found.result, found.outcome) == (
            bool(function),
            pytest.approx(result),
            pytest.approx(outcome),
        )


def test_the_last_attempt_counts_or_the_best() -> None:
    turns = (listed(SEARCH, TARGET), listed(SEARCH, "A", TARGET), listed(RECOMMEND, "B"))
    paper, official = judged("search", *turns), judged("search", *turns, rule="official")
    assert (paper.function, paper.result) == (False, 0.0)
    assert (official.function, official.result) == (True, 1.0)
    assert [attempt.result for attempt in paper.attempts] == [1.0, 0.9, 0.0]


def test_what_broke_counts_as_wrong_and_what_could_not_be_read_does_not_spoil_the_rest() -> None:
    turn = listed(SEARCH, TARGET)
    broken = judged("search", turn, failure=Failure(kind="error", message="x"))
    assert (broken.function, broken.result, broken.failure) == (False, 0, "error")
    unread = judged("search", turn, failure=Failure(kind="unparsed", message="x"))
    assert (unread.function, unread.result, unread.failure) == (True, 1.0, "unparsed")
    assert judge_shop(shop_task(), None, {}, rule="paper").failure == "missing"
    talk = Turn(call=FunctionCall(name="respond", arguments='{"content": "Which one?"}'), user_reply="no")
    assert (judged("search", talk).result, judged("search", talk).steps) == (0, 1)


@given(
    st.lists(st.sampled_from([SEARCH, RECOMMEND]), max_size=6),
    st.lists(st.integers(0, 10), min_size=6, max_size=6),
)
def test_best_is_at_least_the_last(names: list[str], ranks: list[int]) -> None:
    turns = [
        listed(name, *((*NINE[:rank], TARGET, *NINE[rank:]) if rank < 10 else NINE))
        for name, rank in zip(names, ranks, strict=False)
    ]
    last, best = (judged("search", *turns, rule=rule) for rule in ("paper", "official"))
    assert 1 >= best.result >= last.result >= 0
    assert best.outcome >= best.result


# --- figures ----------------------------------------------------------------------------------------------------------


def verdict(user: str, kind: str, result: float, *, before: int = 20, seconds: float | None = None) -> ShopVerdict:
    return ShopVerdict(
        task_id=f"{user}{kind}{result}",
        user_id=user,
        type=kind,  # type: ignore[arg-type]
        rule="paper",
        function=result > 0,
        result=result,
        outcome=result,
        steps=2,
        seconds=seconds,
        attempts=(Attempt(turn=0, function=result > 0, result=result, outcome=result),),
        end="stopped",
        earlier_behaviours=before,
    )


def test_overall_is_over_all_tasks_together() -> None:
    verdicts = [
        verdict("a", "search", 1.0, seconds=2.0),
        verdict("b", "search", 0.0),
        verdict("a", "review", 0.4, before=3),
    ]
    scores = shop_scores(verdicts)
    assert scores.types["search"].result.value == pytest.approx(0.5)
    assert scores.types["recommend"].function.value is None
    assert scores.overall.result.value == pytest.approx(1.4 / 3)
    assert (scores.overall.function.k, scores.overall.function.n, scores.overall.users) == (2, 3, 2)
    assert (scores.few["overall"].tasks, scores.few["search"].tasks) == (1, 0)
