from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.webagents.personalwab.memory import MEMORIES, Memory, MemoryName
from grounding.webagents.personalwab.prompts import shop_prompts
from webagents.personalwab.shops import BEHAVIOURS, shop, view


def by_letters(texts: Sequence[str]) -> np.ndarray:  # type: ignore[type-arg]
    """Rows of how often each letter comes, of length 1: an embedding whose neighbours can be told by hand."""
    rows = np.array([[text.lower().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts], float)
    return (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)).astype(np.float32)


def memory(kind: MemoryName, *, length: int = 3, max_tokens: int | None = None, seed: int = 0) -> Memory:
    return Memory(
        kind, shop(), shop_prompts(), length=length, max_tokens=max_tokens, seed=seed, embed=by_letters, count=len
    )


@pytest.mark.parametrize("kind", MEMORIES)
@given(st.integers(-10, 900), st.integers(1, 12))
def test_nothing_of_the_future_is_remembered(kind: MemoryName, at: int, length: int) -> None:
    recalled = memory(kind, length=length).recall(view(at), predicted="search")
    assert all(one.review.timestamp_ms < at for one in recalled.chosen)
    there = sum(one.review.timestamp_ms < at for one in BEHAVIOURS)
    assert len(recalled.chosen) == (0 if kind == "none" else min(length, there))
    assert bool(recalled.text) == bool(recalled.chosen)


def test_the_last_ones_are_told_newest_first() -> None:
    recalled = memory("last").recall(view())
    assert [one.asin for one in recalled.chosen] == ["B004", "B003", "B002"]
    assert recalled.text.startswith("\nYour Memory of This User (most recent user past purchases and reviews, sorted")
    assert "\nMEMORY 0:\n\nProduct:\n- Title: quiet fan\n- Parent Asin: B004\n" in recalled.text
    assert recalled.text.endswith("Review:\n- Rating: 5.0\n- Text: I like the wool coat.\n- Timestamp: 200\n\n")


def test_chance_is_the_tasks_own() -> None:
    one = memory("random", length=2)
    assert one.recall(view(task_id="test/1")) == memory("random", length=2).recall(view(task_id="test/1"))
    drawn = {memory("random", length=2, seed=seed).recall(view(900)).text for seed in range(20)}
    assert len(drawn) > 5
    tasks = {one.recall(view(900, task_id=f"test/{place}")).text for place in range(20)}
    assert len(tasks) > 5


def test_relevant_ones_are_nearest_to_the_words() -> None:
    recalled = memory("relevant", length=1).recall(view(900, "steel kettle"))
    rows = by_letters(["steel kettle", *(text.split("Text: ")[1] for text in recalled.text.split("MEMORY")[1:])])
    assert recalled.chosen[0].asin in {one.asin for one in BEHAVIOURS}
    assert float(rows[0] @ rows[1]) > 0


def test_a_task_specific_memory_tells_what_the_function_needs() -> None:
    search = memory("task-specific").recall(view(), predicted="search")
    assert search.text.startswith("- The task type is search\n- Use search_product_by_query tool to complete task\n")
    assert "Store:Acme\n" in search.text
    assert search.text.count("|") == 2
    recommend = memory("task-specific").recall(view(), predicted="recommend")
    times = [one.review.timestamp_ms for one in recommend.chosen]
    assert times == sorted(times)
    assert f"Asin:{recommend.chosen[0].asin}\n" in recommend.text
    assert "Rating:5.0\nText:I like" in memory("task-specific").recall(view(), predicted="review").text
    with pytest.raises(ValueError, match="needs the type"):
        memory("task-specific").recall(view())


@given(st.integers(0, 3000))
def test_tokens_bound_the_text_at_whole_behaviours(most: int) -> None:
    recalled = memory("last", length=8, max_tokens=most).recall(view(900))
    whole = memory("last", length=8).recall(view(900))
    assert recalled.chosen == whole.chosen[: len(recalled.chosen)]
    assert not recalled.chosen or len(recalled.text) <= most + len(recalled.chosen)


def test_identities_tell_settings_apart() -> None:
    made = [memory("last"), memory("last", length=4), memory("last", max_tokens=5), memory("random"), memory("none")]
    assert len({one.identity for one in made}) == len(made)
    assert memory("last", seed=1).identity == memory("last").identity
    assert memory("random", seed=1).identity != memory("random").identity


def test_a_stranger_has_no_memory() -> None:
    stranger = view()
    assert (
        memory("last").recall(type(stranger)(task_id="x", user_id="nobody", instruction="", timestamp_ms=9)).text == ""
    )
