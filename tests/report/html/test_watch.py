"""What the live page tells of runs: states, figures, names, whose command is gone, and what is damaged."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from grounding.cli.view import view_command
from grounding.errors import UserError
from grounding.report.html.live import write_overview
from grounding.report.html.watch import QUIET_S, STARTING_QUIET_S, Overview, Watch
from grounding.run.display import QUEUE, read_queue, write_queue
from grounding.run.lock import LockedFolder

from . import manyruns
from .test_page import data_of

HOSTILE = "</script><script>document.title='stolen'</script>"


def page_of(folder: Path) -> Overview:
    return Watch(folder).page(link=lambda key, _: f"run/{key}/", is_live=False)


def age(folder: Path, by_s: float = 2 * QUIET_S) -> None:
    """Make everything below a folder look as if nothing had moved for a while."""
    then = time.time() - by_s
    for path in [folder, *folder.rglob("*")]:
        os.utime(path, (then, then))


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """Four runs: complete, running, waiting, failed."""
    done = manyruns.begin(tmp_path / "r1", manyruns.asked("a", "x"))
    manyruns.answer(done, 40, "miss", "hit")
    manyruns.finish(done)
    manyruns.answer(manyruns.begin(tmp_path / "r2", manyruns.asked("a", "y")), 9, "hit")
    manyruns.say(tmp_path / "r2", {"hit": 10, "error": 2}, spent_usd=0.5, rate_per_s=2.0, retries=1)
    runs = [
        manyruns.queued("a + x", "r1", "complete", server="x"),
        manyruns.queued("a + y", "r2", "running", server="y"),
        manyruns.queued("b + x", "r3", "waiting", server="x", steps=50),
        manyruns.queued("b + y", "r4", "failed", server="y", problem=HOSTILE),
    ]
    manyruns.write(tmp_path / "matrix_1", runs, limit_usd=1.0)
    return tmp_path / "matrix_1"


def test_every_state_and_its_figures(sweep: Path) -> None:
    page = page_of(sweep)
    assert (page.writer, page.cost_limit_usd, page.title) == ("at work", 1.0, "matrix_1")
    assert [run.state for run in page.runs] == ["complete", "running", "waiting", "failed"]
    assert [(sum(run.counts.values()), run.steps) for run in page.runs] == [(36, 36), (12, 36), (0, 50), (0, 36)]
    assert [run.spent_usd for run in page.runs] == [pytest.approx(0.036), 0.5, None, None]
    first, second = page.runs[0].score, page.runs[1].score
    assert first is not None
    assert second is not None
    assert (first.value, first.is_final) == (pytest.approx(100 * 16 / 36), True)
    assert (second.value, second.is_final) == (pytest.approx(100 * 10 / 12), False)
    assert [run.link for run in page.runs] == ["run/0/", "run/1/", "", ""]
    at_work = page.runs[1]
    assert (at_work.rate_per_s, at_work.retries, len(at_work.latest)) == (2.0, 1, 1)


def test_a_command_that_is_gone_is_noticed_and_its_answers_are_counted(sweep: Path) -> None:
    age(sweep.parent)
    page = page_of(sweep)
    assert page.writer == "gone"
    assert [run.state for run in page.runs] == ["complete", "broken", "unbegun", "failed"]
    # What it said last is older than its last answers.
    assert (page.runs[1].counts, page.runs[1].rate_per_s, page.runs[1].latest) == ({"hit": 9}, None, ())


def test_a_run_that_is_starting_is_given_time(sweep: Path) -> None:
    write_queue(sweep, read_queue(sweep).with_run("r3", state="starting"))
    age(sweep.parent)
    assert page_of(sweep).writer == "at work"
    age(sweep.parent, 2 * STARTING_QUIET_S)
    assert page_of(sweep).writer == "gone"


@pytest.mark.parametrize("held", ["matrix_1", "r2"])
def test_a_held_lock_shows_that_a_command_is_there(sweep: Path, held: str) -> None:
    age(sweep.parent)
    folder = LockedFolder(sweep.parent / held)
    folder.lock()
    try:
        page = page_of(sweep)
        assert page.writer == "at work"
        assert page.runs[1].state == "running"
    finally:
        folder.release()


def test_a_run_that_ended_before_its_command_died_has_ended(sweep: Path) -> None:
    run = manyruns.begin(sweep.parent / "r3", manyruns.asked("b", "x"))
    manyruns.answer(run, 9, "hit")
    manyruns.finish(run, stopped="the cost limit is reached")
    age(sweep.parent)
    third = page_of(sweep).runs[2]
    assert (third.state, third.problem) == ("partial", "the cost limit is reached")
    # Steps that nobody was asked about are not through, and count in no figure.
    assert third.score is not None
    assert (third.counts, third.score.value, third.score.is_final) == ({"hit": 9}, 100.0, False)


def test_a_damaged_run_is_said_in_its_row_alone(sweep: Path) -> None:
    (sweep.parent / "r2" / "predictions.jsonl").write_text("{}\n")
    (sweep.parent / "r1" / "summary.json").write_text("{}")
    age(sweep.parent)
    page = page_of(sweep)
    assert "r1/summary.json" in page.runs[0].problem
    assert "r2/predictions.jsonl" in page.runs[1].problem
    (sweep / QUEUE).write_text("{}")
    with pytest.raises(UserError, match=r"queue\.json"):
        page_of(sweep)


def test_a_folder_of_runs_without_a_queue(sweep: Path) -> None:
    desktop = sweep.parent / "other"
    desktop.mkdir()
    (desktop / "run.json").write_text('{"benchmark": "desktop", "run_id": "other", "status": "partial"}')
    manyruns.begin(sweep.parent / "r5", manyruns.asked("a", "y", history=3))
    age(sweep.parent)
    held = LockedFolder(sweep.parent / "r5")
    held.lock()
    try:
        page = page_of(sweep.parent)
    finally:
        held.release()
    assert [(run.name, run.state) for run in page.runs] == [
        ("other", "partial"),
        ("a + x", "complete"),
        ("a + y (r2)", "broken"),
        ("a + y (r5)", "running"),
    ]
    assert page.writer == "at work"


def test_a_file_of_all_runs(sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "r1" / "report.html").write_text("a page")
    out = tmp_path / "pages & more" / "all.html"
    assert view_command(sweep, out=out) == 0
    assert capsys.readouterr().out == f"{out}\n"
    page = data_of(out)
    assert [run.get("link", "") for run in page["runs"]] == ["../r1/report.html", "", "", ""]
    assert HOSTILE not in out.read_text()
    assert out.read_text().count("<script") == 2
    assert write_overview(sweep, out) == out
    assert [path.name for path in out.parent.iterdir()] == ["all.html"]
    with pytest.raises(UserError, match="expected the name of a page"):
        view_command(sweep, out=tmp_path / "page.txt")
