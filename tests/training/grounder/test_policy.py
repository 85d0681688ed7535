"""Which weights are tuned: adapters on the language model alone, or all but the vision tower's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from grounders.hf.tiny import write_plain

from grounding.errors import UserError
from grounding.training.grounder.policy import load_policy, lora_config, raise_precision, tuned, tuned_share
from grounding.training.grounder.records import GrounderStage
from grounding.training.records import LoraRule, Precision
from training.grounder.steps import small_card

pytestmark = pytest.mark.slow
for package in ("peft", "torchvision"):
    pytest.importorskip(package, reason="training needs the extra 'train'")

LANGUAGE = ["down_proj", "gate_proj", "k_proj", "o_proj", "q_proj", "up_proj", "v_proj"]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_plain(tmp_path_factory.mktemp("policy") / "tiny")


def stage(checkpoint: Path, **fields: Any) -> GrounderStage:
    usual = GrounderStage(name="sft", method="sft", card=small_card(), model=str(checkpoint), lora=LoraRule(rank=4))
    return msgspec.structs.replace(usual, **fields)


def names(model: Any) -> list[str]:
    return [name for name, weights in model.named_parameters() if weights.requires_grad]


def test_adapters_are_put_on_the_language_model(checkpoint: Path) -> None:
    from peft import get_peft_model

    plan = stage(checkpoint, precision=Precision(dtype="bfloat16"))
    model, config = tuned(plan, load_policy(plan).model)
    assert sorted(config.target_modules) == LANGUAGE
    adapted = get_peft_model(model, config)
    assert all("lora_" in name and ".language_model." in name for name in names(adapted))
    assert len(names(adapted)) == 2 * 2 * len(LANGUAGE)
    free, whole = tuned_share(adapted)
    assert 0 < free < whole / 20
    kinds = {str(weights.dtype) for name, weights in adapted.named_parameters() if "lora_" not in name}
    assert kinds == {"torch.bfloat16"}
    raise_precision(adapted)
    assert {str(weights.dtype) for weights in adapted.parameters() if weights.requires_grad} == {"torch.float32"}


def test_the_vision_tower_gets_some_where_it_is_asked_for(checkpoint: Path) -> None:
    from peft import get_peft_model

    plan = stage(checkpoint, lora=LoraRule(rank=4, vision=True))
    model, config = tuned(plan, load_policy(plan).model)
    adapted = get_peft_model(model, config)
    assert any(".visual." in name for name in names(adapted))
    assert not any("lm_head" in name for name in names(adapted))


def test_some_layers_and_whole_modules(checkpoint: Path) -> None:
    from peft import get_peft_model

    plan = stage(checkpoint, lora=LoraRule(rank=4, targets=("q_proj", "v_proj"), also_train=("embed_tokens",)))
    model, config = tuned(plan, load_policy(plan).model)
    adapted = get_peft_model(model, config)
    ends = {part for name in names(adapted) for part in name.split(".") if part in (*LANGUAGE, "embed_tokens")}
    assert ends == {"q_proj", "v_proj", "embed_tokens"}


def test_layers_that_are_not_there_are_named(checkpoint: Path) -> None:
    model = load_policy(stage(checkpoint)).model
    with pytest.raises(UserError, match=r"no wq to adapt; it has down_proj"):
        lora_config(model, LoraRule(targets=("wq",)))
    # a layer of the vision tower's own
    with pytest.raises(UserError, match="no qkv"):
        lora_config(model, LoraRule(targets=("qkv",)))
    with pytest.raises(UserError, match="no module called head"):
        lora_config(model, LoraRule(also_train=("head",)))


@pytest.mark.parametrize("vision", [False, True])
def test_whole_weights_lie_in_float32_and_vision_is_frozen(checkpoint: Path, vision: bool) -> None:
    plan = stage(checkpoint, lora=None, vision=vision, precision=Precision(dtype="bfloat16"))
    model, config = tuned(plan, load_policy(plan).model)
    assert config is None
    assert any(".visual." in name for name in names(model)) == vision
    assert any("lm_head" in name for name in names(model))
    assert {str(weights.dtype) for weights in model.parameters()} == {"torch.float32"}


def test_an_adapter_that_is_not_there_is_named(checkpoint: Path, tmp_path: Path) -> None:
    plan = stage(checkpoint, adapter=str(tmp_path))
    with pytest.raises(UserError, match="adapter to go on from"):
        tuned(plan, load_policy(plan).model)


@pytest.mark.parametrize(("rule", "kept"), [(LoraRule(), False), (LoraRule(vision=True), True)])
def test_a_frozen_tower_is_not_kept_for_the_backward_pass(checkpoint: Path, rule: LoraRule, kept: bool) -> None:
    """As transformers checkpoints, the embedding of pictures would make it so, and gradients are the same without."""
    import torch
    from peft import get_peft_model

    plan = stage(checkpoint, lora=rule)
    loaded = load_policy(plan)
    model, config = tuned(plan, loaded.model)
    adapted = get_peft_model(model, config)
    adapted.enable_input_require_grads()
    tower = next(module for name, module in adapted.named_modules() if name.endswith("visual"))
    size = tower.config.patch_size
    patches = torch.randn(16, tower.config.in_channels * tower.config.temporal_patch_size * size * size)
    seen = tower(patches.to(next(tower.parameters()).dtype), grid_thw=torch.tensor([[1, 4, 4]]))
    found = seen if isinstance(seen, torch.Tensor) else next(value for value in seen.values() if value is not None)
    assert found.requires_grad == kept
