"""What generating GRPO's completions takes: the KV cache and the first pass, or a vLLM beside the training. Pure."""

from __future__ import annotations

from grounding.training.estimate.activations import forward_bytes, vision_forward_bytes
from grounding.training.estimate.load import DTYPE_BYTES, TrainingLoad
from grounding.training.estimate.modules import parameters
from grounding.training.estimate.passes import picture_term
from grounding.training.estimate.shapes import ModelShape
from grounding.training.estimate.terms import Term, term

_SAMPLING_BYTES = 20
"""Per word of the vocabulary and sequence while a token is drawn: logits in 16 and 32 bits, scaled, probabilities, and
a sorted copy with its order."""


def kv_bytes(shape: ModelShape, load: TrainingLoad) -> int:
    """Bytes of one token in the KV cache: 2 x layers x key width x bytes of a number."""
    return 2 * shape.text.layers * shape.text.key_width * DTYPE_BYTES[load.compute]


def generation_terms(shape: ModelShape, load: TrainingLoad) -> tuple[Term, ...]:
    """What there is while completions are generated; nothing of the training's passes is.

    With transformers a device generates for all sequences up to the next generation in one call: their pictures go
    through the tower and their prompts through the language model at once. A vLLM server has a memory of its own.
    """
    sequences, example = load.generated_at_once, load.example
    found: list[Term] = []
    if shape.vision is not None and example.patches:
        found.append(picture_term(shape.vision, load))
    if load.rollouts is None or load.rollouts.engine != "transformers":
        return tuple(found)
    cache = kv_bytes(shape, load)
    found.append(
        term(
            "KV cache",
            sequences * example.tokens * cache,
            f"{sequences} sequences x {example.tokens:,} tokens x {cache:,} bytes",
            exact=True,
        )
    )
    layer = cache // shape.text.layers
    found.append(
        term(
            "a longer cache beside the old",
            sequences * example.tokens * layer,
            f"{sequences} x {example.tokens:,} tokens x {layer:,} bytes of one layer",
        )
    )
    working = forward_bytes(shape.text, load)
    first = sequences * example.prompt_tokens * working
    said = f"{sequences} prompts x {example.prompt_tokens:,} tokens x {working:,} bytes"
    if shape.vision is not None and example.patches:
        block = vision_forward_bytes(shape.vision, load)
        tower = sequences * example.patches * block
        if tower > first:
            first, said = tower, f"{sequences} x {example.patches:,} patches x {block:,} bytes, in the vision tower"
    found.append(term("first pass", first, said))
    words = shape.text.vocabulary
    found.append(
        term(
            "drawing a token",
            sequences * words * _SAMPLING_BYTES,
            f"{sequences} x {words:,} words x {_SAMPLING_BYTES} bytes",
        )
    )
    size = DTYPE_BYTES[load.compute]
    if load.sharding.strategy == "zero3" and load.sharding.devices > 1:
        whole = parameters(shape) * size
        found.append(term("gathered weights", whole, "ZeRO-3: TRL puts the whole model together to generate"))
    return tuple(found)


def vllm_term(shape: ModelShape, load: TrainingLoad, device_bytes: int | None) -> Term | None:
    """What a colocated vLLM takes: its share of the device, or where that isn't known what it needs at least.

    The least is its own copy of the weights, in the numbers of calculation, and the KV cache of one sequence, split
    over the devices that share a copy. None without a colocated vLLM.
    """
    if load.rollouts is None or load.rollouts.engine != "vllm_colocate":
        return None
    over, size = load.rollouts.vllm_tensor_parallel, DTYPE_BYTES[load.compute]
    least = (parameters(shape) * size + load.example.tokens * kv_bytes(shape, load)) // over
    needed = f"its weights and the cache of one sequence take {least / 1024**3:.1f} GiB"
    if device_bytes is None:
        return term("vLLM", least, f"at least: {needed}")
    share = load.rollouts.vllm_memory
    if int(share * device_bytes) < least:
        return term("vLLM", least, f"{share:.0%} of the device is too little: {needed}")
    return term(
        "vLLM", int(share * device_bytes), f"{share:.0%} of the device's {device_bytes / 1024**3:.1f} GiB; {needed}"
    )
