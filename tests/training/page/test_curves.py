"""Curves as files: one run, several with their median and range, groups, and what can't be drawn."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from PIL import Image

from grounding.errors import UserError
from grounding.training.page.curves import RunGroup, draw_curves, picture, run_group
from grounding.training.page.reading import read_metrics
from grounding.training.records import MetricsLine, StageInfo

from .folders import grpo_lines, run_info, stage_info, write_lines, write_run, write_stage


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    """Three seeds of one recipe."""
    found = []
    for seed in range(3):
        folder = write_run(tmp_path / f"seed-{seed}", run_info((stage_info("grpo", "grpo", 30, 30),)))
        write_stage(folder / "stages" / "grpo", grpo_lines(30, seed=seed, held_out_every=10))
        found.append(folder)
    return found


def test_one_run_is_written_as_png_and_svg(runs: list[Path], tmp_path: Path) -> None:
    written = draw_curves(runs[0], tmp_path / "docs" / "curves", fields=("reward",))
    assert [path.name for path in written] == ["curves.png", "curves.svg"]
    with Image.open(written[0]) as image:
        assert min(image.size) > 300
        assert len(image.getcolors(1 << 24) or ()) > 20
    svg = written[1].read_bytes()
    assert svg.startswith(b"<?xml")
    again = draw_curves(runs[0], tmp_path / "again.svg", fields=("reward",))
    assert again[0].read_bytes() == svg


def test_several_runs_are_a_median_and_their_range(runs: list[Path]) -> None:
    group = run_group("GRPO", runs)
    figure = picture([group], fields=("reward", "kl"), kinds=("train",))
    first = figure.axes[0]
    (line,) = [line for line in first.get_lines() if line.get_label() == "GRPO, train"]
    assert len(line.get_xdata()) == 30
    (band,) = first.collections
    (box,) = [band.get_datalim(first.transData)]
    assert box.y0 < min(line.get_ydata()) < max(line.get_ydata()) < box.y1
    assert "median of 3 runs" in figure.get_suptitle()


def test_gaps_are_gaps_and_spikes_are_said(tmp_path: Path) -> None:
    lines = [
        MetricsLine(step=step, epoch=0, loss=1e9 if step == 40 else None if step == 20 else 1.0 + step % 5)
        for step in range(1, 61)
    ]
    write_lines(tmp_path / "metrics.jsonl", lines)
    figure = picture([RunGroup(name="", runs=(read_metrics(tmp_path / "metrics.jsonl"),))])
    (panel,) = figure.axes
    assert panel.get_title(loc="left") == "Loss (1 values beyond)"
    assert panel.get_ylim()[1] < 100
    assert all(math.isnan(line.get_ydata()[19]) for line in panel.get_lines())


def test_what_cannot_be_drawn_is_said(runs: list[Path], tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"end in \.png or \.svg"):
        draw_curves(runs[0], tmp_path / "curves.pdf")
    with pytest.raises(UserError, match=r"no curve of preference_accuracy; measured were: .*reward"):
        draw_curves(runs, tmp_path / "curves.png", fields=("preference_accuracy",))
    with pytest.raises(UserError, match="stage 'dpo'"):
        draw_curves(runs[0], tmp_path / "curves.png", stage="dpo")
    empty = write_run(tmp_path / "empty", run_info((StageInfo(name="sft", method="sft"),)))
    with pytest.raises(UserError, match="nothing was measured in any stage"):
        draw_curves(empty, tmp_path / "curves.png")
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="can't be written"):
        draw_curves(runs[0], tmp_path / "file" / "curves.png", fields=("reward",))
