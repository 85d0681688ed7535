"""Tables as Parquet: equal frames either way, and no stale file is ever read."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
import shell

import grounding
from grounding import parquet
from grounding.errors import UserError
from grounding.frames import COLUMNS, RunFrames
from grounding.parquet import fresh_table, keep_tables, write_tables
from grounding.scorebook import rescore

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

from bench.big_run import write_run

pytest.importorskip("pyarrow")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """300 steps with labels; some answers took the place of others."""
    write_run(tmp_path / "run", 300, labelled=True)
    rescore(tmp_path / "run")
    return tmp_path / "run"


def equal(one: RunFrames, other: RunFrames) -> None:
    from pandas.testing import assert_frame_equal

    for name in (*COLUMNS, "joined"):
        assert_frame_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("rows", [50_000, 7])
def test_frames_are_equal_whether_from_lines_or_from_parquet(
    run: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    monkeypatch.setattr(parquet, "ROWS_A_GROUP", rows)
    lines = grounding.load_run(run)
    assert [path.name for path in write_tables(run)] == [f"{name}.parquet" for name in COLUMNS]
    assert all(fresh_table(run, name) is not None for name in COLUMNS)
    assert "group_platform" in lines.steps.columns
    equal(grounding.load_run(run), lines)


def test_the_parquet_files_and_run_json_alone_are_a_run(run: Path, tmp_path: Path) -> None:
    lines = grounding.load_run(run)
    write_tables(run)
    (tmp_path / "sent").mkdir()
    for name in ("run.json", *(f"{name}.parquet" for name in COLUMNS)):
        shutil.copy(run / name, tmp_path / "sent" / name)
    equal(grounding.load_run(tmp_path / "sent"), lines)


def test_a_file_whose_source_has_changed_is_not_read_and_is_written_again(run: Path) -> None:
    write_tables(run)
    assert write_tables(run) == ()
    path = run / "predictions.jsonl"
    before = path.stat()
    content = path.read_bytes()
    path.write_bytes(content.replace(b'"seconds":1', b'"seconds":0', 1))
    assert path.stat().st_size == before.st_size
    assert fresh_table(run, "predictions") is None
    assert grounding.load_run(run).predictions.seconds.sum() < 300 * 2
    assert [made.name for made in write_tables(run)] == ["predictions.parquet"]
    with path.open("ab") as more:
        more.write(content.splitlines(keepends=True)[0])
    assert fresh_table(run, "predictions") is None


def test_another_time_of_change_alone_is_no_change(run: Path) -> None:
    write_tables(run)
    os.utime(run / "steps.jsonl", ns=(1, 1))
    assert fresh_table(run, "steps") is not None
    assert write_tables(run) == ()


def test_a_damaged_or_foreign_file_is_passed_over_where_the_lines_are_there(run: Path) -> None:
    lines = grounding.load_run(run)
    write_tables(run)
    (run / "plans.parquet").write_bytes(b"PAR1 not at all")
    equal(grounding.load_run(run), lines)
    (run / "plans.jsonl").unlink()
    with pytest.raises(UserError, match=r"plans\.jsonl"):
        grounding.load_run(run)


def test_without_pyarrow_the_lines_are_read_or_it_says_what_to_install(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = grounding.load_run(run)
    write_tables(run)
    monkeypatch.setattr(parquet, "is_installed", lambda: False)
    equal(grounding.load_run(run), lines)
    (run / "steps.jsonl").unlink()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UserError, match=r"grounding\[parquet\]"):
        grounding.load_run(run)


def test_a_run_never_scored_has_no_tables(tmp_path: Path) -> None:
    write_run(tmp_path, 20)
    with pytest.raises(UserError, match=r"verdicts\.jsonl.*grounding score"):
        write_tables(tmp_path)
    assert not list(tmp_path.glob(".*.new"))


def test_only_large_runs_and_those_that_have_some_get_the_files_unasked(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_tables(run, 300)
    assert not list(run.glob("*.parquet"))
    monkeypatch.setattr(parquet, "AUTOMATIC_ABOVE", 299)
    keep_tables(run, 300)
    assert len(list(run.glob("*.parquet"))) == 4
    with (run / "plans.jsonl").open("ab") as more:
        more.write((run / "plans.jsonl").read_bytes().splitlines(keepends=True)[0])
    keep_tables(run, 10)
    assert fresh_table(run, "plans") is not None


def test_the_command_writes_them(run: Path) -> None:
    done = shell.call("score", run, "--parquet", module="grounding.cli")
    assert (done.returncode, done.stderr) == (0, "")
    assert {path.name for path in run.glob("*.parquet")} == {f"{name}.parquet" for name in COLUMNS}
