"""From what a trainer logs to a line of ``metrics.jsonl``."""

from __future__ import annotations

import math
from collections.abc import Mapping

from grounding.training.records import MetricsLine

_FIELDS = {
    "loss": "loss",
    "reward": "reward",
    "reward_std": "reward_sd",
    "kl": "kl",
    "clip_ratio/region_mean": "clipped_fraction",
    "learning_rate": "learning_rate",
    "grad_norm": "gradient_norm",
    "completions/mean_length": "completion_tokens",
    "rewards/accuracies": "preference_accuracy",
}
"""Names that TRL 1.16 gives to what has a field of its own; ``clip_ratio/region_mean`` is the share of tokens whose
ratio to the old policy was clipped on the side where clipping counts."""

_TIMINGS = frozenset(
    {"step_time", "runtime", "samples_per_second", "steps_per_second", "tokens_per_second", "model_preparation_time"}
)
"""What differs between two runs of the same; ``seconds`` says it."""

_HELD_OUT = "eval_"


def is_summary(logs: Mapping[str, object]) -> bool:
    """Whether this is what a trainer logs once, after the last step, about the training as a whole."""
    return "train_runtime" in logs


def metrics_line(logs: Mapping[str, object], *, step: int, seconds: float) -> MetricsLine:
    """What was logged at a step; a figure that is not a finite number is left out.

    Args:
        logs: The trainer's own names and figures; those of held-out examples begin with ``eval_``.
        step: After how many steps of the optimiser.
        seconds: Seconds of training so far, over all attempts that count.
    """
    held_out = any(name.startswith(_HELD_OUT) for name in logs)
    known: dict[str, float] = {}
    values: dict[str, float] = {}
    for name, value in logs.items():
        plain = name.removeprefix(_HELD_OUT) if held_out else name
        if plain in ("epoch", "step") or plain in _TIMINGS:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            continue
        if plain in _FIELDS:
            known[_FIELDS[plain]] = float(value)
        else:
            values[plain] = float(value)
    epoch = logs.get("epoch")
    return MetricsLine(
        step=step,
        epoch=float(epoch) if isinstance(epoch, int | float) else 0.0,
        kind="held_out" if held_out else "train",
        seconds=seconds,
        values=values,
        **known,
    )


def not_a_number(logs: Mapping[str, object]) -> str | None:
    """Which of loss and gradient norm is infinite or no number, if any."""
    for name in ("loss", "grad_norm"):
        value = logs.get(name)
        if isinstance(value, float) and not math.isfinite(value):
            return name
    return None
