from __future__ import annotations

from pathlib import Path

import pytest

from grounding.errors import UserError
from grounding.training.loop.checkpoints import CheckpointMark
from grounding.training.loop.recorder import METRICS, SAMPLES, StageRecorder, read_metrics, read_samples
from grounding.training.records import MetricsLine, SampleLine

pytest.importorskip("tensorboard", reason="training needs the extra 'train'")
pytest.importorskip("torch", reason="training needs the extra 'train'")


def _line(step: int) -> MetricsLine:
    return MetricsLine(step=step, epoch=step / 10, loss=1 / (step + 1), values={"num_tokens": float(step)})


def _mark(recorder: StageRecorder, step: int) -> CheckpointMark:
    return CheckpointMark(
        step=step,
        processes=1,
        wall_s=recorder.seconds,
        metrics_bytes=recorder.metrics_bytes,
        samples_bytes=recorder.samples_bytes,
        files={},
    )


def _scalars(folder: Path) -> dict[str, list[tuple[int, float]]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder / "tensorboard"))
    events.Reload()
    return {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def test_a_record_is_cut_back_to_its_checkpoint(tmp_path: Path) -> None:
    first = StageRecorder(tmp_path, None)
    for step in (1, 2):
        first.metrics(_line(step))
        first.sample(SampleLine(step=step, example="1/1", text="a"))
    mark = _mark(first, 2)
    first.metrics(_line(3))
    first.sample(SampleLine(step=3, example="1/1", text="b"))
    first.close()
    # As a kill leaves it: half a line.
    with (tmp_path / METRICS).open("ab") as file:
        file.write(b'{"step": 4')
    assert [line.step for line in read_metrics(tmp_path)] == [1, 2, 3]
    second = StageRecorder(tmp_path, mark)
    assert second.seconds >= mark.wall_s
    second.metrics(_line(3))
    second.metrics(MetricsLine(step=3, epoch=0.3, kind="held_out", loss=0.5))
    second.close()
    assert [line.step for line in read_metrics(tmp_path)] == [1, 2, 3, 3]
    assert [line.text for line in read_samples(tmp_path)] == ["a", "a"]
    curves = _scalars(tmp_path)
    assert curves["train/loss"] == [(step, pytest.approx(1 / (step + 1))) for step in (1, 2, 3)]
    assert curves["held_out/loss"] == [(3, 0.5)]
    assert set(curves) == {"train/loss", "train/num_tokens", "held_out/loss"}


def test_without_a_checkpoint_it_begins_anew(tmp_path: Path) -> None:
    first = StageRecorder(tmp_path, None)
    first.metrics(_line(1))
    first.close()
    StageRecorder(tmp_path, None).close()
    assert read_metrics(tmp_path) == ()
    assert _scalars(tmp_path) == {}


def test_a_record_that_lost_lines_is_not_gone_on_with(tmp_path: Path) -> None:
    first = StageRecorder(tmp_path, None)
    first.metrics(_line(1))
    mark = _mark(first, 1)
    first.close()
    (tmp_path / METRICS).write_bytes(b"")
    with pytest.raises(UserError, match=r"metrics\.jsonl: is 0 bytes long, but was \d+ .*--fresh"):
        StageRecorder(tmp_path, mark)


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    (tmp_path / SAMPLES).write_bytes(b'{"step": 1, "example": "a", "text": "b"}\n{"step": "two"}\n')
    with pytest.raises(UserError, match=r"samples\.jsonl, line 2: .*Expected `int`"):
        read_samples(tmp_path)
    assert read_metrics(tmp_path) == ()
