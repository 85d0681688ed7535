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
    done = shell.run(*args, "--transcript", *CONDITIONS, cwd=tmp_path, module="grounding.cli", env=env)
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "results").glob("sweep_*")
    found = json.loads((folder / "speech.json").read_text())
    assert [row["condition"] for row in found["rows"]] == list(CONDITIONS)
    clean, babble, typing = (row["words"]["rate_percent"] for row in found["rows"][1:])
    assert 0 < clean < min(babble, typing)
    for condition in CONDITIONS:
        assert f"│ {condition} " in done.stdout
    heard = {one["condition"] for one in found["changed"]}
    recordings = list((folder / "speech_files").glob("*.flac")) if heard else []
    assert len(recordings) >= len(heard)
