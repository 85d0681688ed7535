"""What memory there is: of the GPUs, or of this machine as far as its container lets it be used."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Literal

import msgspec

from grounding.errors import UserError
from grounding.records import Record

_PROBE = """
import json, torch
found = []
if torch.cuda.is_available():
    for index in range(torch.cuda.device_count()):
        free, whole = torch.cuda.mem_get_info(index)
        found.append({"name": torch.cuda.get_device_name(index), "total_bytes": whole, "free_bytes": free})
print(json.dumps(found))
"""
_PROBE_S = 180.0
_UNLIMITED = 1 << 60
"""A container's limit above this is none: kernels write numbers near 2^63 for it."""


class Device(Record, frozen=True, kw_only=True):
    """A place to train on. ``free_bytes`` of its ``total_bytes`` aren't taken by others."""

    name: str
    total_bytes: int
    free_bytes: int


class Machine(Record, frozen=True, kw_only=True):
    """The devices of one machine: GPUs, or its main memory as the only one. ``note`` says what limits the memory."""

    kind: Literal["cuda", "cpu"]
    devices: tuple[Device, ...]
    note: str = ""


def this_machine(*, cpu: bool = False) -> Machine:
    """What there is here: the GPUs that torch sees, otherwise (or with ``cpu``) the main memory that can be had.

    Raises:
        UserError: torch can't say what the GPUs have.
    """
    devices = () if cpu else _gpus()
    if devices:
        return Machine(kind="cuda", devices=devices)
    return main_memory()


def main_memory(proc: Path = Path("/proc"), groups: Path = Path("/sys/fs/cgroup")) -> Machine:
    """The main memory: what the kernel calls available, or what a control group leaves, whichever is less.

    Args:
        proc: Where the kernel's ``meminfo`` and this process's ``self/cgroup`` are.
        groups: Where control groups are mounted (version 2, or version 1 with ``memory`` below it).

    Raises:
        UserError: this system says nothing about its memory.
    """
    whole, free = _meminfo(proc / "meminfo")
    note = ""
    for limit, used in _limits(proc, groups):
        if limit < whole:
            whole, note = limit, "limited by the container"
        free = min(free, max(0, limit - used))
    return Machine(kind="cpu", devices=(Device(name="main memory", total_bytes=whole, free_bytes=free),), note=note)


def _gpus() -> tuple[Device, ...]:
    """Asked for by another process, since a look from this one would take a piece of each GPU until it ends."""
    if importlib.util.find_spec("torch") is None or not _may_have_gpus():
        return ()
    try:
        asked = subprocess.run([sys.executable, "-c", _PROBE], capture_output=True, timeout=_PROBE_S, check=False)
        if asked.returncode:
            last = (asked.stderr.decode("utf-8", "replace").strip() or "no message").splitlines()[-1]
            raise UserError(f"torch can't say what memory the GPUs have: {last[:300]}")
        return msgspec.json.decode(asked.stdout.splitlines()[-1], type=tuple[Device, ...])
    except (OSError, subprocess.TimeoutExpired, IndexError, msgspec.DecodeError) as error:
        raise UserError(f"torch can't say what memory the GPUs have: {error}") from error


def _may_have_gpus(devices: Path = Path("/dev")) -> bool:
    """Whether a driver has put devices of NVIDIA or AMD here; asking torch takes seconds."""
    if sys.platform != "linux":
        return True
    return any((devices / name).exists() for name in ("nvidiactl", "nvidia0", "dxg", "kfd"))


def _meminfo(path: Path) -> tuple[int, int]:
    """Whole and available main memory."""
    try:
        lines = path.read_text(encoding="ascii", errors="replace").splitlines()
        said = (line.partition(":") for line in lines)
        found = {name: int(rest.split()[0]) * 1024 for name, _, rest in said if rest.split()}
        return found["MemTotal"], found["MemAvailable"]
    except (OSError, KeyError, ValueError, IndexError):
        pass
    try:
        page = os.sysconf("SC_PAGE_SIZE")
        whole = os.sysconf("SC_PHYS_PAGES") * page
        # Systems other than Linux don't tell what is available in a form that is the same everywhere.
        return whole, os.sysconf("SC_AVPHYS_PAGES") * page if "SC_AVPHYS_PAGES" in os.sysconf_names else whole
    except (OSError, ValueError, AttributeError) as error:
        raise UserError(
            "this system doesn't tell how much memory it has; the estimate can't be held against it"
        ) from error


def _limits(proc: Path, groups: Path) -> list[tuple[int, int]]:
    """Limit and use of this process's control group and of those above it."""
    try:
        lines = (proc / "self" / "cgroup").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        number, _, rest = line.partition(":")
        kinds, _, inside = rest.partition(":")
        if number == "0" and not kinds:
            root, limit_name, used_name, cache = groups, "memory.max", "memory.current", "inactive_file "
        elif "memory" in kinds.split(","):
            root, limit_name = groups / "memory", "memory.limit_in_bytes"
            used_name, cache = "memory.usage_in_bytes", "total_inactive_file "
        else:
            continue
        # In a container its own group is usually mounted as the root, and the path is that outside.
        parts = [part for part in inside.split("/") if part not in ("", "..")]
        for depth in range(len(parts), -1, -1):
            folder = root.joinpath(*parts[:depth])
            limit, used = _number(folder / limit_name), _number(folder / used_name)
            if limit is not None and limit < _UNLIMITED and used is not None:
                found.append((limit, max(0, used - _cached(folder / "memory.stat", cache))))
    return found


def _cached(path: Path, name: str) -> int:
    """Copies of files that the kernel drops when memory is needed: they count as used, though they don't matter."""
    try:
        for line in path.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith(name):
                return int(line[len(name) :])
    except (OSError, ValueError):
        pass
    return 0


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
