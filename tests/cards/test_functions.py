"""A plain Python function as grounder or planner, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import shell
from conftest import TinyDataset, gold_box

MINE = """
import asyncio

def white(image, instruction):
    box = image.convert("L").point(lambda value: 255 * (value == 255)).getbbox()
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2

async def white_box(image, instruction, history):
    await asyncio.sleep(0)
    assert instruction.startswith("PLEASE ") and len(history) <= 2
    left, top, right, bottom = image.convert("L").point(lambda value: 255 * (value == 255)).getbbox()
    return left, top, right, bottom

def please(image, instruction):
    return f"PLEASE {instruction}"

def odd(image, instruction):
    number = int(instruction.split()[-1])
    return [None, (float("nan"), 1), "there", 1 / 0 if number > 2 else (1, 2)][number]
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(MINE, encoding="utf-8")
    return tmp_path / "mine.py"


def evaluated(mine: Path, data: Path, *options: str) -> tuple[int, list[dict[str, object]], str]:
    runs = mine.parent / "runs"
    done = shell.call("--dataset", "realwebassist", "--data-dir", data, "--log-dir", runs, *options)
    folders = sorted(runs.iterdir()) if runs.is_dir() else []
    lines = (folders[-1] / "predictions.jsonl").read_text("utf-8").splitlines() if folders else []
    return done.returncode, [json.loads(line) for line in lines], done.stdout + done.stderr


def test_a_function_finds_every_box(mine: Path, tiny_dataset: TinyDataset) -> None:
    code, answers, shown = evaluated(mine, tiny_dataset(), "--grounder", f"{mine}:white")
    assert (code, len(answers)) == (0, 6)
    assert "6/6 steps" in shown
    assert "grounder white" in shown


def test_a_coroutine_answers_with_boxes_after_a_planner_of_the_users_own(mine: Path, tiny_dataset: TinyDataset) -> None:
    options = ["--grounder", f"{mine}:white_box", "--planner", f"{mine}:please", "--history", "2"]
    code, answers, shown = evaluated(mine, tiny_dataset(), *options)
    assert code == 0, shown
    box = gold_box(0, (64, 48))
    assert {answer["box"]["left_px"] for answer in answers} >= {box["x"]}  # type: ignore[index]


def test_what_a_function_does_wrong_is_told_apart(mine: Path, tiny_dataset: TinyDataset) -> None:
    code, answers, _ = evaluated(mine, tiny_dataset(participants=1, unscored=()), "--grounder", f"{mine}:odd")
    assert code == 1
    kinds = [answer["failure"]["kind"] for answer in sorted(answers, key=lambda one: str(one["step_id"]))]  # type: ignore[index]
    assert kinds == ["unparsed", "unparsed", "unparsed", "error"]
    assert "ZeroDivisionError" in json.dumps(answers)


def test_answers_are_kept_until_the_file_changes(mine: Path, tiny_dataset: TinyDataset) -> None:
    data = tiny_dataset()
    evaluated(mine, data, "--grounder", f"{mine}:white")
    evaluated(mine, data, "--grounder", f"{mine}:white")
    assert len(list((mine.parent / "runs").iterdir())) == 1
    mine.write_text(MINE + "# other\n", encoding="utf-8")
    evaluated(mine, data, "--grounder", f"{mine}:white")
    assert len(list((mine.parent / "runs").iterdir())) == 2


@pytest.mark.parametrize(
    ("name", "expected"), [("nope", "no function nope; it has: odd, please, white"), ("absent.py:x", "can't be read")]
)
def test_a_function_that_is_not_there(mine: Path, name: str, expected: str, tiny_dataset: TinyDataset) -> None:
    given = f"{mine}:{name}" if name == "nope" else name
    code, _, shown = evaluated(mine, tiny_dataset(), "--grounder", given)
    assert code == 2
    assert expected in shown
