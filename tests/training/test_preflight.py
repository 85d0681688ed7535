"""Where memory runs out, changes of the recipe are tried until it fits; that it is measured, test_command shows."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import pytest
from rich.console import Console

from grounding.training import preflight
from grounding.training.preflight import Measured, stage_fits
from grounding.training.recipes import Optimisation, Precision
from grounding.training.records import TextExample, TrainStage

FOUND = Measured(peak_bytes=2**30, total_bytes=2**31, device="cpu", seconds=2.0, tokens=50.0)


@pytest.mark.parametrize("enough", ["checkpointing", "nothing"])
def test_what_fits_is_found_by_trying(monkeypatch: pytest.MonkeyPatch, enough: str) -> None:
    tried: list[Sequence[str]] = []

    def make(overrides: Sequence[str]) -> TrainStage:
        tried.append(tuple(overrides))
        again = "precision.gradient_checkpointing=true" in overrides
        optimisation = Optimisation(learning_rate=1e-3, accumulation=3, max_steps=6)
        return TrainStage(
            name="sft",
            method="sft",
            model="",
            optimisation=optimisation,
            lora=None,
            precision=Precision(gradient_checkpointing=again),
        )

    def measure(trial: TrainStage, _longest: Any) -> Measured | None:
        return FOUND if trial.precision.gradient_checkpointing and enough != "nothing" else None

    monkeypatch.setattr(preflight, "measure", measure)
    console = Console(width=200, record=True, file=io.StringIO())
    assert not stage_fits(console, make, TextExample(prompt="a", chosen="b"), ("a=1",), 100)
    said = console.export_text()
    assert "stage sft: memory runs out\n" in said
    if enough == "nothing":
        assert "nothing that was tried fits" in said
        assert tried[-1] == ("a=1", "precision.gradient_checkpointing=true", "lora.rank=32")
    else:
        assert "it fits with --set precision.gradient_checkpointing=true: 1.00 of 2.0 GiB on cpu" in said
        assert "50 tokens a pass, 2 s a step, at most about 0.0033 h for 6 steps" in said
