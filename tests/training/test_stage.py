"""Stages that are killed, broken off or refused: the same bits in the end, one sentence where something is wrong."""

from __future__ import annotations

import os
import resource
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from grounding.errors import UserError
from grounding.training.loop import whole_checkpoints
from grounding.training.recipes import Optimisation, Precision, Saving
from grounding.training.records import METRICS, TENSORBOARD, StageResult, read_lines, read_record
from training import builders
from training.builders import MEASURED, make_stage, run, run_and_die

pytestmark = pytest.mark.slow

BFLOAT16 = Precision(dtype="bfloat16", gradient_checkpointing=True)


def weights(folder: Path) -> dict[str, bytes]:
    from safetensors.numpy import load_file

    files = sorted(folder.glob("*.safetensors"))
    assert files
    return {name: value.tobytes() for file in files for name, value in load_file(file).items()}


def metrics(folder: Path) -> list[dict[str, Any]]:
    return [line | {"seconds": 0} for line in read_lines(folder / METRICS, dict[str, Any])]


def steps(folder: Path) -> list[int]:
    return [line["step"] for line in metrics(folder) if line["kind"] == "train"]


def curves(folder: Path) -> dict[str, list[tuple[int, float]]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder / TENSORBOARD))
    events.Reload()
    return {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


CASES: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "sft of whole weights": ("sft", builders.disturbed, {"lora": None}),
    "sft upon bfloat16": ("sft", builders.disturbed, {"precision": BFLOAT16}),
    "dpo": ("dpo", builders.disturbed, {}),
    "grpo that goes on from an adapter": ("grpo", builders.letters, {}),
}


@pytest.mark.parametrize("case", CASES)
def test_a_run_killed_and_then_broken_off_is_the_same_bit_for_bit(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    method, build, changed = CASES[case]
    saving = Saving(every_steps=3 if method == "grpo" else 2, keep=2)
    stage = make_stage(tmp_path, method, held_out=MEASURED, saving=saving, **changed)
    straight, broken = tmp_path / "straight", tmp_path / "broken"
    whole = run(straight, stage, build, held_out=4)
    # In the second epoch, within a draw of completions where there are such.
    kill, stop = whole.steps // 2 + 2 - (whole.steps == 4), whole.steps - 1
    assert run_and_die(broken, stage, 4, build, TEST_KILL_AT=str(kill)) == -signal.SIGKILL
    assert 0 < whole_checkpoints(broken)[-1][0] < kill
    time.sleep(1)  # TensorBoard reads files in the order of the seconds in their names.
    monkeypatch.setenv("TEST_STOP_AT", str(stop))
    partial = run(broken, stage, build, held_out=4)
    assert (partial.status, partial.step, partial.stopped) == ("partial", stop, "interrupted")
    monkeypatch.delenv("TEST_STOP_AT")
    time.sleep(1)
    again = run(broken, stage, build, held_out=4)
    assert (whole.status, again.status) == ("complete", "complete")
    assert weights(straight / "output") == weights(broken / "output")
    assert metrics(straight) == metrics(broken)
    assert curves(straight) == curves(broken)
    # And all this moved weights, so that equality says something.
    assert weights(whole_checkpoints(straight)[0][1]) != weights(straight / "output")


def test_killed_while_it_saves_the_checkpoint_before_counts(tmp_path: Path) -> None:
    stage, folder = make_stage(tmp_path, saving=Saving(every_steps=1, keep=1)), tmp_path / "stage"
    assert run_and_die(folder, stage, TEST_KILL_IN_SAVE_AT="2") == -signal.SIGKILL
    torn = folder / "checkpoints" / "checkpoint-2"
    assert (torn / "adapter_model.safetensors").exists()
    assert [step for step, _ in whole_checkpoints(folder)] == [1]
    assert run(folder, stage).status == "complete"
    assert steps(folder) == [1, 2, 3, 4]
    assert not torn.exists()


def test_a_loss_that_is_no_number_stops_before_it_moves_a_weight(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"stage sft: the loss at step 3 is not a finite number.*learning_rate"):
        run(tmp_path / "stage", make_stage(tmp_path), builders.turning_bad)
    assert whole_checkpoints(tmp_path / "stage")[-1][0] == 2


def test_settings_that_a_trainer_refuses_are_told(tmp_path: Path) -> None:
    strange = make_stage(tmp_path, optimisation=Optimisation(learning_rate=1e-2, optimiser="newton"))
    with pytest.raises(UserError, match=r"stage sft: failed: ValueError: newton is not a valid"):
        run(tmp_path / "stage", strange)


def test_a_full_disk_is_said_and_the_run_goes_on_with_more_room(tmp_path: Path) -> None:
    stage, folder = make_stage(tmp_path, lora=None), tmp_path / "stage"
    # No file may grow beyond this, as on a disk without room: records fit, weights don't.
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, hard))
    try:
        with pytest.raises(UserError, match=r"stage sft: the disk is full .*saving\.keep"):
            run(folder, stage)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert whole_checkpoints(folder) == []
    assert run(folder, stage).status == "complete"
    assert steps(folder) == [1, 2, 3, 4]


# --- several processes ----------------------------------------------------------------------------------------------


@pytest.mark.timeout(900)
def test_two_processes_train_what_one_does_though_one_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    one, two = (
        make_stage(
            tmp_path,
            optimisation=Optimisation(learning_rate=1e-2, epochs=2.0, batch=batch),
            lora=None,
            processes=processes,
        )
        for batch, processes in ((4, 1), (2, 2))
    )
    run(tmp_path / "one", one)
    monkeypatch.setenv("TEST_KILL_AT", "2")
    with pytest.raises(UserError, match=r"a worker ended without a word .*it was killed, memory may have run out"):
        run(tmp_path / "two", two)
    assert "exitcode: -9" in (tmp_path / "two" / "log.txt").read_text()
    assert whole_checkpoints(tmp_path / "two")[-1][0] == 1

    monkeypatch.delenv("TEST_KILL_AT")
    monkeypatch.setenv("TEST_STOP_AT", "3")
    monkeypatch.setenv("TEST_PID", str(os.getpid()))
    capfd.readouterr()
    stopped = run(tmp_path / "two", two)
    assert (stopped.status, stopped.stopped, stopped.step, stopped.steps) == ("partial", "interrupted", 3, 4)
    assert stopped == read_record(tmp_path / "two" / "result.json", StageResult)
    assert not (tmp_path / "two" / "stop").exists()
    assert capfd.readouterr().err.startswith("stopping after this step, which is saved")
    assert whole_checkpoints(tmp_path / "two")[-1][0] == 3
    # Each step sees the same four examples, two in each process; only the order of the sums differs.
    losses = [[line["loss"] for line in metrics(tmp_path / name)[:3]] for name in ("one", "two")]
    assert losses[1] == pytest.approx(losses[0], abs=1e-4)
