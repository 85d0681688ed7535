"""The whole command sent to a cluster as a Ray job: it finds the job's cluster and writes what a plain run writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from executors.ray.helpers import RayNode, free_port

pytestmark = [pytest.mark.slow, pytest.mark.timeout(280)]
pytest.importorskip("ray")


def eval_command(log_dir: Path, *more: str) -> list[str]:
    words = ["--dataset", "sample-web", "--grounder", "ocr", "--limit", "4", "--log-dir", str(log_dir), "--no-report"]
    return [sys.executable, "-m", "grounding.eval", *words, *more]


def summaries(folder: Path) -> list[bytes]:
    return [file.read_bytes() for file in sorted(folder.rglob("summary.json"))]


def test_a_job_writes_what_a_run_on_this_machine_writes(tmp_path: Path) -> None:
    port, shown = free_port(), free_port()
    node = RayNode(
        "--head", f"--port={port}", "--include-dashboard=true", f"--dashboard-port={shown}",
        "--dashboard-host=127.0.0.1", "--num-cpus=4", "--node-ip-address=127.0.0.1",
    )  # fmt: skip
    try:
        node.wait()
        there = tmp_path / "there"
        words = eval_command(there, "--executor", "ray", "--workers", "2")
        job = ["ray", "job", "submit", "--address", f"http://127.0.0.1:{shown}", "--", *words]
        done = subprocess.run(job, capture_output=True, text=True, timeout=200, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    finally:
        node.close()
    here = tmp_path / "here"
    subprocess.run(eval_command(here), check=True, capture_output=True)
    assert summaries(there) == summaries(here) != []
