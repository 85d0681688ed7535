"""Every module of a model that holds weights, from its shape alone, under the names of transformers 5.

These are the names that LoRA's targets are matched with, and the sizes that parameters are counted from. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from grounding.records import Record
from grounding.training.estimate.shapes import ModelShape, TextShape, VisionShape

Kind = Literal["linear", "convolution", "embedding", "norm"]
Part = Literal["embedding", "layers", "norm", "head", "vision"]


class Module(Record, frozen=True, kw_only=True):
    """A module with weights. ``weight`` and ``bias`` count numbers; a tied head has none of its own.

    ``inputs`` and ``outputs`` are the widths that an adapter would have (of a convolution: of its kernel in all).
    """

    name: str
    kind: Kind
    part: Part
    inputs: int
    outputs: int
    weight: int
    bias: int = 0

    @property
    def parameters(self) -> int:
        """Weight and bias together."""
        return self.weight + self.bias

    @property
    def tensors(self) -> int:
        """How many parameter tensors these are."""
        return (self.weight > 0) + (self.bias > 0)


def modules(shape: ModelShape) -> tuple[Module, ...]:
    """All of a model's modules with weights; their parameters add up to ``sum(p.numel())`` of the real model."""
    root = "model.language_model" if shape.vision is not None else "model"
    found = [*_tower(shape.vision)] if shape.vision is not None else []
    return (*found, *_text(shape.text, root))


def parameters(shape: ModelShape, part: Part | None = None) -> int:
    """The number of parameters of the model or of one part of it; tied weights count once."""
    return sum(module.parameters for module in modules(shape) if part is None or module.part == part)


def layer_parameters(shape: ModelShape) -> int:
    """The parameters of one layer of the language model."""
    return parameters(shape, "layers") // shape.text.layers


def _linear(name: str, part: Part, inputs: int, outputs: int, *, bias: bool) -> Module:
    return Module(
        name=name,
        kind="linear",
        part=part,
        inputs=inputs,
        outputs=outputs,
        weight=inputs * outputs,
        bias=outputs if bias else 0,
    )


def _norm(name: str, part: Part, width: int, *, bias: bool = False) -> Module:
    return Module(
        name=name, kind="norm", part=part, inputs=width, outputs=width, weight=width, bias=width if bias else 0
    )


def _embedding(name: str, part: Part, rows: int, width: int) -> Module:
    return Module(name=name, kind="embedding", part=part, inputs=rows, outputs=width, weight=rows * width)


def _text(text: TextShape, root: str) -> Iterator[Module]:
    width, inner = text.width, text.inner
    yield _embedding(f"{root}.embed_tokens", "embedding", text.vocabulary, width)
    for number in range(text.layers):
        layer = f"{root}.layers.{number}"
        for name, outputs in (("q", text.query_width), ("k", text.key_width), ("v", text.key_width)):
            yield _linear(f"{layer}.self_attn.{name}_proj", "layers", width, outputs, bias=text.qkv_bias)
        yield _linear(f"{layer}.self_attn.o_proj", "layers", text.query_width, width, bias=text.out_bias)
        if text.qk_norm:
            yield _norm(f"{layer}.self_attn.q_norm", "layers", text.head_width)
            yield _norm(f"{layer}.self_attn.k_norm", "layers", text.head_width)
        yield _linear(f"{layer}.mlp.gate_proj", "layers", width, inner, bias=text.mlp_bias)
        yield _linear(f"{layer}.mlp.up_proj", "layers", width, inner, bias=text.mlp_bias)
        yield _linear(f"{layer}.mlp.down_proj", "layers", inner, width, bias=text.mlp_bias)
        yield _norm(f"{layer}.input_layernorm", "layers", width)
        yield _norm(f"{layer}.post_attention_layernorm", "layers", width)
    yield _norm(f"{root}.norm", "norm", width)
    yield Module(
        name="lm_head",
        kind="linear",
        part="head",
        inputs=width,
        outputs=text.vocabulary,
        weight=0 if text.tied else width * text.vocabulary,
    )


def _tower(vision: VisionShape) -> Iterator[Module]:
    """Qwen2-VL and Qwen3-VL normalise with a bias and have two layers in the MLP, Qwen2.5-VL without and three."""
    root, width, inner = "model.visual", vision.width, vision.inner
    newest, norm_bias = vision.kind == "qwen3_vl", vision.kind != "qwen2_5_vl"
    yield Module(
        name=f"{root}.patch_embed.proj",
        kind="convolution",
        part="vision",
        inputs=vision.patch_values,
        outputs=width,
        weight=vision.patch_values * width,
        bias=width if newest else 0,
    )
    if newest:
        yield _embedding(f"{root}.pos_embed", "vision", vision.positions, width)
    for number in range(vision.layers):
        block = f"{root}.blocks.{number}"
        yield _norm(f"{block}.norm1", "vision", width, bias=norm_bias)
        yield _norm(f"{block}.norm2", "vision", width, bias=norm_bias)
        yield _linear(f"{block}.attn.qkv", "vision", width, 3 * width, bias=True)
        yield _linear(f"{block}.attn.proj", "vision", width, width, bias=True)
        if vision.kind == "qwen2_5_vl":
            for name in ("gate_proj", "up_proj"):
                yield _linear(f"{block}.mlp.{name}", "vision", width, inner, bias=True)
            yield _linear(f"{block}.mlp.down_proj", "vision", inner, width, bias=True)
        else:
            first, second = ("linear_fc1", "linear_fc2") if newest else ("fc1", "fc2")
            yield _linear(f"{block}.mlp.{first}", "vision", width, inner, bias=True)
            yield _linear(f"{block}.mlp.{second}", "vision", inner, width, bias=True)
    merged = width * vision.merge**2
    yield from _merger(f"{root}.merger", vision, merged, norm_width=width)
    for number in range(vision.deepstack):
        yield from _merger(f"{root}.deepstack_merger_list.{number}", vision, merged, norm_width=merged)


def _merger(name: str, vision: VisionShape, merged: int, *, norm_width: int) -> Iterator[Module]:
    newest = vision.kind == "qwen3_vl"
    norm, first, second = ("norm", "linear_fc1", "linear_fc2") if newest else ("ln_q", "mlp.0", "mlp.2")
    yield _norm(f"{name}.{norm}", "vision", norm_width, bias=vision.kind != "qwen2_5_vl")
    yield _linear(f"{name}.{first}", "vision", merged, merged, bias=True)
    yield _linear(f"{name}.{second}", "vision", merged, vision.out_width, bias=True)
