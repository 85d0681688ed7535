"""``python -m grounding.asr``: its parts by themselves, and what it hands to ``grounding sweep``."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import shell
import soundfile
from conftest import TinyDataset

from grounding.asr import obtaining
from grounding.asr.__main__ import DEFAULT_CONDITIONS, app, sweep_arguments
from grounding.asr.transcripts import read_transcripts
from grounding.cli import run

from .speech import tone, write
from .test_obtaining import Counting, counting, in_pairs, speech


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
    monkeypatch.setattr(obtaining, "open_recogniser", counting)
    Counting.asked = 0
    folder = tiny_dataset(steps=6, steps_per_task=6, unscored=(), edit=in_pairs)
    speech(folder)
    return folder


def test_without_a_command_it_is_the_sweep_of_the_papers_table() -> None:
    assert sweep_arguments(["--limit", "3"]) == ["sweep", "--limit", "3", "--transcript", *DEFAULT_CONDITIONS]
    given = ["--transcript", "truth", "whisper"]
    assert sweep_arguments(given) == ["sweep", *given]
    assert sweep_arguments(["--asr=whisper"]) == ["sweep", "--asr=whisper"]


def test_a_data_set_is_heard_and_written_in_the_layout_that_runs_read(tmp_path: Path, data_dir: Path) -> None:
    where = ["--dataset", "realwebassist", "--data-dir", data_dir, "--out", tmp_path / "out", "--display", "none"]
    done = asr("transcribe", *where, "--asr", "counting", "counting@white:5dB")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("written") == 4
    path = tmp_path / "out" / "2" / "transcriptions_counting-white-5dB.json"
    entries = read_transcripts(path)
    assert [(entry.audio, entry.steps, entry.text) for entry in entries][1] == (
        "audio/3.wav",
        ("images/3.png", "images/4.png"),
        "thing 3",
    )
    assert len(entries[0].key) == 64
    args = ["--dataset", "realwebassist", "--data-dir", data_dir, "--log-dir", tmp_path / "r", "--grounder", "oracle"]
    run_over = shell.call(*args, "--transcript", f"file:{tmp_path / 'out' / path.name}")
    assert run_over.returncode == 0, run_over.stderr
    assert f"transcript file:{path.name}: WER 0.0 %" in run_over.stdout
    assert str(tmp_path / "out") not in shell.run_folder(tmp_path / "r").name


def test_what_has_no_transcript_ends_with_1(data_dir: Path) -> None:
    (data_dir / "1" / "audio" / "2.wav").write_bytes(b"")
    where = ["--dataset", "realwebassist", "--data-dir", data_dir, "--display", "none"]
    done = asr("transcribe", *where, "--asr", "counting")
    assert done.returncode == 1
    refused = asr("transcribe", *where, "--asr", "truth")
    assert (refused.returncode, refused.stdout) == (2, "")


def sweep(data_dir: Path, results: Path, *transcripts: str) -> Path:
    args = ["--dataset", "realwebassist", "--data-dir", data_dir, "--log-dir", results, "--grounder", "oracle"]
    done = shell.call("sweep", *args, "--transcript", *transcripts, module="grounding.cli")
    assert done.returncode == 0, done.stderr
    (folder,) = results.glob("sweep_*")
    return folder


def run_folders(results: Path) -> list[Path]:
    rows = json.loads(next(results.glob("sweep_*/sweep.json")).read_text())["rows"]
    return [Path(row["folder"]) for row in rows]


def test_a_table_of_finished_runs_asks_nothing_again(tmp_path: Path, data_dir: Path) -> None:
    folder = sweep(data_dir, tmp_path / "results", "truth", "counting", "counting@pink:0dB", "counting@pink:5dB")
    before = Counting.asked
    runs = run_folders(tmp_path / "results")
    shown = asr("table", *runs, "--format", "csv")
    assert shown.stdout == (folder / "speech.csv").read_text()
    assert [row["transcript"] for row in csv.DictReader(io.StringIO(shown.stdout))][2:] == [
        "counting@pink:0dB",
        "counting@pink:5dB",
    ]
    assert asr("table", *runs, "--format", "json").stdout == (folder / "speech.json").read_text()
    assert asr("table", *runs, "--format", "markdown").stdout != (folder / "speech.md").read_text()
    again = asr("table", *runs, "--published", "--format", "markdown", "--out", tmp_path / "out")
    assert again.stdout == (folder / "speech.md").read_text()
    assert (tmp_path / "out" / "speech-snr.png").exists()
    assert Counting.asked == before
    assert asr("table").returncode == 2


def test_runs_that_differ_in_more_are_not_put_in_one_table(tmp_path: Path, data_dir: Path) -> None:
    sweep(data_dir, tmp_path / "results", "truth", "counting")
    args = ["--dataset", "realwebassist", "--data-dir", data_dir, "--log-dir", tmp_path / "more"]
    assert shell.call(*args, "--grounder", "center").returncode == 0
    done = asr("table", *run_folders(tmp_path / "results"), shell.run_folder(tmp_path / "more"))
    assert done.returncode == 2
    assert "differ in more than their transcripts (grounder, grounder_identity)" in done.stderr


def test_word_errors_of_a_run_and_of_files(tmp_path: Path, data_dir: Path) -> None:
    sweep(data_dir, tmp_path / "results", "truth", "counting")
    truth, heard = run_folders(tmp_path / "results")
    assert "WER 0.00 %" in asr("wer", heard).stdout
    assert asr("wer", truth).returncode == 2
    assert asr("wer", tmp_path / "nothing").returncode == 2
    reference, other = tmp_path / "true.txt", tmp_path / "heard.txt"
    reference.write_text("open the cart\nyes\n")
    other.write_text("open a cart\nyes please\n")
    done = asr("wer", reference, other)
    assert "WER 50.00 %" in done.stdout
    assert "1 substituted, 0 left out, 1 added of 4 words in 2 recordings" in done.stdout
    assert json.loads(asr("wer", reference, other, "--json").stdout)["total"]["insertions"] == 1
    other.write_text("open a cart\n")
    assert "which belong together" in asr("wer", reference, other).stderr


def test_files_are_matched_by_recording_whatever_their_order(tmp_path: Path) -> None:
    true = [{"audio": f"audio/{at}.flac", "text": f"number {at}"} for at in (1, 2, 3)]
    heard = [{"audio": f"audio/{at}.wav", "text": f"number {at}"} for at in (3, 1)]
    for name, entries in (("true", true), ("heard", heard)):
        (tmp_path / f"{name}.json").write_text(json.dumps(entries))
    done = asr("wer", tmp_path / "true.json", tmp_path / "heard.json")
    assert "0 substituted, 2 left out, 0 added of 6 words" in done.stdout


def test_noise_is_mixed_at_the_level_asked_for(tmp_path: Path) -> None:
    speech_file = write(tmp_path / "speech.wav", tone(1.0))
    done = asr("mix", speech_file, tmp_path / "noisy.flac", "--noise", "white:5dB")
    assert done.returncode == 0, done.stderr
    assert "white:5dB, 5.00 dB reached" in done.stdout
    samples, rate = soundfile.read(tmp_path / "noisy.flac")
    assert (len(samples), rate) == (16_000, 16_000)
    assert asr("mix", speech_file, tmp_path / "noisy.mp3", "--noise", "white:5dB").returncode == 2
    assert asr("mix", tmp_path / "none.wav", tmp_path / "noisy.wav", "--noise", "white:5dB").returncode == 2
    assert asr("mix", speech_file, tmp_path / "no" / "noisy.wav", "--noise", "white:5dB").returncode == 2


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
    assert f'href="../{heard.name}/report.html"' in (folder / "speech.html").read_text()
