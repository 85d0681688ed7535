"""``grounding report``: a run again, by columns, and beside the paper's figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grounding.cards.places import published_dir
from grounding.cli import run as command_line
from grounding.scoring.published import read_published
from report.comparison.runs import run_folder


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return run_folder(tmp_path / "run", {"1": {"a": "+-u", "b": "+"}, "2": {"a": "-+"}})


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        command_line(["report", *map(str, arguments)])
    out, err = capsys.readouterr()
    return int(left.value.code or 0), out, err


def test_a_run_is_shown_again(capsys: pytest.CaptureFixture[str], run: Path) -> None:
    before = {path: path.read_bytes() for path in run.iterdir()}
    code, out, _ = call(capsys, run)
    assert code == 0
    assert "3/6 steps" in out
    assert "Wilson for task success" in out
    assert {path: path.read_bytes() for path in run.iterdir()} == before


def test_by_columns_with_counts(capsys: pytest.CaptureFixture[str], run: Path) -> None:
    code, out, _ = call(capsys, run, "--by", "participant", "position")
    assert code == 0
    for words in ("step accuracy by participant", "step accuracy by position", "macro: every group once", "2/4", "1/2"):
        assert words in out
    code, out, _ = call(capsys, run, "--by", "participant", "--json")
    (found,) = json.loads(out)
    assert [row["accuracy"]["n"] for row in found["breakdowns"][0]["rows"]] == [4, 2]
    assert call(capsys, run, "--by", "colour")[0] == 2
    assert call(capsys)[0] == 2


def test_the_papers_tables_with_marks_and_notes(capsys: pytest.CaptureFixture[str], run: Path) -> None:
    code, out, _ = call(capsys, run, "--published")
    assert code == 0
    for words in ("RealWebAssist, Table 2", "RealWebAssist, Table 3", "RealWebAssist, Table 4"):
        assert words in out
    (human,) = [line for line in out.splitlines() if line.startswith("│ Human Operator")]
    assert "93.4*" in human
    assert "96.4 " in human
    assert "no number of 107 tasks is 93.4 %" in out
    assert out.count("(this run, official)") == out.count("(this run, paper)") == 3
    assert "not comparable with the printed figures" in out


# --- the figures themselves -------------------------------------------------------------------------------------------

CELLS = {"realwebassist": 150, "percu": 51, "personalwab": 353, "agenticshop": 305}


@pytest.mark.parametrize("name", CELLS)
def test_every_cell_of_every_table_is_there_with_its_source(name: str) -> None:
    figures = read_published(published_dir() / f"{name}.csv")
    assert len(figures) == CELLS[name]
    # Word error rates stand in the text beside their table.
    in_tables = [one for one in figures if one.column != "word error rate"]
    assert all(one.source.endswith(f"Table {one.table}") for one in in_tables)
    assert all(one.note for one in figures if one.flag)


def test_flags_are_where_the_arithmetic_says_so() -> None:
    """No k of 107 rounds to a flagged task success; some k does to every other."""
    figures = read_published(published_dir() / "realwebassist.csv")
    possible = {round(100 * k / 107, 1) for k in range(108)}
    for one in figures:
        if one.column == "task success":
            assert (one.value not in possible) == bool(one.flag), one
    shop = read_published(published_dir() / "agenticshop.csv")
    shares = {}
    for one in shop:
        if one.table == "6" and one.column.endswith("of errors"):
            shares.setdefault(one.row, []).append(one)
    assert len(shares) == 8
    for row, pair in shares.items():
        whole = abs(sum(one.value for one in pair) - 100) < 0.011
        assert whole == (not any(one.flag for one in pair)), row
