"""Servers that ``grounding eval`` starts by itself when nobody named an address: one, or several on ports in a row.

They start together and end together, after the run or the last of several that share them.
"""

import os
import shutil
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path

import msgspec
from rich.console import Console
from rich.text import Text

from grounding.cards import ChatCard, GrounderCard
from grounding.errors import UserError
from grounding.llm.http import ENDED
from grounding.options import Display, EvalOptions, ImageSend
from grounding.records import Record, Session
from grounding.serving.command import (
    COMMAND_VARIABLE,
    LOOPBACK,
    ServerOptions,
    base_url,
    check_weights,
    consecutive_ports,
    gpus,
    server_arguments,
    server_command,
    share,
)
from grounding.serving.process import OnWait, Server

LINE_EVERY_S = 10.0
MOST_STARTED_AGAIN = 3  # A server that ends by itself more often than this would only end again.
_LONGER_EACH_TIME_S = 10.0
_LOOK_EVERY_S = 0.3


@contextmanager
def waiting_line(*, live: bool) -> Iterator[OnWait]:
    """Shows on standard error how long a server has been starting, and what its log says last. ``live`` as one line
    that changes, else as a line now and then.
    """
    told_at = -LINE_EVERY_S
    with Console(stderr=True).status("starting the server") if live else nullcontext() as status:

        def told(seconds: float, line: str) -> None:
            nonlocal told_at
            words = f"starting the server, {seconds:.0f} s: {line}"
            if status is not None:
                status.update(Text(words, no_wrap=True, overflow="ellipsis"))
            elif seconds - told_at >= LINE_EVERY_S:
                told_at = seconds
                print(words, file=sys.stderr, flush=True)

        yield told


def find_program(command: tuple[str, ...]) -> None:
    """Make sure that the program exists before anything is waited for."""
    if shutil.which(command[0]) is None:
        raise UserError(
            f"the program {command[0]!r} that starts a server is not there: install vLLM (pip install vllm, in an "
            f"environment of its own), name its command with --server-command or {COMMAND_VARIABLE}, such as "
            "'/opt/vllm/bin/vllm serve', or start the server elsewhere and give its address with --base-url"
        )


class Fleet:
    def __init__(self, card: ChatCard, options: ServerOptions, logs: Path) -> None:
        """Start them; the first logs to ``logs``, replica N to a file beside it with ``-N`` in its name."""
        find_program(options.command)
        ports = consecutive_ports(options.host, options.replicas, options.port)
        devices = gpus() if options.replicas > 1 else ()
        self._starts: list[Callable[[], Server]] = []
        self.servers: list[Server] = []
        self.ready_after_s = 0.0
        self._lost: set[int] = set()
        for number, port in enumerate(ports):
            log = logs if number == 0 else logs.with_name(f"{logs.stem}-{number + 1}{logs.suffix}")
            start = partial(
                Server,
                server_arguments(card, options, port),
                base_url(options.host, port),
                log,
                environment={**os.environ, **share(devices, options.replicas, number)},
            )
            self._starts.append(start)
            self.servers.append(start())

    @property
    def base_urls(self) -> tuple[str, ...]:
        return tuple(server.base_url for server in self.servers)

    def wait_healthy(self, timeout_s: float, on_wait: OnWait) -> None:
        """Wait for all of them."""
        started = time.monotonic()
        for server in self.servers:
            server.wait_healthy(timeout_s, lambda _, line: on_wait(time.monotonic() - started, line))
        self.ready_after_s = time.monotonic() - started

    def newly_lost(self) -> list[Server]:
        """Those that ended by themselves since this was last asked."""
        lost = [n for n, server in enumerate(self.servers) if server.exit_code is not None and n not in self._lost]
        self._lost.update(lost)
        return [self.servers[number] for number in lost]

    def keep_up(self, ended: threading.Event) -> None:
        """Start servers again that ended by themselves, a few times each, until the event comes; each is reported."""
        again = Counter[int]()
        while not ended.wait(_LOOK_EVERY_S):
            for server in self.newly_lost():
                number = self.servers.index(server)
                going_on = again[number] < MOST_STARTED_AGAIN
                what = "it is started again" if going_on else "it is not started again"
                print(f"grounding: {server.base_url}: {server.obituary()}\n{what}", file=sys.stderr, flush=True)
                if not going_on:
                    ENDED.add(server.base_url)
                elif not ended.wait(again[number] * _LONGER_EACH_TIME_S):
                    again[number] += 1
                    server.stop()
                    self.servers[number] = self._starts[number]()
                    self._lost.discard(number)

    def watch(self) -> None:
        """Stay until an interrupt; a replica that ends is reported, the last one ends it all."""
        while True:
            for server in self.newly_lost():
                if len(self._lost) == len(self.servers):
                    raise UserError(server.obituary())
                left = len(self.servers) - len(self._lost)
                print(f"grounding: {server.base_url}: {server.obituary()}\n{left} left", file=sys.stderr, flush=True)
            time.sleep(_LOOK_EVERY_S)

    def stop(self) -> None:
        for server in self.servers:
            server.begin_stop()
        for server in self.servers:
            server.stop()


@contextmanager
def running_servers(
    card: ChatCard, options: ServerOptions, logs: Path, *, live: bool, quiet: bool = False
) -> Iterator[Fleet]:
    """Servers that are healthy inside the block and gone after it."""
    fleet = Fleet(card, options, logs)
    try:
        with waiting_line(live=live and not quiet) as told:
            fleet.wait_healthy(options.start_timeout_s, (lambda *_: None) if quiet else told)
        yield fleet
    finally:
        fleet.stop()


MANAGED = "managed"  # Stands for the address of our own servers in a run's id: their ports are another each time.


def send_as(card: GrounderCard, send: ImageSend | None) -> GrounderCard:
    """The card with its pictures sent in another way. A file goes out untouched: the server resizes it then."""
    rule = card.image
    if send is None or send == rule.send:
        return card
    resize = "server" if send == "file" and rule.resize != "none" else rule.resize
    return msgspec.structs.replace(card, image=msgspec.structs.replace(rule, send=send, resize=resize))


class ManagedServers(Record, frozen=True, kw_only=True):
    card: GrounderCard
    options: ServerOptions
    display: Display

    @property
    def base_url(self) -> str:
        first = self.options.port or 0
        return " ".join(base_url(self.options.host, first + number) for number in range(self.options.replicas))

    @contextmanager
    def running(self, log: Path) -> Iterator[Fleet]:
        """Start them, and stop them at the end of the block; one that ends before that is started again."""
        live = self.display == "rich"
        with running_servers(self.card, self.options, log, live=live, quiet=self.display == "none") as fleet:
            ended = threading.Event()
            keeping = threading.Thread(target=fleet.keep_up, args=(ended,), name="servers", daemon=True)
            keeping.start()
            try:
                yield fleet
            finally:
                ended.set()
                keeping.join()
                for server in fleet.newly_lost():
                    print(f"grounding: {server.base_url}: {server.obituary()}", file=sys.stderr)


def starts_servers(card: GrounderCard | None, options: EvalOptions) -> bool:
    """Whether a run starts servers of its own, where it can: nobody named an address, and vLLM serves the card."""
    own = card is not None and not options.base_url and not card.endpoint.base_url
    return own and card is not None and card.serving.how in ("vllm", "vllm-flags")


def manage_servers(
    card: GrounderCard | None, options: EvalOptions, sessions: Sequence[Session]
) -> ManagedServers | None:
    """What to start for a run; None where nothing is to be: no card, an address, or a card that vLLM doesn't serve."""
    server = server_elsewhere(card, options, sessions)
    if server is None or card is None:
        return None
    if not (options.server_command or os.environ.get(COMMAND_VARIABLE)) and not gpus():
        serve = f"\nTo serve it yourself: {card.how_to_serve}" if card.how_to_serve else ""
        raise UserError(
            f"{card.name} ({card.title}) needs a server, and there is no GPU here to start one on: give its address "
            f"with --base-url http://HOST:PORT/v1, or answers recorded elsewhere with --predictions FILE.{serve}"
        )
    port = consecutive_ports(LOOPBACK, options.replicas, None)[0]
    server = msgspec.structs.replace(server, port=port, replicas=options.replicas)
    check_weights(card, server)
    find_program(server.command)
    return ManagedServers(
        card=card, options=server, display=options.display or ("rich" if sys.stderr.isatty() else "none")
    )


def server_elsewhere(
    card: GrounderCard | None, options: EvalOptions, sessions: Sequence[Session]
) -> ServerOptions | None:
    """How a server of a card's model is started, one at a time, here or on another machine; None where none is to be.
    What is there of programs, weights and GPUs is found out on that machine.
    """
    if not starts_servers(card, options) or card is None:
        if options.replicas > 1:
            raise UserError("--replicas is for servers that this command starts; here it starts none")
        return None
    return ServerOptions(
        command=server_command(options.server_command),
        media_dir=_media_dir(sessions) if card.image.send == "file" else None,
    )


def _media_dir(sessions: Sequence[Session]) -> Path | None:
    """The innermost folder with every screenshot of a data set; where those are links, with the files themselves."""
    folders = {Path(step.screenshot.path).resolve().parent for session in sessions for step in session.steps}
    return Path(os.path.commonpath(folders)) if folders else None


class SharedServers:
    """The servers of one model at a time, for runs that follow one another, until they are closed. Those of another
    model are stopped first, since the two might not fit on the GPUs together.
    """

    def __init__(self) -> None:
        self._up: ManagedServers | None = None
        self._fleet: Fleet | None = None
        self._stack = ExitStack()

    def matching(self, wanted: ManagedServers) -> ManagedServers:
        """The servers that are up, if they are those that are wanted but for their ports, else those."""
        if self._up is None:
            return wanted
        ports = msgspec.structs.replace(wanted.options, port=self._up.options.port)
        return self._up if msgspec.structs.replace(wanted, options=ports) == self._up else wanted

    @contextmanager
    def running(self, managed: ManagedServers | None, log: Path) -> Iterator[None]:
        """Inside the block they are up, started where they were not; after it they stay. None: nothing is wanted."""
        gone = self._fleet is None or any(one.exit_code is not None for one in self._fleet.servers)
        if managed is not None and (self._up != managed or gone):
            self.close()
            self._fleet = self._stack.enter_context(managed.running(log))
            self._up = managed
        yield

    def close(self) -> None:
        self._up = self._fleet = None
        self._stack.close()
