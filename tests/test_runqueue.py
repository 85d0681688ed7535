from __future__ import annotations

import threading
from pathlib import Path

import pytest

from grounding.errors import UserError
from grounding.lockedfolder import LockedFolder
from grounding.runqueue import (
    QUEUE,
    QueuedRun,
    QueueState,
    counted,
    folder_of,
    is_held,
    read_queue,
    waiting_by_server,
    with_run,
    write_queue,
)


def queue(count: int = 3) -> QueueState:
    runs = tuple(
        QueuedRun(name=f"run {at}", run_id=f"id{at}", folder=f"results/id{at}", steps=at, server="s" if at else "")
        for at in range(count)
    )
    return QueueState(command="grounding eval", started_at="2026-01-01T00:00:00Z", cost_limit_usd=2.5, runs=runs)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write_queue(tmp_path / "new" / "sweep", queue())
    assert read_queue(tmp_path / "new" / "sweep") == queue()
    assert [path.name for path in (tmp_path / "new" / "sweep").iterdir()] == [QUEUE]


def test_a_run_is_changed_by_its_name_or_its_id() -> None:
    changed = with_run(with_run(queue(), "run 1", state="running"), "id2", state="failed", problem="no server")
    assert counted(changed) == {"waiting": 1, "running": 1, "failed": 1}
    assert changed.runs[2].problem == "no server"
    assert waiting_by_server(changed) == {"": 1}
    assert not changed.is_over
    assert queue(0).is_over


def test_what_is_no_run_and_what_is_no_state_are_refused() -> None:
    twice = QueueState(command="c", started_at="", runs=(queue().runs[0],) * 2)
    for state, name in ((queue(), "run 9"), (twice, "run 0")):
        with pytest.raises(KeyError, match="runs of the queue are called"):
            with_run(state, name, state="running")
    with pytest.raises(ValueError, match="never 'done'"):
        with_run(queue(), "run 1", state="done")


@pytest.mark.parametrize("content", [b"", b"{", b'{"schema": 2}', b"[" * 100_000, b"\xff"])
def test_a_damaged_queue_is_said(tmp_path: Path, content: bytes) -> None:
    (tmp_path / QUEUE).write_bytes(content)
    with pytest.raises(UserError, match="not a queue of this version"):
        read_queue(tmp_path)


def test_a_folder_without_a_queue_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a folder of several runs"):
        read_queue(tmp_path)


def test_a_queue_that_can_not_be_written_is_said_and_leaves_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"queue\.json: can't be written"):
        write_queue(tmp_path / "file", queue())


@pytest.mark.parametrize("folder", ["results/id1", "/elsewhere/id1", "../../id1", "id1"])
def test_runs_lie_beside_the_queue_wherever_it_is(tmp_path: Path, folder: str) -> None:
    run = QueuedRun(name="n", run_id="id1", folder=folder)
    assert folder_of(tmp_path / "sweep", run) == tmp_path / "id1"


@pytest.mark.parametrize("folder", ["", "..", "/"])
def test_a_folder_that_names_nothing_leads_nowhere_else(tmp_path: Path, folder: str) -> None:
    run = QueuedRun(name="n", run_id="id1", folder=folder)
    assert folder_of(tmp_path / "sweep", run) == tmp_path / "id1"


def test_readers_find_one_whole_queue_while_several_write(tmp_path: Path) -> None:
    sizes = (1, 400)
    write_queue(tmp_path, queue(sizes[0]))
    stop = threading.Event()

    def writing(count: int) -> None:
        while not stop.is_set():
            write_queue(tmp_path, queue(count))

    writers = [threading.Thread(target=writing, args=(size,)) for size in sizes]
    for writer in writers:
        writer.start()
    try:
        found = {len(read_queue(tmp_path).runs) for _ in range(200)}
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    assert found <= set(sizes)
    assert [path.name for path in tmp_path.iterdir()] == [QUEUE]


def test_a_lock_is_seen_and_not_taken_away(tmp_path: Path) -> None:
    folder = LockedFolder(tmp_path / "run")
    assert not is_held(tmp_path / "run")
    folder.create()
    assert is_held(tmp_path / "run")
    folder.release()
    assert not is_held(tmp_path / "run")
    folder.lock()
    folder.release()
