"""Which weights are tuned: adapters on the language model alone, or all but the vision tower's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from grounders.hf.tiny import write_plain

from grounding.training.recipes import Precision, SftRule
from grounding.training.records import TrainStage
from grounding.training.trainers import load_policy, raise_precision
from training.steps import few, recipe, small_card, stage

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_plain(tmp_path_factory.mktemp("policy") / "tiny")


def planned(checkpoint: Path, **fields: Any) -> TrainStage:
    rule = SftRule(optimisation=few())
    return stage(recipe(sft=rule, precision=Precision(dtype="bfloat16"), **fields), small_card(), checkpoint)


def test_adapters_are_put_on_the_language_model_and_tuned_in_float32(checkpoint: Path) -> None:
    from peft import get_peft_model

    _, model, config = load_policy(planned(checkpoint))
    adapted = get_peft_model(model, config)
    raise_precision(adapted)
    kinds = {name: str(weights.dtype) for name, weights in adapted.named_parameters()}
    free = [name for name, weights in adapted.named_parameters() if weights.requires_grad]
    assert free
    assert all("lora_" in name and ".language_model." in name for name in free)
    assert {kinds[name] for name in free} == {"torch.float32"}
    assert {kind for name, kind in kinds.items() if name not in free} == {"torch.bfloat16"}


@pytest.mark.parametrize("vision", [False, True])
def test_whole_weights_lie_in_float32_and_vision_is_frozen(checkpoint: Path, vision: bool) -> None:
    _, model, config = load_policy(planned(checkpoint, lora=None, vision=vision))
    free = [name for name, weights in model.named_parameters() if weights.requires_grad]
    assert config is None
    assert any(".visual." in name for name in free) == vision
    assert any("lm_head" in name for name in free)
    assert {str(weights.dtype) for weights in model.parameters()} == {"torch.float32"}
