"""The keyword arguments that a stage gives to TRL's configuration classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from grounding.training.loop.records import StagePlan

CHECKPOINTS = "checkpoints"


def stage_arguments(plan: StagePlan, *, on_cpu: bool) -> dict[str, Any]:
    """Arguments of ``transformers.TrainingArguments``, which SFTConfig, DPOConfig and GRPOConfig take too.

    Nothing is saved, shown or reported by the trainer itself: the loop does all of that. Infinite losses are not
    filtered, since they stop the run.
    """
    optimisation, precision = plan.optimisation, plan.precision
    arguments: dict[str, Any] = {
        "output_dir": str(Path(plan.folder) / CHECKPOINTS),
        "learning_rate": optimisation.learning_rate,
        "num_train_epochs": optimisation.epochs,
        "max_steps": optimisation.max_steps or -1,
        "per_device_train_batch_size": optimisation.batch,
        "per_device_eval_batch_size": optimisation.batch,
        "gradient_accumulation_steps": optimisation.accumulation,
        "warmup_steps": optimisation.warmup if optimisation.warmup < 1 else 0.999999,
        "lr_scheduler_type": optimisation.schedule,
        "weight_decay": optimisation.weight_decay,
        "max_grad_norm": optimisation.max_gradient_norm,
        "optim": optimisation.optimiser,
        "seed": plan.seed,
        "data_seed": plan.seed,
        "bf16": precision.dtype == "bfloat16",
        "fp16": precision.dtype == "float16",
        "gradient_checkpointing": precision.gradient_checkpointing,
        "logging_strategy": "steps",
        "logging_steps": 1,
        "logging_first_step": False,
        "logging_nan_inf_filter": False,
        "report_to": "none",
        "disable_tqdm": True,
        "save_strategy": "no",
        "eval_strategy": "no",
        "remove_unused_columns": False,
        "dataloader_pin_memory": not on_cpu,
        "dataloader_num_workers": 0,
        "ddp_find_unused_parameters": False,
        "use_cpu": on_cpu,
    }
    if precision.gradient_checkpointing:
        arguments["gradient_checkpointing_kwargs"] = {"use_reentrant": False}
    if plan.held_out_every_steps is not None:
        arguments |= {"eval_strategy": "steps", "eval_steps": plan.held_out_every_steps}
    return arguments
