"""All that is read of TRL's and transformers' trainers beside their interface, in one place.

Their checkpoints leave some of what a trainer holds between two steps: GRPO draws completions for several steps at once
and keeps them, each trainer counts its passes and tokens from zero, and the order of examples comes from a generator
that has moved on once for each epoch. A run that goes on without these goes on otherwise.
"""

from pathlib import Path
from typing import Any

TRL = "1.16"  # The version whose attributes these are; `pyproject.toml` keeps the next one out.
BETWEEN_STEPS = {
    "SFTTrainer": ("_total_train_tokens",),
    "DPOTrainer": ("_total_train_tokens",),
    "GRPOTrainer": ("_step", "_buffered_inputs", "_total_train_tokens", "_current_train_step_time"),
}


def _path(checkpoint: Path, trainer: Any) -> Path:
    return checkpoint / f"between_steps_{trainer.accelerator.process_index}.pt"


def save_between_steps(trainer: Any, checkpoint: Path) -> None:
    """Write what this process's trainer holds into a checkpoint."""
    import torch

    names = {name for names in BETWEEN_STEPS.values() for name in names if hasattr(trainer, name)}
    torch.save({name: getattr(trainer, name) for name in sorted(names)}, _path(checkpoint, trainer))


def load_between_steps(trainer: Any, checkpoint: Path) -> None:
    """Give it back to a trainer that goes on from the checkpoint."""
    import torch

    for name, value in torch.load(_path(checkpoint, trainer), weights_only=True).items():
        setattr(trainer, name, value)


def take_back_adapter(trainer: Any, checkpoint: Path) -> None:
    """Put the adapter of a checkpoint on the model.

    A model that was adapted before holds a second adapter, which TRL compares it with; transformers then reads only
    that one back. Models without adapters, and those that are spread over devices, are read back whole by transformers.
    """
    from peft import PeftModel, set_peft_model_state_dict
    from safetensors.torch import load_file

    model = trainer.accelerator.unwrap_model(trainer.model)
    path = checkpoint / "adapter_model.safetensors"
    if isinstance(model, PeftModel) and path.exists() and not (trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled):
        set_peft_model_state_dict(model, load_file(path), adapter_name=model.active_adapters[0])


def set_data_order(loader: Any, epoch: int) -> None:
    """Bring the samplers under a data loader to the beginning of an epoch, as if the earlier ones had been run."""
    import torch

    waiting, seen = [loader], set()
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        waiting.extend(getattr(one, name, None) for name in ("base_dataloader", "batch_sampler", "sampler"))
        if one is loader:
            continue
        generator = getattr(one, "generator", None)
        if hasattr(one, "set_epoch"):
            one.set_epoch(epoch)
        elif isinstance(generator, torch.Generator) and getattr(one, "seed", None) is not None:
            # TRL's RepeatSampler: one permutation is drawn for each epoch, always from the same generator.
            generator.manual_seed(one.seed)
            for _ in range(epoch):
                torch.randperm(one.num_samples, generator=generator)
