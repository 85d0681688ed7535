"""The model to be tuned: the evaluation's own loading, then adapters on it or weights set free."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from grounding.errors import UserError
from grounding.grounders.hf.loading import Loaded, load
from grounding.grounders.hf.options import HfOptions
from grounding.training.grounder.records import GrounderStage
from grounding.training.records import LoraRule

VISION = "visual"
"""The part of a module's name that tells the vision tower, with its projection, from the language model."""

_HEAD = "lm_head"


def load_policy(stage: GrounderStage, *, sharded: bool = False) -> Loaded:
    """Load the checkpoint that is tuned, in main memory; the trainer moves it.

    Frozen weights lie in ``precision.dtype``. Weights that are tuned whole lie in float32 (a step of 1e-6 is less than
    half a unit of bfloat16 for almost every weight and would be lost) and are computed with in ``precision.dtype``;
    with ``sharded`` the framework keeps that copy itself, and they lie in ``precision.dtype``.

    Raises:
        UserError: the checkpoint is not the card's, incomplete or damaged, or doesn't fit.
    """
    dtype = stage.precision.dtype if stage.lora is not None or sharded else "float32"
    # An adapter to go on from is put on by the trainer's side, so that it can be tuned.
    bare = msgspec.structs.replace(stage.card, adapter=None)
    return load(Path(stage.model), bare, HfOptions(dtype=dtype, device="cpu"))


def tuned(stage: GrounderStage, model: Any) -> tuple[Any, Any]:
    """The model with what is to be tuned set free, and the configuration of a fresh adapter for the trainer.

    Returns:
        The model and None, or the bare model and PEFT's configuration, which TRL puts on it.

    Raises:
        UserError: the recipe names layers that the model hasn't got, or the adapter to go on from doesn't fit.
    """
    if not tunes_vision(stage.lora, vision=stage.vision):
        _without_gradients(model)
    if stage.adapter:
        return _with_adapter(model, Path(stage.adapter)), None
    if stage.lora is not None:
        return model, lora_config(model, stage.lora)
    free = 0
    for name, weights in model.named_parameters():
        weights.requires_grad_(stage.vision or VISION not in name.split("."))
        free += weights.requires_grad
    return model, None


def tunes_vision(lora: LoraRule | None, *, vision: bool) -> bool:
    """Whether anything of the vision tower is tuned, or may be: modules that are stored whole are named by their ends.

    Args:
        lora: The adapters; None where weights are tuned themselves.
        vision: Whether the tower's are then among them.
    """
    return vision if lora is None else lora.vision or bool(lora.also_train)


def _without_gradients(model: Any) -> None:
    """Run the vision tower outside of what is kept for the backward pass.

    Gradient checkpointing in transformers makes every embedding's output require gradients, that of the pictures, too:
    a frozen tower would be kept and computed again in every backward pass, for gradients that nothing takes.
    """
    import torch

    for name, module in model.named_modules():
        if name.rsplit(".", 1)[-1] == VISION:
            module.forward = torch.no_grad()(module.forward)


def lora_config(model: Any, rule: LoraRule) -> Any:
    """PEFT's configuration: which layers get an adapter, by the last parts of their names.

    The language model's, unless the rule says otherwise; never the output layer, which TRL computes with by itself.

    Raises:
        UserError: the rule names layers that the model hasn't got.
    """
    from peft import LoraConfig

    there = sorted({_ending(name) for name in _linear_layers(model, vision=rule.vision)})
    wanted = there if rule.targets == "all-linear" else list(rule.targets)
    unknown = [name for name in wanted if name not in there]
    if unknown:
        raise UserError(
            f"field lora.targets: the model has no {', '.join(unknown)} to adapt; it has {', '.join(there)}"
        )
    modules = {name for full, _ in model.named_modules() for name in (full, full.rsplit(".", 1)[-1])}
    absent = [name for name in rule.also_train if name not in modules]
    if absent:
        raise UserError(f"field lora.also_train: the model has no module called {', '.join(absent)}")
    return LoraConfig(
        r=rule.rank,
        lora_alpha=rule.alpha,
        lora_dropout=rule.dropout,
        target_modules=wanted,
        exclude_modules=None if rule.vision else rf"(.*\.)?{VISION}\..*",
        modules_to_save=list(rule.also_train) or None,
        task_type="CAUSAL_LM",
    )


def _ending(name: str) -> str:
    """The end of a module's name that says which layer it is: ``q_proj``, and ``mlp.0`` of a sequence's first."""
    parts = name.split(".")
    last = next(place for place in range(len(parts) - 1, -1, -1) if not parts[place].isdecimal())
    return ".".join(parts[last:])


def _linear_layers(model: Any, *, vision: bool) -> Iterator[str]:
    from torch import nn

    for name, module in model.named_modules():
        parts = name.split(".")
        if isinstance(module, nn.Linear) and _HEAD not in parts and (vision or VISION not in parts):
            yield name


def _with_adapter(model: Any, folder: Path) -> Any:
    from peft import PeftModel
    from safetensors import SafetensorError

    try:
        return PeftModel.from_pretrained(model, folder, is_trainable=True)
    except (SafetensorError, OSError, ValueError, RuntimeError, KeyError) as error:
        raise UserError(f"{folder}: the adapter to go on from can't be put on the model: {error}") from error


def only_default(model: Any) -> None:
    """Let an adapted model save the adapter that is tuned, and not the copy that TRL compares it with.

    With a second one in a folder of its own, transformers would not read the first back from a checkpoint.
    """
    if len(getattr(model, "peft_config", {})) > 1:
        model.save_pretrained = functools.partial(model.save_pretrained, selected_adapters=["default"])


def raise_precision(model: Any) -> None:
    """Keep everything that is tuned in float32, such as modules stored whole beside adapters."""
    import torch

    for weights in model.parameters():
        if weights.requires_grad and weights.dtype in (torch.bfloat16, torch.float16):
            weights.data = weights.data.float()


def tuned_share(model: Any) -> tuple[int, int]:
    """How many weights are tuned, and how many there are."""
    sizes = [(weights.numel(), weights.requires_grad) for weights in model.parameters()]
    return sum(size for size, free in sizes if free), sum(size for size, _ in sizes)
