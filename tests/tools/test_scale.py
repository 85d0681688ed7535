"""The scale benchmark: a run of a few hundred steps is killed, goes on, and every column has a figure."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import shell

BENCH = Path(__file__).parents[2] / "tools" / "bench" / "scale.py"


def bench(folder: Path, *words: str) -> str:
    command = [sys.executable, str(BENCH), "--folder", str(folder), *words]
    done = subprocess.run(command, capture_output=True, text=True, env=shell.environment(), timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_sizes_are_measured_over_a_kill(tmp_path: Path) -> None:
    header, _, *rows, _, grows = bench(tmp_path, "--steps", "2000", "4000", "--latency", "0.02").splitlines()
    assert [row.split(" | ")[0] for row in rows] == ["| 2,000", "| 4,000"]
    for row in rows:
        figures = dict(zip(header.strip("| ").split(" | "), row.strip("| ").split(" | "), strict=True))
        assert 0.05 < float(figures["ask ms/step"]) < 50
        assert 0 <= float(figures["asked twice"]) <= 64  # What was in flight.
        assert 300 < float(figures["bytes/step"].replace(",", "")) < 3000
    assert "asking" in grows


@pytest.mark.slow
def test_clients_are_compared(tmp_path: Path) -> None:
    title, bare, ours = bench(tmp_path, "--steps", "500", "--clients", "bare", "local", "--repeats", "1").splitlines()
    assert "500 steps" in title
    assert "1.00 of bare" in bare
    assert ours.startswith("local")
