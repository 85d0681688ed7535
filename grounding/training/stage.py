"""One stage of training: its folder, and its training to the end in this process or by ``accelerate launch``.

As a program this is a worker of a stage that was launched:
``python -m grounding.training.stage FOLDER --build MODULE:FUNCTION --parent PID``.
"""

import argparse
import contextlib
import importlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import MofNCompleteColumn, Progress, TextColumn

from grounding.errors import UserError
from grounding.options import Display
from grounding.records import Record
from grounding.run.display import LINE_EVERY_S
from grounding.run.lock import LockedFolder
from grounding.run.runner import INTERRUPTED
from grounding.training.loop import KEPT, Build, on_cpu_only, train, whole_checkpoints
from grounding.training.records import (
    CHECKPOINTS,
    EXAMPLES,
    HELD_OUT,
    LOG,
    METRICS,
    OUTPUT,
    RESULT,
    STAGE,
    Metrics,
    StageResult,
    TrainStage,
    needs_training,
    read_lines,
    read_record,
    write_record,
)
from grounding.training.trainers import build_trainer

# What has workers save and end after their next step; what the first to fail said.
STOP, FAILURE = "stop", "failure.txt"
_POLL_S, _PATIENCE_S = 0.5, 20.0
# What workers say of another one that is gone.
_ECHOES = ("connection reset", "connection closed", "broken pipe", "remote process exited", "connection was closed")
_STOPPING = "stopping after this step, which is saved (again: stop at once, back at the last checkpoint)"


def run_stage(
    folder: Path,
    stage: TrainStage,
    examples: Sequence[Record],
    held_out: Sequence[Record] = (),
    *,
    display: Display | None = None,
    build: Build = build_trainer,
) -> StageResult:
    """Train a stage to its end, from its last whole checkpoint where there is one; a complete stage is left as it is.

    Returns:
        What came of it: ``complete``, or ``partial`` where the user broke it off (Ctrl-C, SIGTERM). The first of those
        lets the step end and saves; a second one ends at once, and the last checkpoint stands.

    Raises UserError: memory ran out, the loss is not a number, the disk is full, or anything else went wrong; what was
    saved is kept.
    """
    needs_training()
    with LockedFolder(folder, what="the stage's folder").held() as locked:
        write_record(folder / STAGE, stage)
        if (folder / RESULT).exists() and (folder / OUTPUT).is_dir():
            done = read_record(folder / RESULT, StageResult)
            if done.status == "complete":
                return done
        (folder / RESULT).unlink(missing_ok=True)
        measured = () if stage.held_out is None else spread_out(held_out, stage.held_out.examples)
        for name, records in ((EXAMPLES, examples), (HELD_OUT, measured)):
            locked.replace_lines(name, records)
        shown, whole = _Shown(display, stage.name), whole_checkpoints(folder)
        for torn in set((folder / CHECKPOINTS).glob("checkpoint-*")) - {path for _, path in whole}:
            shutil.rmtree(torn)
            shown.say(f"stage {stage.name}: {torn.name} was not written to its end and is passed over")
        if whole:
            shown.say(f"stage {stage.name}: goes on after step {whole[-1][0]}")
        try:
            with _asked_to_stop(lambda: shown.say(_STOPPING, always=True)) as stop, shown.bar():
                if stage.accelerate_config is None and stage.processes in (None, 1):
                    return train(folder, stage, build, stop, shown.metrics)
                _launch(locked, stage, build, stop, shown.metrics)
                return read_record(folder / RESULT, StageResult)
        except KeyboardInterrupt:
            step = max((step for step, _ in whole_checkpoints(folder)), default=0)
            return StageResult(status="partial", step=step, steps=0, wall_s=0.0, stopped=INTERRUPTED)


def spread_out(examples: Sequence[Record], most: int) -> tuple[Record, ...]:
    """At most so many examples, evenly over the whole list: the same ones each time."""
    if len(examples) <= most:
        return tuple(examples)
    return tuple(examples[place * len(examples) // most] for place in range(most))


@contextlib.contextmanager
def _asked_to_stop(told: Callable[[], None]) -> Iterator[Callable[[], bool]]:
    """Whether the user asked to stop: the first Ctrl-C or SIGTERM lets a step end, the second one doesn't wait."""
    asked = False

    def signalled(_signal: int, _frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True
        told()

    # A program in the background of a script ignores Ctrl-C, and goes on doing so.
    wanted = [signal.SIGTERM, *([signal.SIGINT] if signal.getsignal(signal.SIGINT) != signal.SIG_IGN else [])]
    before = {number: signal.signal(number, signalled) for number in wanted}
    try:
        yield lambda: asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Shown:
    """The steps of a stage as they go by, on standard error: a bar, lines, or nothing."""

    def __init__(self, display: Display | None, stage: str) -> None:
        self._display: Display = display or ("rich" if sys.stderr.isatty() else "none")
        # A handle of its own: while libraries work, standard error is the stage's log.
        self._console = Console(file=os.fdopen(os.dup(2), "w"))
        columns = (*Progress.get_default_columns(), MofNCompleteColumn(), TextColumn("{task.fields[words]}"))
        self._bar = Progress(*columns, console=self._console, disable=self._display != "rich")
        self._task = self._bar.add_task(stage, total=None, words="")
        self._stage, self._last_line = stage, float("-inf")
        self._values: dict[str, float] = {}

    @contextlib.contextmanager
    def bar(self) -> Iterator[None]:
        with self._console.file, self._bar:
            yield

    def metrics(self, line: Metrics) -> None:
        kind = "held out " if line["kind"] == "held_out" else ""
        self._values |= {
            f"{kind}{name}": line[name] for name in ("loss", "reward", "kl", "rewards/accuracies") if name in line
        }
        words = " · ".join(f"{name} {value:.3g}" for name, value in self._values.items())
        self._bar.update(self._task, completed=line["step"], total=line["steps"], words=escape(words))
        late = time.monotonic() - self._last_line >= LINE_EVERY_S
        if self._display != "rich" and (late or line["step"] >= line["steps"]):
            self._last_line = time.monotonic()
            self.say(f"{self._stage} {line['step']}/{line['steps']}: {words}")

    def say(self, words: str, *, always: bool = False) -> None:
        if always or self._display != "none":
            self._console.print(words, markup=False, highlight=False, soft_wrap=True)
            self._console.file.flush()


def _launch(
    folder: LockedFolder, stage: TrainStage, build: Build, stop: Callable[[], bool], show: Callable[[Metrics], None]
) -> None:
    """Start the workers of a stage and wait for them; Ctrl-C lets them save and end, a second one ends them. Raises
    UserError: a worker failed: what it said, or how it ended.
    """
    path = folder.path
    with contextlib.ExitStack() as closing:
        for left in (STOP, FAILURE):
            (path / left).unlink(missing_ok=True)
        log = closing.enter_context((path / LOG).open("ab"))
        # In a session of its own: a terminal's Ctrl-C must not reach the launcher, which would kill the workers.
        launcher = subprocess.Popen(
            _command(path, stage, build),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            # They keep others out of the folder: where this process is killed, they may still be saving.
            pass_fds=(folder.fileno(),),
            # Workers find the modules that this process finds, among them that of the builder.
            env={**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        closing.callback((path / STOP).unlink, missing_ok=True)
        closing.callback(_end, launcher)
        lines, ended = 0, False
        while not ended:
            ended = launcher.poll() is not None
            if stop():
                (path / STOP).touch()
            found = read_lines(path / METRICS, dict[str, Any])
            # A worker that goes on has cut the lines behind its checkpoint off.
            for line in found[min(lines, len(found)) :]:
                show(line)
            lines = len(found)
            time.sleep(0 if ended else _POLL_S)
    if launcher.returncode != 0:
        failure = path / FAILURE
        raise UserError(
            failure.read_text(encoding="utf-8")
            if failure.exists()
            else f"stage {path.name}: a worker ended without a word (the launcher's exit code is "
            f"{launcher.returncode}); where it was killed, memory may have run out. Its last words are in "
            f"{path / LOG}. {KEPT}"
        )


def _command(folder: Path, stage: TrainStage, build: Build) -> list[str]:
    command = [sys.executable, "-m", "accelerate.commands.launch"]
    command += ["--num_processes", str(stage.processes)] if stage.processes is not None else []
    if stage.accelerate_config is not None:
        command += ["--config_file", stage.accelerate_config]
    else:
        # accelerate's own way for CPUs needs MPI; its way for GPUs starts processes, whatever they then compute on.
        command += ["--multi_gpu", "--num_machines", "1"]
        command += ["--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", "0"]
    if on_cpu_only(stage):
        share = str(max(1, (os.cpu_count() or 1) // (stage.processes or 1)))
        command += ["--num_cpu_threads_per_process", os.environ.get("OMP_NUM_THREADS", share)]
    named = f"{build.__module__}:{build.__qualname__}"
    return [*command, "-m", __name__, str(folder), "--build", named, "--parent", str(os.getpid())]


def _end(launcher: subprocess.Popen[bytes]) -> None:
    if launcher.poll() is None:
        launcher.terminate()
        try:
            launcher.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(launcher.pid, signal.SIGKILL)
            launcher.wait()


def main() -> int:
    parser = argparse.ArgumentParser(prog=__name__)
    parser.add_argument("stage", type=Path)
    parser.add_argument("--build", required=True, help="module:function that makes the trainer")
    parser.add_argument("--parent", type=int, required=True, help="process that is obeyed; without it, save and stop")
    given = parser.parse_args()

    def told_to_stop() -> bool:
        try:
            os.kill(given.parent, 0)
        except ProcessLookupError:
            return True
        return Path(given.stage, STOP).exists()

    # What ends a program is for the process that commands: it says what is to be done.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        stage = read_record(given.stage / STAGE, TrainStage)
        module, _, function = given.build.partition(":")
        train(given.stage, stage, getattr(importlib.import_module(module), function), told_to_stop, lambda _line: None)
    except UserError as error:
        # The first to fail has the cause: the others only lost it.
        if not any(echo in str(error).lower() for echo in _ECHOES):
            with contextlib.suppress(FileExistsError), (given.stage / FAILURE).open("x", encoding="utf-8") as failure:
                failure.write(str(error))
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
