"""The stand-in for vLLM as a command, what it wrote down, and whether its processes are still there."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]
FAKE = (sys.executable, str(REPOSITORY / "tests" / "fakes" / "vllm.py"), "serve")

CARD = """\
name: g
title: G
model: org/g
user: [{image: screenshot}, {text: "{instruction}"}]
answer: {form: point, space: sent_px}
"""


def started(record: Path) -> list[dict[str, Any]]:
    """What each start of the stand-in wrote down."""
    return [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []


def asked(record: Path) -> list[dict[str, Any]]:
    """The requests for a completion: port and body."""
    path = Path(f"{record}.asked")
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def pids(record: Path) -> list[int]:
    """Every process that the stand-ins started, themselves included."""
    return [line[name] for line in started(record) for name in ("pid", "child")]


VLLM_ON_CPU = {
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
}
"""For a real vLLM without a GPU: little memory, no look at the network, one thread on whichever core is free. By itself
every engine binds itself to the same core, also those of two servers at once."""


def until(true: Callable[[], object], seconds: float = 20.0) -> None:
    """Wait for something; fails when it doesn't come."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def environment(**more: str) -> dict[str, str]:
    """The environment for a command line program, with this checkout's package first and no GPU."""
    return {**os.environ, "PYTHONPATH": str(REPOSITORY), "CUDA_VISIBLE_DEVICES": "", **more}
