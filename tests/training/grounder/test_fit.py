"""What a stage of a recipe puts on a device: the longest example, the batch, and how a launch spreads the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from fakes.make import grounder_card

from grounding.errors import UserError
from grounding.records import Query
from grounding.training.estimate import ExampleShape, Sharding
from grounding.training.grounder.fit import prompt_text_tokens, sharding_of, stage_load
from grounding.training.grounder.records import GrounderExample, GrounderRecipe, GrpoRule, SftRule
from grounding.training.loop.records import Launch
from grounding.training.records import Optimisation, Precision

from .sessions import step

EXAMPLE = ExampleShape(prompt_tokens=100, completion_tokens=10)


@pytest.mark.parametrize(
    ("said", "processes", "expected"),
    [
        ({"distributed_type": "FSDP", "num_processes": 4}, None, Sharding(strategy="fsdp", devices=4)),
        ({"distributed_type": "MULTI_GPU", "num_processes": 2}, None, Sharding(devices=2)),
        ({"distributed_type": "MULTI_GPU", "num_processes": 2}, 3, Sharding(devices=3)),
        (
            {"distributed_type": "DEEPSPEED", "deepspeed_config": {"zero_stage": 3}},
            8,
            Sharding(strategy="zero3", devices=8),
        ),
        (
            {"distributed_type": "DEEPSPEED", "deepspeed_config": {"zero_stage": 2}},
            2,
            Sharding(strategy="zero2", devices=2),
        ),
        ({"distributed_type": "NO"}, None, Sharding()),
    ],
)
def test_the_file_of_accelerate_says_how_a_model_is_spread(
    tmp_path: Path, said: dict[str, Any], processes: int | None, expected: Any
) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(yaml.safe_dump(said), encoding="utf-8")
    assert sharding_of(Launch(processes=processes, accelerate_config=str(path))) == expected


def test_without_a_file_every_process_has_the_whole_model() -> None:
    assert sharding_of(Launch()) == Sharding()
    assert sharding_of(Launch(processes=4)) == Sharding(devices=4)


@pytest.mark.parametrize("text", ["- 1\n", "a: ["])
def test_a_file_that_is_none_of_accelerates_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match="--accelerate-config"):
        sharding_of(Launch(accelerate_config=str(tmp_path / "a.yaml")))


def test_a_stage_is_loaded_as_its_recipe_says() -> None:
    grpo = GrpoRule(
        optimisation=Optimisation(learning_rate=1e-6, batch=4, accumulation=2),
        generations=4,
        generate_at_once=16,
        beta=0.1,
    )
    recipe = GrounderRecipe(name="r", sft=SftRule(), grpo=grpo, precision=Precision(dtype="bfloat16"))
    load = stage_load(recipe, "grpo", EXAMPLE, Sharding(), "cpu")
    assert (load.batch, load.accumulation, load.beta, load.weights) == (4, 2, 0.1, "bfloat16")
    assert load.rollouts is not None
    assert (load.rollouts.generations, load.rollouts.steps_per_generation, load.rollouts.engine) == (
        4,
        4,
        "transformers",
    )
    assert load.generated_at_once == 16
    sft = stage_load(recipe, "sft", EXAMPLE, Sharding(), "cpu")
    assert (sft.batch, sft.rollouts, sft.beta) == (1, None, 0.0)


def test_whole_weights_lie_in_float32_unless_they_are_split() -> None:
    recipe = GrounderRecipe(name="r", lora=None, sft=SftRule())
    assert stage_load(recipe, "sft", EXAMPLE, Sharding(), "cuda").weights == "float32"
    assert stage_load(recipe, "sft", EXAMPLE, Sharding(strategy="fsdp", devices=2), "cuda").weights == "bfloat16"
    with pytest.raises(UserError, match="has no stage grpo"):
        stage_load(msgspec.structs.replace(recipe, sft=None), "grpo", EXAMPLE, Sharding(), "cuda")


def test_the_words_of_a_prompt_are_counted_with_the_system_text() -> None:
    each = step("1/1", "1", "Gift", "p")
    example = GrounderExample(
        step=each, query=Query(step_id="1/1", key="", screenshot=each.screenshot, instruction="press the button")
    )
    short = prompt_text_tokens(grounder_card(), example)
    assert prompt_text_tokens(grounder_card(system="You locate elements. " * 20), example) > short + 60
