"""Start, wait for and stop model servers. Cards and options in, base URLs out; the servers end with this process."""

from __future__ import annotations

from grounding.serving.command import ServerOptions, check_servable, check_weights, server_arguments, server_command
from grounding.serving.managed import Fleet, ManagedServers, manage_servers, running_servers, send_as
from grounding.serving.process import Server

__all__ = [
    "Fleet",
    "ManagedServers",
    "Server",
    "ServerOptions",
    "check_servable",
    "check_weights",
    "manage_servers",
    "running_servers",
    "send_as",
    "server_arguments",
    "server_command",
]
