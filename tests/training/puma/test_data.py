"""Labels, candidates and pairs, over the small shop of the agents' tests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from webagents.personalwab.shops import BEHAVIOURS, PRODUCTS, shop, task, web
from webagents.personalwab.test_memory import by_letters

from grounding.journal import Journal
from grounding.training.puma.candidates import candidate_batches, draw_candidates
from grounding.training.puma.drawing import generation
from grounding.training.puma.inputs import Inputs
from grounding.training.puma.labels import function_examples, label_of, parameter_examples, same_category, words_query
from grounding.training.puma.pairs import best_and_worst, gather, make_pairs
from grounding.training.puma.plan import plan_variants, stage_infos
from grounding.training.puma.preference import preference
from grounding.training.puma.records import (
    Candidate,
    CandidateRule,
    LabelRule,
    PairLikelihood,
    PumaRecipe,
    TaskCandidates,
)
from grounding.training.puma.scoring import Drawn, ResultScorer
from grounding.training.recipes import read_recipe
from grounding.webagents.personalwab.records import Review, ShopTask

REVIEW = Review(asin="B000", timestamp_ms=450, text="I love the oak desk.")


def inputs(*, tokens: int = 10_000, length: int = 100, told: bool = True) -> Inputs:
    return Inputs(shop(), count=len, embed=by_letters, length=length, tokens=tokens, told=told)


def recommend(**more: object) -> ShopTask:
    return task(**{"type": "recommend", "target_asin": "B004", "instruction": "what might I like?", **more})


# --- labels ------------------------------------------------------------------------------------------------------


def test_a_function_is_learnt_of_every_instruction() -> None:
    made = function_examples([task(), recommend(id="train/1"), task(id="train/2", type="review")], inputs())
    assert [one.completion for one in made] == [
        "search_product_by_query",
        "get_recommendations_by_history",
        "add_product_review",
    ]
    assert made[0].prompt.endswith("### Instruction: something to boil water in\n\n### Tool:\n")


def test_a_recommendation_is_learnt_of_the_same_category_latest_last() -> None:
    # Of what was bought before 450, B000 to B004 are of the target's category.
    rule = LabelRule()
    assert label_of(recommend(), inputs(), PRODUCTS, rule, {}) == "B000, B001, B002, B003, B004"
    assert label_of(recommend(), inputs(), PRODUCTS, LabelRule(most=2), {}) == "B003, B004"


def test_paper_and_release_differ_where_the_memory_is_short() -> None:
    # The memory keeps the newest entries that fit; the history has them all.
    entry = len("Title:quiet fan\nMain Category:Home\nAsin:B004\n")
    short = inputs(tokens=2 * entry + 10)
    assert label_of(recommend(), short, PRODUCTS, LabelRule(recommend="memory"), {}) == "B003, B004"
    whole = label_of(recommend(), short, PRODUCTS, LabelRule(recommend="history"), {})
    assert whole == "B000, B001, B002, B003, B004"


def test_where_nothing_of_the_category_was_bought_the_target_stands_or_nothing() -> None:
    other = recommend(target_asin="B007")
    assert label_of(other, inputs(), PRODUCTS, LabelRule(), {}) == "B007"
    assert label_of(other, inputs(), PRODUCTS, LabelRule(fallback="drop"), {}) == ""
    assert parameter_examples([other], inputs(), PRODUCTS, LabelRule(fallback="drop"), {}) == []


def test_each_product_once_at_its_latest_place() -> None:
    again = msgspec.structs.replace(BEHAVIOURS[0], review=Review(asin="B000", timestamp_ms=900))
    assert same_category([again, *BEHAVIOURS[:3]], PRODUCTS, "Home") == ["B001", "B002", "B000"]


def test_a_query_is_of_the_words_and_the_memory() -> None:
    asked = task(instruction="Hey, could you find me something for boiling-water, please? It's for my tea.")
    assert words_query(asked, BEHAVIOURS[:4], PRODUCTS) == "boiling-water tea Home"
    assert words_query(asked, (), PRODUCTS) == "boiling-water tea"


def test_a_written_query_is_learnt_and_a_missing_one_is_left_out() -> None:
    rule = LabelRule(search="model")
    tasks = [task(id="train/0"), task(id="train/1")]
    made = parameter_examples(tasks, inputs(), PRODUCTS, rule, {"train/1": " steel kettle\n"})
    assert [(one.task, one.completion) for one in made] == [("train/1", "steel kettle")]


def test_a_review_is_the_user_s_own() -> None:
    of = task(type="review", target_review=REVIEW, target_asin="B000")
    (made,) = parameter_examples([of], inputs(), PRODUCTS, LabelRule(), {})
    assert made.completion == "I love the oak desk."
    assert "The product is:\nTitle: oak desk" in made.prompt


# --- inputs ------------------------------------------------------------------------------------------------------


def test_without_a_memory_the_prompt_has_none_and_labels_do() -> None:
    bare = inputs(told=False)
    assert "Memory: \n" in (bare.parameter(recommend()) or "")
    assert bare.memory_length == 0
    assert label_of(recommend(), bare, PRODUCTS, LabelRule(), {}) == "B000, B001, B002, B003, B004"


@settings(max_examples=20)
@given(st.integers(150, 700))
def test_a_long_prompt_loses_the_end_of_its_memory(most: int) -> None:
    whole = inputs().parameter(recommend())
    assert whole is not None
    cut = inputs().parameter(recommend(), most_tokens=most)
    bare = inputs(told=False).parameter(recommend())
    assert bare is not None
    if cut is None:
        assert len(bare) > most
        return
    assert len(cut) <= most
    assert cut.endswith("Tool: get_recommendations_by_history\n\n### Tool Parameter:\n")
    if len(whole) <= most:
        assert cut == whole


# --- scores and candidates ----------------------------------------------------------------------------------------


@pytest.fixture
def scorer() -> ResultScorer:
    pytest.importorskip("bm25s")
    return ResultScorer(web(), PRODUCTS, "paper")


def test_a_parameter_is_worth_what_the_web_s_answer_is(scorer: ResultScorer) -> None:
    texts = ["steel kettle", "oak", "### Tool Parameter:\nsteel kettle", "Say: which one?", "stop", "", "rain boots"]
    scores = scorer.scores([Drawn(task=task(), text=text) for text in texts])
    assert scores[0] == scores[2] == 1.0
    assert scores[1] == scores[3] == scores[4] == scores[5] == scores[6] == 0.0


class Writes:
    """Draws from a list, and counts how often it was asked."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts, self.asked = list(texts), 0

    def draw(self, prompts: Sequence[str], seed: str) -> list[list[str]]:  # noqa: ARG002
        self.asked += 1
        return [self.texts for _ in prompts]


RULE = CandidateRule(batch=2)


def test_candidates_are_kept_and_drawn_once(tmp_path: Path, scorer: ResultScorer) -> None:
    tasks = [(task(id=f"train/{number}"), "x" * number) for number in range(5)]
    batches = list(candidate_batches(tasks, len, RULE))
    assert [len(batch) for batch in batches] == [2, 2, 1]
    assert batches[0][0][1] == "xxxx"
    drawer = Writes(["steel kettle", "oak", "steel kettle"])

    def draw(seed: int = 0) -> dict[str, TaskCandidates]:
        path = tmp_path / "candidates.jsonl"
        return draw_candidates(path, batches, lambda: drawer, scorer, RULE, identity="m", seed=seed)

    found = draw()
    assert drawer.asked == 3
    assert found["train/3"].candidates == (
        Candidate(text="steel kettle", score=1.0, times=2),
        Candidate(text="oak", score=0.0),
    )
    assert draw() == found
    assert drawer.asked == 3
    draw(seed=1)
    assert drawer.asked == 6


_KILLED = """
import os, signal, sys
from pathlib import Path
from training.puma.test_data import RULE, Writes, candidate_batches, draw_candidates, task, web, PRODUCTS, ResultScorer

class Dies(Writes):
    def draw(self, prompts, seed):
        if self.asked == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().draw(prompts, seed)

tasks = [(task(id=f"train/{n}"), "x" * n) for n in range(6)]
batches = list(candidate_batches(tasks, len, RULE))
scorer = ResultScorer(web(), PRODUCTS, "paper")
draw_candidates(Path(sys.argv[1]), batches, lambda: Dies(["oak"]), scorer, RULE, identity="m", seed=0)
"""


@pytest.mark.slow
def test_a_kill_costs_one_batch(tmp_path: Path, scorer: ResultScorer) -> None:
    path = tmp_path / "candidates.jsonl"
    tests = Path(__file__).parents[2]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tests.parent), str(tests)])}
    done = subprocess.run([sys.executable, "-c", _KILLED, str(path)], env=env, check=False, timeout=300)
    assert done.returncode == -signal.SIGKILL
    with path.open("ab") as torn:
        torn.write(b'{"task":"train/1","ke')
    tasks = [(task(id=f"train/{number}"), "x" * number) for number in range(6)]
    drawer = Writes(["oak"])
    batches = list(candidate_batches(tasks, len, RULE))
    found = draw_candidates(path, batches, lambda: drawer, scorer, RULE, identity="m", seed=0)
    assert drawer.asked == 1
    assert sorted(found) == [f"train/{number}" for number in range(6)]
    assert len(Journal(path, TaskCandidates, read_only=True)) == 6


def test_the_rule_is_what_generate_is_told() -> None:
    paper = generation(CandidateRule())
    assert (paper["num_beams"], paper["do_sample"], paper["temperature"]) == (10, True, 1.5)
    assert (paper["num_return_sequences"], paper["max_new_tokens"], paper["top_k"]) == (10, 256, 50)
    assert generation(CandidateRule(method="sample"))["num_beams"] == 1
    assert generation(CandidateRule(method="beam"))["do_sample"] is False


# --- pairs -------------------------------------------------------------------------------------------------------

SCORES = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=6)


@given(SCORES)
def test_a_pair_is_the_best_and_the_worst(scores: list[float]) -> None:
    texts = [f"t{place}" for place in range(len(scores))]
    drawn = {"test/0": TaskCandidates(task="test/0", key="k", candidates=gather(texts, scores))}
    pairs, counts = make_pairs([task()], drawn, lambda _: "prompt")
    assert (counts.tasks, counts.drawn, counts.repeated) == (1, len(scores), 0)
    assert counts.pairs + counts.single + counts.equal + counts.too_long == 1
    if len(set(scores)) < 2:
        assert pairs == []
        assert counts.single == (len(scores) == 1)
        return
    (pair,) = pairs
    assert (pair.chosen_score, pair.rejected_score) == (max(scores), min(scores))
    # The first of the best and the last of the worst, as the release has it.
    assert pair.chosen == texts[scores.index(max(scores))]
    assert pair.rejected == texts[len(scores) - 1 - scores[::-1].index(min(scores))]


def test_small_gaps_and_long_prompts_make_no_pair() -> None:
    drawn = {"test/0": TaskCandidates(task="test/0", key="k", candidates=gather(["a", "b", "a"], [0.5, 0.4, 0.5]))}
    pairs, counts = make_pairs([task()], drawn, lambda _: "prompt", least_gap=0.2)
    assert (pairs, counts.equal, counts.repeated, counts.drawn) == ([], 1, 1, 3)
    pairs, counts = make_pairs([task()], drawn, lambda _: None)
    assert (pairs, counts.too_long) == ([], 1)
    best, worst = best_and_worst(drawn["test/0"].candidates)
    assert (best.text, worst.text) == ("a", "b")


def _pair(chosen: float, rejected: float, chosen_tokens: int = 2, rejected_tokens: int = 4) -> PairLikelihood:
    return PairLikelihood(
        task="t",
        type="search",
        chosen=chosen,
        rejected=rejected,
        chosen_tokens=chosen_tokens,
        rejected_tokens=rejected_tokens,
    )


def test_preference_is_counted_whole_by_token_and_against_the_model_before() -> None:
    before = [_pair(-4, -6), _pair(-4, -4), _pair(-9, -1)]
    after = [_pair(-3, -6), _pair(-5, -4), _pair(-9, -1)]
    told = preference(before)
    assert (told.whole, told.per_token, told.reward) == (pytest.approx(0.5), 0.0, None)
    told = preference(after, before)
    assert told.whole == pytest.approx(1 / 3)
    assert told.reward == pytest.approx((1 + 0 + 0.5) / 3)
    assert preference([]).whole is None


# --- recipes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["puma-llama2-7b", "puma-ablations", "puma-tiny"])
def test_bundled_recipes_are_read(name: str) -> None:
    recipe = read_recipe(name, PumaRecipe).recipe
    assert recipe.name == name
    assert (recipe.candidates.beams, recipe.candidates.temperature) == (10, 1.5)


def test_the_paper_s_recipe_has_the_paper_s_values() -> None:
    recipe = read_recipe("puma-llama2-7b", PumaRecipe).recipe
    assert recipe.lora is not None
    assert (recipe.lora.rank, recipe.lora.alpha, recipe.lora.dropout) == (16, 32, 0.0)
    assert (recipe.sft.optimisation.epochs, recipe.sft.optimisation.learning_rate) == (10, 3e-4)
    assert (recipe.dpo.optimisation.epochs, recipe.dpo.optimisation.learning_rate, recipe.dpo.beta) == (5, 5e-5, 0.1)


def test_ablations_share_what_they_have_in_common() -> None:
    plans = plan_variants(read_recipe("puma-ablations", PumaRecipe).recipe)
    assert [plan.name for plan in plans] == [
        "full-768",
        "full-512",
        "full-256",
        "no-memory-768",
        "no-sft-768",
        "no-dpo-768",
    ]
    assert [info.name for info in stage_infos(plans)] == [
        "sft-768",
        "dpo-768",
        "sft-512",
        "dpo-512",
        "sft-256",
        "dpo-256",
        "sft-no-memory-768",
        "dpo-no-memory-768",
        "sft-no-sft-768",
        "dpo-no-sft-768",
    ]
    by_name = {plan.name: plan for plan in plans}
    assert by_name["no-dpo-768"].sft == by_name["full-768"].sft
    assert not by_name["no-dpo-768"].dpo
    assert not by_name["no-sft-768"].parameters
    assert not by_name["no-memory-768"].told


def test_one_model_has_plain_names() -> None:
    (plan,) = plan_variants(read_recipe("puma-llama2-7b", PumaRecipe).recipe)
    assert (plan.name, plan.sft, plan.dpo, plan.tokens) == ("full", "sft", "dpo", 768)
