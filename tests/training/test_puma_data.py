"""Labels, candidates and pairs, over the small shop of the agents' tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from benchmarks.personalwab.played import by_letters
from benchmarks.personalwab.shops import PRODUCTS, shop, task, web
from hypothesis import given
from hypothesis import strategies as st

from grounding.benchmarks.personalwab.agents.puma import Tokens
from grounding.benchmarks.personalwab.records import Review, ShopTask
from grounding.run.journal import Journal
from grounding.training.puma.data import Inputs, label_of
from grounding.training.puma.pairs import (
    Drawn,
    ResultScorer,
    TaskCandidates,
    candidate_batches,
    draw_candidates,
    make_pairs,
)
from grounding.training.recipes import CandidateRule, LabelRule


class Letters:
    """A tokenizer whose tokens are letters."""

    def __call__(self, text: str, *, max_length: int | None = None, **_: object) -> dict[str, str]:
        return {"input_ids": text[:max_length]}

    def decode(self, tokens: str, **_: object) -> str:
        return tokens


REVIEW = Review(asin="B000", timestamp_ms=450, text="I love the oak desk.")


def inputs(*, tokens: int = 10_000, length: int = 100, told: bool = True) -> Inputs:
    how: dict[str, Any] = {"length": length, "tokens": tokens, "told": told}
    return Inputs(dataset=shop(), tokenizer=Tokens(Letters()), embed=by_letters, **how)


def recommend(**more: object) -> ShopTask:
    return task(**{"type": "recommend", "target_asin": "B004", "instruction": "what might I like?", **more})


# --- labels ------------------------------------------------------------------------------------------------------


def test_paper_and_release_differ_where_the_memory_is_short() -> None:
    # The memory keeps the newest entries that fit; the history has them all.
    entry = len("Title:quiet fan\nMain Category:Home\nAsin:B004\n")
    short = inputs(tokens=2 * entry + 10)
    assert label_of(recommend(), short, PRODUCTS, LabelRule(recommend="memory"), None) == "B003, B004"
    whole = label_of(recommend(), short, PRODUCTS, LabelRule(recommend="history"), None)
    assert whole == "B000, B001, B002, B003, B004"


# --- scores and candidates ----------------------------------------------------------------------------------------


@pytest.fixture
def scorer() -> ResultScorer:
    return ResultScorer(web(), PRODUCTS, "paper")


class Writes:
    """Draws from a list, and counts how often it was asked."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts, self.asked = list(texts), 0

    def draw(self, prompts: Sequence[str], seed: str) -> list[list[str]]:  # noqa: ARG002
        self.asked += 1
        return [self.texts for _ in prompts]


RULE = CandidateRule(batch=2)


@pytest.mark.needs("web")
def test_a_kill_costs_one_batch_and_what_was_drawn_is_kept(tmp_path: Path, scorer: ResultScorer) -> None:
    class Dies(Writes):
        def draw(self, prompts: Sequence[str], seed: str) -> list[list[str]]:
            if self.asked == 2:
                raise KeyboardInterrupt
            return super().draw(prompts, seed)

    path, texts = tmp_path / "candidates.jsonl", ["steel kettle", "oak", "steel kettle"]
    batches = candidate_batches([(task(id=f"train/{number}"), "x" * number) for number in range(5)], len, RULE)
    assert [[len(prompt) for _, prompt in batch] for batch in batches] == [[4, 3], [2, 1], [0]]

    def draw(drawer: Writes, seed: int = 0) -> dict[str, TaskCandidates]:
        return draw_candidates(path, batches, lambda: drawer, scorer, RULE, identity="m", seed=seed, labels={})

    with pytest.raises(KeyboardInterrupt):
        draw(Dies(texts))
    with path.open("ab") as torn:
        torn.write(b'{"step_id":"train/0","ke')
    drawer = Writes(texts)
    found = draw(drawer)
    assert drawer.asked == 1
    assert sorted(found) == [f"train/{number}" for number in range(5)]
    assert found["train/3"].candidates == (Drawn(text="steel kettle", score=1.0, times=2), Drawn(text="oak", score=0.0))
    assert len(Journal(path, TaskCandidates, read_only=True)) == 5
    draw(drawer, seed=1)
    assert drawer.asked == 4


# --- pairs -------------------------------------------------------------------------------------------------------


@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=6))
def test_every_task_gives_a_pair_or_is_counted(scores: list[float]) -> None:
    candidates = tuple(Drawn(text=f"t{place}", score=score) for place, score in enumerate(scores))
    drawn = {"test/0": TaskCandidates(step_id="test/0", key="k", candidates=candidates)}
    pairs, counts = make_pairs([task()], drawn, lambda _: "prompt")
    assert (counts["tasks"], counts["drawn"], counts["repeated"]) == (1, len(scores), 0)
    assert sum(counts[name] for name in ("pairs", "single", "equal", "too_long")) == 1
    assert len(pairs) == counts["pairs"] == (len(set(scores)) > 1)
    assert counts["single"] == (len(scores) == 1)
