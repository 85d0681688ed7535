"""Start a stage on several devices by ``accelerate launch``, follow its record, and stop it when asked."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from grounding.errors import UserError
from grounding.records import Record
from grounding.training.loop.arguments import CHECKPOINTS
from grounding.training.loop.checkpoints import last_whole
from grounding.training.loop.progress import StageProgress
from grounding.training.loop.quiet import LOG
from grounding.training.loop.recorder import METRICS, SAMPLES
from grounding.training.loop.records import Builder, Launch
from grounding.training.loop.stagefile import RESULT, read_result
from grounding.training.loop.stopping import StopSwitch
from grounding.training.records import MetricsLine, SampleLine

STOP_FILE = "stop"
"""While this file is in a stage's folder, its workers save and end after their next step."""

LOCK_FILE = ".workers"
"""Held by the launcher: where the commanding process was killed, its workers may still be saving."""

LineT = TypeVar("LineT", bound=Record)

_POLL_S = 0.3
_PATIENCE_S = 20.0


def builder_name(build: Builder) -> str:
    """How another process finds a builder: ``module:function``.

    Raises:
        UserError: it is not a function at the top level of a module.
    """
    module, name = getattr(build, "__module__", ""), getattr(build, "__qualname__", "<")
    if module in ("", "__main__") or not name.isidentifier():
        raise UserError(
            f"training in several processes needs a builder at the top level of a module, not {module}.{name}"
        )
    return f"{module}:{name}"


def launch_command(folder: Path, build: Builder, launch: Launch, *, on_cpu: bool) -> list[str]:
    """The command line that starts the workers of a stage."""
    command = [sys.executable, "-m", "accelerate.commands.launch"]
    if launch.accelerate_config is not None:
        command += ["--config_file", launch.accelerate_config]
        if launch.processes is not None:
            command += ["--num_processes", str(launch.processes)]
    else:
        # accelerate's own way for CPUs needs MPI; its way for GPUs starts processes, whatever they then compute on.
        command += ["--num_processes", str(launch.processes), "--multi_gpu", "--num_machines", "1"]
        command += ["--mixed_precision", "no", "--dynamo_backend", "no"]
    if on_cpu:
        share = str(max(1, (os.cpu_count() or 1) // (launch.processes or 1)))
        command += ["--num_cpu_threads_per_process", os.environ.get("OMP_NUM_THREADS", share)]
    if launch.accelerate_config is None:
        command += ["--main_process_port", "0"]
    command += ["-m", "grounding.training.loop.worker", str(folder)]
    return [*command, "--build", builder_name(build), "--parent", str(os.getpid())]


def failure_file(folder: Path, process: int) -> Path:
    """Where a worker leaves the sentence about what went wrong."""
    return folder / f".failure-{process}.json"


def run_workers(
    folder: Path, build: Builder, launch: Launch, *, on_cpu: bool, stop: StopSwitch, progress: StageProgress
) -> None:
    """Start the workers of a stage and wait for them; Ctrl-C lets them save and end, a second one ends them.

    Raises:
        UserError: a worker failed (what it said, or how it ended), or those of an earlier run are still there.
    """
    with _lock(folder) as lock:
        _run(folder, build, launch, on_cpu=on_cpu, stop=stop, progress=progress, lock=lock)


@contextlib.contextmanager
def _lock(folder: Path) -> Iterator[int]:
    """A file that nobody else holds, and that whoever inherits it holds too."""
    handle = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(
                f"{folder}: workers of an earlier run are still at work there; they save and end after their step"
            ) from error
        yield handle
    finally:
        os.close(handle)


def _run(
    folder: Path, build: Builder, launch: Launch, *, on_cpu: bool, stop: StopSwitch, progress: StageProgress, lock: int
) -> None:
    for left in (folder / STOP_FILE, *folder.glob(".failure-*.json")):
        left.unlink(missing_ok=True)
    follower = _Follower(folder, progress)
    with (folder / LOG).open("ab") as log:
        # In a session of its own: a terminal's Ctrl-C must not reach the launcher, which would kill the workers.
        launcher = subprocess.Popen(
            launch_command(folder, build, launch, on_cpu=on_cpu),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            pass_fds=(lock,),
            # Workers find the modules that this process finds, among them that of the builder.
            env={**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        try:
            with stop.deferring():
                while launcher.poll() is None:
                    if stop.asked and not (folder / STOP_FILE).exists():
                        (folder / STOP_FILE).touch()
                    follower.look()
                    time.sleep(_POLL_S)
        finally:
            _end(launcher)
            (folder / STOP_FILE).unlink(missing_ok=True)
    follower.look()
    if launcher.returncode != 0:
        raise UserError(why_it_failed(folder, launcher.returncode))


class _Follower:
    """Shows what the first worker writes into the record after the checkpoint that it goes on from."""

    def __init__(self, folder: Path, progress: StageProgress) -> None:
        checkpoint = last_whole(folder / CHECKPOINTS)
        mark = checkpoint.mark if checkpoint is not None else None
        self._folder, self._progress = folder, progress
        self._metrics = _Tail(folder / METRICS, mark.metrics_bytes if mark else 0, MetricsLine)
        self._samples = _Tail(folder / SAMPLES, mark.samples_bytes if mark else 0, SampleLine)
        # What an earlier attempt wrote behind the checkpoint is cut off when the first worker begins.
        self._earlier = _age(folder / RESULT)

    def look(self) -> None:
        if _age(self._folder / RESULT) == self._earlier:
            return
        result = read_result(self._folder)
        if result is None:
            return
        for line in self._metrics.new():
            self._progress.metrics(line, result.steps)
        for sample in self._samples.new():
            self._progress.sample(sample)


class _Tail(Generic[LineT]):
    """The lines that are added to a file."""

    def __init__(self, path: Path, begin: int, line_type: type[LineT]) -> None:
        self._path, self._at = path, begin
        self._decoder = msgspec.json.Decoder(line_type)

    def new(self) -> list[LineT]:
        try:
            with self._path.open("rb") as file:
                file.seek(self._at)
                whole = file.read().rpartition(b"\n")[0]
        except FileNotFoundError:
            return []
        if not whole:
            return []
        self._at += len(whole) + 1
        return [self._decoder.decode(line) for line in whole.split(b"\n")]


def _age(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


_ECHOES = ("connection reset", "connection closed", "broken pipe", "remote process exited", "connection was closed")
"""What workers say of another one that is gone."""


def why_it_failed(folder: Path, returncode: int) -> str:
    """What the first worker that failed said; where none said what happened, how the launcher ended."""
    said = [msgspec.json.decode(path.read_bytes(), type=str) for path in sorted(folder.glob(".failure-*.json"))]
    causes = [text for text in said if not any(echo in text.lower() for echo in _ECHOES)]
    if causes:
        return causes[0]
    return (
        f"stage {folder.name}: a worker ended without a word (the launcher's exit code is {returncode}); where it was "
        f"killed, memory may have run out. Its last words are in {folder / LOG}. What was saved is kept: the "
        "same command goes on from the last checkpoint."
    )


def _end(launcher: subprocess.Popen[bytes]) -> None:
    """End a launcher that still runs: politely, so that it ends its workers, then at once."""
    if launcher.poll() is not None:
        return
    launcher.send_signal(signal.SIGTERM)
    try:
        launcher.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(launcher.pid, signal.SIGKILL)
        launcher.wait()
