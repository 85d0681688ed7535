"""A run as pandas frames and as Parquet files: every documented column; counts agree with the summary."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import shell

import grounding
from grounding.benchmarks.clicks.benchmark import BENCHMARK
from grounding.errors import UserError
from grounding.report import frames
from grounding.report.frames import COLUMNS, METRICS, write_parquet
from grounding.run.folder import RunFolder
from grounding.run.session import rescore
from report.comparison.runs import run_folder

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from bench.big_run import write_run

pytest.importorskip("pyarrow")
pytest.importorskip("fsspec")

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


@pytest.fixture
def big(tmp_path: Path) -> Path:
    """300 steps with labels; some answers took the place of others."""
    write_run(tmp_path / "big", 300, labelled=True)
    rescore(BENCHMARK, tmp_path / "big")
    return tmp_path / "big"


def test_the_files_hold_the_frame(big: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pandas as pd

    monkeypatch.setattr(frames, "ROWS_A_GROUP", 40)
    monkeypatch.setattr(frames, "ROWS_A_FILE", 120)
    written = write_parquet(big, f"{tmp_path / 'out'}")
    assert written == ["items-00000.parquet", "items-00001.parquet", "items-00002.parquet"]
    expected = grounding.load_run(big).frame()
    found = pd.concat([pd.read_parquet(tmp_path / "out" / one) for one in written], ignore_index=True)
    pd.testing.assert_frame_equal(found[list(expected.columns)].astype(expected.dtypes.to_dict()), expected)
    assert "group_platform" in expected.columns


def test_the_command_writes_anywhere_and_over_nothing(big: Path, tmp_path: Path) -> None:
    import fsspec

    def export(big: Path, out: str) -> str:
        done = shell.call("export", big, "--format", "parquet", "--out", out, module="grounding")
        assert "Traceback" not in done.stderr
        return done.stderr

    assert "items-00000.parquet" in export(big, f"file://{tmp_path}/a")
    assert "there are files already" in export(big, f"{tmp_path}/a")
    assert "can't be written" in export(big, "nosuch://bucket/x")
    desktop = shell.call("--dataset", "sample-desktop", "--grounder", "oracle", "--log-dir", tmp_path / "logs")
    assert desktop.returncode == 0, desktop.stderr
    assert "items-00000.parquet" in export(shell.run_folder(tmp_path / "logs"), f"{tmp_path}/items")
    write_parquet(big, "memory://bucket/big")
    assert len(fsspec.filesystem("memory").find("/bucket/big")) == 1


def test_a_run_never_scored_says_what_to_do(tmp_path: Path) -> None:
    write_run(tmp_path / "big", 20)
    done = shell.call("export", tmp_path / "big", "--format", "parquet", "--out", tmp_path / "x", module="grounding")
    assert (done.returncode, "grounding score" in done.stderr) == (2, True)
