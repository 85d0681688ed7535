"""Runs over transcripts: what models are told, what is asked once, what names a run, and what has no words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import shell
from conftest import Item, TinyDataset
from fakes.slow_server import SlowServer, slow_server

from grounding.scoring.words import read_spoken

HEARD = {0: "click thing zero", 1: "click thing 1", 4: "lick ring four", 5: "", 6: "click thing 6"}
"""What was heard at the steps of a participant, by position; 3 has no entry, the others are as they were said."""


def write_heard(data_dir: Path, heard: dict[int, str], *, without: tuple[int, ...] = (3,), name: str = "W") -> None:
    """``transcriptions_W.json`` for every participant of a tiny data set."""
    for folder in data_dir.iterdir():
        items: list[Item] = json.loads((folder / "questions_with_task_updated.json").read_text())
        entries = [
            {"steps": [item["final_image"]], "text": heard.get(at, item["instruction"])}
            for at, item in enumerate(items)
            if at not in without
        ]
        (folder / f"transcriptions_{name}.json").write_text(json.dumps(entries))


@pytest.fixture
def data_dir(tiny_dataset: TinyDataset) -> Path:
    folder = tiny_dataset(steps=8, unscored=(2,))
    write_heard(folder, HEARD)
    return folder


@pytest.fixture
def args(tmp_path: Path, data_dir: Path) -> list[str]:
    return f"--dataset realwebassist --data-dir {data_dir} --log-dir {tmp_path / 'results'}".split()


def sweep(*words: str | Path) -> Any:
    return shell.call("sweep", *words, module="grounding")


def runs(tmp_path: Path) -> dict[str, Path]:
    """Run folders by where their words come from."""
    found = {}
    for path in (tmp_path / "results").glob("realwebassist_*"):
        told = read_spoken(path)
        found["truth" if told is None else told.condition] = path
    return found


def texts(folder: Path, name: str = "steps.jsonl") -> dict[str, Any]:
    return {record["id"]: record for record in shell.records(folder / name)}


# --- asked once ---------------------------------------------------------------------------------------------------


def models(tmp_path: Path, server: SlowServer, text: str = "{instruction}") -> list[str]:
    planner = shell.planner_card(tmp_path, text=text)
    grounder = shell.grounder_card(tmp_path)
    found = ["--planner", planner, "--grounder", grounder, "--max-retries", "0", "--base-url", server.url]
    return list(map(str, [*found, "--planner-base-url", server.url, "--plan-store", tmp_path / "store"]))


def reply(model: str, question: str) -> str:
    return f"plan: {question}" if model == "thinker" else f"({len(question) % 64},20)"


def test_a_plan_for_equal_words_is_asked_for_once(tmp_path: Path, args: list[str]) -> None:
    with slow_server(reply) as server:
        command = [*args, *models(tmp_path, server), "--transcript", "truth", "file:transcriptions_W.json"]
        done = sweep(*command)
        assert done.returncode == 0, done.stderr
        asked = {text: times for text, times in server.texts.items() if text.startswith("thinker")}
        # Two participants with 7 scored steps of words of their own, over pictures of their own. Heard were two other
        # texts (steps 1 and 5); steps 4 and 6 have no words, so that nobody is asked about them.
        assert sum(asked.values()) == 2 * 7 + 2 * 2
        assert sum(times for text, times in asked.items() if "zero" in text or "lick ring" in text) == 4
        assert not any(text.endswith(("thinker", "thinker/", "thinker ")) for text in asked)
        before = server.requests
        again = sweep(*command)
        assert (again.returncode, server.requests) == (0, before)
        assert again.stdout == done.stdout
    told = runs(tmp_path)["file:transcriptions_W.json"]
    plans = {record["step_id"]: record for record in shell.records(told / "plans.jsonl")}
    assert plans["1/1"]["text"] == "plan: click thing zero"
    assert plans["1/2"]["reused"] is True
    assert plans["1/2"]["text"] == "plan: click thing 1"


def test_the_history_tells_what_was_heard_and_equal_histories_are_asked_once(tmp_path: Path, args: list[str]) -> None:
    with slow_server(reply) as server:
        more = [*models(tmp_path, server, text="{instruction} | {history}"), "--history", "1"]
        done = sweep(*args, *more, "--transcript", "truth", "file:transcriptions_W.json")
        assert done.returncode == 0, done.stderr
        asked = {text for text in server.texts if text.startswith("thinker")}
        assert any("click thing 1 | " in text and "Instruction: click thing zero" in text for text in asked)
        assert any("click thing 6 | " in text and "Instruction: \n" in text for text in asked)
        # Of the true words told as they are, step 3 (from 1) is not scored, step 8 is told of step 7 as before.
        counts = sum(times for text, times in server.texts.items() if text.startswith("thinker"))
        # Truth: 7 a person. Heard: 1 (other words), 2 (other history), 5 (both: step 4 was not heard), 7 (history).
        assert counts == 2 * (7 + 4)
    steps = texts(runs(tmp_path)["file:transcriptions_W.json"])
    assert steps["1/5"]["instruction"] == "lick ring four"
    assert steps["1/5"]["history_entry"]["instruction"] == "lick ring four"
    assert steps["1/5"]["history_entry"]["action"] == "Clicked thing 4"


# --- what has no words --------------------------------------------------------------------------------------------


def test_steps_without_words_are_wrong_and_counted_by_reason(tmp_path: Path, args: list[str]) -> None:
    done = shell.call(*args, "--grounder", "oracle", "--transcript", "file:transcriptions_W.json")
    assert done.returncode == 0
    assert "4 of 16 instructions have no transcript (2 without a recording or an entry, 2 unreadable" in done.stderr
    folder = runs(tmp_path)["file:transcriptions_W.json"]
    verdicts = {record["step_id"]: record for record in shell.records(folder / "verdicts.jsonl")}
    assert verdicts["1/4"]["outcome"] == "missing"
    assert "no entry" in verdicts["1/4"]["reason"]
    assert verdicts["1/6"]["outcome"] == "unparsed"
    assert "nothing was heard" in verdicts["1/6"]["reason"]
    assert {verdicts[f"1/{step}"]["outcome"] for step in (1, 2, 5, 7, 8)} == {"hit"}
    told = read_spoken(folder)
    assert told is not None
    # For each person two words of "lick ring four" are wrong, and two instructions of three words are left out; "zero"
    # is the number that was said.
    of = told.score.errors
    assert (of.substitutions, of.deletions, of.reference_words) == (2 * 2, 2 * 6, 2 * 24)
    assert "transcript file:transcriptions_W.json: WER 33.3 %" in done.stdout


def test_the_run_says_where_its_words_come_from(tmp_path: Path, args: list[str], data_dir: Path) -> None:
    done = shell.call(*args, "--grounder", "center", "--transcript", "file:transcriptions_W.json")
    assert "|transcript:file:transcriptions_W.json@" in done.stdout
    assert "|wer:33.33%/whisper-en" in done.stdout
    folder = runs(tmp_path)["file:transcriptions_W.json"]
    assert "_center_file-transcriptions_W.json_" in folder.name
    asked = json.loads((folder / "run.json").read_text())["asked"]["transcript"]
    assert asked["condition"] == "file:transcriptions_W.json"
    assert asked["normaliser"] == "whisper-en"
    # Other words under the same name are another run; true words are the run that they always were.
    write_heard(data_dir, {0: "something else"})
    again = shell.call(*args, "--grounder", "center", "--transcript", "file:transcriptions_W.json")
    assert again.returncode == 0
    assert len(list((tmp_path / "results").iterdir())) == 2
    plain = shell.call(*args, "--grounder", "center")
    true = shell.call(*args, "--grounder", "center", "--transcript", "truth")
    assert plain.stdout.splitlines()[-3:] == true.stdout.splitlines()[-3:]
    assert "transcript" not in json.loads((runs(tmp_path)["truth"] / "run.json").read_text())["asked"]
    assert "transcript" not in plain.stdout


def test_another_questions_file_is_a_source_and_the_true_regions_stay(
    tmp_path: Path, args: list[str], data_dir: Path
) -> None:
    for folder in data_dir.iterdir():
        items = json.loads((folder / "questions_with_task_updated.json").read_text())
        for item in items:
            item["instruction"] = item["instruction"].replace("thing", "sing")
            item["bounding_box"] = None
        (folder / "questions_Wlarge.json").write_text(json.dumps(items))
    done = shell.call(*args, "--grounder", "oracle", "--transcript", "file:questions_wlarge.json")
    assert done.returncode == 0, done.stderr
    folder = runs(tmp_path)["file:questions_wlarge.json"]
    assert texts(folder)["2/3"]["instruction"] == "click sing 2"
    assert shell.scores(folder)["counts"]["hit"] == 14
    told = read_spoken(folder)
    assert told is not None
    assert told.score.rate_percent == pytest.approx(100 / 3)


# --- refusals -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--transcript", "file:none.json"], "no participant has none.json"),
        (["--transcript", "file:none.json"], "there are questions_with_task_updated.json, transcriptions_W.json"),
        (["--transcript", "pocketsphinx"], "there are no recordings"),
        (["--transcript", "pocketsphinx", "--asr-base-url", "http://h/v1"], "asks no server"),
    ],
)
def test_what_cannot_be_heard_is_refused_before_anything_is_asked(
    tmp_path: Path, args: list[str], words: list[str], said: str
) -> None:
    done = shell.call(*args, "--grounder", "center", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert not (tmp_path / "results").exists()
