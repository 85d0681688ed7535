"""Several processes that train one stage, started for real."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from grounding.errors import UserError
from grounding.training.loop.checkpoints import last_whole
from grounding.training.loop.recorder import read_metrics
from grounding.training.loop.records import Launch
from grounding.training.loop.stagefile import read_result
from grounding.training.records import Optimisation
from training.loop import builders
from training.loop.driving import run

pytest.importorskip("trl", reason="training needs the extra 'train'")
pytestmark = pytest.mark.slow


def _losses(folder: Path) -> list[float]:
    return [line.loss for line in read_metrics(folder) if line.kind == "train" and line.loss is not None]


@pytest.mark.timeout(900)
def test_two_processes_train_what_one_does_though_broken_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    one, two = (
        builders.make_plan(
            tmp_path / name,
            "sft",
            optimisation=Optimisation(learning_rate=1e-2, epochs=2.0, batch=batch, accumulation=1),
            held_out_at_ends=False,
        )
        for name, batch in (("one", 4), ("two", 2))
    )
    alone = run(one, "build_sft_sober")
    launch = Launch(processes=2)
    monkeypatch.setenv("TEST_STOP_AT", "3")
    monkeypatch.setenv("TEST_PID", str(os.getpid()))
    assert capfd.readouterr() == ("", "")
    stopped = run(two, "build_sft_sober", launch)
    assert (stopped.status, stopped.stopped, stopped.step, stopped.steps) == ("partial", "interrupted", 3, 4)
    assert stopped == read_result(tmp_path / "two")
    assert not (tmp_path / "two" / "stop").exists()
    assert " ".join(capfd.readouterr().err.split()).startswith("stopping after this step, which is saved")
    checkpoint = last_whole(tmp_path / "two" / "checkpoints")
    assert checkpoint is not None
    assert (checkpoint.mark.step, checkpoint.mark.processes) == (3, 2)
    together = run(two, "build_sft_sober", launch)
    assert (together.status, together.step, together.processes) == ("complete", alone.step, 2)
    # Each step sees the same four examples, two in each process; only the order of the sums differs.
    assert _losses(tmp_path / "two") == pytest.approx(_losses(tmp_path / "one"), abs=1e-4)
    assert Path(str(together.output), "adapter_model.safetensors").exists()
    assert capfd.readouterr() == ("", "")


def test_a_worker_that_is_killed_ends_the_others_and_is_told(tmp_path: Path) -> None:
    from grounding.training.loop.stage import run_stage
    from training.loop.deadly import build

    with pytest.raises(UserError, match=r"a worker ended without a word .*it was killed, memory may have run out"):
        run_stage(builders.make_plan(tmp_path / "stage", "sft"), build, launch=Launch(processes=2), display="none")
    assert "exitcode: -9" in (tmp_path / "stage" / "log.txt").read_text()
