"""A model server beside a worker: on the same machine, for that worker alone, started and ended with it."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import msgspec

from grounding.errors import UserError
from grounding.executors.health import USUAL, HealthRule, ask_health, until_lost
from grounding.executors.recipe import Beside
from grounding.serving.command import LOOPBACK, base_url, check_weights, server_arguments
from grounding.serving.fleet import find_program
from grounding.serving.machine import consecutive_ports
from grounding.serving.process import INTERRUPT_S, TERMINATE_S, Server

_TRIES = 50
_LAST_LINES = 4
_MOST_LINE_CHARS = 800


@contextmanager
def own_port() -> Iterator[int]:
    """A free port of this machine that no other worker on it takes meanwhile.

    vLLM listens with SO_REUSEPORT: of two servers that chose one port both would start, and each would be sent some of
    the other's questions. So the port is claimed by a name that the kernel gives away once and takes back when this
    process ends in whatever way: an abstract socket, which lives in the same network namespace as the port.

    Raises:
        UserError: no port is free.
    """
    for _ in range(_TRIES):
        (port,) = consecutive_ports(LOOPBACK, 1, None)
        with socket.socket(socket.AF_UNIX) as claim:
            try:
                claim.bind(f"\0grounding/server-port/{port}")
            except OSError:  # Another worker is about to use it.
                continue
            yield port
            return
    raise UserError(f"no free port for a server was found in {_TRIES} tries; end what listens on this machine")


@asynccontextmanager
async def server_beside(
    beside: Beside,
    log_dir: Path,
    on_lost: Callable[[str], None],
    *,
    rule: HealthRule = USUAL,
    interrupt_s: float = INTERRUPT_S,
    terminate_s: float = TERMINATE_S,
) -> AsyncIterator[str]:
    """A server that is healthy when the block begins and gone, with all that it started, after it.

    It gets the environment of this process, and so the GPUs that this process was given (CUDA_VISIBLE_DEVICES). If
    this process dies the server's keeper ends it.

    Args:
        beside: The card and how it is served; host, port and number of replicas are not its to choose.
        log_dir: Where the server's log goes, ``server-HOST-PORT.log``.
        on_lost: Called once, in this event loop, with the reason, if the server ends or is silent for too long. The
            block goes on: to leave it is the caller's.
        rule: How it is watched.
        interrupt_s: How long it may take to end after SIGINT at the end of the block.
        terminate_s: How long after SIGTERM; then it is killed.

    Yields:
        Its address.

    Raises:
        UserError: it can't be started, or ended before it was healthy; says why.
    """
    options = msgspec.structs.replace(beside.options, host=LOOPBACK, port=None, replicas=1)
    check_weights(beside.card, options)
    find_program(options.command)
    with own_port() as port:
        log = log_dir / f"server-{re.sub(r'[^A-Za-z0-9.-]', '_', socket.gethostname())[:64]}-{port}.log"
        arguments = server_arguments(beside.card, options, port)
        server = Server(
            arguments,
            base_url(LOOPBACK, port),
            log,
            environment=dict(os.environ),
            interrupt_s=interrupt_s,
            terminate_s=terminate_s,
            apart=True,
        )
        try:
            await _until_healthy(server, options.start_timeout_s)
            watching = asyncio.create_task(_watch(server, on_lost, rule))
            try:
                yield server.base_url
            finally:
                watching.cancel()
                with suppress(asyncio.CancelledError):
                    await watching
        finally:
            await _stop(server)


async def _until_healthy(server: Server, timeout_s: float) -> None:
    """Wait in a thread, which ends soon after nobody waits any more."""
    given_up = threading.Event()

    def still_wanted(_seconds: float, _line: str) -> None:
        if given_up.is_set():
            raise UserError("the server is not wanted any more")

    waiting = asyncio.ensure_future(asyncio.to_thread(server.wait_healthy, timeout_s, still_wanted))
    try:
        await asyncio.shield(waiting)
    except asyncio.CancelledError:
        given_up.set()
        await asyncio.wait([waiting])
        with suppress(UserError):
            waiting.result()
        raise


async def _watch(server: Server, on_lost: Callable[[str], None], rule: HealthRule) -> None:
    def ended() -> str:
        return "" if server.exit_code is None else _shortened(server.obituary())

    on_lost(await until_lost(ended, lambda: asyncio.to_thread(ask_health, server.base_url, rule.reply_s), rule))


def _shortened(text: str) -> str:
    """An obituary with only the last lines of the log: the run goes on, and the whole log is where it says."""
    lines = [line[:_MOST_LINE_CHARS] for line in text.splitlines()]
    head = [line for line in lines if not line.startswith("    ")]
    return "\n".join([*head, *[line for line in lines if line.startswith("    ")][-_LAST_LINES:]])


async def _stop(server: Server) -> None:
    """End it, and wait for that even when the wait itself is cancelled: GPUs that are still in use serve nobody."""
    server.begin_stop()
    stopping = asyncio.ensure_future(asyncio.to_thread(server.stop))
    try:
        await asyncio.shield(stopping)
    except asyncio.CancelledError:
        await asyncio.wait([stopping])
        raise
