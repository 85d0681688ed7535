"""``queue.json`` and ``progress.json``: what is written is read whole, from beside the folder and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import shell
from fakes.slow_server import slow_server

from grounding.errors import UserError
from grounding.run.display import (
    PROGRESS,
    QUEUE,
    QueuedRun,
    QueueState,
    folder_of,
    read_progress,
    read_queue,
    write_queue,
)


def queue(count: int = 3) -> QueueState:
    runs = tuple(QueuedRun(name=f"run {at}", run_id=f"id{at}", folder=f"results/id{at}") for at in range(count))
    return QueueState(command="grounding eval", started_at="2026-01-01T00:00:00Z", cost_limit_usd=2.5, runs=runs)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    changed = queue().with_run("id1", state="failed", problem="no server")
    write_queue(tmp_path / "new" / "sweep", changed)
    assert read_queue(tmp_path / "new" / "sweep") == changed
    assert [run.state for run in changed.runs] == ["waiting", "failed", "waiting"]
    assert [path.name for path in (tmp_path / "new" / "sweep").iterdir()] == [QUEUE]


@pytest.mark.parametrize("content", [b"", b"{", b'{"schema": 2}', b"[" * 100_000, b"\xff"])
def test_damaged_files_are_said_or_passed_over(tmp_path: Path, content: bytes) -> None:
    (tmp_path / QUEUE).write_bytes(content)
    with pytest.raises(UserError, match="not a queue of this version"):
        read_queue(tmp_path)
    (tmp_path / PROGRESS).write_bytes(content.replace(b"schema", b"done") or b"[")
    assert content == b'{"schema": 2}' or read_progress(tmp_path) is None


@pytest.mark.parametrize("folder", ["results/id1", "/elsewhere/id1", "../../id1", "id1", "", "..", "/"])
def test_runs_lie_beside_the_queue_and_nowhere_else(tmp_path: Path, folder: str) -> None:
    run = QueuedRun(name="n", run_id="id1", folder=folder)
    assert folder_of(tmp_path / "sweep", run) == tmp_path / "id1"


def test_a_run_says_how_far_it_is_while_it_is_at_work(bench: shell.Bench) -> None:
    bench.card.write_text(bench.card.read_text() + "price: {input_usd: 1000, output_usd: 1000, date: spring}\n")
    with slow_server() as server:
        server.let_go(20)
        process = bench.start(server)
        shell.wait_until(lambda: any(bench.results.glob(f"*/{PROGRESS}")), process)

        def done() -> int:
            found = read_progress(bench.run_folder)
            return found.done if found is not None else 0

        shell.wait_until(lambda: done() == 20, process)
        state = read_progress(bench.run_folder)
        assert state is not None
        assert (state.steps, sum(state.counts.values()), len(state.latest)) == (shell.STEPS, 20, 12)
        assert state.spent_usd == pytest.approx(20 * 0.11)
        process.kill()
        process.communicate()
        assert read_progress(bench.run_folder) is not None
        server.let_go(None)
        assert bench.call(server).returncode == 0
    # A run that has ended has its summary.
    assert read_progress(bench.run_folder) is None
    assert json.loads((bench.run_folder / "summary.json").read_text())["cost"]["usd"] == pytest.approx(90 * 0.11)
