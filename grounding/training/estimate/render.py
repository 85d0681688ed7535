"""An estimate as text: every term of the calculation, what is approximated or assumed, and the answer."""

from __future__ import annotations

from collections.abc import Sequence

from grounding.training.estimate.duration import Duration
from grounding.training.estimate.fits import Fit
from grounding.training.estimate.memory import MemoryEstimate
from grounding.training.estimate.terms import Term, gib

_METHODS = {"sft": "supervised tuning", "grpo": "GRPO", "dpo": "DPO"}


def render_estimate(estimate: MemoryEstimate, *, fit: Fit | None = None, duration: Duration | None = None) -> str:
    """The calculation in lines of text, for a terminal or a page of plain text.

    Args:
        estimate: The memory of one device.
        fit: What there is, where it is to be said.
        duration: The time, where it was worked out.
    """
    lines = [
        *_head(estimate),
        "",
        "memory of one device" if estimate.load.device == "cuda" else "memory of one process",
    ]
    width = max(len(each.name) for each in _every(estimate)) + 2
    lines += _section("all the time", estimate.always, width)
    for phase in estimate.phases:
        mark = " (counts: the largest of the three)" if phase is estimate.peak and len(estimate.phases) == 3 else ""
        mark = mark or (" (counts: the larger)" if phase is estimate.peak else "")
        lines += _section(f"{phase.name}, {gib(phase.bytes)}{mark}", phase.terms, width)
    lines += _section("overhead", estimate.overhead, width)
    lines += ["", f"needed: {gib(estimate.bytes)}" + (_answer(fit) if fit is not None else "")]
    lines.append(
        "'=' is counted, '~' follows formulas that were compared with torch on a CPU, or is assumed where it says so."
    )
    if duration is not None:
        lines += ["", *duration_lines(duration)]
    return "\n".join(lines)


def duration_lines(duration: Duration) -> list[str]:
    """The time, term by term."""
    width = max(len(step.name) for step in duration.steps) + 2
    lines = ["time"]
    for step in duration.steps:
        lines.append(f"    {step.name:<{width}}{_hours(step.seconds):>10}  {step.formula}")
    lines += [f"  {note}" for note in duration.notes]
    spread = f"{_hours(duration.low_seconds)} to {_hours(duration.high_seconds)}"
    devices = "1 device" if duration.devices == 1 else f"{duration.devices} devices"
    return [
        *lines,
        "",
        f"time: {_hours(duration.seconds)} on {devices} ({spread}), {duration.device_hours:,.1f} device-hours",
    ]


def _head(estimate: MemoryEstimate) -> list[str]:
    load, moved = estimate.load, estimate.trained
    example = load.example
    what = f"LoRA of rank {load.lora.rank}" if load.lora is not None else "all weights"
    lines = [
        f"{estimate.shape.name} ({estimate.shape.model_type}, {estimate.parameters:,} parameters): "
        f"{_METHODS[load.method]}, {what}, {moved.numbers:,} trained ({moved.numbers / estimate.parameters:.2%})",
        f"sequences of up to {example.tokens:,} tokens: {example.prompt_tokens:,} of the prompt, "
        f"{example.completion_tokens:,} of the completion"
        + (f"; {example.patches:,} patches of pictures" if example.patches else ""),
    ]
    passes = f"batch {load.batch} a device, {load.accumulation} passes a step"
    if load.rollouts is not None:
        passes += f", {load.rollouts.generations} generations a prompt ({load.rollouts.engine.replace('_', ' ')})"
    sharding = load.sharding
    where = "1 device" if sharding.devices == 1 else f"{sharding.devices} devices ({sharding.strategy})"
    checkpointing = "with" if load.checkpointing else "without"
    return [*lines, f"{passes}; {load.compute}, {checkpointing} gradient checkpointing; {where}"]


def _every(estimate: MemoryEstimate) -> list[Term]:
    return [*estimate.always, *(each for phase in estimate.phases for each in phase.terms), *estimate.overhead]


def _section(title: str, terms: Sequence[Term], width: int) -> list[str]:
    shown = [each for each in terms if each.bytes]
    return [
        f"  {title}",
        *(
            f"    {each.name:<{width}}{gib(each.bytes):>10} {'=' if each.exact else '~'} {each.formula}"
            for each in shown
        ),
    ]


def _answer(fit: Fit) -> str:
    if fit.short:
        return f"; {fit.short}"
    verdict = "it fits" if fit.fits else "it does not fit"
    return f"; {fit.device} has {gib(fit.free_bytes)} free: {verdict}"


def _hours(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
