"""Models in memory, what torch keeps of a pass through them, and the most that is there at once. For tests only."""

from __future__ import annotations

import json
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from grounding.training.estimate.shapes import ModelShape, shape_from_config


def config(family: str, **text: int) -> Any:
    """A transformers configuration of a family, small, with sizes that differ from each other."""
    import transformers

    sizes: dict[str, Any] = {
        "hidden_size": 192,
        "intermediate_size": 440,
        "num_hidden_layers": 2,
        "num_attention_heads": 6,
        "num_key_value_heads": 2,
        "vocab_size": 64,
        **text,
    }
    if family == "llama":
        return transformers.LlamaConfig(**sizes)
    marks = {"image_token_id": 60, "video_token_id": 61, "vision_start_token_id": 62, "vision_end_token_id": 63}
    half = sizes["hidden_size"] // sizes["num_attention_heads"] // 2
    if family == "qwen3_vl":
        half = 16
    rope = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [half - 2 * (half // 3), half // 3, half // 3]}
    sizes["rope_parameters"] = rope
    if family == "qwen3_vl":
        sizes["head_dim"] = 32
        vision: dict[str, Any] = {"depth": 3, "hidden_size": 80, "intermediate_size": 208, "num_heads": 4}
        vision.update(out_hidden_size=sizes["hidden_size"], num_position_embeddings=64, deepstack_visual_indexes=[0])
        return transformers.Qwen3VLConfig(text_config=sizes, vision_config=vision, **marks)
    if family == "qwen2_vl":
        vision = {"depth": 3, "embed_dim": 80, "hidden_size": sizes["hidden_size"], "num_heads": 4}
        return transformers.Qwen2VLConfig(text_config=sizes, vision_config=vision, **marks)
    vision = {"depth": 3, "hidden_size": 80, "intermediate_size": 208, "num_heads": 4, "fullatt_block_indexes": [1]}
    vision["out_hidden_size"] = sizes["hidden_size"]
    return transformers.Qwen2_5_VLConfig(text_config=sizes, vision_config=vision, **marks)


def shape_of(made: Any) -> ModelShape:
    """What the estimate reads of a configuration, by way of its JSON."""
    return shape_from_config(json.loads(made.to_json_string(use_diff=False)), name="test")


def model(made: Any, dtype: str, *, device: str = "cpu") -> Any:
    """A model of random weights."""
    import torch
    import transformers

    torch.manual_seed(0)
    kind = transformers.AutoModelForCausalLM if made.model_type == "llama" else transformers.AutoModelForImageTextToText
    with torch.device(device):
        return kind.from_config(made).to(getattr(torch, dtype)).train()


def checkpointed(built: Any) -> None:
    """Switch gradient checkpointing on, as a trainer does."""
    built.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})


def inputs(made: Any, *, sequences: int, words: int, grid: tuple[int, int] | None = None) -> dict[str, Any]:
    """Token ids, a mask with padding, and a picture of ``grid`` patches (down, across) for each sequence."""
    import torch

    torch.manual_seed(1)
    ids = torch.randint(0, 50, (sequences, words))
    found: dict[str, Any] = {}
    if grid is not None:
        vision = made.vision_config
        down, across = grid
        merged = down * across // vision.spatial_merge_size**2
        values = vision.in_channels * vision.temporal_patch_size * vision.patch_size**2
        ids = torch.cat([torch.full((sequences, 1), 62), torch.full((sequences, merged), 60), ids], dim=1)
        found["pixel_values"] = torch.randn(sequences * down * across, values)
        found["image_grid_thw"] = torch.tensor([[1, down, across]] * sequences)
        found["mm_token_type_ids"] = (ids == 60).long()
    mask = torch.ones_like(ids)
    if sequences > 1:
        mask[0, -3:] = 0
    return {"input_ids": ids, "attention_mask": mask, **found}


def kept_bytes(built: Any, call: Callable[[], Any], *, autocast: bool) -> tuple[int, Any]:
    """Bytes of all that autograd keeps for the backward pass, weights left out, each storage once; and the result."""
    import torch

    own = {weights.untyped_storage()._cdata for weights in [*built.parameters(), *built.buffers()]}
    held: dict[int, int] = {}

    def keep(tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        if storage._cdata not in own:
            held[storage._cdata] = storage.nbytes()
        return tensor

    in_16_bits = torch.autocast("cpu", torch.bfloat16) if autocast else nullcontext()
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor), in_16_bits:
        result = call()
    return sum(held.values()), result


def peak_bytes(built: Any, work: Callable[[], Any]) -> int:
    """The most bytes that are there at once while something is done, besides weights and what was there before."""
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_iter

    class Live(TorchDispatchMode):
        """Counts every storage from its first appearance until it is freed."""

        def __init__(self) -> None:
            super().__init__()
            there = [*built.parameters(), *built.buffers()]
            there += [weights.grad for weights in there if weights.grad is not None]
            self.sizes = {tensor.untyped_storage()._cdata: 0 for tensor in there}
            self.now = self.most = 0

        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = function(*args, **(kwargs or {}))
            for tensor in tree_iter(result):
                if hasattr(tensor, "untyped_storage"):
                    self.see(tensor.untyped_storage())
            return result

        def see(self, storage: Any) -> None:
            key = storage._cdata
            if key not in self.sizes:
                self.sizes[key] = storage.nbytes()
                self.now += storage.nbytes()
                self.most = max(self.most, self.now)
                weakref.finalize(storage, self.gone, key)

        def gone(self, key: int) -> None:
            self.now -= self.sizes.pop(key, 0)

    live = Live()
    with live:
        work()
    return live.most
