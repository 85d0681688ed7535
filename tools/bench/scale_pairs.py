"""Compares `grounding eval` with the bare client: both ask the same of the same server, by turns."""

from __future__ import annotations

import os
import shutil
import sys

import msgspec
from scale_measures import HERE, Setting, eval_command, server
from scale_processes import completed, python
from scale_records import Pair, Rate


def measure_pair(setting: Setting, *, latency_s: float, repeats: int, executors: tuple[str, ...]) -> Pair:
    """The bare client and `grounding eval` with each executor, by turns, against one server each."""
    load_average = os.getloadavg()[0]
    best: dict[str, Rate] = {}
    for _ in range(repeats):
        for client in ("bare", *executors):
            rate = _rate(setting, client, latency_s)
            if client not in best or rate.steps_per_s > best[client].steps_per_s:
                best[client] = rate
    return Pair(
        steps=setting.steps,
        latency_s=latency_s,
        picture_bytes=setting.picture_bytes,
        connections=setting.connections,
        repeats=repeats,
        load_average=load_average,
        rates=tuple(best.values()),
    )


def _rate(setting: Setting, client: str, latency_s: float) -> Rate:
    logs = setting.folder / "pair"
    shutil.rmtree(logs, ignore_errors=True)
    with server(setting, latency_s) as (base_url, board):
        if client == "bare":
            command = python(str(HERE / "bare_client.py"), str(setting.data), base_url)
            command += ["--connections", str(setting.connections)]
        else:
            chosen = msgspec.structs.replace(setting, executor=client)
            command = eval_command(chosen, base_url, logs, "--no-report")
        ended = completed(command, tree=setting.tree)
        if board.distinct != setting.steps:
            raise SystemExit(f"{client}: the server was asked about {board.distinct} steps of {setting.steps}")
        rate = Rate(
            client=client,
            steps_per_s=(board.requests - 1) / (board.last_s - board.first_s),
            cpu_s=ended.between(board.first_s, board.last_s),
            peak_mb=ended.peak_mb,
        )
    shutil.rmtree(logs, ignore_errors=True)
    print(f"  {client}: {rate.steps_per_s:.0f} steps/s, {rate.cpu_s:.1f} s CPU", file=sys.stderr, flush=True)
    return rate
