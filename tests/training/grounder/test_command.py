"""``grounding train grounder`` as a newcomer runs it: a tiny checkpoint, the bundled sample, everything real."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
import yaml
from fakes.make import REPOSITORY, grounder_card
from fakes.tuned import write_checkpoint

from grounding.cards import GrounderCard, read_card
from grounding.cli import app
from grounding.errors import UserError
from grounding.scorebook import read_run
from grounding.training.folder import TrainingFolder
from grounding.training.grounder.pooled import GrounderSummary

CARD = grounder_card(
    name="small",
    model="org/tiny",
    family="qwen2_5_vl",
    image={"resize": "client", "factor": 28, "min_pixels": 3136, "max_pixels": 20000},
    answer={"form": "point", "space": "resized_px"},
    parameters={"temperature": 0, "max_tokens": 8, "repetition_penalty": 1.0},
)
SHORT = ("sft.optimisation.max_steps=2", "grpo.optimisation.max_steps=1", "grpo.max_new_tokens=6", "held_out=null")


QWEN = {
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "vocab_size": 300,
    "vision_config": {
        "depth": 2,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_heads": 4,
        "out_hidden_size": 128,
        "patch_size": 14,
        "spatial_merge_size": 2,
        "temporal_patch_size": 2,
        "window_size": 112,
        "fullatt_block_indexes": [1],
    },
}


def command(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "grounding.cli", "train", "grounder", *words, "--log-dir", str(folder / "results")]
    variables = {**os.environ, "PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    return subprocess.run(line, cwd=folder, env=variables, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "nothing is held out: name it with --hold-out participant=NAME"),
        (("--hold-out", "participant=1"), "task buy a gift for a friend's birthday: 19 steps to train on"),
        (("--hold-out", "participant=7"), "the data set has the participants 1, 2, 3"),
        (("--hold-out", "3"), "expected participant=NAME or task=LABEL"),
        (("--hold-out", "participant=3", "--recipe", "grpo-gta2"), "grpo-gta1"),
        (("--hold-out", "participant=3", "--set", "grpo.generation=4"), "generations"),
        (("--hold-out", "participant=3", "--accelerate-config", "no.yaml"), "no.yaml"),
    ],
)
def test_a_wrong_command_ends_with_a_sentence(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    with pytest.raises(UserError, match=said):
        app(["train", "grounder", "gta1", *words, "--log-dir", str(tmp_path / "results")])
    assert not (tmp_path / "results").exists()


def test_a_dry_run_shows_the_split_and_the_memory_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = {"model_type": "qwen2_5_vl", **QWEN}
    checkpoint = write_checkpoint(tmp_path / "base", **config)
    words = ["--hold-out", "participant=3", "--recipe", "grounder-tiny", "--model", str(checkpoint), "--device", "cpu"]
    code = app(["train", "grounder", "gta1", *words, "--dry-run", "--log-dir", str(tmp_path / "results")])
    said = capsys.readouterr().out
    assert code == 0, said
    assert "198 steps" in said
    for stage in ("sft", "grpo"):
        assert f"stage {stage}\n" in said
    assert said.count("it fits") == 2
    assert not (tmp_path / "results").exists()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_every_participant_is_left_out_once_and_every_tuned_model_is_a_grounder(tmp_path: Path) -> None:
    for package in ("torch", "torchvision", "transformers", "trl", "peft", "datasets", "accelerate"):
        pytest.importorskip(package, reason=f"no {package} here: pip install 'grounding[train]'")
    from grounders.hf.tiny import write_plain

    checkpoint = write_plain(tmp_path / "tiny")
    (tmp_path / "card.yaml").write_text(yaml.safe_dump(msgspec.to_builtins(CARD)), encoding="utf-8")
    words = ["card.yaml", "--leave-one-out", "participant", "--shared-tasks", "drop", "--recipe", "grounder-tiny"]
    words += ["--model", str(checkpoint), "--device", "cpu", "--limit", "8", "--test-limit", "2", "--set", *SHORT]
    done = command(*words, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "all held-out steps together · 6 steps, 3 folds" in done.stdout
    assert "mean of 3 folds" in done.stdout
    (run,) = (tmp_path / "results").iterdir()
    summary = TrainingFolder(run).read_summary(GrounderSummary)
    assert (summary.status, len(summary.folds), len(summary.means)) == ("complete", 3, 4)
    hashes = set()
    for fold in summary.folds:
        own = TrainingFolder(run / fold.folder)
        assert [(stage.name, stage.status, stage.step) for stage in own.read_info().stages] == [
            ("sft", "complete", 2),
            ("grpo", "complete", 1),
        ]
        card = read_card(run / fold.adapter / "card.yaml", GrounderCard)
        assert card.adapter is not None
        hashes.add(card.adapter.sha256)
        base, tuned = (read_run(run / each) for each in (fold.base_run, fold.tuned_run))
        assert [each.info.asked.grounder for each in (base, tuned)] == ["small", card.name]
        assert [each.info.asked.select for each in (base, tuned)] == [f"{fold.held_out};limit=2"] * 2
        assert base.summary.counts.steps == tuned.summary.counts.steps == 2
        assert card.adapter.sha256 in tuned.info.asked.grounder_identity
        assert tuned.info.command.startswith("grounding eval --no-probe --grounder ")
    assert len(hashes) == 3

    # The same again asks for nothing and says the same.
    again = command(*words, "--json", folder=tmp_path)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout) == json.loads((run / "summary.json").read_bytes())
