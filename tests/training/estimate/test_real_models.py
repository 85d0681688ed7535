"""Counts held against the real classes of transformers and PEFT, built without memory on torch's ``meta`` device."""

from __future__ import annotations

import json
from typing import Any

import pytest

from grounding.training.estimate.adapters import trained
from grounding.training.estimate.modules import modules, parameters
from grounding.training.estimate.shapes import shape_from_config
from grounding.training.records import LoraRule
from training.estimate.keeping import config, model, shape_of
from training.estimate.test_shapes import LLAMA2_7B, QWEN2_2B, QWEN2_7B, QWEN3_8B, QWEN25_7B

FAMILIES = ("llama", "qwen2_vl", "qwen2_5_vl", "qwen3_vl")

pytest.importorskip("torch", reason="needs torch")
pytest.importorskip("transformers", reason="needs transformers")

pytestmark = pytest.mark.slow


def _built(found: dict[str, Any]) -> Any:
    import transformers

    return transformers.AutoConfig.for_model(**{**found, "model_type": found["model_type"]})


@pytest.mark.parametrize("found", [QWEN25_7B, QWEN2_7B, QWEN3_8B, LLAMA2_7B, QWEN2_2B], ids=lambda c: c["model_type"])
def test_whole_models_have_as_many_parameters(found: dict[str, Any]) -> None:
    made = _built(found)
    real = model(made, "bfloat16", device="meta")
    for source in (found, json.loads(made.to_json_string(use_diff=False))):
        shape = shape_from_config(source, name="model")
        assert parameters(shape) == sum(weights.numel() for weights in real.parameters())
        assert sum(module.tensors for module in modules(shape)) == len(list(real.parameters()))
    with_weights = {name for name, module in real.named_modules() if list(module.parameters(recurse=False))}
    assert {module.name for module in modules(shape)} == with_weights


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_small_models_have_as_many_parameters(family: str, tied: bool) -> None:
    made = config(family)
    made.tie_word_embeddings = tied
    real = model(made, "float32", device="meta")
    assert parameters(shape_of(made)) == sum(weights.numel() for weights in real.parameters())


RULES = (
    LoraRule(rank=8),
    LoraRule(rank=4, vision=True),
    LoraRule(rank=2, targets=("q_proj", "v_proj")),
    LoraRule(rank=8, also_train=("embed_tokens", "lm_head", "norm")),
)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("rule", RULES, ids=["all", "vision", "q and v", "whole modules"])
@pytest.mark.parametrize("family", FAMILIES)
def test_adapters_are_as_many_as_pefts(family: str, rule: LoraRule, tied: bool) -> None:
    peft = pytest.importorskip("peft", reason="needs peft")
    made = config(family)
    made.tie_word_embeddings = tied
    shape = shape_of(made)
    excluded = None if rule.vision or shape.vision is None else r".*visual.*"
    asked = peft.LoraConfig(
        r=rule.rank,
        target_modules=rule.targets if isinstance(rule.targets, str) else list(rule.targets),
        exclude_modules=excluded,
        modules_to_save=list(rule.also_train) or None,
    )
    real = peft.get_peft_model(model(made, "bfloat16", device="meta"), asked)
    found = trained(shape, rule)
    moved = {name: weights for name, weights in real.named_parameters() if weights.requires_grad}
    adapters = {name: weights for name, weights in moved.items() if ".lora_" in name}
    assert found.adapters == sum(weights.numel() for weights in adapters.values())
    assert found.adapter_tensors == len(adapters)
    assert found.whole == sum(weights.numel() for weights in moved.values()) - found.adapters
    assert found.whole_tensors == len(moved) - len(adapters)
    # What ``TrainingLoad`` says of their numbers: adapters in float32, whole modules as the model.
    assert {str(weights.dtype) for weights in adapters.values()} == {"torch.float32"}
    assert {str(moved[name].dtype) for name in moved.keys() - adapters.keys()} <= {"torch.bfloat16"}
