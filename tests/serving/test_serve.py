"""``grounding serve`` as a program of its own: addresses, endings, and that it leaves no process behind."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from serving.helpers import CARD, FAKE, environment, is_alive, pids, started, until

pytestmark = pytest.mark.slow


class Serving:
    """One ``grounding serve``, in a session of its own as a terminal would start it."""

    def __init__(self, folder: Path, *options: str, flags: tuple[str, ...] = (), card: str = CARD) -> None:
        self.record, self.logs = folder / "record", folder / "logs"
        (folder / "card.yaml").write_text(card)
        self.errors = folder / "stderr"
        with self.errors.open("wb") as errors:
            command = [sys.executable, "-m", "grounding", "serve", str(folder / "card.yaml")]
            self.process = subprocess.Popen(
                [*command, "--log-dir", str(self.logs), *options, "--", "--fake-record", str(self.record), *flags],
                env=environment(GROUNDING_VLLM=shlex.join(FAKE)),
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )

    def address(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().decode().strip()
        assert line, self.errors.read_text()
        return line

    def left(self) -> list[int]:
        return [pid for pid in pids(self.record) if is_alive(pid)]

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        until(lambda: not self.left(), 40)


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Any]:
    opened: list[Serving] = []

    class Noted(Serving):
        def __init__(self, *options: str, **more: Any) -> None:
            super().__init__(tmp_path, *options, **more)
            opened.append(self)

    yield Noted
    for each in opened:
        each.close()


def models(address: str) -> list[str]:
    with urllib.request.urlopen(f"{address}/models") as response:
        return [model["id"] for model in json.load(response)["data"]]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_the_address_and_ends_with_nothing_left(serving: Any, how: signal.Signals) -> None:
    serve = serving("--model", "/ckpt")
    address = serve.address()
    assert models(address) == ["org/g"]
    (start,) = started(serve.record)
    assert start["arguments"][:2] == ["serve", "/ckpt"]
    until(lambda: f"--base-url {address}\n" in serve.errors.read_text())
    os.kill(serve.process.pid, how)
    assert serve.process.wait(30) == 0
    assert serve.left() == []
    assert "loading" in (serve.logs / "serving" / "g.log").read_text()
    assert f"--base-url {address}\nstopping\n" in serve.errors.read_text()


def test_ctrl_c_before_it_is_ready_ends_everything_too(serving: Any) -> None:
    serve = serving(flags=("--fake-delay", "600"))
    until(lambda: started(serve.record))
    os.kill(serve.process.pid, signal.SIGINT)
    assert serve.process.wait(30) == 130
    assert serve.left() == []


def test_a_kill_that_nobody_can_catch_ends_the_server_too(serving: Any) -> None:
    serve = serving()
    serve.address()
    os.kill(serve.process.pid, signal.SIGKILL)
    until(lambda: not serve.left())
    assert len(pids(serve.record)) == 2


def test_a_server_that_dies_while_loading_is_exit_code_2_with_its_last_words(serving: Any) -> None:
    serve = serving(flags=("--fake-die", "no such model: org/g"))
    assert serve.process.wait(30) == 2
    said = serve.errors.read_text()
    assert "grounding: the server ended by itself (exit code 3)" in said
    assert "no such model: org/g" in said
    assert "Traceback" not in said


def test_replicas_listen_on_ports_in_a_row_and_one_may_die(serving: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    dies = ("--fake-die-after", "3", "--fake-die-on-port", str(port))
    serve = serving("--replicas", "2", "--port", str(port), flags=dies)
    addresses = [serve.address(), serve.address()]
    assert addresses == [f"http://127.0.0.1:{port}/v1", f"http://127.0.0.1:{port + 1}/v1"]
    until(lambda: f"{addresses[0]}: the server ended by itself (exit code 4)" in serve.errors.read_text())
    assert models(addresses[1]) == ["org/g"]
    assert sorted(log.name for log in (serve.logs / "serving").iterdir()) == [f"g-{port}-2.log", f"g-{port}.log"]
    os.kill(serve.process.pid, signal.SIGINT)
    assert serve.process.wait(30) == 0
    assert serve.left() == []


def refused(folder: Path, *options: str, card: str = CARD, command: str = shlex.join(FAKE)) -> str:
    (folder / "card.yaml").write_text(card)
    ended = subprocess.run(
        [sys.executable, "-m", "grounding", "serve", str(folder / "card.yaml"), "--log-dir", str(folder), *options],
        env=environment(GROUNDING_VLLM=command),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 2, ended.stderr
    return " ".join(ended.stderr.split())


def test_what_cannot_be_served_is_refused_before_anything_starts(tmp_path: Path) -> None:
    recorded = CARD + "serving: {how: recorded, reason: its code is for an old version}\n"
    assert "can't be run here: its code is for an old version. Ways out:" in refused(tmp_path, card=recorded)
    assert "the program 'no-such' that starts a server is not there" in refused(tmp_path, command="no-such serve")
    files = CARD + "image: {send: file}\n"
    assert "name their folder with --data-dir" in refused(tmp_path, card=files)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert "can't be listened on" in refused(tmp_path, "--port", str(taken.getsockname()[1]))
    assert "Must be >= 1" in refused(tmp_path, "--replicas", "0")
