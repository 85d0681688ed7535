from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("jsonschema")

from grounding.records import Failure
from grounding.webagents.personalwab.functions.texts import result_text
from grounding.webagents.personalwab.records import (
    Episode,
    FunctionCall,
    Observation,
    Product,
    Review,
    ShopTask,
    TaskType,
    Turn,
)
from grounding.webagents.personalwab.verdicts import judge_shop, rejudge, review_pairs

SEARCH, RECOMMEND, REVIEW = "search_product_by_query", "get_recommendations_by_history", "add_product_review"


def task(kind: TaskType = "search") -> ShopTask:
    review = Review(asin="B0TARGET", timestamp_ms=5, text="my own words")
    return ShopTask(
        id="test/0",
        user_id="u",
        type=kind,
        instruction="find it",
        timestamp_ms=5,
        target_asin="B0TARGET",
        target_review=review if kind == "review" else None,
    )


def listed(name: str, *asins: str, valid: bool = True, texts: dict[str, str] | None = None) -> Turn:
    text = "".join(
        result_text(place, Product(asin=asin, title=(texts or {}).get(asin, "x"))) for place, asin in enumerate(asins)
    )
    return Turn(
        call=FunctionCall(name=name, arguments="{}"),
        observation=Observation(text=text, asins=asins, schema_valid=valid),
    )


def refused(name: str) -> Turn:
    seen = Observation(text="Error: no", error="bad-arguments", schema_valid=False)
    return Turn(call=FunctionCall(name=name, arguments="{}"), observation=seen)


def reviewed(text: str) -> Turn:
    call = FunctionCall(name=REVIEW, arguments=json.dumps({"review": text}))
    return Turn(call=call, observation=Observation(text="added"))


def episode(*turns: Turn, failure: Failure | None = None) -> Episode:
    return Episode(task_id="test/0", key="k", turns=turns, end="stopped", failure=failure)


def scores(kind: TaskType, *turns: Turn, rule: str = "paper", likeness: float = 0.5) -> tuple[bool, float, float]:
    one, done = task(kind), episode(*turns)
    pairs = dict.fromkeys(review_pairs([one], {one.id: done}), likeness)
    verdict = judge_shop(one, done, pairs, rule=rule)  # type: ignore[arg-type]
    return verdict.function, verdict.result, verdict.outcome


TEN = tuple(f"A{place}" for place in range(9))


def test_a_target_at_each_rank_of_ten_is_worth_the_same_by_both() -> None:
    for rank in range(10):
        asins = (*TEN[:rank], "B0TARGET", *TEN[rank:])
        expected = (True, pytest.approx(1 - rank / 10), pytest.approx(1 - rank / 10))
        assert scores("search", listed(SEARCH, *asins)) == expected
        assert scores("search", listed(SEARCH, *asins), rule="official") == expected


def test_a_shorter_list_is_worth_less_by_the_release() -> None:
    turn = listed(SEARCH, "A", "B0TARGET", "B", "C")
    assert scores("search", turn)[1] == pytest.approx(0.9)
    assert scores("search", turn, rule="official")[1] == pytest.approx(0.75)


def test_the_release_finds_the_id_in_anybodys_text() -> None:
    turn = listed(SEARCH, "A", "B", texts={"B": "goes with B0TARGET"})
    assert scores("search", turn)[1] == 0
    assert scores("search", turn, rule="official")[1] == pytest.approx(0.5)


def test_the_wrong_list_has_an_outcome_and_no_result() -> None:
    turn = listed(SEARCH, "B0TARGET")
    assert scores("recommend", turn) == (False, 0.0, 1.0)
    assert scores("recommend", turn, rule="official") == (False, 0.0, 1.0)


def test_arguments_against_the_schema_count_by_the_release_alone() -> None:
    turn = listed(RECOMMEND, valid=False)
    assert scores("recommend", turn)[0] is False
    assert scores("recommend", turn, rule="official")[0] is True
    assert scores("recommend", refused(RECOMMEND), rule="official")[0] is False


def test_likeness_below_zero_is_kept_by_the_release_alone() -> None:
    assert scores("review", reviewed("other words"), likeness=-0.2) == (True, 0.0, 0.0)
    assert scores("review", reviewed("other words"), likeness=-0.2, rule="official") == (True, -0.2, -0.2)
    assert scores("review", listed(SEARCH, "B0TARGET")) == (False, 0.0, 0.0)


def test_the_last_attempt_counts_or_the_best() -> None:
    turns = (listed(SEARCH, "B0TARGET"), listed(SEARCH, "A", "B0TARGET"), listed(RECOMMEND, "B"))
    one, done = task(), episode(*turns)
    paper = judge_shop(one, done, {}, rule="paper")
    official = judge_shop(one, done, {}, rule="official")
    assert (paper.which, paper.function, paper.result) == ("last", False, 0.0)
    assert (official.which, official.function, official.result) == ("best", True, 1.0)
    assert rejudge(paper, "best").result == 1.0
    assert rejudge(paper, "first").result == 1.0
    assert [attempt.result for attempt in paper.attempts] == [1.0, 0.9, 0.0]
    assert rejudge(rejudge(paper, "best"), "last") == paper


def test_an_episode_without_an_attempt_is_worth_nothing() -> None:
    talk = Turn(
        call=FunctionCall(name="respond", arguments='{"content": "Which one?"}'), user_reply="no", completions=2
    )
    verdict = judge_shop(task(), episode(talk), {}, rule="official")
    assert (verdict.function, verdict.result, verdict.outcome, verdict.steps) == (False, 0.0, 0.0, 2)


def test_what_broke_counts_as_wrong_and_what_could_not_be_read_does_not_spoil_the_rest() -> None:
    turn = listed(SEARCH, "B0TARGET")
    broken = judge_shop(task(), episode(turn, failure=Failure(kind="error", message="x")), {}, rule="paper")
    assert (broken.function, broken.result, broken.failure) == (False, 0.0, "error")
    unread = judge_shop(task(), episode(turn, failure=Failure(kind="unparsed", message="x")), {}, rule="paper")
    assert (unread.function, unread.result, unread.failure) == (True, 1.0, "unparsed")
    missing = judge_shop(task(), None, {}, rule="paper")
    assert (missing.failure, missing.result) == ("missing", 0.0)
    assert rejudge(broken, "best").result == 0.0


def test_only_reviews_of_review_tasks_are_compared() -> None:
    own = task("review")
    done = episode(reviewed("a"), reviewed("b"), reviewed("a"), refused(REVIEW))
    assert review_pairs([own, task()], {own.id: done}) == [("my own words", "a"), ("my own words", "b")]


@given(
    st.lists(st.sampled_from([SEARCH, RECOMMEND]), max_size=6),
    st.lists(st.integers(0, 10), min_size=6, max_size=6),
    st.sampled_from(["paper", "official"]),
)
def test_best_is_at_least_first_and_last_by_the_release(names: list[str], ranks: list[int], rule: str) -> None:
    turns = [
        listed(name, *((*TEN[:rank], "B0TARGET", *TEN[rank:]) if rank < 10 else TEN))
        for name, rank in zip(names, ranks, strict=False)
    ]
    verdict = judge_shop(task(), episode(*turns), {}, rule=rule)  # type: ignore[arg-type]
    best, first, last = (rejudge(verdict, which) for which in ("best", "first", "last"))  # type: ignore[arg-type]
    assert best.result >= max(first.result, last.result)
    assert best.function >= max(first.function, last.function)
    assert best.outcome >= best.result
    assert 0 <= best.result <= 1
