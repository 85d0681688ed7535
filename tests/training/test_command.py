"""``grounding train grounder`` as a newcomer runs it: a tiny checkpoint, the bundled sample, everything real."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest
import yaml
from fakes.make import grounder_card
from fakes.tuned import write_checkpoint

from grounding.cards import GrounderCard, read_card
from grounding.cli import app
from grounding.errors import UserError
from grounding.run.scorebook import read_run
from grounding.training.records import StageResult, TrainingFolder, read_record
from grounding.training.results import GrounderSummary

CARD = grounder_card(
    name="small",
    model="org/tiny",
    family="qwen2_5_vl",
    image={"resize": "client", "factor": 28, "min_pixels": 3136, "max_pixels": 20000},
    answer={"form": "point", "space": "resized_px"},
    parameters={"temperature": 0, "max_tokens": 8, "repetition_penalty": 1.0},
)
SHORT = ("sft.optimisation.max_steps=2", "grpo.optimisation.max_steps=1", "grpo.max_new_tokens=6", "held_out=null")


def command(*words: str, folder: Path) -> int:
    """The command in this process, whose libraries take longer to import than the rest."""
    import torch

    torch.set_num_threads(1)
    line = ["train", "grounder", str(folder / "card.yaml"), *words, "--log-dir", str(folder / "results")]
    return int(app([*line, "--display", "none"]) or 0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "nothing is held out: name it with --hold-out participant=NAME"),
        (("--hold-out", "participant=1"), "task buy a gift for a friend's birthday: 19 steps to train on"),
        (("--hold-out", "participant=7"), "the data set has the participants 1, 2, 3"),
        (("--hold-out", "3"), "expected participant=NAME or task=NAME"),
        (("--hold-out", "participant=3", "--recipe", "grpo-gta2"), "grpo-gta1"),
        (("--hold-out", "participant=3", "--set", "grpo.generation=4"), "generations"),
        (("--hold-out", "participant=3", "--accelerate-config", "no.yaml"), "no.yaml"),
        (("--hold-out", "participant=3", "--leave-one-out", "participant"), "give one of them"),
        (("--leave-one-out", "participant"), "--shared drop"),
        (("--hold-out", "participant=3", "--model", "/no/such"), "--model /no/such: neither a folder"),
        (("--hold-out", "participant=3", "--set", "grpo=null"), "neither sft nor grpo"),
    ],
)
def test_a_wrong_command_ends_with_a_sentence(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    with pytest.raises(UserError, match=said):
        app(["train", "grounder", "gta1", *words, "--log-dir", str(tmp_path / "results")])
    assert not (tmp_path / "results").exists()


def test_a_dry_run_without_weights_measures_nothing_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = write_checkpoint(tmp_path / "base", model_type="qwen2_5_vl")
    for weights in checkpoint.glob("*.safetensors"):
        weights.unlink()
    words = ["--hold-out", "participant=3", "--recipe", "grounder-tiny", "--model", str(checkpoint), "--device", "cpu"]
    code = app(["train", "grounder", "gta1", *words, "--dry-run", "--log-dir", str(tmp_path / "results")])
    said = capsys.readouterr().out
    assert code == 0, said
    assert "198 steps" in said
    assert "the weights are not on this disk" in said
    assert not (tmp_path / "results").exists()


@pytest.mark.needs("train")
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_dry_run_measures_two_steps_of_a_stage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from grounders.hf.tiny import write_plain

    checkpoint = write_plain(tmp_path / "tiny")
    (tmp_path / "card.yaml").write_text(yaml.safe_dump(msgspec.to_builtins(CARD)), encoding="utf-8")
    words = ["--hold-out", "participant=3", "--recipe", "grounder-tiny", "--model", str(checkpoint), "--device", "cpu"]
    assert command(*words, "--dry-run", "--set", *SHORT, "grpo=null", folder=tmp_path) == 0
    said = capsys.readouterr().out
    assert re.search(r"stage sft: it fits: [\d.]+ of [\d.]+ GiB on cpu at the longest example", said)
    assert not (tmp_path / "results").exists()


@pytest.mark.needs("train")
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_participant_is_left_out_once_and_every_tuned_model_is_a_grounder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from grounders.hf.tiny import write_plain

    checkpoint = write_plain(tmp_path / "tiny")
    (tmp_path / "card.yaml").write_text(yaml.safe_dump(msgspec.to_builtins(CARD)), encoding="utf-8")
    words = ["--leave-one-out", "participant", "--shared", "drop", "--recipe", "grounder-tiny"]
    words += ["--model", str(checkpoint), "--device", "cpu", "--test-limit", "2", "--set", *SHORT]
    assert command(*words, folder=tmp_path) == 0
    said = capsys.readouterr().out
    assert "all held-out steps together · 6 steps, 3 folds" in said
    assert "mean of 3 folds" in said
    (run,) = (tmp_path / "results").iterdir()
    summary = TrainingFolder(run).read_summary(GrounderSummary)
    assert (summary.status, len(summary.folds), len(summary.means)) == ("complete", 3, 4)
    hashes = set()
    for fold in summary.folds:
        stages = run / fold.folder / "stages"
        results = [read_record(stages / name / "result.json", StageResult) for name in ("sft", "grpo")]
        assert [(result.status, result.step) for result in results] == [("complete", 2), ("complete", 1)]
        card = read_card(run / fold.folder / fold.adapter / "card.yaml", GrounderCard)
        assert card.adapter is not None
        hashes.add(card.adapter.sha256)
        base, tuned = (read_run(run / fold.folder / each) for each in (fold.base_run, fold.tuned_run))
        assert [each.info.asked.grounder for each in (base, tuned)] == ["small", card.name]
        assert [each.info.asked.select for each in (base, tuned)] == [f"{fold.held_out};limit=2"] * 2
        assert base.summary.counts.steps == tuned.summary.counts.steps == 2
        assert card.adapter.sha256 in tuned.info.asked.grounder_identity
    assert len(hashes) == 3

    # The same again asks for nothing and says the same.
    assert command(*words, "--json", folder=tmp_path) == 0
    assert json.loads(capsys.readouterr().out) == json.loads((run / "summary.json").read_bytes())
