"""What goes wrong in a stage: said in one sentence, and what was saved is used again."""

from __future__ import annotations

import os
import resource
import signal
import time
from pathlib import Path

import pytest

from grounding.errors import UserError
from grounding.training.loop.checkpoints import last_whole
from grounding.training.loop.recorder import read_metrics
from grounding.training.loop.stagefile import read_result
from grounding.training.records import Optimisation, Saving
from training.loop import builders
from training.loop.driving import run, run_and_die, start

pytest.importorskip("trl", reason="training needs the extra 'train'")
pytestmark = pytest.mark.slow


def test_killed_while_it_saves_the_checkpoint_before_counts(tmp_path: Path) -> None:
    plan = builders.make_plan(tmp_path / "stage", "sft", saving=Saving(every_steps=1, every_minutes=None, keep=1))
    assert run_and_die(plan, "build_sft", "TEST_KILL_IN_SAVE_AT", 2) == -signal.SIGKILL
    torn = tmp_path / "stage" / "checkpoints" / "checkpoint-2"
    assert (torn / "adapter_model.safetensors").exists()
    checkpoint = last_whole(torn.parent)
    assert checkpoint is not None
    assert checkpoint.mark.step == 1
    result = run(plan, "build_sft")
    assert result.status == "complete"
    assert [line.step for line in read_metrics(tmp_path / "stage") if line.kind == "train"] == [1, 2, 3, 4]
    assert not torn.exists()


def test_a_loss_that_is_no_number_stops_before_it_moves_a_weight(tmp_path: Path) -> None:
    plan = builders.make_plan(tmp_path / "stage", "sft")
    with pytest.raises(UserError, match=r"stage sft: the loss at step 3 is not a finite number.*learning_rate"):
        run(plan, "build_sft_turning_bad")
    checkpoint = last_whole(tmp_path / "stage" / "checkpoints")
    assert checkpoint is not None
    assert checkpoint.mark.step == 2


def test_memory_that_runs_out_is_said_with_what_needs_less(tmp_path: Path) -> None:
    plan = builders.make_plan(tmp_path / "stage", "sft")
    with pytest.raises(UserError, match=r"stage sft: memory ran out while training .*optimisation\.batch"):
        run(plan, "build_sft_greedy")
    assert "Traceback" in (tmp_path / "stage" / "log.txt").read_text()


def test_settings_that_a_trainer_refuses_are_told_in_its_words(tmp_path: Path) -> None:
    plan = builders.make_plan(
        tmp_path / "stage", "sft", optimisation=Optimisation(learning_rate=1e-2, optimiser="newton")
    )
    with pytest.raises(UserError, match=r"stage sft failed while it was set up: ValueError: newton is not a valid"):
        run(plan, "build_sft")


def test_a_full_disk_is_said_and_the_run_goes_on_with_more_room(tmp_path: Path) -> None:
    plan = builders.make_plan(tmp_path / "stage", "sft")
    # No file may grow beyond this, as on a disk without room: records and adapters fit, the optimiser's state doesn't.
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, hard))
    try:
        with pytest.raises(UserError, match=r"stage sft: the disk is full .*saving\.keep"):
            run(plan, "build_sft_whole")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert last_whole(tmp_path / "stage" / "checkpoints") is None
    result = run(plan, "build_sft_whole")
    assert result.status == "complete"
    assert [line.step for line in read_metrics(tmp_path / "stage") if line.kind == "train"] == [1, 2, 3, 4]


def test_a_polite_kill_saves_and_says_partial(tmp_path: Path) -> None:
    plan = builders.make_plan(tmp_path / "stage", "sft", saving=Saving(every_steps=None, every_minutes=None))
    process = start(plan, "build_sft", tmp_path, TEST_STEP_SECONDS="0.5")
    metrics = tmp_path / "stage" / "metrics.jsonl"
    while process.is_alive() and not (metrics.exists() and b'"loss"' in metrics.read_bytes()):
        time.sleep(0.05)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGTERM)
    process.join()
    out, err = (tmp_path / "out").read_text(), (tmp_path / "err").read_text()
    assert process.exitcode == 0, err
    assert out.startswith("partial ")
    # Nothing of the libraries' own is printed, only what the loop says.
    assert out.count("\n") == 1
    said = " ".join(line for line in err.splitlines() if not line.startswith("sft "))
    assert said.startswith("stopping after this step, which is saved")
    result = read_result(tmp_path / "stage")
    assert result is not None
    assert (result.status, result.stopped) == ("partial", "interrupted")
    checkpoint = last_whole(tmp_path / "stage" / "checkpoints")
    assert checkpoint is not None
    assert 0 < checkpoint.mark.step == result.step <= result.steps


def test_a_checkpoint_is_due_by_time(tmp_path: Path) -> None:
    plan = builders.make_plan(
        tmp_path / "stage", "sft", saving=Saving(every_steps=None, every_minutes=1e-9, keep=99), held_out_at_ends=False
    )
    assert run(plan, "build_sft").status == "complete"
    saved = sorted(path.name for path in (tmp_path / "stage" / "checkpoints").iterdir())
    assert saved == [f"checkpoint-{step}" for step in (1, 2, 3)]
    # A complete stage is left as it is.
    result = run(plan, "build_of_nothing")
    assert (result.status, result.step) == ("complete", 4)
    assert result.output == str(tmp_path / "stage" / "output")
    assert not {"training_args.bin", "README.md"} & {path.name for path in (tmp_path / "stage" / "output").iterdir()}
