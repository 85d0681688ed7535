"""What passes between the rooms of training: recipes, run folders, lines of metrics."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from grounding.records import Point, Record

Method = Literal["sft", "grpo", "dpo"]
"""Supervised fine-tuning, group-relative policy optimisation, direct preference optimisation."""

MetricsKind = Literal["train", "held_out"]
"""Of which examples something is said: of those that are trained on, or of those that never are."""

StageName = str
"""What a stage is called in its folder: its method, or a longer word where a run has several of one method."""

_Positive = Annotated[int, msgspec.Meta(ge=1)]
_Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
_NonNegative = Annotated[float, msgspec.Meta(ge=0)]


class LoraRule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Low-rank adapters: which linear layers get one, and how wide.

    ``targets`` are the ends of module names (``q_proj``), or ``all-linear``. Only the language model gets adapters
    unless ``vision`` is set, since vLLM serves those of the language model. ``also_train`` are modules that are
    trained whole and stored beside the adapters (PEFT's ``modules_to_save``).
    """

    rank: _Positive = 16
    alpha: _Positive = 32
    dropout: _Share = 0.0
    targets: tuple[str, ...] | Literal["all-linear"] = "all-linear"
    vision: bool = False
    also_train: tuple[str, ...] = ()


class Optimisation(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How weights are moved. ``max_steps`` wins over ``epochs``; both count steps of the optimiser.

    ``batch`` is examples (of GRPO: completions) per device in one pass, ``accumulation`` the passes per step.
    """

    learning_rate: Annotated[float, msgspec.Meta(gt=0)]
    epochs: Annotated[float, msgspec.Meta(gt=0)] = 1.0
    max_steps: _Positive | None = None
    batch: _Positive = 1
    accumulation: _Positive = 1
    warmup: _Share = 0.0
    schedule: Literal["linear", "cosine", "constant", "constant_with_warmup"] = "linear"
    weight_decay: _NonNegative = 0.0
    max_gradient_norm: _NonNegative = 1.0
    optimiser: str = "adamw_torch"


class Saving(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When a checkpoint is written, whichever comes first, and how many of the last are kept."""

    every_steps: _Positive | None = 100
    every_minutes: Annotated[float, msgspec.Meta(gt=0)] | None = 15.0
    keep: _Positive = 2


class Precision(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """In what numbers the weights lie, and whether activations are computed again instead of kept."""

    dtype: Literal["bfloat16", "float16", "float32"] = "bfloat16"
    gradient_checkpointing: bool = True


class StageInfo(Record, frozen=True, kw_only=True):
    """One stage of a run as it stands in ``run.json``."""

    name: StageName
    method: Method
    status: Literal["waiting", "running", "partial", "complete"] = "waiting"
    step: int = 0
    steps: int = 0
    wall_s: float = 0.0


class MetricsLine(Record, frozen=True, kw_only=True):
    """One line of a stage's ``metrics.jsonl``: what was measured at a step of the optimiser.

    ``values`` are the trainer's own figures under its own names besides those that have a field here. ``kind``:
    ``train`` at a step of training, ``held_out`` measured on examples that are never trained on.
    """

    step: int
    epoch: float
    kind: Literal["train", "held_out"] = "train"
    loss: float | None = None
    reward: float | None = None
    reward_sd: float | None = None
    kl: float | None = None
    clipped_fraction: float | None = None
    learning_rate: float | None = None
    gradient_norm: float | None = None
    completion_tokens: float | None = None
    preference_accuracy: float | None = None
    seconds: float | None = None
    values: dict[str, float] = msgspec.field(default_factory=dict)


class SampleLine(Record, frozen=True, kw_only=True):
    """One line of a stage's ``samples.jsonl``: what the model wrote during training, and what it was worth.

    ``example`` is a step's id or a task's. ``rewards`` are the terms by name, before weights; ``reward`` is their sum
    with weights. ``point`` is the place on the original screenshot that a grounder's text was read as. ``kind`` says
    whether the example is one of those that are trained on.
    """

    step: int
    example: str
    text: str
    reward: float | None = None
    rewards: dict[str, float] = msgspec.field(default_factory=dict)
    advantage: float | None = None
    point: Point | None = None
    kind: MetricsKind = "train"
