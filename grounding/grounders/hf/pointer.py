"""GUI-Actor's pointer head: how well each picture patch answers the pointer token. Torch is imported in the functions.

Sources: ``VisionHead_MultiPatch`` in src/gui_actor/modeling_qwen25vl.py and ``inference`` in
src/gui_actor/inference.py of the repository microsoft/GUI-Actor.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from grounding.errors import UserError
from grounding.grounders.hf.checkpoints import weight_files
from grounding.grounders.hf.loading import POINTER_PREFIX

HEADS = 8
"""Attention heads among the patches; the authors' default, which no file of a checkpoint repeats."""

_LINEAR = ("projection_enc.0", "projection_enc.2", "projection_dec.0", "projection_dec.2", "self_attention.out_proj")
WEIGHTS = (
    *(f"{name}.{kind}" for name in (*_LINEAR, "layer_norm") for kind in ("weight", "bias")),
    "self_attention.in_proj_weight",
    "self_attention.in_proj_bias",
)
"""The head's tensors, without the prefix under which a checkpoint has them."""


def read_head(folder: Path, *, width: int, dtype: Any, device: Any) -> dict[str, Any]:
    """The head's tensors from a checkpoint folder, sharded or not.

    ``width`` is the size of the language model's hidden states.

    Raises:
        UserError: the checkpoint has no pointer head, or not the whole of one of this width.
    """
    files = weight_files(folder, POINTER_PREFIX)
    if not files:
        raise UserError(f"{folder}: the checkpoint has no pointer head ({POINTER_PREFIX}*): not a GUI-Actor model")
    names = {name.removeprefix(POINTER_PREFIX) for name in files}
    if names != set(WEIGHTS):
        wrong = ", ".join(sorted(names ^ set(WEIGHTS)))
        raise UserError(f"{folder}: the pointer head is not the one of the published models: {wrong}")
    from safetensors import SafetensorError, safe_open

    head: dict[str, Any] = {}
    for path in sorted(set(files.values())):
        try:
            with safe_open(str(path), framework="pt") as tensors:
                for name in (name for name, file in files.items() if file == path):
                    head[name.removeprefix(POINTER_PREFIX)] = tensors.get_tensor(name).to(device, dtype)
        except (OSError, SafetensorError) as error:
            raise UserError(f"{path}: can't be read: {error}") from error
    for name, tensor in head.items():
        rows = 3 * width if "in_proj" in name else width
        expected = (rows,) if tensor.ndim == 1 else (rows, width)
        if tuple(tensor.shape) != expected:
            raise UserError(f"{folder}: {POINTER_PREFIX}{name} has shape {tuple(tensor.shape)}, expected {expected}")
    return head


def pointer_scores(head: dict[str, Any], patches: Any, pointer: Any) -> Any:
    """The share of attention that each patch gets from the pointer token.

    The patches first attend to each other (8 heads, residual, layer norm); both sides then go through two linear
    layers with a GELU between; the score is the softmax over patches of the products divided by the root of the width.

    Args:
        head: the tensors of ``read_head``.
        patches: what the vision tower gives the language model in the pictures' places, shape (patches, width).
        pointer: the last hidden state of the pointer token, after the final norm, shape (width,).

    Returns:
        Shape (patches,), in the head's number format; sums to 1.
    """
    import torch.nn.functional as F

    count, width = patches.shape
    projected = F.linear(patches, head["self_attention.in_proj_weight"], head["self_attention.in_proj_bias"])
    queries, keys, values = projected.view(count, 3, HEADS, width // HEADS).permute(1, 2, 0, 3).unbind(0)
    mixed = F.scaled_dot_product_attention(queries[None], keys[None], values[None])[0]
    mixed = mixed.transpose(0, 1).reshape(count, width)
    mixed = F.linear(mixed, head["self_attention.out_proj.weight"], head["self_attention.out_proj.bias"])
    context = F.layer_norm(patches + mixed, (width,), head["layer_norm.weight"], head["layer_norm.bias"], 1e-5)
    products = _projected(head, "projection_enc", context) @ _projected(head, "projection_dec", pointer)
    return F.softmax(products / width**0.5, dim=-1)


def _projected(head: dict[str, Any], name: str, states: Any) -> Any:
    import torch.nn.functional as F

    inner = F.gelu(F.linear(states, head[f"{name}.0.weight"], head[f"{name}.0.bias"]))
    return F.linear(inner, head[f"{name}.2.weight"], head[f"{name}.2.bias"])
