"""``grounding view``: what it refuses, what it prints, and the page as a file."""

from __future__ import annotations

from pathlib import Path

import pytest
import shell

from grounding.analysis.labels import ErrorSplit, ErrorSplitLine, Opinion, Share, SourceSplit
from grounding.analysis.showing import write_split
from grounding.cli.view import view_command
from grounding.errors import UserError
from grounding.run.folder import RunFolder
from grounding.run.scorebook import weigh
from grounding.scoring.intervals import Interval

from .runs import make_run, write_report
from .test_page import data_of


def test_what_is_no_run_and_the_same_twice_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a run folder"):
        view_command(tmp_path)
    make_run(tmp_path / "run", 2)
    with pytest.raises(UserError, match="named twice"):
        view_command(tmp_path / "run", tmp_path / "x" / ".." / "run")


def test_two_runs_as_a_file_which_changes_nothing_in_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one", "two"):
        make_run(tmp_path / name, 3, grounder=name)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.json*")}
    assert view_command(tmp_path / "one", tmp_path / "two", out=tmp_path / "new" / "both.html") == 0
    assert capsys.readouterr().out == f"{tmp_path / 'new' / 'both.html'}\n"
    page = data_of(tmp_path / "new" / "both.html")
    assert [run["name"] for run in page["runs"]] == ["made · none + one", "made · none + two"]
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.json*")} == before
    assert page["title"] == "made · none + one and made · none + two"


def test_an_error_split_stands_on_the_page(tmp_path: Path) -> None:
    make_run(tmp_path / "run", 5)
    share = Share(k=1, n=2, percent=50.0, interval=Interval(low=9.5, high=90.5))
    split = ErrorSplit(
        run_id="run", signature="s", status="complete", scored=5, hits=3,
        wrong={"wrong_place": 2, "no_place": 0, "no_plan": 0, "no_gold": 0, "unanswered": 0},
        splits=(
            SourceSplit(source="judge", reasoning=share, grounding=share, unclear=0, unparsed=0, error=0, missing=0),
        ),
        agreement=(), participants=(), notes=(), labels=(), reference=None, judge=None,
    )  # fmt: skip
    said = Opinion(source="judge", step_id="1/3", said="reasoning", because="<b>wrong</b> thing")
    line = ErrorSplitLine(step_id="1/3", task="t", kind="wrong_place", instruction="i", plan="p", opinions=(said,))
    write_split(tmp_path / "run", split, [line])
    (run,) = data_of(write_report(weigh(RunFolder(tmp_path / "run"))))["runs"]
    assert run["steps"][2]["split"] == ["judge: reasoning (<b>wrong</b> thing)"]
    assert {fact["name"] for fact in run["mark_facts"]} == {"blame"}
    assert "reasoning 50.0 % (1/2) [9.5, 90.5]" in run["mark_facts"][0]["text"]


def test_a_run_writes_its_page_and_prints_where(bench: shell.Bench) -> None:
    without = bench.call(None, "--grounder", "center", "--limit", "3")
    assert "report   " not in without.stdout
    arguments = bench.args(None, "--grounder", "center", "--limit", "4")
    done = shell.run(*arguments, cwd=bench.folder, env={"GROUNDING_EVAL_NO_REPORT": "false"})
    assert (done.returncode, done.stderr) == (0, "")
    (printed,) = [line for line in done.stdout.splitlines() if line.startswith("report ")]
    page = bench.folder / printed.removeprefix("report").strip()
    assert page.name == "report.html"
    assert f"run folder {printed.removeprefix('report').strip().removesuffix('/report.html')}" in done.stdout
    assert len([step for step in data_of(page)["runs"][0]["steps"] if step["outcome"] != "none"]) == 4


def test_scoring_again_brings_the_page_up_to_date(tmp_path: Path) -> None:
    page = write_report(make_run(tmp_path / "run", 5))
    kept = data_of(page)["runs"][0]["metrics"][0]["count"]
    page.write_text("old")
    done = shell.call("score", tmp_path / "run", module="grounding")
    assert done.returncode == 0, done.stderr
    assert data_of(page)["runs"][0]["metrics"][0]["count"] == kept
    assert f"report     {page}" in done.stdout
