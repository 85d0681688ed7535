"""The page over several runs: states, sums, names, and nothing that could be anything but text."""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec
import pytest

from grounding.errors import UserError
from grounding.lockedfolder import LockedFolder
from grounding.report.html.queuecontent import QueuePage
from grounding.report.html.queuegather import QUIET_S, STARTING_QUIET_S, QueueWatch, holds_runs
from grounding.report.html.queuenames import Unnamed, names_apart
from grounding.report.html.queuepage import render_queue, write_queue_page
from grounding.runqueue import QUEUE, read_queue, with_run, write_queue
from grounding.view import view_command

from . import queues
from .test_page import data_of

HOSTILE = "</script><script>document.title='stolen'</script>"


def page_of(folder: Path) -> QueuePage:
    return QueueWatch(folder).page(link=lambda key, _: f"run/{key}/", is_live=False)


def age(folder: Path, by_s: float = 2 * QUIET_S) -> None:
    """Make everything below a folder look as if nothing had moved for a while."""
    then = time.time() - by_s
    for path in [folder, *folder.rglob("*")]:
        os.utime(path, (then, then))


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """Four runs: complete, running, waiting, failed."""
    done = queues.begin(tmp_path / "r1", queues.asked("a", "x"))
    queues.answer(done.path, [queues.prediction(n, "hit" if n % 2 else "miss") for n in range(40) if n % 10 != 9])
    queues.finish(done)
    queues.begin(tmp_path / "r2", queues.asked("a", "y"))
    queues.answer(tmp_path / "r2", [queues.prediction(n) for n in range(9)])
    runs = [
        queues.queued("a + x", "r1", "complete", server="x"),
        queues.queued("a + y", "r2", "running", server="y"),
        queues.queued("b + x", "r3", "waiting", server="x", steps=50),
        queues.queued("b + y", "r4", "failed", server="y", problem=HOSTILE),
    ]
    queues.write(tmp_path / "matrix_1", runs, limit_usd=1.0)
    return tmp_path / "matrix_1"


def test_every_state_and_the_sums(sweep: Path) -> None:
    page = page_of(sweep)
    assert page.writer == "at work"
    assert [run.state for run in page.runs] == ["complete", "running", "waiting", "failed"]
    assert [(run.done, run.steps) for run in page.runs] == [(36, 36), (9, 36), (0, 50), (0, 36)]
    assert (page.done, page.steps) == (45, 158)
    assert page.spent_usd == pytest.approx(0.045)
    assert page.cost_limit_usd == 1.0
    first, second = page.runs[0].accuracy, page.runs[1].accuracy
    assert first is not None
    assert second is not None
    assert (first.value, first.k, first.n, first.is_final) == (pytest.approx(100 * 16 / 36), 16, 36, True)
    assert (second.value, second.k, second.n, second.is_final) == (100.0, 9, 9, False)
    assert [run.link for run in page.runs] == ["run/0/", "run/1/", "", ""]
    assert [(one.name, one.states, one.done, one.steps) for one in page.servers] == [
        ("x", {"complete": 1, "waiting": 1}, 36, 86),
        ("y", {"running": 1, "failed": 1}, 9, 72),
    ]
    assert page.matrix is not None
    assert (page.matrix.planners, page.matrix.grounders) == (("a", "b"), ("x", "y"))
    assert [[cell.keys for cell in row] for row in page.matrix.cells] == [[(0,), (1,)], [(2,), (3,)]]


def test_the_version_changes_with_what_is_shown_and_only_then(sweep: Path) -> None:
    watch = QueueWatch(sweep)
    link = "".format
    one, two = (watch.page(link=lambda *_: link(), is_live=True).version for _ in range(2))
    assert one == two
    queues.answer(sweep.parent / "r2", [queues.prediction(10)])
    assert watch.page(link=lambda *_: link(), is_live=True).version != one


def test_a_command_that_is_gone_is_noticed(sweep: Path) -> None:
    age(sweep.parent)
    page = page_of(sweep)
    assert page.writer == "gone"
    assert [run.state for run in page.runs] == ["complete", "broken", "unbegun", "failed"]
    assert page.left_s is None


def test_a_run_that_is_starting_is_given_time(sweep: Path) -> None:
    write_queue(sweep, with_run(read_queue(sweep), "r3", state="starting"))
    age(sweep.parent)
    assert page_of(sweep).writer == "at work"
    age(sweep.parent, 2 * STARTING_QUIET_S)
    assert page_of(sweep).writer == "gone"


@pytest.mark.parametrize("held", ["matrix_1", "r2"])
def test_whoever_holds_a_lock_is_there(sweep: Path, held: str) -> None:
    age(sweep.parent)
    folder = LockedFolder(sweep.parent / held)
    folder.lock()
    try:
        page = page_of(sweep)
        assert page.writer == "at work"
        assert page.runs[1].state == "running"
    finally:
        folder.release()


@pytest.mark.parametrize("moved", ["matrix_1/queue.json", "r2/predictions.jsonl", "r2/server.log"])
def test_whoever_writes_is_there_though_no_lock_can_be_seen(sweep: Path, moved: str) -> None:
    (sweep.parent / moved).touch()
    age(sweep.parent)
    os.utime(sweep.parent / moved)
    assert page_of(sweep).writer == "at work"


def test_a_run_that_ended_before_its_command_died_has_ended(sweep: Path) -> None:
    run = queues.begin(sweep.parent / "r3", queues.asked("b", "x"))
    queues.answer(run.path, queues.kinds(12))
    queues.finish(run, stopped="the cost limit is reached")
    age(sweep.parent)
    third = page_of(sweep).runs[2]
    assert (third.state, third.problem) == ("partial", "the cost limit is reached")
    # Steps that nobody was asked about are not through, and count in no figure.
    assert third.accuracy is not None
    assert (third.done, third.accuracy.n, third.accuracy.is_final) == (11, 11, False)


def test_a_damaged_run_is_said_in_its_row_alone(sweep: Path) -> None:
    (sweep.parent / "r2" / "predictions.jsonl").write_text("{}\n")
    (sweep.parent / "r1" / "summary.json").write_text("{}")
    page = page_of(sweep)
    assert "r1/summary.json" in page.runs[0].problem
    assert "r2/predictions.jsonl" in page.runs[1].problem
    (sweep / QUEUE).write_text("{}")
    with pytest.raises(UserError, match=r"queue\.json"):
        page_of(sweep)


def test_a_folder_of_runs_without_a_queue(sweep: Path) -> None:
    desktop = sweep.parent / "other"
    desktop.mkdir()
    (desktop / "run.json").write_text('{"benchmark": "desktop"}')
    queues.begin(sweep.parent / "r5", queues.asked("a", "y", history=3))
    age(sweep.parent)
    held = LockedFolder(sweep.parent / "r5")
    held.lock()
    try:
        page = page_of(sweep.parent)
    finally:
        held.release()
    assert [(run.name, run.state) for run in page.runs] == [
        ("a + x", "complete"),
        ("a + y · history 0", "broken"),
        ("a + y · history 3", "running"),
    ]
    assert page.writer == "at work"
    assert page.warnings == ("a folder is left out: runs that are not of clicks have pages of their own",)


def test_which_folders_hold_runs(sweep: Path, tmp_path: Path) -> None:
    assert holds_runs(sweep)
    assert holds_runs(sweep.parent)
    assert not holds_runs(sweep.parent / "r1")
    (tmp_path / "empty").mkdir()
    assert not holds_runs(tmp_path / "empty")
    with pytest.raises(UserError, match="holds no runs"):
        QueueWatch(tmp_path / "empty")


def test_names_are_told_apart_by_what_differs() -> None:
    def run(name: str, run_id: str, **changes: object) -> Unnamed:
        return Unnamed(name=name, asked=queues.asked("a", "b", **changes), run_id=run_id)

    waiting = Unnamed(name="n", asked=None, run_id="n_3")
    assert names_apart([run("n", "n_1", seed=1), run("n", "n_2", seed=2), waiting, run("m", "m_1")]) == (
        "n · seed 1",
        "n · seed 2",
        "n",
        "m",
    )
    assert names_apart([run("n", "n_1"), run("n", "n_2")]) == ("n (1)", "n (2)")
    assert names_apart([waiting, msgspec.structs.replace(waiting, run_id="n_4")]) == ("n (3)", "n (4)")


def test_texts_stand_in_the_page_as_texts(sweep: Path) -> None:
    text = render_queue(page_of(sweep))
    assert HOSTILE not in text
    assert text.count("<script") == 2
    assert "connect-src 'none'" in text
    assert "default-src 'none'" in text


def test_a_file_of_all_runs(sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "r1" / "report.html").write_text("a page")
    out = tmp_path / "pages & more" / "all.html"
    assert view_command(sweep, out=out) == 0
    assert capsys.readouterr().out == f"{out}\n"
    page = data_of(out)
    assert [run["link"] for run in page["runs"]] == ["../r1/report.html", "", "", ""]
    assert write_queue_page(sweep, out) == out
    assert [path.name for path in out.parent.iterdir()] == ["all.html"]
    with pytest.raises(UserError, match="expected the name of a page"):
        view_command(sweep, out=tmp_path / "page.txt")
