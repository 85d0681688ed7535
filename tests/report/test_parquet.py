"""``grounding export --format parquet``: what pandas reads of the files is the run's frame."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import shell

import grounding
from grounding.benchmarks.clicks.benchmark import BENCHMARK
from grounding.report import frames
from grounding.report.frames import write_parquet
from grounding.run.session import rescore

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from bench.big_run import write_run

pytest.importorskip("pyarrow")
pytest.importorskip("fsspec")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """300 steps with labels; some answers took the place of others."""
    write_run(tmp_path / "run", 300, labelled=True)
    rescore(BENCHMARK, tmp_path / "run")
    return tmp_path / "run"


def test_the_files_hold_the_frame(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pandas as pd

    monkeypatch.setattr(frames, "ROWS_A_GROUP", 40)
    monkeypatch.setattr(frames, "ROWS_A_FILE", 120)
    written = write_parquet(run, f"{tmp_path / 'out'}")
    assert written == ["items-00000.parquet", "items-00001.parquet", "items-00002.parquet"]
    expected = grounding.load_run(run).frame()
    found = pd.concat([pd.read_parquet(tmp_path / "out" / one) for one in written], ignore_index=True)
    pd.testing.assert_frame_equal(found[list(expected.columns)].astype(expected.dtypes.to_dict()), expected)
    assert "group_platform" in expected.columns


def test_the_command_writes_anywhere_and_over_nothing(run: Path, tmp_path: Path) -> None:
    import fsspec

    def export(run: Path, out: str) -> str:
        done = shell.call("export", run, "--format", "parquet", "--out", out, module="grounding")
        assert "Traceback" not in done.stderr
        return done.stderr

    assert "items-00000.parquet" in export(run, f"file://{tmp_path}/a")
    assert "there are files already" in export(run, f"{tmp_path}/a")
    assert "can't be written" in export(run, "nosuch://bucket/x")
    desktop = shell.call("--dataset", "sample-desktop", "--grounder", "oracle", "--log-dir", tmp_path / "logs")
    assert desktop.returncode == 0, desktop.stderr
    assert "items-00000.parquet" in export(shell.run_folder(tmp_path / "logs"), f"{tmp_path}/items")
    write_parquet(run, "memory://bucket/run")
    assert len(fsspec.filesystem("memory").find("/bucket/run")) == 1


def test_a_run_never_scored_says_what_to_do(tmp_path: Path) -> None:
    write_run(tmp_path / "run", 20)
    done = shell.call("export", tmp_path / "run", "--format", "parquet", "--out", tmp_path / "x", module="grounding")
    assert (done.returncode, "grounding score" in done.stderr) == (2, True)
