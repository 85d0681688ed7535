"""The servers of one model: one, or several replicas on ports in a row. They start together and end together."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from grounding.cards import ChatCard
from grounding.errors import UserError
from grounding.serving.command import COMMAND_VARIABLE, ServerOptions, base_url, server_arguments
from grounding.serving.machine import consecutive_ports, gpus, with_share
from grounding.serving.process import OnWait, Server

LINE_EVERY_S = 10.0
_LOOK_EVERY_S = 0.3


class WaitingLine:
    """Shows on standard error how long a server has been starting, and what its log says last."""

    def __init__(self, *, live: bool) -> None:
        self._live = live
        self._shown_at = -LINE_EVERY_S
        self._open = False

    def __call__(self, seconds: float, line: str) -> None:
        """Show it: over the line before on a terminal, else a line now and then."""
        words = f"starting the server, {seconds:.0f} s: {line}"
        if self._live:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r{words[:width]:{width}}", end="", file=sys.stderr, flush=True)
            self._open = True
        elif seconds - self._shown_at >= LINE_EVERY_S:
            self._shown_at = seconds
            print(words, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leave the line."""
        if self._open:
            print(file=sys.stderr)


def find_program(command: tuple[str, ...]) -> None:
    """Make sure that the program exists before anything is waited for.

    Raises:
        UserError: it doesn't; says how to name another.
    """
    if shutil.which(command[0]) is None:
        raise UserError(
            f"the program {command[0]!r} that starts a server is not there: install vLLM (pip install vllm, in an "
            f"environment of its own), name its command with --server-command or {COMMAND_VARIABLE}, such as "
            "'/opt/vllm/bin/vllm serve', or start the server elsewhere and give its address with --base-url"
        )


class Fleet:
    """Some servers of one model. As a context manager it stops them at the end, whatever the end."""

    def __init__(self, card: ChatCard, options: ServerOptions, logs: Path) -> None:
        """Start them; the first logs to ``logs``, replica N to a file beside it with ``-N`` in its name.

        Raises:
            UserError: the program is not there, a port is taken, or a log can't be written.
        """
        find_program(options.command)
        ports = consecutive_ports(options.host, options.replicas, options.port)
        devices = gpus() if options.replicas > 1 else ()
        self.servers: list[Server] = []
        self.ready_after_s = 0.0
        self._lost: set[int] = set()
        for number, port in enumerate(ports):
            log = logs if number == 0 else logs.with_name(f"{logs.stem}-{number + 1}{logs.suffix}")
            self.servers.append(
                Server(
                    server_arguments(card, options, port),
                    base_url(options.host, port),
                    log,
                    environment=with_share(os.environ, devices, options.replicas, number),
                )
            )

    @property
    def base_urls(self) -> tuple[str, ...]:
        """The addresses of all of them."""
        return tuple(server.base_url for server in self.servers)

    def wait_healthy(self, timeout_s: float, on_wait: OnWait) -> None:
        """Wait for all of them.

        Raises:
            UserError: one ended or took too long.
        """
        started = time.monotonic()
        for server in self.servers:
            server.wait_healthy(timeout_s, lambda _, line: on_wait(time.monotonic() - started, line))
        self.ready_after_s = time.monotonic() - started

    def newly_lost(self) -> list[Server]:
        """Those that ended by themselves since this was last asked."""
        lost = [n for n, server in enumerate(self.servers) if server.exit_code is not None and n not in self._lost]
        self._lost.update(lost)
        return [self.servers[number] for number in lost]

    def watch(self) -> None:
        """Stay until an interrupt; a replica that ends is reported, the last one ends it all.

        Raises:
            UserError: no server is left.
        """
        while True:
            for server in self.newly_lost():
                if len(self._lost) == len(self.servers):
                    raise UserError(server.obituary())
                left = len(self.servers) - len(self._lost)
                print(f"grounding: {server.base_url}: {server.obituary()}\n{left} left", file=sys.stderr, flush=True)
            time.sleep(_LOOK_EVERY_S)

    def stop(self) -> None:
        """End all of them at once and wait until nothing is left."""
        for server in self.servers:
            server.begin_stop()
        for server in self.servers:
            server.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


@contextmanager
def running_servers(
    card: ChatCard, options: ServerOptions, logs: Path, *, live: bool, quiet: bool = False
) -> Iterator[Fleet]:
    """Servers that are healthy inside the block and gone after it.

    Raises:
        UserError: they can't be started, or one ended before it was healthy.
    """
    with Fleet(card, options, logs) as fleet:
        line = WaitingLine(live=live)
        try:
            fleet.wait_healthy(options.start_timeout_s, (lambda *_: None) if quiet else line)
        finally:
            line.close()
        yield fleet
