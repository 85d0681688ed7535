"""Measures `grounding eval` against a bare client, in the same minute on the same machine, and prints ratios.

    python tools/bench/harness.py                       # 1,714 steps of 1 MB PNG, 64 connections, 0.3 s latency
    python tools/bench/harness.py --steps 17140 --latency 0   # ten times the steps: is memory the same?

Wall is start to exit of the whole process, interpreter and imports included; CPU and peak memory are the process's own
(rusage of the child). The last table re-scores stored steps without a model.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from workload import make_workload

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Measured:
    """One process from start to exit."""

    wall_s: float
    cpu_s: float
    peak_mb: float


def measure(command: list[str]) -> Measured:
    """Run a command to its end and take its times; its output is shown only when it fails."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output = process.stdout.read() if process.stdout else b""
    _, status, usage = os.wait4(process.pid, 0)
    wall_s = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}:\n{output.decode()}")
    return Measured(wall_s=wall_s, cpu_s=usage.ru_utime + usage.ru_stime, peak_mb=usage.ru_maxrss / 1024)


def main() -> None:
    """Run the comparison and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1714)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--latency", type=float, default=0.3)
    parser.add_argument("--slots", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "grounding-bench")
    given = parser.parse_args()

    data = make_workload(given.folder, steps=given.steps)
    for picture in (given.folder / "pictures").iterdir():
        picture.read_bytes()  # both clients find the files in the page cache
    server = subprocess.Popen(
        [sys.executable, HERE / "fake_server.py", "--latency", str(given.latency), "--slots", str(given.slots)],
        stdout=subprocess.PIPE,
    )
    try:
        port = json.loads(server.stdout.readline())["port"] if server.stdout else 0
        base_url = f"http://127.0.0.1:{port}/v1"
        logs = given.folder / "results"
        shutil.rmtree(logs, ignore_errors=True)
        bare_command = [sys.executable, str(HERE / "bare_client.py"), str(data), base_url]
        bare_command += ["--connections", str(given.connections)]
        ours_command = [sys.executable, "-m", "grounding.eval", "--dataset", "realwebassist", "--data-dir", str(data)]
        ours_command += ["--grounder", str(HERE / "fake-grounder.yaml"), "--base-url", base_url, "--log-dir", str(logs)]
        ours_command += ["--max-connections", str(given.connections), "--fresh", "--display", "none"]
        pairs = [(measure(bare_command), measure(ours_command)) for _ in range(given.repeats)]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/stats") as stats:
            asked = json.load(stats)["requests"]
        run = max(logs.iterdir(), key=lambda folder: folder.stat().st_mtime)
        again = measure([sys.executable, "-m", "grounding.cli", "score", str(run), "--json"])
    finally:
        server.terminate()
        server.wait()
    _print(given, pairs, asked, again)


def _print(given: argparse.Namespace, pairs: list[tuple[Measured, Measured]], asked: int, again: Measured) -> None:
    floor_s = given.steps * given.latency / given.slots
    print(
        f"{given.steps} steps, {given.connections} connections, latency {given.latency} s, {given.slots} slots: "
        f"the server alone needs {floor_s:.1f} s; it was asked {asked} times in {len(pairs)} pairs of runs"
    )
    print(f"{'':16}{'wall s':>9}{'CPU ms/step':>13}{'peak MB':>9}")
    best = {
        name: min((pair[index] for pair in pairs), key=lambda found: found.wall_s)
        for index, name in enumerate(("bare aiohttp", "grounding eval"))
    }
    for name, found in best.items():
        print(f"{name:16}{found.wall_s:9.2f}{found.cpu_s / given.steps * 1000:13.2f}{found.peak_mb:9.0f}")
    bare, ours = best["bare aiohttp"], best["grounding eval"]
    ratios = (ours.wall_s / bare.wall_s, ours.cpu_s / bare.cpu_s, ours.peak_mb / bare.peak_mb)
    print(f"{'ratio':16}{ratios[0]:9.2f}{ratios[1]:13.2f}{ratios[2]:9.2f}")
    print(f"re-scoring {given.steps} stored steps: {again.wall_s:.2f} s wall, {again.peak_mb:.0f} MB")
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 2 * given.connections:
        print(f"note: this shell allows {soft} open files; many connections may need `ulimit -n`")


if __name__ == "__main__":
    main()
