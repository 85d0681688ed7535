"""Exported tables: marks, escapes, and files that other programs read."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from grounding.cli import run as command_line
from grounding.report.export import comma_separated, export_table, latex, markdown, submission
from grounding.report.rows import read_rows
from report.comparison.runs import run_folder

TASKS = {str(number): "+--" if number % 3 else "---" for number in range(30)}
BETTER = {str(number): "++-" if number % 4 else "+++" for number in range(30)}


@pytest.fixture
def two(tmp_path: Path) -> list[Path]:
    return [
        run_folder(tmp_path / "base", {"1": dict(TASKS)}),
        run_folder(tmp_path / "better", {"1": dict(BETTER)}, grounder="a_b & 100% {x} | *y*"),
    ]


def test_the_best_is_bold_and_what_differs_has_a_dagger(two: list[Path]) -> None:
    base, better = export_table(two).rows
    assert [cell.best for cell in better.cells] == [True, True, True]
    assert [cell.is_significant for cell in better.cells] == [True, True, True]
    assert not any(cell.best or cell.is_significant for cell in base.cells)
    step_accuracy = better.cells[2]
    assert (step_accuracy.k, step_accuracy.n) == (68, 90)
    lines = markdown(export_table(two)).splitlines()
    assert "| **75.6**† [" in lines[3]
    assert "(68/90)" in lines[3]


def test_equal_runs_and_runs_over_other_data_have_no_best_and_no_dagger(tmp_path: Path, two: list[Path]) -> None:
    twin = run_folder(tmp_path / "twin", {"1": dict(TASKS)}, grounder="ocr")
    table = export_table([twin], baseline=two[0])
    assert [row.folder for row in table.rows] == [str(two[0]), str(twin)]
    assert not any(cell.best or cell.is_significant for row in table.rows for cell in row.cells)
    assert "Bold" not in markdown(table)
    other = run_folder(tmp_path / "other", {"1": {"a": "+"}}, fingerprint="g")
    table = export_table([two[0], other])
    assert len(table.rows) == 2
    assert not any(cell.best or cell.is_significant for row in table.rows for cell in row.cells)
    assert "not comparable" in table.notes[0]


def test_names_are_escaped(two: list[Path]) -> None:
    table = export_table(two)
    assert r"a\_b \& 100\% \{x\} \textbar{} *y*" in latex(table)
    assert r"a\_b \& 100% {x} \| \*y\*" in markdown(table)
    for text in (latex(table).split("\\midrule")[1].split("\\bottomrule")[0].strip(), markdown(table)):
        assert text.count("\n") >= 1
    rows = [line for line in latex(table).splitlines() if line.endswith("\\\\")]
    assert {line.replace("\\&", "").count("&") for line in rows} == {3}


def test_the_sheet_is_read_back_and_holds_no_formula(tmp_path: Path, two: list[Path]) -> None:
    evil = run_folder(tmp_path / "evil", {"1": dict(TASKS)}, planner="=1+1")
    rows = list(csv.DictReader(io.StringIO(comma_separated(export_table([*two, evil])))))
    assert len(rows) == 9
    assert float(rows[5]["value"]) == pytest.approx(100 * 68 / 90)
    assert rows[6]["planner"] == "'=1+1"
    assert rows[0]["p_holm"] == ""
    assert 0 < float(rows[5]["p_holm"]) < 0.05


def test_a_submission_has_one_line_a_run(two: list[Path]) -> None:
    rows = list(csv.DictReader(io.StringIO(submission([read_rows(path) for path in two]))))
    assert [row["step_accuracy k/n"] for row in rows] == ["20/90", "68/90"]
    assert rows[1]["step_accuracy"] == "75.56"
    assert rows[1]["signature"].startswith("dataset:d@f|")


def call(*arguments: object) -> int:
    with pytest.raises(SystemExit) as left:
        command_line(["export", *map(str, arguments)])
    return int(left.value.code or 0)


def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path, two: list[Path]) -> None:
    assert call(*two, "--format", "json") == 0
    assert len(json.loads(capsys.readouterr().out)["rows"]) == 2
    out = tmp_path / "table.tex"
    assert call(*two, "--format", "latex", "--out", out) == 0
    assert out.read_text(encoding="utf-8").startswith("% needs \\usepackage{booktabs}")
    assert call(*two, "--format", "latex", "--out", out) == 2
    assert "is there already" in capsys.readouterr().err
    assert call() == 2
    assert call(*two, "--submission") == 0
    assert capsys.readouterr().out.startswith("planner,grounder,dataset")


@pytest.mark.parametrize("more", [[], ["--out", "x.txt"]])
def test_a_log_of_inspect_needs_one_run_and_a_name(
    capsys: pytest.CaptureFixture[str], two: list[Path], more: list[str]
) -> None:
    assert call(two[0], "--format", "inspect", *more) == 2
    assert ".eval" in capsys.readouterr().err


@pytest.mark.needs("inspect")
@pytest.mark.parametrize("ending", [".eval", ".json"])
def test_inspect_reads_its_log_back(tmp_path: Path, two: list[Path], ending: str) -> None:
    from inspect_ai import log as logs

    out = tmp_path / f"run{ending}"
    assert call(two[1], "--format", "inspect", "--out", out) == 0
    log = logs.read_eval_log(str(out))
    assert (log.status, log.eval.task, len(log.samples)) == ("success", "d", 90)
    assert sum(sample.scores["click"].value == "C" for sample in log.samples) == 68
    assert log.results.scores[0].metrics["step_accuracy"].value == pytest.approx(100 * 68 / 90)
    assert log.samples[0].target == "(10, 10) to (20, 20)"
