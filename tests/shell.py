"""The command line as a user has it: real processes, their output and exit codes."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from fakes.slow_server import SlowServer

from grounding.cli import run as run_command_line

CARD = """\
name: {name}
title: a model of the tests
model: {name}
user:
  - image: screenshot
  - text: "{text}"
max_connections: {connections}
timeout_s: 60
"""
ANSWER = "answer: {form: point, space: sent_px}\n"
PATIENCE_S = 240.0
_GONE = ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "PYTHONUNBUFFERED")
CONNECTIONS = 4
IN_FLIGHT = 2 * CONNECTIONS  # Requests and pictures made ready for the next ones.


def grounder_card(folder: Path, name: str = "pointer", *, connections: int = 4, text: str = "{instruction}") -> Path:
    """A card of a chat grounder that answers with a pixel of the screenshot."""
    path = folder / f"{name}.yaml"
    path.write_text(CARD.format(name=name, connections=connections, text=text) + ANSWER, encoding="utf-8")
    return path


def planner_card(folder: Path, name: str = "thinker", *, connections: int = 4, text: str = "{instruction}") -> Path:
    """A card of a chat planner."""
    path = folder / f"{name}.yaml"
    path.write_text(CARD.format(name=name, connections=connections, text=text), encoding="utf-8")
    return path


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Ours, without what would change the output or lead loopback requests elsewhere."""
    kept = {name: value for name, value in os.environ.items() if name not in _GONE}
    return {**kept, "NO_PROXY": "*", "no_proxy": "*", **(extra or {})}


def command(*arguments: str | Path, module: str = "grounding.eval") -> list[str]:
    return [sys.executable, "-m", module, *map(str, arguments)]


def run(
    *arguments: str | Path, cwd: Path, module: str = "grounding.eval", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end. Whatever goes wrong, no user may see a traceback."""
    done = subprocess.run(
        command(*arguments, module=module),
        cwd=cwd,
        env=environment(env),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert "Traceback" not in done.stderr + done.stdout, done.stderr
    return done


def call(*arguments: str | Path, module: str = "grounding.eval") -> subprocess.CompletedProcess[str]:
    """What ``run`` does, within this process: for tests of what a command does, not of how a process ends."""
    given = [*(["eval"] if module == "grounding.eval" else []), *map(str, arguments)]
    out, err = io.StringIO(), io.StringIO()
    before = dict(os.environ)
    os.environ.update(NO_PROXY="*", no_proxy="*")
    try:
        with redirect_stdout(out), redirect_stderr(err):
            run_command_line(given)
    except SystemExit as left:
        return subprocess.CompletedProcess(given, int(left.code or 0), out.getvalue(), err.getvalue())
    finally:
        os.environ.clear()
        os.environ.update(before)
    raise AssertionError("a command line ends the process")


def start(
    *arguments: str | Path,
    cwd: Path,
    module: str = "grounding.eval",
    env: Mapping[str, str] | None = None,
    **options: Any,
) -> subprocess.Popen[str]:
    """Start a command in the background."""
    return subprocess.Popen(
        command(*arguments, module=module),
        cwd=cwd,
        env=environment(env),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def finish(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    """Wait for a command that was started."""
    out, err = process.communicate(timeout=PATIENCE_S)
    assert "Traceback" not in err + out, err
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def wait_until(true: Callable[[], bool], process: subprocess.Popen[str] | None = None) -> None:
    """Wait for something to become true; fail where the process ends before or patience does."""
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        if process is not None and process.poll() is not None:
            raise AssertionError(f"the process ended first, with {process.returncode}: {process.communicate()}")
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.01)


def run_folder(log_dir: Path) -> Path:
    """The only run folder there is."""
    (folder,) = [path for path in log_dir.iterdir() if ".old" not in path.name]
    return folder


def lines(path: Path) -> list[bytes]:
    """The complete lines of a file; none where there is no file yet."""
    if not path.exists():
        return []
    return [line for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines(path)]


def summary(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    return found


def scores(folder: Path) -> dict[str, Any]:
    """What must be equal between two runs of one command: everything but time and money."""
    return {name: value for name, value in summary(folder).items() if name not in ("time", "cost")}


STEPS = 90  # The scored steps of the bench of `conftest.py`.


class Bench:
    """A data set, a card and a folder for runs; ``args`` is the command line for a run over them."""

    def __init__(self, folder: Path, data_dir: Path) -> None:
        self.folder = folder
        self.data_dir = data_dir
        self.card = grounder_card(folder, connections=CONNECTIONS)
        self.results = folder / "results"

    def args(self, server: SlowServer | None = None, *more: str | Path, log_dir: Path | None = None) -> list[str]:
        found = [
            *("--dataset", "realwebassist", "--data-dir", str(self.data_dir)),
            *("--log-dir", str(log_dir or self.results)),
        ]
        if server is not None:
            found += ["--grounder", str(self.card), "--base-url", server.url, "--max-retries", "0"]
        return [*found, *map(str, more)]

    def run(self, *args: Any, **options: Any) -> subprocess.CompletedProcess[str]:
        """In a process of its own."""
        return run(*self.args(*args, **options), cwd=self.folder)

    def call(self, *args: Any, **options: Any) -> subprocess.CompletedProcess[str]:
        """In this process, which is faster."""
        return call(*self.args(*args, **options))

    def start(self, *args: Any, process: dict[str, Any] | None = None, **options: Any) -> subprocess.Popen[str]:
        return start(*self.args(*args, **options), cwd=self.folder, **(process or {}))

    @property
    def run_folder(self) -> Path:
        return run_folder(self.results)

    def answers(self) -> list[bytes]:
        folders = list(self.results.glob("*/predictions.jsonl"))
        return lines(folders[0]) if folders else []
