"""The whole of a training over the small shop, by the command line and by its parts; a few steps on the CPU."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from grounding.errors import UserError
from grounding.training.puma.asked import PumaTraining, parse_test_users
from grounding.training.puma.evaluate import evaluation_options
from grounding.training.puma.learning import read_json
from grounding.training.puma.opening import open_puma
from grounding.training.puma.records import PreferenceChange
from grounding.training.puma.running import TrainedPuma, run_puma
from grounding.training.puma.table import print_trained
from grounding.webagents.personalwab.agents.trained import TrainedAs
from grounding.webagents.personalwab.options import ShopOptions
from grounding.webagents.personalwab.running import evaluate_shop
from training.puma import tiny

pytest.importorskip("trl", reason="training needs the extra 'train'")
pytest.importorskip("peft", reason="training needs the extra 'train'")
pytest.importorskip("sentence_transformers", reason="scoring reviews needs the extra 'web'")

STEPS = (
    "sft.optimisation.max_steps=2",
    "sft.optimisation.batch=4",
    "dpo.optimisation.max_steps=2",
    "dpo.optimisation.batch=2",
    "candidates.max_new_tokens=6",
    "candidates.count=3",
    "candidates.beams=3",
    "candidates.batch=16",
    "memory.tokens=[60]",
)


def ask(folder: Path, *overrides: str, **more: Any) -> PumaTraining:
    """What the command would ask over the small shop."""
    shop, model = folder / "shop", folder / "base"
    if not shop.exists():
        tiny.write_training_shop(shop)
        tiny.write_model(model)
    return PumaTraining(
        **{
            "model": str(model),
            "dataset": "personalwab",
            "data_dir": shop,
            "recipe": "puma-tiny",
            "overrides": (*STEPS, *overrides),
            "device": "cpu",
            "display": "none",
            "log_dir": folder / "results",
            "eval_limit": 2,
            **more,
        }
    )


def train(asked: PumaTraining) -> TrainedPuma:
    """Open and run it, as the command does."""
    import torch

    torch.set_num_threads(1)
    return run_puma(open_puma(asked), lambda options, shelf: evaluate_shop(options, shelf=shelf))


@pytest.mark.slow
def test_the_ablations_are_one_run_and_one_table(tmp_path: Path) -> None:
    lora = ("lora.rank=4", "lora.also_train=[embed_tokens, lm_head, input_layernorm, post_attention_layernorm, norm]")
    asked = ask(tmp_path, *lora, "variants=[full, no-memory, no-sft, no-dpo]")
    trained = train(asked)
    run, summary = trained.folder, trained.summary
    assert [one.name for one in summary.models] == ["base", "full", "no-memory", "no-sft", "no-dpo"]
    assert (summary.status, trained.info.status) == ("complete", "complete")
    assert all({figure.kind for figure in one.figures} >= {"search", "overall"} for one in summary.models)
    console = Console(width=132, record=True, file=io.StringIO())
    print_trained(console, open_puma(asked), trained)
    shown = console.export_text()
    for words in (
        "PersonalWAB, Table 5",
        "w/o Task-specific Memory",
        "w/o SFT (this run)",
        "held out",
        "not comparable",
    ):
        assert words in shown
    said = read_json(run / "models" / "no-memory" / "puma.json", TrainedAs)
    assert (said.memory_length, said.predicts_functions, said.memory_tokens) == (0, True, 60)
    change = read_json(run / "stages" / "dpo" / "preference.json", PreferenceChange)
    assert len(change.pairs_before) == len(change.pairs_after) == change.after.pairs
    # Two models that begin with the same SFT had it once.
    stages = {path.name for path in (run / "stages").iterdir()}
    assert stages == {"dpo", "dpo-no-memory", "dpo-no-sft", "sft", "sft-no-memory", "sft-no-sft"}
    before = {path: path.stat().st_mtime_ns for path in (run / "stages").rglob("*.safetensors")}
    assert train(asked).summary == summary
    assert {path: path.stat().st_mtime_ns for path in (run / "stages").rglob("*.safetensors")} == before


@pytest.mark.slow
def test_adapters_can_stay_adapters_and_the_agent_takes_them(tmp_path: Path) -> None:
    asked = ask(tmp_path, "lora.rank=4", "output=adapter", evaluates="none")
    trained = train(asked)
    model = trained.folder / "models" / "full"
    assert (model / "adapter_model.safetensors").is_file()
    options = ShopOptions(
        dataset="personalwab",
        data_dir=asked.data_dir,
        agent="puma-local",
        model_path=model,
        limit=2,
        no_report=True,
        log_dir=tmp_path / "eval",
        display="none",
    )
    evaluated = evaluate_shop(options)
    assert (evaluated.info.asked.memory_tokens, evaluated.info.asked.memory_length) == (60, 20)
    assert "|model;puma.1@" in evaluated.info.asked.agent_identity


@pytest.mark.slow
def test_users_that_are_held_out_are_tested_and_never_train(tmp_path: Path) -> None:
    opened = open_puma(ask(tmp_path, test_users=("v",)))
    shop = opened.shop
    train_users = {task.user_id for task in shop.tasks(opened.split.train)}
    assert "v" not in train_users | {task.user_id for task in shop.tasks(opened.split.held_out)}
    options = evaluation_options(tmp_path, opened.base, opened.asked, opened.recipe, None)
    assert options.participant == ("v",)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("overrides", "more", "words"),
    [
        ((), {"test_users": ("nobody",)}, "--hold-out user=nobody: no task is of this user"),
        (("labels.search=model",), {}, "name one with --labels-model"),
        (("beams=3",), {}, "beams"),
        ((), {"model": "./nowhere"}, "neither a folder nor a name on the hub"),
    ],
)
def test_what_makes_no_sense_is_said(
    tmp_path: Path, overrides: tuple[str, ...], more: dict[str, Any], words: str
) -> None:
    with pytest.raises(UserError, match=words):
        open_puma(ask(tmp_path, *overrides, **more))


def test_users_are_read_from_the_option() -> None:
    assert parse_test_users(["user=a,b", "user=a"]) == ("a", "b")
    with pytest.raises(UserError, match="expected user=ID"):
        parse_test_users(["user="])


def test_options_are_a_record() -> None:
    asked = PumaTraining(model="m")
    assert msgspec.json.decode(msgspec.json.encode(asked), type=PumaTraining) == asked
