"""The whole of a training over the small shop, by the command line and by its parts; a few steps on the CPU."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from grounding.benchmarks.personalwab.agents.puma import TrainedAs
from grounding.errors import UserError
from grounding.training.options import PumaOptions
from grounding.training.puma.training import OpenedPuma, evaluation_options, open_puma, print_trained, run_puma
from grounding.training.records import Trained, read_record
from grounding.training.results import BASE, PumaSummary
from training import tiny

STEPS = (
    "sft.optimisation.max_steps=2",
    "sft.optimisation.batch=4",
    "dpo.optimisation.max_steps=2",
    "dpo.optimisation.batch=2",
    "candidates.max_new_tokens=6",
    "candidates.count=3",
    "candidates.beams=3",
    "candidates.batch=16",
    "memory.tokens=60",
)


def opened(folder: Path, *overrides: str, **more: Any) -> OpenedPuma:
    """What the command would open over the small shop."""
    shop, model = folder / "shop", folder / "base"
    if not shop.exists():
        tiny.write_training_shop(shop)
        tiny.write_model(model)
    usual: dict[str, Any] = {
        "dataset": "personalwab",
        "data_dir": shop,
        "recipe": "puma-tiny",
        "overrides": (*STEPS, *overrides),
        "device": "cpu",
        "display": "none",
        "log_dir": folder / "results",
        "test_limit": 2,
    }
    return open_puma(more.pop("model", str(model)), PumaOptions(**{**usual, **more}))


def train(made: OpenedPuma) -> Trained[PumaSummary]:
    """Run it, as the command does."""
    import torch

    torch.set_num_threads(1)
    return run_puma(made)


@pytest.mark.slow
def test_a_model_without_memory_is_trained_evaluated_and_put_into_the_papers_table(tmp_path: Path) -> None:
    lora = ("lora.rank=4", "lora.also_train=[embed_tokens, lm_head, input_layernorm, post_attention_layernorm, norm]")
    asked = opened(tmp_path, *lora, "memory.told=false")
    trained = train(asked)
    run, summary = trained.folder, trained.summary
    assert (summary.status, trained.info.status) == ("complete", "complete")
    assert list(summary.figures) == list(summary.runs) == ["base", "tuned"]
    assert all("search" in found.types for found in summary.figures.values())
    console = Console(width=132, record=True, file=io.StringIO())
    print_trained(console, asked, trained)
    shown = console.export_text()
    for words in ("PersonalWAB, Table 5", "w/o Task-specific Memory", "preferred", "not comparable"):
        assert words in shown
    said = read_record(run / "model" / "puma.json", TrainedAs)
    assert (said.memory_length, said.predicts_functions, said.memory_tokens) == (0, True, 60)
    assert summary.preferred is not None
    assert 0 <= summary.preferred <= 1
    before = {path: path.stat().st_mtime_ns for path in (run / "stages").rglob("*.safetensors")}
    assert train(asked).summary == summary
    assert {path: path.stat().st_mtime_ns for path in (run / "stages").rglob("*.safetensors")} == before


@pytest.mark.slow
def test_users_that_are_held_out_are_tested_and_never_train(tmp_path: Path) -> None:
    made = opened(tmp_path, hold_out=("user=v",))
    assert "v" not in {task.user_id for task in made.tasks([*made.split.train, *made.split.held_out])}
    options = evaluation_options(made, BASE, made.base)
    assert options.participant == ("v",)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("overrides", "more", "words"),
    [
        ((), {"hold_out": ("user=nobody",)}, "--hold-out user=nobody: no task is of this user"),
        (("beams=3",), {}, "beams"),
        ((), {"model": "./nowhere"}, "neither a folder nor an id"),
    ],
)
def test_what_makes_no_sense_is_said(
    tmp_path: Path, overrides: tuple[str, ...], more: dict[str, Any], words: str
) -> None:
    with pytest.raises(UserError, match=words):
        opened(tmp_path, *overrides, **more)
