"""What an optimiser keeps between steps and needs during one, by the name that transformers gives it. Pure."""

from __future__ import annotations

from typing import Literal

from grounding.records import Record

StateKind = Literal["adamw", "adamw_8bit", "momentum", "none", "factored", "unknown"]

_BLOCK, _TABLE_BYTES = 256, 4
"""bitsandbytes scales each block of 256 numbers by a float32 of its own."""

STEP_BYTES = 4
"""AdamW keeps the number of the step with every tensor, as a float32."""


class OptimiserRule(Record, frozen=True, kw_only=True):
    """What is kept per number trained. ``together``: all tensors are updated at once, which takes a copy of them."""

    kind: StateKind
    together: bool = False
    note: str = ""


def optimiser_rule(name: str) -> OptimiserRule:
    """The rule of an optimiser of ``TrainingArguments.optim``; one that isn't known is taken for AdamW, and says so.

    Not measured here: bitsandbytes needs a GPU. Its 8-bit rule is that of its documentation.
    """
    plain = name.removeprefix("paged_")
    note = "paged: it may move to main memory where the device is full" if plain != name else ""
    if plain in ("adamw_torch", "adamw_torch_fused", "adamw_32bit", "adamw"):
        return OptimiserRule(kind="adamw", together=plain == "adamw_torch", note=note)
    if plain in ("adamw_8bit", "adamw_bnb_8bit"):
        return OptimiserRule(kind="adamw_8bit", note=note)
    if plain in ("lion_8bit",):
        return OptimiserRule(kind="unknown", note="counted as AdamW in 32 bits, which is more than it takes")
    if plain == "sgd":
        return OptimiserRule(kind="none", together=True)
    if plain == "adafactor":
        return OptimiserRule(kind="factored", note="one float32 a row and a column of a matrix: counted as none")
    return OptimiserRule(kind="unknown", note=f"{name} is not known here: counted as AdamW in 32 bits")


def state_bytes(rule: OptimiserRule, numbers: int, tensors: int, number_bytes: int) -> int:
    """Bytes that are kept for parameters of one type.

    AdamW: two numbers of the parameter's own type for each, and 4 bytes a tensor; in 8 bits two bytes for each and
    two float32 a block of 256 (tensors under 4,096 numbers, which stay in 32 bits, are left out of the sum).

    Args:
        rule: The optimiser's.
        numbers: How many numbers are trained.
        tensors: In how many tensors.
        number_bytes: Bytes of one of them.
    """
    if rule.kind == "adamw":
        return 2 * numbers * number_bytes + STEP_BYTES * tensors
    if rule.kind == "adamw_8bit":
        return 2 * numbers + 2 * _TABLE_BYTES * -(-numbers // _BLOCK)
    if rule.kind in ("none", "factored"):
        return 0
    return 2 * numbers * max(4, number_bytes)


def step_bytes(rule: OptimiserRule, numbers: int, number_bytes: int) -> int:
    """Bytes that a step of the optimiser needs for itself: with all tensors together a copy of the parameters.

    torch's documentation: "the foreach implementation uses ~ sizeof(params) more peak memory than the for-loop
    version"; it is what ``adamw_torch`` does on CUDA. A fused one updates in place.
    """
    return numbers * number_bytes if rule.together else 0
