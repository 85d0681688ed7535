"""One server process: begun, waited for, ended; and every way in which its end could leave something behind."""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grounding.errors import UserError
from grounding.serving.command import base_url, consecutive_ports
from grounding.serving.process import Server
from serving.helpers import FAKE, is_alive, pids, until

pytestmark = pytest.mark.slow


class Starter:
    def __init__(self, folder: Path) -> None:
        self.record = folder / "record"
        self.log = folder / "run" / "server.log"
        self.servers: list[Server] = []

    def __call__(self, *flags: str, interrupt_s: float = 5.0, terminate_s: float = 0.3) -> Server:
        port = consecutive_ports("127.0.0.1", 1, None)[0]
        arguments = (*FAKE, "m", "--host", "127.0.0.1", "--port", str(port), "--fake-record", str(self.record), *flags)
        address = base_url("127.0.0.1", port)
        server = Server(arguments, address, self.log, interrupt_s=interrupt_s, terminate_s=terminate_s)
        self.servers.append(server)
        return server


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Starter]:
    starter = Starter(tmp_path)
    yield starter
    for server in starter.servers:
        server.stop()


def ignore(_seconds: float, _line: str) -> None:
    pass


def test_one_that_heeds_no_signal_is_killed_in_time(start: Starter) -> None:
    server = start("--fake-stubborn", interrupt_s=0.3, terminate_s=0.3)
    server.wait_healthy(30, ignore)
    began = time.monotonic()
    server.stop()
    assert 0.5 < time.monotonic() - began < 8
    assert not [pid for pid in pids(start.record) if is_alive(pid)]


def test_a_program_that_cannot_be_run_ends_at_once(tmp_path: Path) -> None:
    server = Server((str(tmp_path / "absent"), "serve", "m"), "http://127.0.0.1:9/v1", tmp_path / "log")
    with pytest.raises(UserError, match=r"(?s)exit code 127.*No such file"):
        server.wait_healthy(30, ignore)
    server.stop()


def test_a_program_with_a_thousand_open_files_has_servers_too(start: Starter) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < 1_500:
        pytest.skip(f"at most {most} files may be open here")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], 1_500), most))
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(1_100)]
    try:
        server = start()
        server.wait_healthy(30, ignore)
        assert server.exit_code is None
        server.stop()
    finally:
        for number in opened:
            os.close(number)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_the_death_of_the_keeper_ends_the_server_too(start: Starter) -> None:
    server = start()
    server.wait_healthy(30, ignore)
    os.kill(server._keeper.pid, signal.SIGKILL)
    until(lambda: not is_alive(pids(start.record)[0]))
    os.kill(pids(start.record)[1], signal.SIGKILL)  # Nobody is left who could have known of it.
