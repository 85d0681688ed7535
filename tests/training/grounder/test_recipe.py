"""Recipes that contradict themselves are refused before anything is loaded; the bundled ones don't."""

from __future__ import annotations

import msgspec
import pytest
from fakes.make import MODELS

from grounding.errors import UserError
from grounding.training.grounder.grpo import grpo_arguments
from grounding.training.grounder.recipe import check_batches, check_held_out, stage_methods
from grounding.training.grounder.records import GrounderRecipe, GrpoRule, HeldOutRule, RewardTerm, SftRule
from grounding.training.grounder.stages import check_card, spread_out
from grounding.training.grounder.writers import longest_prompt, vllm_mode
from grounding.training.records import Optimisation
from training.grounder.steps import example, recipe, small_card, step

BUNDLED = {"grpo-gta1": (1, ("grpo",)), "grpo-gta1-full": (8, ("grpo",)), "grounder-tiny": (1, ("sft", "grpo"))}


def rule(batch: int = 1, accumulation: int = 8, **fields: object) -> GrpoRule:
    optimisation = Optimisation(learning_rate=1e-6, batch=batch, accumulation=accumulation)
    return msgspec.structs.replace(GrpoRule(optimisation=optimisation), **fields)


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_recipes_can_be_used(name: str) -> None:
    content = (MODELS / "recipes" / f"{name}.yaml").read_bytes()
    found = msgspec.yaml.decode(content, type=GrounderRecipe)
    processes, methods = BUNDLED[name]
    assert found.name == name
    assert found.source
    assert stage_methods(found) == methods
    assert found.grpo is not None
    check_batches(found.grpo, prompts=1000, processes=processes)
    assert found.held_out is not None
    check_held_out(found.held_out, processes=processes)


def test_the_original_recipe_differs_from_ours_where_it_says_so() -> None:
    ours, theirs = (
        msgspec.yaml.decode((MODELS / "recipes" / f"{name}.yaml").read_bytes(), type=GrounderRecipe)
        for name in ("grpo-gta1", "grpo-gta1-full")
    )
    assert ours.grpo is not None
    assert theirs.grpo is not None
    assert theirs.lora is None
    assert not theirs.vision
    same = {"optimisation", "generate_at_once"}
    for field in GrpoRule.__struct_fields__:
        if field not in same:
            assert getattr(ours.grpo, field) == getattr(theirs.grpo, field), field
    assert ours.grpo.optimisation.learning_rate == pytest.approx(10 * theirs.grpo.optimisation.learning_rate)
    # 256 replies a step, on one device and on eight
    assert ours.grpo.optimisation.accumulation == 8 * theirs.grpo.optimisation.accumulation == 256


def test_stages_stand_in_their_order() -> None:
    assert stage_methods(recipe(sft=SftRule(), grpo=GrpoRule())) == ("sft", "grpo")
    assert stage_methods(recipe(sft=SftRule())) == ("sft",)
    with pytest.raises(UserError, match="nothing would be trained"):
        stage_methods(recipe())


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"grpo": GrpoRule(rewards=())}, "at least one"),
        ({"grpo": GrpoRule(rewards=(RewardTerm(kind="hit"),) * 2)}, "more than once"),
        ({"grpo": GrpoRule(use_vllm="server")}, "address"),
        ({"sft": SftRule(), "vision": True}, "lora.vision"),
    ],
)
def test_contradictions_are_named(fields: dict[str, object], words: str) -> None:
    with pytest.raises(UserError, match=words):
        stage_methods(recipe(**fields))


@pytest.mark.parametrize(
    ("given", "prompts", "processes", "words"),
    [
        (rule(accumulation=6), 100, 1, "6 replies"),
        (rule(accumulation=1), 100, 4, "4 replies are written at once on 4 devices"),
        (rule(), 0, 1, "0 examples"),
        (rule(accumulation=32), 3, 1, "4 prompts are taken at once"),
        (rule(batch=4, accumulation=4, generate_at_once=6), 100, 1, "multiple of grpo.optimisation.batch"),
        (rule(batch=2, accumulation=8, generate_at_once=6), 100, 1, "one must be a multiple"),
    ],
)
def test_batches_that_do_not_come_out_even_are_named(given: GrpoRule, prompts: int, processes: int, words: str) -> None:
    with pytest.raises(UserError, match=words):
        check_batches(given, prompts=prompts, processes=processes)


def test_batches_that_come_out_even_are_taken() -> None:
    check_batches(rule(), prompts=1, processes=1)
    check_batches(rule(accumulation=1), prompts=1, processes=8)
    check_batches(rule(batch=2, accumulation=16, generate_at_once=8), prompts=1, processes=1)
    check_batches(rule(batch=2, accumulation=4, generate_at_once=32), prompts=4, processes=1)
    check_held_out(HeldOutRule(batch=2, generations=4), processes=2)
    with pytest.raises(UserError, match="field held_out"):
        check_held_out(HeldOutRule(batch=2, generations=4), processes=1)


def test_who_writes_the_replies() -> None:
    auto, never, colocate = (GrpoRule(use_vllm=how) for how in ("auto", "never", "colocate"))
    assert vllm_mode(auto, installed=True, gpu=True) == "colocate"
    assert vllm_mode(auto, installed=True, gpu=False) is None
    assert vllm_mode(auto, installed=False, gpu=True) is None
    assert vllm_mode(never, installed=True, gpu=True) is None
    assert vllm_mode(GrpoRule(use_vllm="server", vllm_server="http://x"), installed=False, gpu=False) == "server"
    assert vllm_mode(auto, resized_there=True, installed=True, gpu=True) is None
    with pytest.raises(UserError, match=r"image\.resize is server"):
        vllm_mode(colocate, resized_there=True, installed=True, gpu=True)
    with pytest.raises(UserError, match="no GPU"):
        vllm_mode(colocate, installed=True, gpu=False)
    with pytest.raises(UserError, match="not installed"):
        vllm_mode(colocate, installed=False, gpu=True)


def test_the_arguments_are_those_of_the_rule() -> None:
    given = rule(batch=2, accumulation=8, generate_at_once=8, use_vllm="server", vllm_server="http://127.0.0.1:1")
    given = msgspec.structs.replace(given, rewards=(RewardTerm(kind="hit", weight=2), RewardTerm(kind="format")))
    made = grpo_arguments(given, max_new_tokens=9, held_out=HeldOutRule(batch=8, generations=4))
    assert made["steps_per_generation"] == 4
    assert made["reward_weights"] == [2, 1]
    assert (made["per_device_eval_batch_size"], made["num_generations_eval"]) == (8, 4)
    assert (made["use_vllm"], made["vllm_mode"], made["vllm_server_base_url"]) == (True, "server", "http://127.0.0.1:1")
    assert made["max_completion_length"] == 9
    assert made["repetition_penalty"] == 1.0


def test_the_window_of_the_longest_prompt() -> None:
    card = small_card(system="é")
    longest = longest_prompt(card, [example(step(0)), example(step(1, instruction="x" * 50))])
    # the system text in bytes, the template of the instruction, its words, 4 x 4 tokens of picture, the rest
    assert longest == 2 + len("{instruction}") + 50 + 16 + 64
    assert longest_prompt(small_card(image={"resize": "none"}), [example(step(0))]) is None


def test_who_answers_with_something_else_than_text_is_not_trained() -> None:
    with pytest.raises(UserError, match="pointer"):
        check_card(small_card(serving={"how": "in-process", "reason": "its pointer head answers"}))
    check_card(small_card())


def test_held_out_examples_are_spread_over_all() -> None:
    all_of_them = [example(step(number)) for number in range(10)]
    assert [each.step.id for each in spread_out(all_of_them, 3)] == ["1/0", "1/3", "1/6"]
    assert spread_out(all_of_them, 10) == tuple(all_of_them)
