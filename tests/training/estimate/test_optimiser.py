"""Optimiser states held against a real AdamW's."""

from __future__ import annotations

from typing import Any

import pytest

from grounding.training.estimate.adapters import trained
from grounding.training.estimate.optimiser import optimiser_rule, state_bytes, step_bytes
from training.estimate.keeping import config, model, shape_of


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_real_adamw_keeps_as_much(dtype: str) -> None:
    torch = pytest.importorskip("torch", reason="needs torch")
    pytest.importorskip("transformers", reason="needs transformers")
    made = config("llama")
    real = model(made, dtype)
    optimiser = torch.optim.AdamW(real.parameters(), lr=1e-3)
    for weights in real.parameters():
        weights.grad = torch.ones_like(weights)
    optimiser.step()
    kept: list[Any] = [value for state in optimiser.state.values() for value in state.values()]
    found = trained(shape_of(made), None)
    size = next(real.parameters()).element_size()
    assert sum(value.numel() * value.element_size() for value in kept) == state_bytes(
        optimiser_rule("adamw_torch"), found.numbers, found.tensors, size
    )


def test_eight_bits_take_a_quarter_of_it() -> None:
    whole = state_bytes(optimiser_rule("adamw_torch"), 1_000_000, 10, 4)
    small = state_bytes(optimiser_rule("adamw_8bit"), 1_000_000, 10, 4)
    assert 0.25 < small / whole < 0.27
    assert state_bytes(optimiser_rule("sgd"), 1_000_000, 10, 4) == 0


def test_an_unknown_one_is_taken_for_adamw_and_says_so() -> None:
    rule = optimiser_rule("apollo_adamw")
    assert "apollo_adamw" in rule.note
    assert state_bytes(rule, 1000, 1, 2) == 8000


def test_only_the_one_that_takes_all_tensors_together_needs_a_copy() -> None:
    assert step_bytes(optimiser_rule("adamw_torch"), 1000, 4) == 4000
    assert step_bytes(optimiser_rule("adamw_torch_fused"), 1000, 4) == 0
    assert optimiser_rule("paged_adamw_8bit").kind == "adamw_8bit"
