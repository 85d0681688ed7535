"""What this machine has: GPUs to share among servers, and ports that nobody listens on."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from grounding.errors import UserError

VISIBLE = "CUDA_VISIBLE_DEVICES"
_TRIES = 50


def gpus() -> tuple[str, ...]:
    """The GPUs that a server started here may use, by the names that CUDA_VISIBLE_DEVICES takes."""
    chosen = os.environ.get(VISIBLE)
    if chosen is not None:
        return tuple(name.strip() for name in chosen.split(",") if name.strip() not in ("", "-1"))
    program = shutil.which("nvidia-smi")
    if program is not None:
        try:
            listed = subprocess.run([program, "-L"], capture_output=True, text=True, timeout=30, check=False)
        except (OSError, subprocess.TimeoutExpired):
            listed = None
        if listed is not None and listed.returncode == 0:
            found = [line for line in listed.stdout.splitlines() if line.startswith("GPU ")]
            return tuple(str(number) for number in range(len(found)))
    return tuple(str(number) for number in range(64) if Path(f"/dev/nvidia{number}").exists())


def share(devices: Sequence[str], replicas: int, number: int) -> dict[str, str]:
    """The environment that gives one of several servers its own GPUs; empty where they are too few to share out."""
    each = len(devices) // replicas
    if replicas == 1 or each == 0:
        return {}
    return {VISIBLE: ",".join(devices[number * each : (number + 1) * each])}


def with_share(environment: Mapping[str, str], devices: Sequence[str], replicas: int, number: int) -> dict[str, str]:
    """A whole environment for one of several servers."""
    return {**environment, **share(devices, replicas, number)}


def _is_free(host: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as tried:
        # As servers do: the ended connections of the one before must not keep its successor away.
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((host, port))
        except (OSError, OverflowError):
            return False
    return True


def consecutive_ports(host: str, count: int, first: int | None) -> tuple[int, ...]:
    """So many ports in a row: from the one given, or from any where all are free.

    Raises:
        UserError: one of those asked for is taken, or the host is no address of this machine.
    """
    if first is not None:
        wanted = tuple(range(first, first + count))
        taken = [port for port in wanted if not _is_free(host, port)]
        if taken:
            raise UserError(f"--port: {host}:{taken[0]} can't be listened on (is it in use?); take another")
        return wanted
    for _ in range(_TRIES):
        try:
            with socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET) as any_port:
                start: int = any_port.getsockname()[1]
        except OSError as error:
            raise UserError(f"--host {host}: {error.strerror or error}; give an address of this machine") from error
        if all(_is_free(host, port) for port in range(start, start + count)):
            return tuple(range(start, start + count))
    raise UserError(f"no {count} free ports in a row were found; give the first with --port")
