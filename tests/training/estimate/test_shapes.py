"""Shapes out of config.json: the flat files of the hub, the nested ones of transformers 5, and broken ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from grounding.errors import UserError
from grounding.training.estimate.modules import layer_parameters, modules, parameters
from grounding.training.estimate.shapes import read_shape, shape_from_config

# As the hub has them: https://huggingface.co/Qwen/Qwen2.5-VL-7B-Instruct and the others, sizes only.
QWEN_TEXT = {
    "hidden_size": 3584,
    "intermediate_size": 18944,
    "num_hidden_layers": 28,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "vocab_size": 152064,
}
QWEN25_7B: dict[str, Any] = {
    "model_type": "qwen2_5_vl",
    **QWEN_TEXT,
    "tie_word_embeddings": False,
    "vision_config": {
        "depth": 32,
        "hidden_size": 1280,
        "intermediate_size": 3420,
        "num_heads": 16,
        "out_hidden_size": 3584,
        "patch_size": 14,
        "spatial_merge_size": 2,
        "window_size": 112,
        "fullatt_block_indexes": [7, 15, 23, 31],
    },
}
QWEN2_7B = {
    "model_type": "qwen2_vl",
    **QWEN_TEXT,
    "vision_config": {"depth": 32, "embed_dim": 1280, "mlp_ratio": 4, "num_heads": 16, "hidden_size": 3584},
}
QWEN3_8B = {
    "model_type": "qwen3_vl",
    "text_config": {
        "hidden_size": 4096,
        "intermediate_size": 12288,
        "num_hidden_layers": 36,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "vocab_size": 151936,
    },
    "vision_config": {
        "depth": 27,
        "hidden_size": 1152,
        "intermediate_size": 4304,
        "num_heads": 16,
        "out_hidden_size": 4096,
        "patch_size": 16,
        "num_position_embeddings": 2304,
        "deepstack_visual_indexes": [8, 16, 24],
    },
}
LLAMA2_7B = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "vocab_size": 32000,
}
QWEN2_2B = {
    "model_type": "qwen2_vl",
    "hidden_size": 1536,
    "intermediate_size": 8960,
    "num_hidden_layers": 28,
    "num_attention_heads": 12,
    "num_key_value_heads": 2,
    "vocab_size": 151936,
    "tie_word_embeddings": True,
    "vision_config": {"depth": 32, "embed_dim": 1280, "mlp_ratio": 4, "num_heads": 16, "hidden_size": 1536},
}


@pytest.mark.parametrize(
    ("config", "total"),
    [
        # Half the bytes that the published checkpoints' indexes name as their total size (bfloat16).
        (QWEN25_7B, 8_292_166_656),
        (QWEN2_7B, 8_291_375_616),
        (QWEN3_8B, 8_767_123_696),
        (LLAMA2_7B, 6_738_415_616),
        (QWEN2_2B, 2_208_985_600),
    ],
    ids=["Qwen2.5-VL-7B", "Qwen2-VL-7B", "Qwen3-VL-8B", "Llama-2-7B", "Qwen2-VL-2B, tied"],
)
def test_the_parameters_of_published_models(config: dict[str, Any], total: int) -> None:
    assert parameters(shape_from_config(config, name="model")) == total


def test_parts_add_up_and_names_are_told_apart() -> None:
    shape = shape_from_config(QWEN3_8B, name="model")
    parts = [parameters(shape, part) for part in ("embedding", "layers", "norm", "head", "vision")]
    assert sum(parts) == parameters(shape)
    assert layer_parameters(shape) * 36 == parameters(shape, "layers")
    names = [module.name for module in modules(shape)]
    assert len(set(names)) == len(names)
    assert "model.language_model.layers.35.self_attn.q_norm" in names
    assert "model.visual.deepstack_merger_list.2.linear_fc1" in names


def test_flat_and_nested_files_say_the_same() -> None:
    text = {name: value for name, value in QWEN25_7B.items() if name not in ("model_type", "vision_config")}
    nested = {"model_type": "qwen2_5_vl", "text_config": text, "vision_config": QWEN25_7B["vision_config"]}
    assert shape_from_config(nested, name="x") == shape_from_config(QWEN25_7B, name="x")
    # Older files say with the language model that the output layer is the embedding.
    assert shape_from_config({**nested, "text_config": {**text, "tie_word_embeddings": True}}, name="x").text.tied


def test_grouped_heads_and_widths() -> None:
    text = shape_from_config(QWEN3_8B, name="x").text
    assert (text.query_width, text.key_width) == (4096, 1024)
    assert shape_from_config(LLAMA2_7B, name="x").text.kv_heads == 32


def test_a_folder_and_a_file_are_read(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(LLAMA2_7B), encoding="utf-8")
    assert read_shape(tmp_path) == read_shape(tmp_path / "config.json")
    assert read_shape(tmp_path, name="mine").name == "mine"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "can't be read"),
        ("{", "not JSON"),
        ("[]", "can't be worked out"),
        ('{"model_type": "mamba"}', "known are llama"),
        (json.dumps({**LLAMA2_7B, "hidden_size": 0}), "hidden_size|width"),
        (json.dumps({**LLAMA2_7B, "hidden_size": "wide"}), "whole configuration"),
        (json.dumps({"model_type": "llama", "hidden_size": 64, "num_attention_heads": 2}), "num_hidden_layers"),
        (json.dumps({**QWEN25_7B, "vision_config": {"depth": -1}}), "depth|layers|>= 1"),
        (json.dumps({**LLAMA2_7B, "num_attention_heads": 0}), "whole configuration"),
    ],
)
def test_what_is_no_configuration_is_refused(tmp_path: Path, content: str | None, words: str) -> None:
    if content is not None:
        (tmp_path / "config.json").write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=words) as caught:
        read_shape(tmp_path)
    assert str(tmp_path) in str(caught.value)
