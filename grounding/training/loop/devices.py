"""Where a stage runs: which process and device this is, and what libraries keep about it."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from grounding.errors import UserError


def place() -> tuple[int, int]:
    """Which process this is, and of how many, as a launcher tells."""
    return int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))


def device_name(device: Any) -> str:
    """What a ``torch.device`` is called."""
    import torch

    return str(torch.cuda.get_device_name(device)) if device.type == "cuda" else str(device.type)


def peak_memory_bytes(device: Any) -> int:
    """The most memory that was allocated on an accelerator; on the CPU the peak size of this process."""
    import resource

    import torch

    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@contextmanager
def own_libraries() -> Iterator[None]:
    """Leave the libraries' global state as it was before, so that the next stage may be of another kind."""
    import torch
    from accelerate.state import AcceleratorState, GradientState

    deterministic = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(deterministic, warn_only=warn_only)
        if place()[1] == 1:
            AcceleratorState._reset_state(reset_partial_state=True)
            GradientState._reset_state()
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def check_spread(trainer: Any) -> None:
    """Refuse to train whole copies of a model where its user asked to spread it.

    On the CPU accelerate passes over a configuration for FSDP (``AcceleratorState`` takes it up for accelerators only).

    Raises:
        UserError: FSDP or DeepSpeed is asked for, and not in use.
    """
    asked = (
        ("FSDP", "ACCELERATE_USE_FSDP", trainer.is_fsdp_enabled),
        ("DeepSpeed", "ACCELERATE_USE_DEEPSPEED", trainer.is_deepspeed_enabled),
    )
    for name, variable, used in asked:
        if os.environ.get(variable, "").lower() == "true" and not used:
            raise UserError(
                f"--accelerate-config asks for {name}, but accelerate doesn't use it on this device "
                f"({trainer.accelerator.device.type}): every process would hold the whole model. Use accelerators "
                "that it works on, or --processes without a configuration"
            )
