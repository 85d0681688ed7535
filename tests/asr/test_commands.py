"""``python -m grounding.asr``: its parts by themselves, and what it hands to ``grounding sweep``."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import shell
from conftest import TinyDataset

from grounding.asr import sources
from grounding.asr.__main__ import DEFAULT_CONDITIONS, app, sweep_arguments
from grounding.cli import run

from .test_sources import Counting, counting, in_pairs, speech


def asr(*words: str | Path) -> subprocess.CompletedProcess[str]:
    given = list(map(str, words))
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as left:
        run(given, app)
    return subprocess.CompletedProcess(given, int(left.value.code or 0), out.getvalue(), err.getvalue())


@pytest.fixture
def data_dir(tiny_dataset: TinyDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("GROUNDING_NO_CACHE", raising=False)
    monkeypatch.setattr(sources, "open_recogniser", counting)
    Counting.asked = 0
    folder = tiny_dataset(steps=6, steps_per_task=6, unscored=(), edit=in_pairs)
    speech(folder)
    return folder


def test_without_a_command_it_is_the_sweep_of_the_papers_table() -> None:
    assert sweep_arguments(["--limit", "3"]) == ["sweep", "--limit", "3", "--transcript", *DEFAULT_CONDITIONS]
    given = ["--transcript", "truth", "whisper"]
    assert sweep_arguments(given) == ["sweep", *given]


def sweep(data_dir: Path, results: Path, *transcripts: str) -> Path:
    args = ["--dataset", "realwebassist", "--data-dir", data_dir, "--log-dir", results, "--grounder", "oracle"]
    done = shell.call("sweep", *args, "--transcript", *transcripts, module="grounding")
    assert done.returncode == 0, done.stderr
    (folder,) = results.glob("sweep_*")
    return folder


def run_folders(results: Path) -> list[Path]:
    rows = json.loads(next(results.glob("sweep_*/sweep.json")).read_text())["rows"]
    return [Path(row["folder"]) for row in rows]


def test_a_table_of_finished_runs_asks_nothing_again(tmp_path: Path, data_dir: Path) -> None:
    folder = sweep(data_dir, tmp_path / "results", "truth", "counting", "counting@pink:0dB", "counting@pink:5dB")
    assert {path.name for path in folder.glob("*.png")} == {"sweep.png", "speech-snr.png"}
    before, runs = Counting.asked, run_folders(tmp_path / "results")
    shown = asr("table", *runs).stdout
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in shown.splitlines() if line[:1] == "│"]
    assert [row[0] for row in rows[:4]] == ["truth", "counting", "counting@pink:0dB", "counting@pink:5dB"]
    assert (rows[0][-1], rows[1][-1]) == ("-", "0.0")
    assert [row[0] for row in rows[4:7]] == ["counting", "counting@pink:0dB", "counting@pink:5dB"]
    assert "normaliser whisper-en; intervals over recordings" in shown
    assert "a level stands beside every noise" in shown
    # RealWebAssist's own data have the paper's table beside.
    assert rows[-1] == ["Whisper Large-V3 (Noise)", "28.1", "63.4", "20.6", "6.5"]
    assert Counting.asked == before
    assert asr("table").returncode == 2


def test_runs_that_differ_in_more_than_their_words_are_refused(tmp_path: Path, data_dir: Path) -> None:
    args = ["--dataset", "realwebassist", "--data-dir", data_dir, "--log-dir", tmp_path / "results"]
    for grounder, transcript in (("oracle", "truth"), ("center", "counting")):
        assert shell.call(*args, "--grounder", grounder, "--transcript", transcript).returncode == 0
    done = asr("table", *(tmp_path / "results").iterdir())
    assert done.returncode == 2
    assert "differ in more than their transcripts (grounder, grounder_identity)" in done.stderr


# --- pages --------------------------------------------------------------------------------------------------------


def data_of(page: str) -> Any:
    start = page.index('id="data">') + len('id="data">')
    return json.loads(page[start : page.index("</script>", start)])


def test_pages_play_what_was_heard(tmp_path: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GROUNDING_SWEEP_NO_REPORT")
    folder = sweep(data_dir, tmp_path / "results", "truth", "counting@white:5dB")
    truth, heard = run_folders(tmp_path / "results")
    step = data_of((heard / "report.html").read_text())["runs"][0]["steps"][0]
    assert step["said"] == "thing 2"
    assert step["audio"] == (data_dir / "1" / "audio" / "2.wav").resolve().as_uri()
    assert "said" not in data_of((truth / "report.html").read_text())["runs"][0]["steps"][0]
    assert f"{heard.name}/report.html" in (folder / "report.html").read_text()
