"""A run as pandas frames: every documented column is there, and nothing else; counts agree with the summary."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import grounding
from grounding.errors import UserError
from grounding.report.frames import COLUMNS, METRICS
from grounding.run.folder import RunFolder
from report.comparison.runs import run_folder

LINES = {"1": {"a": "+-u", "b": "+"}, "2": {"a": "-+"}}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return run_folder(tmp_path / "run", LINES)


def test_the_figures_are_those_of_the_run(run: Path) -> None:
    loaded, summary = grounding.load_run(run), RunFolder(run).read_summary()
    frame = loaded.frame()
    assert [name for name in frame.columns if not name.startswith(("score_", "group_"))] == list(COLUMNS)
    assert len(frame) == summary.counts.steps == 6
    assert frame.is_hit.sum() == summary.counts.hit == 3
    assert 100 * frame.is_hit.mean() == pytest.approx(summary.scores.paper.step_accuracy.value)
    assert frame.outcome.value_counts().to_dict() == {"hit": 3, "miss": 2, "unparsed": 1}
    tasks = frame.groupby(["user", "task"]).is_hit.all()
    assert tasks.sum() == summary.scores.paper.task_success.k == 1
    first = frame.iloc[0]
    assert (first.x_px, first.plan, first.group_position) == (15, "click 1/1", "1")
    assert (first.gold_left_px, first.gold_bottom_px, first.screen_width_px) == (10, 20, 1920)
    assert loaded.info.run_id == "run"
    assert list(loaded.metrics.columns) == list(METRICS)
    whole = loaded.metrics[loaded.metrics.group_kind.isna()].set_index("metric")
    assert (whole.k["step_accuracy"], whole.n["step_accuracy"], whole.unit["task_success"]) == (3, 6, "%")
    of_2 = loaded.metrics[loaded.metrics.group == "2"].set_index("metric")
    assert (of_2.value["step_accuracy"], of_2.method["step_accuracy"]) == (50, "none")


def test_types_do_not_hang_on_what_is_missing(tmp_path: Path, run: Path) -> None:
    other = grounding.load_run(run_folder(tmp_path / "none", {"1": {"a": "u"}})).frame()
    frame = grounding.load_run(run).frame()
    assert frame.dtypes.equals(other.dtypes)
    assert (str(frame.is_hit.dtype), str(frame.x_px.dtype)) == ("boolean", "Float64")


def test_without_pandas_it_says_what_to_install(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UserError, match=r"grounding\[frames\]"):
        grounding.load_run(run).frame()


def test_no_run_and_no_scores(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a run folder"):
        grounding.load_run(tmp_path)
    with pytest.raises(UserError, match="grounding score"):
        grounding.load_run(run_folder(tmp_path / "raw", LINES, scored=False))
