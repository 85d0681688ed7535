"""Measures `grounding eval` at one size: phases, windows, memory, files, a kill and its resume, re-scoring, reading."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import get_args

from scale_board import Board
from scale_processes import Child, Ended, completed, python
from scale_records import Command, CommandName, FileSize, Phase, Resumed, SizeRun, Window

from grounding.records import Record

HERE = Path(__file__).parent
TENTHS = range(10, 101, 10)
SETTLE_S = 0.5
AFTER_RESUME = 0.02
"""The share of all steps that a resumed run is watched over."""


class Setting(Record, frozen=True, kw_only=True):
    """What every run of a measurement shares. ``tree`` is the checkout whose package is measured."""

    tree: Path
    data: Path
    folder: Path
    steps: int
    distinct: bool
    connections: int
    picture_bytes: int = 0
    executor: str = "local"
    workers: int | None = None
    options: tuple[str, ...] = ()


@contextmanager
def server(setting: Setting, latency_s: float = 0.0) -> Iterator[tuple[str, Board]]:
    """A server and its board, both new."""
    path = setting.folder / "board"
    board = Board(path, setting.steps)
    command = python(str(HERE / "scale_server.py"), str(path), "--latency", str(latency_s))
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(setting.tree)}, text=True
    )
    try:
        port = json.loads(process.stdout.readline())["port"] if process.stdout else 0
        yield f"http://127.0.0.1:{port}/v1", board
    finally:
        process.terminate()
        process.wait()
        board.close()


def eval_command(setting: Setting, base_url: str, logs: Path, *more: str) -> list[str]:
    """`grounding eval` against the server."""
    command = python("-m", "grounding.eval", "--dataset", "realwebassist", "--data-dir", str(setting.data))
    command += ["--grounder", str(HERE / "fake-grounder.yaml"), "--base-url", base_url, "--log-dir", str(logs)]
    command += ["--max-connections", str(setting.connections), "--no-probe", "--display", "none"]
    if setting.executor != "local":
        command += ["--executor", setting.executor]
        command += [] if setting.workers is None else ["--workers", str(setting.workers)]
    return [*command, *setting.options, *more]


class Lived(Record, frozen=True, kw_only=True):
    """A process of a run, and between which moments it asked."""

    ended: Ended
    first_s: float
    last_s: float

    @property
    def wall_s(self) -> float:
        """How long it asked."""
        return self.last_s - self.first_s

    @property
    def cpu_s(self) -> float:
        """CPU seconds of that."""
        return self.ended.between(self.first_s, self.last_s)


def measure_size(
    setting: Setting, *, kill_within: bool = False, report: bool = True, resume: bool = True, commands: bool = True
) -> SizeRun:
    """A whole run, then a killed and resumed one, then what is done with the first.

    With ``kill_within`` the run itself is killed at half of its steps and started again, which spares the second one.
    """
    logs = setting.folder / "results"
    shutil.rmtree(logs, ignore_errors=True)
    load_average = os.getloadavg()[0]
    with server(setting) as (base_url, board):
        command = eval_command(setting, base_url, logs, *(() if report else ("--no-report",)))
        lives = [_killed(command, setting, board)] if kill_within else []
        killed_at = board.distinct
        ended = completed(command, tree=setting.tree)
        lives.append(Lived(ended=ended, first_s=board.first_s, last_s=board.last_s))
        run = run_folder(logs)
        if board.distinct != setting.steps:
            raise SystemExit(f"the server was asked about {board.distinct} steps of {setting.steps}:\n{ended.output}")
        phases, windows, requests = _phases(lives, run), _windows(lives, board), board.requests
        resumed = _resumed(setting, lives[-1], board, killed_at) if kill_within else None
    _tell(setting, phases, ended)
    return SizeRun(
        steps=setting.steps,
        distinct_pictures=setting.distinct,
        executor=setting.executor,
        connections=setting.connections,
        requests=requests,
        load_average=load_average,
        phases=phases,
        windows=windows,
        loaded_mb=lives[0].ended.at(lives[0].first_s).rss_mb,
        peak_mb=max(life.ended.peak_mb for life in lives),
        files=run_files(run),
        resumed=measure_resume(setting) if resume and not kill_within else resumed,
        commands=measure_commands(setting, run) if commands else (),
    )


def _killed(command: list[str], setting: Setting, board: Board) -> Lived:
    """Run a command until half of the steps were asked about, and kill it."""
    child = Child(command, tree=setting.tree)
    child.wait_until(lambda: board.distinct >= setting.steps // 2)
    child.send(signal.SIGKILL)
    ended = child.wait()
    life = Lived(ended=ended, first_s=board.first_s, last_s=board.last_s)
    # What the server still reads of the killed process comes before the next one's first request.
    time.sleep(SETTLE_S)
    board.forget_first()
    return life


def _resumed(setting: Setting, second: Lived, board: Board, killed_at: int) -> Resumed:
    resumed = Resumed(
        killed_at_steps=killed_at,
        ready_s=second.first_s - second.ended.started_s,
        ready_cpu_s=second.ended.at(second.first_s).cpu_s,
        asked_twice=board.asked_twice(),
        watched_steps=board.distinct,
        in_flight_most=setting.connections,
        peak_mb=second.ended.peak_mb,
    )
    words = f"resumed after {resumed.ready_s:.1f} s ({resumed.ready_cpu_s:.1f} CPU), {resumed.asked_twice} asked twice"
    print(f"  {words}", file=sys.stderr, flush=True)
    return resumed


def _tell(setting: Setting, phases: tuple[Phase, ...], ended: Ended) -> None:
    words = ", ".join(f"{phase.name} {phase.wall_s:.1f} s ({phase.cpu_s:.1f} CPU)" for phase in phases)
    print(
        f"{setting.steps:,} steps, {setting.executor}: {words}; peak {ended.peak_mb:.0f} MB",
        file=sys.stderr,
        flush=True,
    )


def run_folder(logs: Path) -> Path:
    """The one run in a folder of runs."""
    (run,) = (path for path in logs.iterdir() if (path / "run.json").exists() and ".old" not in path.name)
    return run


def _phases(lives: Sequence[Lived], run: Path) -> tuple[Phase, ...]:
    first, last = lives[0], lives[-1]
    # A file's time is the day's, a request's that of the monotonic clock.
    scored_s = (run / "summary.json").stat().st_mtime + time.monotonic() - time.time()
    scored_s = min(max(last.last_s, scored_s), last.ended.ended_s)
    start_s, end_s = first.ended.started_s, last.ended.ended_s
    return (
        Phase(name="load", wall_s=first.first_s - start_s, cpu_s=first.ended.between(start_s, first.first_s)),
        Phase(name="ask", wall_s=sum(life.wall_s for life in lives), cpu_s=sum(life.cpu_s for life in lives)),
        Phase(name="score", wall_s=scored_s - last.last_s, cpu_s=last.ended.between(last.last_s, scored_s)),
        Phase(name="report", wall_s=end_s - scored_s, cpu_s=last.ended.between(scored_s, end_s)),
    )


def _windows(lives: Sequence[Lived], board: Board) -> tuple[Window, ...]:
    moments, steps = board.moments(), board.steps / 10
    found = []
    for until in TENTHS:
        life = next((one for one in lives if moments[until] <= one.last_s), lives[-1])
        start, end = max(moments[until - 10], life.first_s), moments[until]
        found.append(
            Window(
                until_percent=until,
                steps_per_s=steps / max(1e-9, end - start),
                cpu_ms_per_step=life.ended.between(start, end) / steps * 1000,
                rss_mb=life.ended.at(end).rss_mb,
            )
        )
    return tuple(found)


def run_files(run: Path) -> tuple[FileSize, ...]:
    """What lies in a run folder."""
    sizes = {
        path.name: sum(one.stat().st_size for one in path.rglob("*") if one.is_file())
        if path.is_dir()
        else path.stat().st_size
        for path in run.iterdir()
    }
    return tuple(FileSize(name=name, bytes=sizes[name]) for name in sorted(sizes))


def measure_resume(setting: Setting) -> Resumed:
    """Kill a run when half of its steps were asked about, start it again, and stop it when it has gone on a little."""
    logs = setting.folder / "resumed"
    shutil.rmtree(logs, ignore_errors=True)
    with server(setting) as (base_url, board):
        command = eval_command(setting, base_url, logs, "--no-report")
        _killed(command, setting, board)
        killed_at = board.distinct
        stop_at = min(setting.steps, killed_at + max(500, int(setting.steps * AFTER_RESUME)))
        again = Child(command, tree=setting.tree)
        again.wait_until(lambda: board.distinct >= stop_at)
        again.send(signal.SIGKILL)
        second = Lived(ended=again.wait(), first_s=board.first_s, last_s=board.last_s)
        resumed = _resumed(setting, second, board, killed_at)
    shutil.rmtree(logs, ignore_errors=True)
    return resumed


LOAD_RUN = "import sys, grounding; print(len(grounding.load_run(sys.argv[1]).joined))"


COMMANDS: tuple[CommandName, ...] = get_args(CommandName)


def measure_commands(setting: Setting, run: Path, only: Sequence[CommandName] = COMMANDS) -> tuple[Command, ...]:
    """Re-scoring without the page and with it, and reading the run as frames: from JSON lines, and from Parquet."""
    again = python("-m", "grounding.cli", "score", str(run), "--json")
    reading = python("-c", LOAD_RUN, str(run))
    commands: dict[CommandName, list[str]] = {
        "rescore": again,
        "load_run": reading,
        "write_parquet": [*again, "--parquet"],
        "load_run_parquet": reading,
        "rescore_report": again,
    }
    found = []
    for name in (name for name in COMMANDS if name in only):
        # A page that is there is written again, and tables that are there are read.
        if name in ("rescore", "load_run", "write_parquet"):
            for path in (*run.glob("*.parquet"), *run.glob("report.html")):
                path.unlink()
        if name == "rescore_report":
            (run / "report.html").touch()
        found.append(_command(name, commands[name], setting))
    return tuple(found)


def _command(name: CommandName, command: list[str], setting: Setting) -> Command:
    ended = completed(command, tree=setting.tree)
    print(f"  {name} {ended.wall_s:.1f} s ({ended.cpu_s:.1f} CPU), {ended.peak_mb:.0f} MB", file=sys.stderr, flush=True)
    return Command(name=name, wall_s=ended.wall_s, cpu_s=ended.cpu_s, peak_mb=ended.peak_mb)
