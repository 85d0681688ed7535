"""What a stage of training puts on a device: method, batch, precision, adapters, generation, number of devices."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from grounding.coordinates import smart_resize
from grounding.errors import UserError
from grounding.records import Record, Size
from grounding.training.estimate.shapes import ModelShape
from grounding.training.records import LoraRule, Method, Optimisation, Precision

Dtype = Literal["bfloat16", "float16", "float32"]
Engine = Literal["transformers", "vllm_colocate", "vllm_server"]
Strategy = Literal["ddp", "zero2", "zero3", "fsdp"]

_Positive = Annotated[int, msgspec.Meta(ge=1)]
_Count = Annotated[int, msgspec.Meta(ge=0)]

DTYPE_BYTES: dict[Dtype, int] = {"bfloat16": 2, "float16": 2, "float32": 4}


class ExampleShape(Record, frozen=True, kw_only=True):
    """One sequence as the model sees it, the longest that is expected.

    ``prompt_tokens`` counts the tokens of pictures too. ``completion_tokens`` are those that are scored (of GRPO: the
    most that may be generated). ``patches`` are what the vision tower sees of the prompt's ``pictures``.
    """

    prompt_tokens: _Positive
    completion_tokens: _Positive
    patches: _Count = 0
    pictures: _Count = 0

    @property
    def tokens(self) -> int:
        """Prompt and completion together."""
        return self.prompt_tokens + self.completion_tokens


class Rollouts(Record, frozen=True, kw_only=True):
    """How GRPO's completions come about.

    ``generations`` completions of each prompt are compared; a device generates for ``batch * accumulation`` sequences
    at once unless ``steps_per_generation`` says for how many passes of ``batch``. Each is learned from ``iterations``
    times. ``vllm_memory`` is the share of a device that a colocated vLLM takes, ``vllm_tensor_parallel`` the devices
    that share one copy of its weights.
    """

    generations: Annotated[int, msgspec.Meta(ge=2)] = 8
    steps_per_generation: _Positive | None = None
    iterations: _Positive = 1
    engine: Engine = "transformers"
    vllm_memory: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.3
    vllm_tensor_parallel: _Positive = 1


class Sharding(Record, frozen=True, kw_only=True):
    """How a run is spread over devices. ``ddp`` keeps everything on each; ``zero2`` splits gradients and optimiser
    states; ``zero3`` and ``fsdp`` (full shard) split the weights as well. One device needs none of it.
    """

    strategy: Strategy = "ddp"
    devices: _Positive = 1

    @property
    def weight_shards(self) -> int:
        """Into how many parts the weights are split."""
        return self.devices if self.strategy in ("zero3", "fsdp") else 1

    @property
    def state_shards(self) -> int:
        """Into how many parts gradients and optimiser states are split."""
        return 1 if self.strategy == "ddp" else self.devices


class TrainingLoad(Record, frozen=True, kw_only=True):
    """One stage of training on one kind of device.

    Args:
        method: What is learned from: examples (sft), pairs (dpo) or graded completions (grpo).
        example: The longest sequence; of DPO, one side of a pair.
        batch: Examples, pairs or completions per device in one pass.
        accumulation: Passes per step of the optimiser.
        lora: The adapters; None trains the weights.
        vision: Without LoRA: whether the vision tower is trained.
        weights: In what numbers the model is loaded.
        compute: In what numbers it calculates (autocast where this isn't that of the weights or adapters).
        adapters: In what numbers adapters lie: PEFT makes them float32, but TRL keeps those of the model with ZeRO-3.
        copies: In what numbers the modules of ``also_train`` lie; None for the model's, as PEFT leaves them.
        optimiser: The name that transformers gives it.
        checkpointing: Whether activations of a layer are computed again instead of kept.
        beta: The weight of the KL divergence of GRPO; above 0 there is a reference model. DPO always has one.
        precomputed: DPO: whether the reference's probabilities are worked out before training.
        rollouts: How GRPO's completions come about; None for other methods.
        sharding: Over how many devices, and how.
        tower_outside: Whether the trainer runs a frozen vision tower without gradients; transformers by itself lets
            them pass through it with gradient checkpointing.
        device: What kind of device; the CPU's kernels keep other things than those of CUDA.
    """

    method: Method
    example: ExampleShape
    batch: _Positive = 1
    accumulation: _Positive = 1
    lora: LoraRule | None = LoraRule()
    vision: bool = False
    weights: Dtype = "bfloat16"
    compute: Dtype = "bfloat16"
    adapters: Dtype = "float32"
    copies: Dtype | None = None
    optimiser: str = "adamw_torch"
    checkpointing: bool = True
    beta: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    precomputed: bool = False
    rollouts: Rollouts | None = None
    sharding: Sharding = Sharding()
    tower_outside: bool = False
    device: Literal["cuda", "cpu"] = "cuda"

    @property
    def sequences(self) -> int:
        """Sequences per device in one pass: a pair of DPO is two."""
        return self.batch * (2 if self.method == "dpo" else 1)

    @property
    def generated_at_once(self) -> int:
        """Sequences that a device generates in one call; 0 where none are generated."""
        if self.rollouts is None:
            return 0
        return self.batch * (self.rollouts.steps_per_generation or self.accumulation)

    @property
    def has_reference(self) -> bool:
        """Whether a second opinion of the model at the start of the stage is needed."""
        return self.method == "dpo" or (self.method == "grpo" and self.beta > 0)

    @property
    def keeps_reference(self) -> bool:
        """Whether that takes a second copy of the weights: with LoRA the adapter is switched off instead."""
        return self.has_reference and self.lora is None and not self.precomputed


def training_load(
    method: Method,
    example: ExampleShape,
    optimisation: Optimisation,
    precision: Precision,
    *,
    lora: LoraRule | None,
    vision: bool = False,
    beta: float = 0.0,
    precomputed: bool = False,
    rollouts: Rollouts | None = None,
    sharding: Sharding | None = None,
    tower_outside: bool = False,
    copies: Dtype | None = None,
    device: Literal["cuda", "cpu"] = "cuda",
) -> TrainingLoad:
    """The load of a stage as its recipe states it.

    Weights are loaded in the recipe's numbers and calculated in them; adapters are float32 unless ZeRO-3 is used
    (PEFT's and TRL's defaults).
    """
    sharding = sharding or Sharding()
    adapters: Dtype = precision.dtype if sharding.strategy == "zero3" and sharding.devices > 1 else "float32"
    return TrainingLoad(
        method=method,
        example=example,
        batch=optimisation.batch,
        accumulation=optimisation.accumulation,
        lora=lora,
        vision=vision,
        weights=precision.dtype,
        compute=precision.dtype,
        adapters=adapters,
        copies=copies,
        optimiser=optimisation.optimiser,
        checkpointing=precision.gradient_checkpointing,
        beta=beta,
        precomputed=precomputed,
        rollouts=rollouts,
        sharding=sharding,
        tower_outside=tower_outside,
        device=device,
    )


def example_shape(
    shape: ModelShape,
    *,
    text_tokens: int,
    completion_tokens: int,
    picture: Size | None = None,
    pictures: int = 1,
    min_pixels: int = 3136,
    max_pixels: int = 12_845_056,
) -> ExampleShape:
    """The sequence that a text with pictures of one size makes, by the model's own rule for pictures.

    A picture is scaled to whole multiples of a token's side between ``min_pixels`` and ``max_pixels``; each such
    square is ``merge`` x ``merge`` patches and one token.

    Raises:
        UserError: the model takes no pictures, or refuses one of this shape.
    """
    if picture is None or pictures == 0:
        return ExampleShape(prompt_tokens=text_tokens, completion_tokens=completion_tokens)
    if shape.vision is None:
        raise UserError(f"{shape.name} is a model of the type {shape.model_type}, which takes no pictures")
    side = shape.vision.token_px
    try:
        seen = smart_resize(picture, factor=side, min_pixels=min_pixels, max_pixels=max_pixels)
    except ValueError as error:
        raise UserError(f"{shape.name} refuses a picture of {picture.width} x {picture.height}: {error}") from error
    tokens = (seen.width // side) * (seen.height // side)
    return ExampleShape(
        prompt_tokens=text_tokens + pictures * tokens,
        completion_tokens=completion_tokens,
        patches=pictures * tokens * shape.vision.merge**2,
        pictures=pictures,
    )
