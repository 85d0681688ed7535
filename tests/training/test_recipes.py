from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from fakes.make import MODELS

from grounding.errors import UserError
from grounding.training.recipes import GrounderRecipe, GrpoRule, Optimisation, check_batches, read_recipe, stage_methods

TEXT = """\
# A recipe for tests: what the paper says.
name: small  # its name
source: 'a paper: "section 4"'
grpo:
  optimisation:
    learning_rate: 1e-6  # appendix B
    batch: 4
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(TEXT)
    return path


def test_a_recipe_is_read_with_defaults(file: Path) -> None:
    recipe, text = read_recipe(str(file), GrounderRecipe)
    grpo = GrpoRule(optimisation=Optimisation(learning_rate=1e-6, batch=4))
    assert recipe == GrounderRecipe(name="small", source='a paper: "section 4"', grpo=grpo)
    assert text == TEXT


@pytest.mark.parametrize(
    ("override", "place", "value"),
    [
        ("grpo.optimisation.learning_rate=1e-5", ("grpo", "optimisation", "learning_rate"), 1e-5),
        ("grpo.trl.epsilon_high=0.3", ("grpo", "trl"), {"epsilon_high": 0.3}),
        ("lora=null", ("lora",), None),
        ("lora.targets=[q_proj, v_proj]", ("lora", "targets"), ("q_proj", "v_proj")),
        ("name = a=b", ("name",), "a=b"),
    ],
)
def test_an_override_reaches_its_field(file: Path, override: str, place: tuple[Any, ...], value: object) -> None:
    found: Any = read_recipe(str(file), GrounderRecipe, [override])[0]
    for name in place:
        found = getattr(found, name)
    assert found == value


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("grpo.optimization.learning_rate=1", ["field grpo", "unknown field `optimization`", "optimisation"]),
        ("grpo.optimisation.schedule=fast", ["field grpo.optimisation.schedule", "Allowed: linear, cosine"]),
        ("grpo.optimisation.learning_rate=-1", ["grpo.optimisation.learning_rate", "> 0"]),
        ("name.first=1", ["name has no fields"]),
        ("rank", ["expected field=value"]),
        ("history=[1", ["not valid YAML"]),
    ],
)
def test_a_wrong_override_is_refused_with_what_is_allowed(file: Path, override: str, told: list[str]) -> None:
    with pytest.raises(UserError) as caught:
        read_recipe(str(file), GrounderRecipe, [override])
    for words in (f"--set {override}", *told):
        assert words in str(caught.value)


# --- recipes that contradict themselves ------------------------------------------------------------------------------

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


@pytest.mark.parametrize(
    ("given", "prompts", "processes", "words"),
    [
        (rule(accumulation=6), 100, 1, "8 replies to each of 100 prompts, 6 at once"),
        (rule(accumulation=1), 100, 4, "on each of 4 devices"),
        (rule(), 0, 1, "each of 0 prompts"),
        (rule(accumulation=32), 3, 1, "each of 3 prompts, 32 at once"),
        (rule(batch=4, accumulation=4, generate_at_once=6), 100, 1, "6 at once"),
        (rule(batch=2, accumulation=8, generate_at_once=6), 100, 1, "16 a step"),
    ],
)
def test_batches_that_do_not_come_out_even_are_named(given: GrpoRule, prompts: int, processes: int, words: str) -> None:
    with pytest.raises(UserError, match=words):
        check_batches(given, prompts=prompts, processes=processes)
