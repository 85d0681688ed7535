"""Runs that are killed and broken off give the same weights and the same record as one that went through."""

from __future__ import annotations

import signal
from pathlib import Path

import msgspec
import pytest

from grounding.training.loop.checkpoints import last_whole, whole_checkpoints
from grounding.training.loop.recorder import TENSORBOARD, read_metrics, read_samples
from grounding.training.loop.records import StageResult
from grounding.training.records import MetricsLine, Saving
from training.loop import builders
from training.loop.driving import run, run_and_die

pytest.importorskip("trl", reason="training needs the extra 'train'")
pytestmark = pytest.mark.slow


def _weights(output: str) -> dict[str, bytes]:
    from safetensors.numpy import load_file

    files = sorted(Path(output).glob("*.safetensors"))
    assert files
    return {name: value.tobytes() for file in files for name, value in load_file(file).items()}


def _metrics(folder: Path) -> list[MetricsLine]:
    return [msgspec.structs.replace(line, seconds=None) for line in read_metrics(folder)]


def _curves(folder: Path) -> dict[str, list[tuple[int, float]]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder / TENSORBOARD))
    events.Reload()
    return {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def _assert_same(straight: Path, broken: Path, results: tuple[StageResult, StageResult]) -> None:
    first, second = results
    assert (first.status, second.status) == ("complete", "complete")
    assert first.output is not None
    assert second.output is not None
    assert _weights(first.output) == _weights(second.output)
    assert _metrics(straight) == _metrics(broken)
    assert read_samples(straight) == read_samples(broken)
    assert _curves(straight) == _curves(broken)


@pytest.mark.parametrize("build", ["build_sft_whole", "build_sft_bfloat16", "build_dpo", "build_grpo_onwards"])
def test_a_run_killed_and_then_broken_off_is_the_same_bit_for_bit(
    build: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    method = build.split("_")[1]
    plans = [
        builders.make_plan(
            tmp_path / name,
            method,
            held_out_every_steps=2,
            saving=Saving(every_steps=3 if method == "grpo" else 2, every_minutes=None, keep=2),
        )
        for name in ("straight", "broken")
    ]
    straight = run(plans[0], build)
    # In the second epoch, within a draw of completions where there are such.
    steps = straight.steps
    kill, interrupt = steps // 2 + 2, steps - 1
    assert run_and_die(plans[1], build, "TEST_KILL_AT", kill) == -signal.SIGKILL
    checkpoint = last_whole(tmp_path / "broken" / "checkpoints")
    assert checkpoint is not None
    assert 0 < checkpoint.mark.step < kill
    monkeypatch.setenv("TEST_INTERRUPT_AT", str(interrupt))
    partial = run(plans[1], build)
    assert (partial.status, partial.step, partial.stopped) == ("partial", interrupt, "interrupted")
    assert partial.output is None
    monkeypatch.delenv("TEST_INTERRUPT_AT")
    _assert_same(tmp_path / "straight", tmp_path / "broken", (straight, run(plans[1], build)))
    # And all this moved weights, so that equality says something.
    earlier = whole_checkpoints(tmp_path / "straight" / "checkpoints")[0]
    assert earlier.mark.step < steps
    assert _weights(earlier.path) != _weights(str(straight.output))
