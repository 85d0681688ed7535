"""Servers that `grounding eval` starts by itself, for the length of a run, when nobody named an address."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from grounding.cards import GrounderCard
from grounding.errors import UserError
from grounding.options import Display, EvalOptions, ImageSend
from grounding.records import Record, Session
from grounding.serving.command import (
    COMMAND_VARIABLE,
    LOOPBACK,
    ServerOptions,
    base_url,
    check_weights,
    server_command,
)
from grounding.serving.fleet import Fleet, find_program, running_servers
from grounding.serving.machine import consecutive_ports, gpus

MANAGED = "managed"
"""Stands for the address of our own servers in a run's id: their ports are another each time."""


def send_as(card: GrounderCard, send: ImageSend | None) -> GrounderCard:
    """The card with its pictures sent in another way. A file goes out untouched: the server resizes it then."""
    rule = card.image
    if send is None or send == rule.send:
        return card
    resize = "server" if send == "file" and rule.resize == "client" else rule.resize
    return msgspec.structs.replace(card, image=msgspec.structs.replace(rule, send=send, resize=resize))


class ManagedServers(Record, frozen=True, kw_only=True):
    """Servers to be started for a run: which, how, and on which ports."""

    card: GrounderCard
    options: ServerOptions
    display: Display

    @property
    def base_url(self) -> str:
        """The addresses that they will have, separated by blanks."""
        first = self.options.port or 0
        return " ".join(base_url(self.options.host, first + number) for number in range(self.options.replicas))

    @contextmanager
    def running(self, log: Path) -> Iterator[Fleet]:
        """Start them, and stop them at the end of the block; one that ended before that is reported.

        Raises:
            UserError: they can't be started, or one ended before it was healthy.
        """
        live = self.display == "rich"
        with running_servers(self.card, self.options, log, live=live, quiet=self.display == "none") as fleet:
            try:
                yield fleet
            finally:
                for server in fleet.newly_lost():
                    print(f"grounding: {server.base_url}: {server.obituary()}", file=sys.stderr)


def starts_servers(card: GrounderCard | None, options: EvalOptions) -> bool:
    """Whether a run starts servers of its own, where it can: nobody named an address, and vLLM serves the card."""
    return (
        card is not None
        and not options.base_url
        and not card.endpoint.base_url
        and card.serving.how in ("vllm", "vllm-flags")
    )


def manage_servers(
    card: GrounderCard | None, options: EvalOptions, sessions: Sequence[Session]
) -> ManagedServers | None:
    """What to start for a run; None where nothing is to be: no card, an address, or a card that vLLM doesn't serve.

    Raises:
        UserError: a server is needed and can't be started here; names the ways out.
    """
    if not _starts(card, options) or card is None:
        return None
    told = options.server_command or os.environ.get(COMMAND_VARIABLE)
    if not told and not gpus():
        serve = f"\nTo serve it yourself: {card.endpoint.how_to_serve}" if card.endpoint.how_to_serve else ""
        raise UserError(
            f"{card.name} ({card.title}) needs a server, and there is no GPU here to start one on: give its address "
            f"with --base-url http://HOST:PORT/v1, or answers recorded elsewhere with --predictions FILE.{serve}"
        )
    server = msgspec.structs.replace(
        _server_options(card, options, sessions),
        port=consecutive_ports(LOOPBACK, options.replicas, None)[0],
        replicas=options.replicas,
    )
    check_weights(card, server)
    find_program(server.command)
    return ManagedServers(
        card=card, options=server, display=options.display or ("rich" if sys.stderr.isatty() else "none")
    )


def server_elsewhere(
    card: GrounderCard | None, options: EvalOptions, sessions: Sequence[Session]
) -> ServerOptions | None:
    """How a server of a card's model is started on another machine, one at a time; None where none is to be.

    What is there of programs, weights and GPUs is found out on that machine.

    Raises:
        UserError: replicas are asked for and no server is started.
    """
    if not _starts(card, options) or card is None:
        return None
    return _server_options(card, options, sessions)


def _starts(card: GrounderCard | None, options: EvalOptions) -> bool:
    starts = starts_servers(card, options)
    if not starts and options.replicas > 1:
        raise UserError("--replicas is for servers that this command starts; here it starts none")
    return starts


def _server_options(card: GrounderCard, options: EvalOptions, sessions: Sequence[Session]) -> ServerOptions:
    return ServerOptions(
        command=server_command(options.server_command),
        media_dir=_media_dir(sessions) if card.image.send == "file" else None,
    )


def _media_dir(sessions: Sequence[Session]) -> Path | None:
    """The innermost folder with every screenshot of a data set."""
    folders = {Path(step.screenshot.path).absolute().parent for session in sessions for step in session.steps}
    return Path(os.path.commonpath(folders)) if folders else None
