"""What a trainer holds in memory between two steps that its own checkpoints leave out.

TRL's GRPO trainer draws completions for several steps at once and keeps them; a run that goes on without them draws
others. It also counts its passes and tokens from zero. And the order of its examples comes from a generator that has
moved on once for each epoch.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from grounding.errors import UserError

_NAMES = ("_step", "_buffered_inputs", "_total_train_tokens", "_current_train_step_time")
"""Attributes of the SFT, DPO and GRPO trainers of TRL 1.16; each has some of them."""


def _path(checkpoint: Path, process: int) -> Path:
    return checkpoint / f"between_steps_{process}.pt"


def save_between_steps(trainer: Any, checkpoint: Path, process: int) -> None:
    """Write what one process's trainer holds into a checkpoint.

    Raises:
        OSError, RuntimeError: the disk is full or failing.
    """
    import torch

    torch.save({name: getattr(trainer, name) for name in _NAMES if hasattr(trainer, name)}, _path(checkpoint, process))


def load_between_steps(trainer: Any, checkpoint: Path, process: int) -> None:
    """Give it back to a trainer that goes on from the checkpoint."""
    import torch

    # Everything was on the CPU or one device of this process; tensors come back to where they were.
    for name, value in torch.load(_path(checkpoint, process), weights_only=True).items():
        setattr(trainer, name, value)


def take_back_adapter(trainer: Any, checkpoint: Path) -> None:
    """Put the adapter of a checkpoint on the model, and make sure that it is there bit for bit.

    A model that was adapted before holds a second adapter, which TRL compares it with; transformers then reads only
    that one back. Models without adapters, and those that are spread over devices, are read back whole by transformers.

    Raises:
        UserError: the model's adapter is not the checkpoint's.
    """
    from peft import PeftModel, get_peft_model_state_dict, set_peft_model_state_dict
    from safetensors.torch import load_file

    model = trainer.accelerator.unwrap_model(trainer.model)
    path = checkpoint / "adapter_model.safetensors"
    if not isinstance(model, PeftModel) or trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled or not path.exists():
        return
    wanted = load_file(path)
    name = model.active_adapters[0]
    set_peft_model_state_dict(model, wanted, adapter_name=name)
    found = get_peft_model_state_dict(model, adapter_name=name)
    wrong = [key for key, value in wanted.items() if key not in found or not _same(found[key], value)]
    if wrong or len(found) != len(wanted):
        raise UserError(
            f"{checkpoint}: the adapter can't be taken back as it was saved ({len(wrong)} of {len(wanted)} tensors "
            f"differ, such as {wrong[0] if wrong else 'one that is missing'}); begin again with --fresh"
        )


def _same(found: Any, wanted: Any) -> bool:
    import torch

    return found.dtype == wanted.dtype and torch.equal(found.detach().cpu(), wanted)


def set_data_order(train_dataloader: Any, epoch: int) -> None:
    """Bring the samplers under a data loader to the beginning of an epoch, as if the earlier ones had been run."""
    import torch

    for sampler in _samplers(train_dataloader):
        generator = getattr(sampler, "generator", None)
        if hasattr(sampler, "set_epoch"):
            sampler.set_epoch(epoch)
        elif isinstance(generator, torch.Generator) and getattr(sampler, "seed", None) is not None:
            # TRL's RepeatSampler: one permutation is drawn for each epoch, always from the same generator.
            generator.manual_seed(sampler.seed)
            for _ in range(epoch):
                torch.randperm(sampler.num_samples, generator=generator)


def _samplers(loader: Any) -> list[Any]:
    """The samplers that a data loader takes examples by, however often it is wrapped."""
    found, waiting, seen = [], [loader], set()
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        found.append(one)
        waiting.extend(getattr(one, name, None) for name in ("base_dataloader", "batch_sampler", "sampler"))
    return found[1:]
