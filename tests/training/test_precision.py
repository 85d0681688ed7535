"""Whatever is trained is trained in float32: in bfloat16 a norm's weight of 1 can't take a step of 3e-4."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from grounding.errors import UserError
from grounding.training.puma.training import count_cut
from grounding.training.recipes import Method, PumaRecipe, read_recipe
from grounding.training.records import TextExample, TrainStage
from grounding.training.stage import run_stage
from training import tiny


@pytest.mark.parametrize("method", ["sft", "dpo"])
def test_the_recipes_norms_embeddings_and_head_move(tmp_path: Path, method: Method) -> None:
    from safetensors.torch import load_file

    recipe, _ = read_recipe("puma-llama2-7b", PumaRecipe)
    assert recipe.precision.dtype == "bfloat16"
    base = tiny.write_model(tmp_path / "base")
    rule = recipe.sft.optimisation if method == "sft" else recipe.dpo.optimisation
    stage = TrainStage(
        name=method,
        method=method,
        model=str(base),
        optimisation=msgspec.structs.replace(rule, max_steps=2, accumulation=1, warmup=0.0),
        lora=recipe.lora,
        precision=recipe.precision,
        max_tokens=128,
        beta=0.1 if method == "dpo" else None,
        device="cpu",
    )
    rows = [TextExample(prompt="a kettle ", chosen="of steel", rejected="boots")] * 4
    run_stage(tmp_path / "stage", stage, rows, display="none")
    trained = load_file(tmp_path / "stage" / "output" / "adapter_model.safetensors")
    before = load_file(base / "model.safetensors")
    whole: dict[str, Any] = {name: value for name, value in trained.items() if "lora_" not in name}
    assert len(whole) == 7  # two layers of two norms, the last norm, embeddings and head
    for name, value in whole.items():
        was = before[name.removeprefix("base_model.model.")]
        assert (value.float() != was.bfloat16().float()).any(), name


def test_labels_that_lose_their_end_are_counted_and_too_many_refused() -> None:
    rows = [TextExample(prompt="a ", chosen="b " * n) for n in range(1, 11)]

    def counts(*overrides: str) -> int:
        rule = read_recipe("puma-tiny", PumaRecipe, ("sft.max_tokens=10", *overrides))[0].sft
        return count_cut(rows, lambda text: len(text.split()), rule)

    # A prompt of one word, nine or ten of a label, and the token that ends it: two don't fit into ten.
    with pytest.raises(UserError, match=r"2 of 10 examples are longer than sft.max_tokens \(10\)"):
        counts()
    assert counts("sft.most_cut=0.2") == 2
