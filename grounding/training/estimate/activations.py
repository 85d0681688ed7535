"""Bytes that the forward pass leaves behind for the backward pass, per token and layer. Pure.

The formulas follow the modules of transformers 5 with scaled-dot-product attention, and count what torch's autograd
keeps; tests compare them with what it really keeps (``torch.autograd.graph.saved_tensors_hooks``, on the CPU).
In the formulas H is the model's width, A that of all queries, K of all keys, I of the MLP, W the vision tower's width,
``w`` the bytes of a number between layers, ``c`` of a calculated number, ``a`` of an adapter's, r the rank.
"""

from __future__ import annotations

from collections.abc import Sequence

from grounding.training.estimate.adapters import Trained
from grounding.training.estimate.load import DTYPE_BYTES, TrainingLoad
from grounding.training.estimate.numbers import flow_bytes
from grounding.training.estimate.shapes import TextShape, VisionShape

FLOAT32 = 4


class _Kept:
    """How many bytes one number takes at each place, for one load."""

    def __init__(self, load: TrainingLoad, adapted: Sequence[str], *, whole: bool) -> None:
        self.w, self.c = flow_bytes(load), DTYPE_BYTES[load.compute]
        self.a = DTYPE_BYTES[load.adapters]
        self.whole = whole
        self.rank = load.lora.rank if load.lora is not None else 0
        self.dropout = load.lora is not None and load.lora.dropout > 0
        self._adapted = frozenset(adapted)

    def inputs(self, names: Sequence[str], width: int, given: int) -> int:
        """What linear layers keep of the one input that they share, ``given`` bytes a number.

        Trained weights keep the input once for all of them, or each a copy in the numbers of calculation where those
        are others. A frozen layer keeps none of it. An adapter casts the input to its own numbers first, so each
        keeps a copy, unless all three are the same; with dropout always, and a mask of a byte; and its rank's numbers.
        """
        if self.whole:
            return width * self.c * (1 if given == self.c else len(names))
        adapted = sum(name in self._adapted for name in names)
        if not adapted:
            return 0
        copies = self.c if self.as_given(given) else adapted * (self.c + self.dropout)
        return width * copies + adapted * self.rank * self.c

    def as_given(self, given: int) -> bool:
        """Whether an adapter keeps the very tensor that it was given, and no copy."""
        return given == self.a == self.c and not self.dropout

    def rms_norm(self, width: int) -> int:
        """Width x (4 + w if trained) + 4: the input in float32, what it is scaled to, and the scale."""
        return width * (FLOAT32 + (self.w if self.whole else 0)) + FLOAT32


def text_layer_bytes(text: TextShape, load: TrainingLoad, trained: Trained, *, padded: bool = True) -> int:
    """Bytes that one layer of the language model keeps of one token.

    Two norms 2H(4 + w if trained); inputs of the linear layers (see there); query, and key and value as wide as
    the query where there is a mask (grouped heads are repeated then), and the attention's output: 4cA; in Qwen3 the
    norms of query and key; the attention's sums 4 * heads and its mask c * tokens; gate, its activation and up: 3cI.

    Args:
        text: The language model.
        load: The stage.
        trained: What is trained.
        padded: Whether sequences of a batch differ in length, so that there is a mask; a batch of one has none.
    """
    kept = _Kept(load, trained.text_adapted, whole=load.lora is None)
    repeated = text.query_width if padded else text.key_width
    attention = kept.c * (text.query_width + 2 * repeated)
    attention += kept.c * text.query_width
    if load.lora is not None and not kept.as_given(kept.c):
        attention += kept.inputs(("o_proj",), text.query_width, kept.c)
    if text.qk_norm:
        both = text.query_width + text.key_width
        attention += both * (FLOAT32 + (kept.c if kept.whole else 0)) + FLOAT32 * (text.heads + text.kv_heads)
    attention += FLOAT32 * text.heads + (kept.c * load.example.tokens if padded else 0)
    return (
        2 * kept.rms_norm(text.width)
        + kept.inputs(("q_proj", "k_proj", "v_proj"), text.width, kept.w)
        + attention
        + kept.inputs(("gate_proj", "up_proj"), text.width, kept.w)
        + 3 * kept.c * text.inner
        + kept.inputs(("down_proj",), text.inner, kept.c)
    )


def text_outside_bytes(text: TextShape, load: TrainingLoad, *, padded: bool = True) -> int:
    """Bytes that the rest of the language model keeps of one token, whatever its number of layers.

    The last norm's input in float32 4H, and wH more where it is trained; sine and cosine of its place, two numbers of
    calculation a place of a head; its number; and its row of the mask, a byte a token, from which the layers' is made.
    """
    whole = load.lora is None
    norm = text.width * (FLOAT32 + (flow_bytes(load) if whole else 0))
    return norm + 2 * DTYPE_BYTES[load.compute] * text.head_width + 8 + (load.example.tokens if padded else 0)


def text_input_bytes(text: TextShape, load: TrainingLoad) -> int:
    """Bytes of one token's state between layers, which is all that a checkpointed layer keeps: wH."""
    return flow_bytes(load) * text.width


def vision_layer_bytes(vision: VisionShape, load: TrainingLoad, trained: Trained) -> int:
    """Bytes that one block of the vision tower keeps of one patch, where gradients pass through it.

    Norms: 2W(4 + w if trained), or of Qwen2-VL and Qwen3-VL the input of a layer norm (float32 on CUDA);
    the joint projection 3cW, query and key after their rotation 2cW, the attention's output cW and its sums;
    MLP: gate, activation and up 3cI (Qwen2.5-VL), 2cI (Qwen2-VL's quick GELU) or cI (Qwen3-VL's GELU).
    """
    kept = _Kept(load, trained.vision_adapted, whole=load.lora is None and load.vision)
    width, inner = vision.width, vision.inner
    joint = 6 * kept.c * width + FLOAT32 * vision.heads
    if vision.kind == "qwen2_5_vl":
        norms, given = 2 * kept.rms_norm(width), kept.w
        mlp = 3 * kept.c * inner + kept.inputs(("gate_proj", "up_proj"), width, given)
        mlp += kept.inputs(("down_proj",), inner, kept.c)
    else:
        autocast = load.device == "cuda" and load.compute != "float32"
        given = FLOAT32 if autocast else kept.w
        norms = 2 * (given * width + 2 * FLOAT32)
        first, second = ("linear_fc1", "linear_fc2") if vision.kind == "qwen3_vl" else ("fc1", "fc2")
        mlp = (1 if vision.kind == "qwen3_vl" else 2) * kept.c * inner
        mlp += kept.inputs((first,), width, given) + kept.inputs((second,), inner, kept.c)
    # The windows' outputs are put together in a tensor of its own, which the output layer keeps where it is trained.
    return norms + joint + kept.inputs(("qkv",), width, given) + kept.inputs(("proj",), width, kept.c) + mlp


def vision_outside_bytes(vision: VisionShape, load: TrainingLoad) -> int:
    """Bytes that the rest of the tower keeps of one patch: what merges patches, rotations, the patch embedding.

    Each merger (one more for every deepstack layer): its norm's input 4W (or wW), the inner state cW, and where it is
    trained the inputs of its two linear layers 2cW and the norm's output wW; the rotation's sine and cosine in
    float32; and where the patch embedding is trained the patch itself in the numbers of calculation.
    """
    whole = load.lora is None and load.vision
    c, w = DTYPE_BYTES[load.compute], flow_bytes(load)
    if vision.kind == "qwen2_5_vl":
        norm = FLOAT32
    else:
        norm = FLOAT32 if load.device == "cuda" and load.compute != "float32" else w
    trained_too = 2 * c + (w if vision.kind == "qwen2_5_vl" else 0) if whole else 0
    merger = vision.width * (norm + c + trained_too)
    rotation = 2 * FLOAT32 * (vision.width // vision.heads)
    return (1 + vision.deepstack) * merger + rotation + (vision.patch_values * c if whole else 0)


def vision_input_bytes(vision: VisionShape, load: TrainingLoad) -> int:
    """Bytes of one patch's state between blocks: wW."""
    return flow_bytes(load) * vision.width


def vision_in_graph(load: TrainingLoad, trained: Trained) -> bool:
    """Whether gradients pass through the vision tower.

    They do where something in it is trained; and with gradient checkpointing also through a frozen one, for nothing:
    transformers 5 then calls ``enable_input_require_grads``, which marks the output of the tower's patch embedding
    besides that of the words' embedding. A trainer that runs the tower without gradients says so
    (``load.tower_outside``).
    """
    return trained.vision > 0 or (load.checkpointing and not load.tower_outside)


def forward_bytes(text: TextShape, load: TrainingLoad) -> int:
    """Bytes that a layer of the language model needs for one token while it calculates, and gives back at once.

    The MLP is the widest place: activation, up and their product 3cI, or the product, the adapter's cast of it and
    the cast of that, (2c + a)I, whichever is more; and the two states beside it 2wH.
    """
    c, a, w = DTYPE_BYTES[load.compute], DTYPE_BYTES[load.adapters], flow_bytes(load)
    cast = load.lora is not None and a != c
    return max(3 * c, 2 * c + a if cast else 0) * text.inner + 2 * w * text.width


def backward_bytes(text: TextShape, load: TrainingLoad) -> int:
    """Bytes of gradients that are there at once inside a layer, besides what it kept, for one token.

    At the MLP's last layer: the gradient of its input from the weights and from the adapter, the latter also in the
    adapter's own numbers, (2c + a)I; without an adapter those of input, activation and up, 3cI. Beside them the
    gradients of two states, 2wH.
    """
    return forward_bytes(text, load)


def vision_forward_bytes(vision: VisionShape, load: TrainingLoad) -> int:
    """Bytes that a block of the vision tower needs for one patch while it calculates.

    Either the rotation of query and key, which is done in float32: the joint projection 3cW, both in float32, their
    halves exchanged and the products, 5 x 4W in all; or the MLP's 3cI; and the state before it wW.
    """
    c, w = DTYPE_BYTES[load.compute], flow_bytes(load)
    rotation = 3 * c * vision.width + 5 * FLOAT32 * vision.width
    return max(rotation, 3 * c * vision.inner) + w * vision.width
