"""Folders of runs compared: the figures, what is refused, and what a person reads."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
import shell

from grounding.cli import run as command_line
from grounding.errors import UserError
from grounding.records import Box, Region
from grounding.report.compare import compare_runs
from grounding.run.display import QueuedRun, QueueState, write_queue
from grounding.run.folder import RunFolder
from grounding.scoring.paired import holm, minimum_detectable
from report.comparison.runs import Lines, run_folder

BASE: Lines = {"1": {"a": "+-+-", "b": "--+"}, "2": {"a": "++-", "c": "-u"}}
BETTER: Lines = {"1": {"a": "++++", "b": "--+"}, "2": {"a": "++-", "c": "+-"}}


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    return run_folder(tmp_path / "base", BASE), run_folder(tmp_path / "better", BETTER, grounder="ocr")


def test_the_difference_and_its_flips(two: tuple[Path, Path]) -> None:
    result = compare_runs(two)
    (run,) = result.runs
    assert (result.baseline, run.name) == ("none + center", "none + ocr")
    found = {each.metric: each for each in run.metrics}
    steps = found["step_accuracy"]
    assert (steps.k, steps.n, steps.baseline_k, steps.baseline_n) == (8, 12, 5, 12)
    assert steps.difference == pytest.approx(25.0)
    assert found["task_success"].difference == pytest.approx(25.0)
    assert [(flip.step_id, flip.baseline_outcome, flip.outcome) for flip in run.flips] == [
        ("1/2", "miss", "hit"),
        ("1/4", "miss", "hit"),
        ("2/4", "miss", "hit"),
    ]
    by_steps, by_tasks = run.tests
    assert (by_steps.test.won, by_steps.test.lost, by_steps.test.n, by_steps.least) == (3, 0, 12, 6)
    assert (by_tasks.test.won, by_tasks.test.lost, by_tasks.test.n, by_tasks.least) == (1, 0, 4, None)
    assert by_steps.test.p == pytest.approx(0.25)


def test_the_corrections_are_over_all_runs(tmp_path: Path, two: tuple[Path, Path]) -> None:
    third = run_folder(tmp_path / "third", BASE, grounder="random")
    result = compare_runs([*two, third])
    drawn = [each for run in result.runs for each in run.metrics]
    assert holm([each.p or 0 for each in drawn]) == pytest.approx([each.p_holm for each in drawn])
    same = result.runs[1]
    assert all(each.difference == 0 and each.p == 1.0 for each in same.metrics)
    assert all(each.low is None and each.detectable is None for each in same.metrics)
    assert same.flips == ()


def test_what_is_detectable_comes_from_the_spread_of_the_draws(tmp_path: Path) -> None:
    marks = ["+-"[number % 2] * 3 for number in range(40)]
    base = run_folder(tmp_path / "a", {"1": dict(enumerate(marks))})
    other = run_folder(tmp_path / "b", {"1": dict(enumerate(marks[1:] + marks[:1]))}, grounder="ocr")
    (run,) = compare_runs([base, other]).runs
    steps = run.metrics[0]
    # Every task changes as a whole, half of them each way: differences of +100 and -100 in 40 clusters.
    assert steps.detectable == pytest.approx(minimum_detectable(100 / 40**0.5), rel=0.03)
    assert steps.p is not None
    assert steps.p > 0.9


def test_participants_are_drawn_as_wholes(two: tuple[Path, Path]) -> None:
    result = compare_runs(two, clusters="participant")
    steps = result.runs[0].metrics[0]
    # Two people: the draws are one of them twice, or both.
    assert (steps.low, steps.high) == pytest.approx((20.0, 200 / 7))
    assert any("only 2 participants" in warning for warning in result.warnings)


def test_wald_intervals_are_only_for_what_is_counted(two: tuple[Path, Path]) -> None:
    found = {each.metric: each for each in compare_runs(two, intervals="wald").runs[0].metrics}
    assert found["average_progress"].low is None
    assert found["step_accuracy"].low == pytest.approx(25 - 195.9964 * ((8 * 4 + 5 * 7) / 144 / 12) ** 0.5)


# --- what can't be compared -----------------------------------------------------------------------------------------


def test_other_data_is_refused_and_can_be_forced(tmp_path: Path, two: tuple[Path, Path]) -> None:
    part: Lines = {"1": {"a": "++++"}}
    other = run_folder(tmp_path / "other", part, fingerprint="g", dataset="e")
    with pytest.raises(UserError) as refused:
        compare_runs([two[0], other])
    for words in ("the data set: e and d", "fingerprint g and f", "8 are only in the baseline", "--force"):
        assert words in str(refused.value)
    (run,) = compare_runs([two[0], other], force=True).runs
    assert (run.steps, run.tasks, run.left_out) == (4, 1, 8)
    assert len(run.differs) == 3
    assert run.metrics[0].k == 4


def test_other_regions_and_other_scoring_are_named(tmp_path: Path, two: tuple[Path, Path]) -> None:
    wide = Region(boxes=(Box(left_px=0, top_px=0, right_px=20, bottom_px=20),))
    moved = run_folder(tmp_path / "moved", BETTER, region=wide)
    with pytest.raises(UserError, match="what is right: another answer at 12 steps, such as 1/1"):
        compare_runs([two[0], moved])
    folder = RunFolder(two[1])
    summary = folder.read_summary()
    old = summary.signature.replace("scoring:", "scoring:older-")
    folder.write_summary(msgspec.structs.replace(summary, signature=old))
    with pytest.raises(UserError, match="the definition of the scores: older-"):
        compare_runs(two)


def test_one_run_alone_and_one_without_scores(tmp_path: Path, two: tuple[Path, Path]) -> None:
    with pytest.raises(UserError, match="at least two runs"):
        compare_runs([two[0], two[0]])
    with pytest.raises(UserError, match="grounding score"):
        compare_runs([two[0], run_folder(tmp_path / "raw", BASE, scored=False)])


# --- the command ----------------------------------------------------------------------------------------------------


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        command_line(["compare", *map(str, arguments)])
    out, err = capsys.readouterr()
    return int(left.value.code or 0), out, err


def test_the_command_prints_tables_and_flips(capsys: pytest.CaptureFixture[str], two: tuple[Path, Path]) -> None:
    code, out, _ = call(capsys, *two, "--flips")
    assert code == 0
    for words in ("none + ocr minus none + center", "66.7 % (8/12)", "+25.0 [", "3 won, 0 lost of 12, p = 0.2500"):
        assert words in out
    assert "1/4" in out
    assert "too few for p < 0.05 ever" in out
    page = two[0].parent / Path(out.rsplit("page       ", 1)[1].strip()).name
    assert '"+25.0 [' in page.read_text()


def test_the_command_as_json_and_its_refusal(capsys: pytest.CaptureFixture[str], two: tuple[Path, Path]) -> None:
    code, out, _ = call(capsys, *two, "--json")
    assert code == 0
    found = json.loads(out)
    assert found["runs"][0]["metrics"][0]["k"] == 8
    assert len(found["runs"][0]["flips"]) == 3
    code, out, err = call(capsys)
    assert (code, out) == (2, "")
    assert "which runs?" in err
    assert call(capsys, two[0], two[1] / "gone")[0] == 2


def test_the_folder_of_a_command_stands_for_its_runs(
    two: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    matrix, dry = two[0].parent / "matrix_1", two[0].parent / "dry-run_1"
    runs = tuple(QueuedRun(name=each.name, run_id=each.name, folder=str(each)) for each in two)
    write_queue(matrix, QueueState(command="", started_at="", runs=runs))
    dry.mkdir(exist_ok=True)
    (dry / "estimate.json").write_text("{}")
    _, named, _ = call(capsys, *two, "--json")
    assert call(capsys, dry, *two, matrix, "--json")[1] == named == call(capsys, matrix, "--json")[1]
    # A folder that holds runs is all of its scored ones.
    assert call(capsys, two[0].parent, "--baseline", two[0], "--json")[1] == named
    assert call(capsys, dry)[0] == 2


# --- desktop tasks ----------------------------------------------------------------------------------------------------


def test_desktop_runs_are_compared_by_the_papers_rule(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, two: tuple[Path, Path]
) -> None:
    for agent in ("oracle", "repeat-last"):
        done = shell.call(
            "--dataset", "sample-desktop", "--grounder", agent, "--limit", "40", "--log-dir", tmp_path / "d"
        )
        assert done.returncode == 0, done.stderr
    runs = {path.name.split("_")[1]: path for path in (tmp_path / "d").iterdir()}
    result = compare_runs([runs["repeat-last"], runs["oracle"]])
    (run,) = result.runs
    rules = ["step_accuracy", "official_accuracy", "strict_accuracy"]
    assert [each.metric for each in run.metrics] == rules
    summary = json.loads((runs["repeat-last"] / "summary.json").read_text())
    micro = summary["scores"]["paper"]["micro"]
    steps = run.metrics[0]
    assert (steps.k, steps.n) == (40, 40)
    assert (steps.baseline_k, steps.baseline_n) == (micro.get("k", 0), micro["n"])
    assert run.tests[0].test.won == len(run.flips) == 40 - (steps.baseline_k or 0)
    with pytest.raises(UserError, match="no participants"):
        compare_runs(list(runs.values()), clusters="participant")
    with pytest.raises(UserError, match="the benchmark: clicks and desktop"):
        compare_runs([runs["repeat-last"], two[0]])
    with pytest.raises(SystemExit):
        command_line(["report", str(runs["repeat-last"]), "--published"])
    out = capsys.readouterr().out
    assert "PERCU, Table 2" in out
    assert "31.61*" in out
    assert "repeat-last, memory" in out
