"""Folders of tuned models as PEFT and transformers leave them, with weights of a few bytes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

LAYER = "base_model.model.model.language_model.layers.0.self_attn.q_proj"
PATCHES = "base_model.model.model.visual.blocks.0.attn.qkv"


def write_tensors(path: Path, names: Sequence[str], weights: bytes = b"\1" * 64) -> Path:
    """A safetensors file: its header names the tensors, which share the bytes that follow."""
    shared = {"dtype": "F32", "shape": [len(weights) // 4], "data_offsets": [0, len(weights)]}
    header = json.dumps({"__metadata__": {"format": "pt"}, **dict.fromkeys(names, shared)}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + weights)
    return path


def write_checkpoint(folder: Path, weights: bytes = b"\0" * 64, **config: Any) -> Path:
    """A model's own weights, in one file."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({"model_type": "qwen2_5_vl", **config}), encoding="utf-8")
    (folder / "tokenizer.json").write_text('{"of": "the base"}', encoding="utf-8")
    write_tensors(folder / "model.safetensors", ["model.a"], weights)
    return folder


def write_peft(folder: Path, weights: bytes = b"\1" * 64, names: Sequence[str] = (LAYER,), **config: Any) -> Path:
    """An adapter without a card."""
    folder.mkdir(parents=True, exist_ok=True)
    said = {"peft_type": "LORA", "r": 8, "lora_alpha": 16, "target_modules": ["q_proj"], "bias": "none", **config}
    (folder / "adapter_config.json").write_text(json.dumps(said), encoding="utf-8")
    tensors = [f"{name}.lora_{half}.weight" for name in names for half in "AB"]
    write_tensors(folder / "adapter_model.safetensors", tensors, weights)
    return folder
