"""A model server beside a worker of a cluster: on the same machine, for it alone, started and ended with it."""

import asyncio
import itertools
import os
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import msgspec

from grounding.cards import GrounderCard
from grounding.errors import UserError
from grounding.records import Record
from grounding.serving.command import (
    LOOPBACK,
    ServerOptions,
    base_url,
    check_weights,
    consecutive_ports,
    server_arguments,
)
from grounding.serving.managed import find_program
from grounding.serving.process import Server, ask_health

ANYWHERE = "http://127.0.0.1:0/v1"
"""Stands for the address of a server that a worker will start beside itself: no answer hangs on it."""
EVERY_S, REPLY_S, FAILURES = 5.0, 30.0, 4
"""How a server is watched. A busy one may answer late, so only failures in a row count: one that is silent is given up
after two minutes or so, one that refuses connections, or says that its engine is dead (vLLM: 503), after 15 s."""
_TRIES = 50
_MOST_OBITUARY_CHARS = 2000
_DATA = ("--data-parallel-size", "-dp")
_PARTS = (
    ("--tensor-parallel-size", "-tp"),
    ("--pipeline-parallel-size", "-pp"),
    ("--prefill-context-parallel-size", "-pcp"),
    _DATA,
)  # What multiplies to vLLM's world size (`ParallelConfig`, vLLM 0.32); expert and decode-context parallelism don't.


class WorkerServer(Record, frozen=True, kw_only=True):
    """A model server that a worker starts on its own machine, for itself alone; the port is the worker's choice."""

    card: GrounderCard
    options: ServerOptions


def gpus_per_replica(card: GrounderCard, options: ServerOptions) -> int:
    """The GPUs that a server of a card takes up: tensor x pipeline x prefill-context x data parallel size. The words
    are read in the order in which the server gets them (the command, the card's flags, the user's), and the last one
    counts, as it does for the server. What stands in a file given with ``--config`` is not seen.
    """
    words: list[str] = [*options.command, *card.serving.flags]
    if options.data_parallel_size > 1:
        words += [_DATA[0], str(options.data_parallel_size)]
    words += options.flags
    count = 1
    for names in _PARTS:
        text = _stated(words, names) or "1"
        if not text.isdecimal() or int(text) < 1:
            raise UserError(f"{card.name}: the server's flag {names[0]} {text!r}: expected a whole number, 1 or more")
        count *= int(text)
    return count


def _stated(words: Sequence[str], names: tuple[str, ...]) -> str | None:
    """The last value that one of the names is given, as ``NAME VALUE`` or ``NAME=VALUE``."""
    found = None
    for word, after in itertools.pairwise((*words, "")):
        name, equals, value = word.partition("=")
        if name.startswith("--"):
            name = name.replace("_", "-")  # vLLM takes both.
        if name in names:
            found = value if equals else after
    return found


@contextmanager
def own_port() -> Iterator[int]:
    """A free port of this machine that no other worker on it takes meanwhile. vLLM listens with SO_REUSEPORT: of two
    servers that chose one port both would start, and each would be sent some of the other's questions. So the port is
    claimed by a name that the kernel gives away once and takes back when this process ends in whatever way: an abstract
    socket, which lives in the same network namespace as the port.
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
async def start_worker_server(
    wanted: WorkerServer, log_dir: Path, on_lost: Callable[[str], None]
) -> AsyncIterator[str]:
    """A server that is healthy when the block begins and gone, with all that it started, after it; yields its address.
    It gets the environment of this process, and so the GPUs that this process was given (CUDA_VISIBLE_DEVICES). If this
    process dies the server's keeper ends it. Host, port and number of replicas are not the user's to choose here.
    ``on_lost`` is called once, in this event loop, with the reason, if the server ends or is silent for too long.
    """
    options = msgspec.structs.replace(wanted.options, host=LOOPBACK, port=None, replicas=1)
    check_weights(wanted.card, options)
    find_program(options.command)
    with own_port() as port:
        arguments = server_arguments(wanted.card, options, port)
        log = log_dir / f"server-{port}.log"
        server = Server(arguments, base_url(LOOPBACK, port), log, environment=dict(os.environ), apart=True)
        given_up = threading.Event()

        def wait() -> None:
            def still_wanted(_seconds: float, _line: str) -> None:
                if given_up.is_set():
                    raise UserError("the server is not wanted any more")

            server.wait_healthy(options.start_timeout_s, still_wanted)

        try:
            await asyncio.to_thread(wait)
            watching = asyncio.create_task(_watch(server, on_lost))
            try:
                yield server.base_url
            finally:
                watching.cancel()
        finally:
            given_up.set()
            server.begin_stop()
            stopping = asyncio.ensure_future(asyncio.to_thread(server.stop))
            with suppress(asyncio.CancelledError):
                await asyncio.shield(stopping)
            await asyncio.wait([stopping])  # GPUs that are still in use serve nobody.


async def _watch(server: Server, on_lost: Callable[[str], None]) -> None:
    in_a_row, wrong = 0, ""
    while in_a_row < FAILURES:
        await asyncio.sleep(EVERY_S)
        if server.exit_code is not None:
            break
        wrong = await asyncio.to_thread(ask_health, server.base_url, REPLY_S)
        in_a_row = in_a_row + 1 if wrong else 0
    gone = server.exit_code is not None
    on_lost(
        server.obituary()[-_MOST_OBITUARY_CHARS:]
        if gone
        else f"the server is there no more: {wrong}, {in_a_row} times in a row"
    )
