"""The bundled sample from speech to score, with what comes with the package and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import shell

CONDITIONS = ("truth", "pocketsphinx", "pocketsphinx@babble:10dB", "pocketsphinx@typing:0dB")

pytestmark = pytest.mark.slow


def test_one_command_gives_the_papers_table(tmp_path: Path) -> None:
    args = ["sweep", "--limit", "6", "--display", "none", "--log-dir", tmp_path / "results"]
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = shell.run(*args, "--transcript", *CONDITIONS, cwd=tmp_path, module="grounding", env=env)
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "results").glob("sweep_*")
    rows = json.loads((folder / "sweep.json").read_text())["rows"]
    assert [row["values"]["transcript"] for row in rows] == list(CONDITIONS)
    rates = [row["summary"]["scores"].get("extra", {}).get("word_error_rate") for row in rows]
    clean, babble, typing = (rate["value"] for rate in rates[1:])
    assert rates[0] is None
    assert 0 < clean < min(babble, typing)
    for condition in CONDITIONS:
        assert f"│ {condition} " in done.stdout
    assert "word error rate" in done.stdout
    assert "neither their level nor the files" in done.stdout
